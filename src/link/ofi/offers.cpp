// Asking libfabric, and reading what it answers.
#include "link/ofi/offers.hpp"

#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdio>
#include <cstring>

#include "link/ofi/choice/nearness.hpp"

namespace tasuki::ofi {
namespace {

IpAddress address_of(const fi_info& info) {
  IpAddress address;
  if (info.src_addr == nullptr) return address;
  if (info.addr_format == FI_SOCKADDR_IN && info.src_addrlen >= sizeof(sockaddr_in)) {
    address.bytes_used = 4;
    std::memcpy(address.bytes, &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr, 4);
  } else if (info.addr_format == FI_SOCKADDR_IN6 && info.src_addrlen >= sizeof(sockaddr_in6)) {
    address.bytes_used = 16;
    std::memcpy(address.bytes, &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr, 16);
  }
  return address;
}

/// Of its card to the processors of this rank.
int nearness_of(const fi_info& info) {
  if (info.nic == nullptr || info.nic->bus_attr == nullptr || info.nic->bus_attr->bus_type != FI_BUS_PCI)
    return kNearnessUnknown;
  const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
  char address[24];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id,
                pci.function_id);
  return nearness("/sys", address, own_processors());
}

std::string text_of(const char* text) {
  return text != nullptr ? text : "";
}

}  // namespace

Found::Found(const Library& library, std::uint64_t capabilities) : library_(library) {
  fi_info* const hints = library.dupinfo(nullptr);
  hints->caps = capabilities;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  error_ = library.getinfo(kInterfaceVersion, nullptr, nullptr, 0, hints, &list_);
  library.freeinfo(hints);
  if (error_ != 0) return;
  for (const fi_info* info = list_; info != nullptr; info = info->next) {
    offers_.push_back({text_of(info->fabric_attr->prov_name), text_of(info->domain_attr->name),
                       address_of(*info), nearness_of(*info)});
    infos_.push_back(info);
  }
}

Found::~Found() {
  if (list_ != nullptr) library_.freeinfo(list_);
}

CopyFacts facts_of(const fi_info& info) {
  return {.provider = text_of(info.fabric_attr->prov_name),
          .copies = (info.caps & FI_RMA) != 0,
          .write_then_send = (info.tx_attr->msg_order & FI_ORDER_SAW) != 0,
          .pins = (info.domain_attr->mr_mode & FI_MR_ALLOCATED) != 0,
          .data_bytes = info.domain_attr->cq_data_size,
          .bytes_max = info.ep_attr->max_msg_size};
}

std::string version_of(const fi_info& info) {
  const std::uint32_t version = info.fabric_attr->prov_version;
  return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

}  // namespace tasuki::ofi
