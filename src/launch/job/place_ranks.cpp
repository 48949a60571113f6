// Dealing ranks, and knowing oneself.
#include "launch/job/place_ranks.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>

#include "launch/base/format.hpp"
#include "launch/host/host_name.hpp"

namespace tasuki::launch {
namespace {

constexpr int kBadUsage = 2;

bool is_own_address(const std::string& name) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  bool found = false;
  for (const ifaddrs* one = all; one != nullptr && !found; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (one->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(one->ifa_addr)->sin6_addr, text, sizeof text);
    }
    found = name == text;
  }
  freeifaddrs(all);
  return found;
}

std::string until_dot(const std::string& name) {
  return name.substr(0, name.find('.'));
}

/// What several hosts have no form of yet.
const char* impossible(const Options& options) {
  if (options.nodes_given && options.nodes > 1) return "--nodes, which makes virtual nodes of one machine,";
  return nullptr;
}

}  // namespace

bool is_this_machine(const std::string& name) {
  if (name == "localhost" || name == "::1" || name.rfind("127.", 0) == 0) return true;
  const std::string own = host_name();
  const bool is_number =
      name.find_first_not_of("0123456789.") == std::string::npos || name.find(':') != std::string::npos;
  if (is_number) return is_own_address(name);
  // A short name is that of the machine which is called so in full; two full names must be the same.
  const bool both_full = name.find('.') != std::string::npos && own.find('.') != std::string::npos;
  return both_full ? name == own : until_dot(name) == until_dot(own);
}

bool place_ranks(const Options& options, std::vector<HostSlots>* hosts, Placement* placement,
                 Refusal* refusal) {
  *hosts = options.hosts;
  *placement = {};
  if (hosts->empty()) return true;
  if (options.slots_per_host > 0) {
    for (HostSlots& host : *hosts) host.slots = options.slots_per_host;
  }
  placement->of_rank = plan_hosts(*hosts, options.ranks(), options.node_order);
  placement->here = -1;
  std::vector<int> number(hosts->size(), -1);  // among those that have ranks
  std::vector<HostSlots> used;
  for (int& host : placement->of_rank) {
    int& its = number[static_cast<std::size_t>(host)];
    if (its < 0) {
      its = static_cast<int>(used.size());
      used.push_back((*hosts)[static_cast<std::size_t>(host)]);
      placement->hosts.push_back(used.back().name);
      if (placement->here < 0 && is_this_machine(used.back().name)) placement->here = its;
    }
    host = its;
  }
  *hosts = std::move(used);
  const auto is_here = [](const HostSlots& host) { return is_this_machine(host.name); };
  if (std::all_of(hosts->begin(), hosts->end(), is_here)) {
    *placement = {};
    return true;
  }
  const char* const option = impossible(options);
  if (option == nullptr) return true;
  *refusal = {format("%s works with the ranks of one host so far, and these are on %zu: %s, ...", option,
                     hosts->size(), hosts->front().name.c_str()),
              kBadUsage};
  return false;
}

}  // namespace tasuki::launch
