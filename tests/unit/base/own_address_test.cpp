// By which address others reach this host: only addresses count that an interface has, and not the loopback
// one.
#include "base/system/own_address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <string>

namespace tasuki {
namespace {

/// An address of an interface that reaches others, or empty.
std::string address_of_some_interface() {
  ifaddrs* all = nullptr;
  EXPECT_EQ(getifaddrs(&all), 0);
  char text[INET_ADDRSTRLEN] = "";
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
  }
  freeifaddrs(all);
  return text;
}

TEST(OwnAddress, IsNoLoopbackAndOfNoOtherHost) {
  EXPECT_EQ(own_address({}), "");
  EXPECT_EQ(own_address({"", "localhost", "127.0.0.1", "127.0.1.1", "::1", "203.0.113.7"}), "");
}

TEST(OwnAddress, IsTheFirstThatAnInterfaceHas) {
  const std::string expected = address_of_some_interface();
  if (expected.empty()) GTEST_SKIP() << "there is only the loopback interface";
  EXPECT_EQ(own_address({"127.0.0.1", expected, "localhost"}), expected);
}

}  // namespace
}  // namespace tasuki
