// Finding the connections among the descriptors of this process.
#include "link/ofi/tcp_sockets.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdlib>
#include <optional>

#include "link/ofi/card.hpp"

namespace tasuki::ofi {
namespace {

/// The name as endpoints have it; empty: it is no address of the internet.
std::string name_of(const sockaddr_storage& address, socklen_t bytes) {
  const std::string name(reinterpret_cast<const char*>(&address), bytes);
  return is_internet_address(name) ? name : std::string();
}

std::optional<TcpSocket> look_at(int descriptor, const std::string& own) {
  sockaddr_storage address;
  socklen_t bytes = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return {};
  const std::string here = name_of(address, bytes);
  if (here.empty() || internet_address(here) != internet_address(own)) return {};
  bytes = sizeof address;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return {};
  const std::string there = name_of(address, bytes);
  tcp_info info{};
  bytes = sizeof info;
  if (there.empty() || getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return {};
  TcpSocket found;
  found.other = internet_address(there);
  found.other_port = internet_port(there);
  found.is_own = internet_port(here) != internet_port(own);
  found.retransmissions = info.tcpi_unacked != 0 ? info.tcpi_retransmits : 0;
  found.quiet_ns = std::int64_t{info.tcpi_last_ack_recv} * 1'000'000;
  found.text = address_text(here) + " to " + address_text(there);
  return found;
}

}  // namespace

std::vector<TcpSocket> find_tcp_sockets(const std::string& own) {
  std::vector<TcpSocket> found;
  if (!is_internet_address(own)) return found;
  DIR* const descriptors = opendir("/proc/self/fd");
  if (descriptors == nullptr) return found;
  for (const dirent* entry = readdir(descriptors); entry != nullptr; entry = readdir(descriptors)) {
    if (auto socket = look_at(std::atoi(entry->d_name), own)) found.push_back(std::move(*socket));
  }
  closedir(descriptors);
  return found;
}

}  // namespace tasuki::ofi
