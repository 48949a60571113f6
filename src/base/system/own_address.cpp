// A name of this host may well mean 127.0.1.1, or be that of another one; so only addresses of its own count.
#include "base/system/own_address.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace tasuki {
namespace {

bool reaches_others(const ifaddrs& one) {
  if (one.ifa_addr == nullptr || (one.ifa_flags & IFF_UP) == 0 || (one.ifa_flags & IFF_LOOPBACK) != 0)
    return false;
  if (one.ifa_addr->sa_family == AF_INET) return true;
  return one.ifa_addr->sa_family == AF_INET6 &&
         !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one.ifa_addr)->sin6_addr);
}

bool are_same(const sockaddr& one, const sockaddr& other) {
  if (one.sa_family != other.sa_family) return false;
  if (one.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(one).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
  }
  return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(one).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(other).sin6_addr, sizeof(in6_addr)) == 0;
}

bool is_own(const ifaddrs* interfaces, const sockaddr& address) {
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (reaches_others(*one) && are_same(*one->ifa_addr, address)) return true;
  }
  return false;
}

}  // namespace

std::string own_address(const std::vector<std::string>& names) {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned_interfaces(interfaces, &freeifaddrs);
  for (const std::string& name : names) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (name.empty() || getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      char text[NI_MAXHOST] = "";
      if (is_own(interfaces, *one->ai_addr) &&
          getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
        return text;
    }
  }
  return {};
}

}  // namespace tasuki
