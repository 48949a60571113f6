// Which provider and interface are taken of those that libfabric offers; what cards say, and what they
// refuse.
#if TASUKI_FABRIC

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "link/ofi/card.hpp"
#include "link/ofi/choice/choice.hpp"

namespace tasuki::ofi {
namespace {

IpAddress four(int a, int b, int c, int d) {
  IpAddress address{.bytes_used = 4};
  const int parts[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) address.bytes[i] = static_cast<unsigned char>(parts[i]);
  return address;
}

IpAddress six(int first, int second, int last) {
  IpAddress address{.bytes_used = 16};
  address.bytes[0] = static_cast<unsigned char>(first);
  address.bytes[1] = static_cast<unsigned char>(second);
  address.bytes[15] = static_cast<unsigned char>(last);
  return address;
}

/// Of a host with two Ethernets, a container's bridge, and a tunnel.
std::vector<Offer> ethernets(const std::string& provider) {
  return {
      {provider, "lo", four(127, 0, 0, 1)},   {provider, "docker0", four(172, 17, 0, 1)},
      {provider, "eth0", six(0xfe, 0x80, 5)}, {provider, "eth0", six(0xfd, 0, 5)},
      {provider, "tun0", four(10, 8, 0, 3)},  {provider, "eth0", four(169, 254, 3, 4)},
      {provider, "eth0", four(10, 77, 0, 5)}, {provider, "eth1", four(192, 168, 1, 5)},
  };
}

std::vector<Offer> joined(std::vector<Offer> one, const std::vector<Offer>& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

/// "PROVIDER INTERFACE, version of the address", or the sentence.
std::string chosen(const std::vector<Offer>& offers, const Wish& wish) {
  Choice choice;
  std::string error;
  if (!choose_offer(offers, wish, &choice, &error)) return error;
  const Offer& offer = offers[static_cast<std::size_t>(choice.index)];
  return offer.provider + " " + offer.interface + " " + std::to_string(offer.address.bytes_used);
}

TEST(Choice, HardwareThenTcpThenItsEmulation) {
  auto offers = joined(ethernets("tcp;ofi_rxm"), ethernets("net"));
  offers = joined(offers, ethernets("sockets"));
  offers = joined(offers, ethernets("udp;ofi_rxd"));
  EXPECT_EQ(chosen(offers, {}), "net eth0 4");
  offers = joined(offers, {{"verbs;ofi_rxm", "mlx5_0", four(10, 5, 0, 1)}});
  EXPECT_EQ(chosen(offers, {}), "verbs;ofi_rxm mlx5_0 4");
  offers = joined(offers, {{"cxi", "cxi0", {}}});
  EXPECT_EQ(chosen(offers, {}), "cxi cxi0 0");
  EXPECT_EQ(chosen(offers, {.provider = "tcp"}), "net eth0 4") << "its name in 1.17";
  EXPECT_EQ(chosen(joined(offers, ethernets("tcp")), {.provider = "tcp"}), "tcp eth0 4");
  EXPECT_EQ(chosen(offers, {.provider = "sockets"}), "sockets eth0 4") << "only if it is named";
  EXPECT_EQ(chosen(offers, {.one_machine = true}), "net lo 4");
}

TEST(Choice, TheInterfaceIsNamedOrChosen) {
  const auto offers = ethernets("net");
  EXPECT_EQ(chosen(offers, {.interface = "eth1"}), "net eth1 4");
  EXPECT_EQ(chosen(offers, {.interface = "docker0"}), "net docker0 4");
  EXPECT_EQ(chosen(offers, {.interface = "192.168.1.5"}), "net eth1 4");
  EXPECT_EQ(chosen(offers, {.interface = "192.168.0.0/16"}), "net eth1 4");
  EXPECT_EQ(chosen(offers, {.interface = "10.0.0.0/9"}), "net tun0 4");
  EXPECT_EQ(chosen(offers, {.interface = "fd00::5"}), "net eth0 16");
  EXPECT_EQ(chosen(offers, {.interface = "fd00::/8"}), "net eth0 16");
  const std::vector<Offer> only_six = {{"net", "eth0", six(0xfd, 0, 5)}, {"net", "lo", six(0, 0, 1)}};
  EXPECT_EQ(chosen(only_six, {}), "net eth0 16");
}

TEST(Choice, TheLaunchersAddressGoesBeforeTheOrder) {
  const auto offers = joined(ethernets("tcp;ofi_rxm"), ethernets("net"));
  EXPECT_EQ(chosen(offers, {.address = "192.168.1.5"}), "net eth1 4");
  EXPECT_EQ(chosen(offers, {.address = "10.8.0.3"}), "net tun0 4") << "the way by which it is reached";
  EXPECT_EQ(chosen(offers, {.address = "127.0.0.1"}), "net eth0 4") << "which no other host can use";
  EXPECT_EQ(chosen(offers, {.address = "10.99.0.1"}), "net eth0 4") << "translated on the way";
  EXPECT_EQ(chosen(offers, {.interface = "eth0", .address = "192.168.1.5"}), "net eth0 4");
  const auto fast = joined(offers, {{"verbs;ofi_rxm", "mlx5_0", four(10, 5, 0, 1)}});
  EXPECT_EQ(chosen(fast, {.address = "192.168.1.5"}), "verbs;ofi_rxm mlx5_0 4");
}

/// Of a host with two packages, at distance 21, and four cards: two on each.
std::vector<Offer> four_cards() {
  return {{"cxi", "cxi0", {}, 21}, {"cxi", "cxi1", {}, 10}, {"cxi", "cxi2", {}, 21}, {"cxi", "cxi3", {}, 10}};
}

TEST(Choice, EachRankTakesTheNearestCard) {
  EXPECT_EQ(chosen(four_cards(), {.place = 0}), "cxi cxi1 0");
  EXPECT_EQ(chosen(four_cards(), {.place = 1}), "cxi cxi3 0")
      << "the ranks share those that are equally near";
  EXPECT_EQ(chosen(four_cards(), {.place = 2}), "cxi cxi1 0");
  EXPECT_EQ(chosen(four_cards(), {.interface = "cxi2", .place = 1}), "cxi cxi2 0");
  auto unknown = four_cards();
  for (Offer& offer : unknown) offer.nearness = kNearnessUnknown;
  EXPECT_EQ(chosen(unknown, {.place = 2}), "cxi cxi2 0");
  unknown[3].nearness = 40;
  EXPECT_EQ(chosen(unknown, {.place = 2}), "cxi cxi3 0") << "what is known to be there, however far";
  // One card with two addresses is one card; and which interface for TCP reaches the others is not known.
  const std::vector<Offer> twice = {{"verbs;ofi_rxm", "mlx5_0", four(10, 5, 0, 1), 10},
                                    {"verbs;ofi_rxm", "mlx5_0", four(10, 6, 0, 1), 10},
                                    {"verbs;ofi_rxm", "mlx5_1", four(10, 5, 0, 2), 10}};
  EXPECT_EQ(chosen(twice, {.place = 1}), "verbs;ofi_rxm mlx5_1 4");
  for (const int place : {0, 1, 2}) EXPECT_EQ(chosen(ethernets("net"), {.place = place}), "net eth0 4");
}

TEST(Nearness, IsTheDistanceToTheNearestProcessor) {
  namespace fs = std::filesystem;
  const fs::path sys = fs::path(testing::TempDir()) / ("nearness_" + std::to_string(getpid()));
  const auto write = [&](const std::string& path, const std::string& text) {
    fs::create_directories((sys / path).parent_path());
    std::ofstream(sys / path) << text << "\n";
  };
  write("bus/pci/devices/0000:3b:00.0/numa_node", "1");
  write("bus/pci/devices/0000:af:00.1/numa_node", "-1");
  write("devices/system/node/node0/cpulist", "0-3,8-11");
  write("devices/system/node/node1/cpulist", "4-7,12-15");
  write("devices/system/node/node2/cpulist", "");
  write("devices/system/node/node1/distance", "21 10 30");
  const auto to = [&](const std::string& address, const std::vector<int>& processors) {
    return nearness(sys.string(), address, processors);
  };
  EXPECT_EQ(to("0000:3b:00.0", {12}), 10);
  EXPECT_EQ(to("0000:3b:00.0", {0, 1}), 21);
  EXPECT_EQ(to("0000:3b:00.0", {0, 15}), 10) << "it may run near to it";
  EXPECT_EQ(to("0000:3b:00.0", {99}), kNearnessUnknown);
  EXPECT_EQ(to("0000:af:00.1", {0}), kNearnessUnknown);
  EXPECT_EQ(to("0000:00:00.0", {0}), kNearnessUnknown) << "there is no such card";
  fs::remove_all(sys);
  EXPECT_FALSE(own_processors().empty());
}

TEST(Choice, WhatDoesNotFitIsSaid) {
  const auto offers = ethernets("net");
  for (const char* interface :
       {"eth7", "10.78.0.0/16", "10.77.0.6", "10.77.0.0/x", "10.77.0.0/", "/8", "fd01::/16"}) {
    const std::string said = chosen(offers, {.interface = interface});
    EXPECT_NE(said.find("TASUKI_NET_INTERFACE=" + std::string(interface)), std::string::npos) << said;
    EXPECT_NE(said.find("it offers net on lo"), std::string::npos) << said;
  }
  EXPECT_NE(chosen(offers, {.provider = "cxi"}).find("TASUKI_NET_PROVIDER=cxi"), std::string::npos);
  EXPECT_NE(chosen({}, {}).find("it offers nothing"), std::string::npos);
  EXPECT_NE(chosen({offers[0], offers[1], offers[2]}, {}).find("between hosts"), std::string::npos);
}

TEST(Card, IsWhatItWas) {
  const Card card = {"tcp;ofi_rxm", "117.0", "eth0", "node1", std::string("\x02\x00\x10\xff", 4)};
  Card read;
  ASSERT_TRUE(from_text(to_text(card), &read));
  EXPECT_EQ(read, card);
  EXPECT_LE(to_text({std::string(500, 'p'), std::string(500, 'v'), std::string(500, 'i'),
                     std::string(500, 'h'), std::string(112, 'n')})
                .size(),
            511U);
  Card odd = card;
  odd.host = "a b";  // no host has such a name
  ASSERT_TRUE(from_text(to_text(odd), &read));
  EXPECT_EQ(read.host, "a?b");
  for (const char* bad : {"", "1", "2 net 1.0 lo host 00", "1 net 1.0 lo host 0", "1 net 1.0 lo host 0g",
                          "1 net 1.0 lo host 00 more", "1  net 1.0 lo host 00"})
    EXPECT_FALSE(from_text(bad, &read)) << bad;
}

TEST(Card, OnlyLikeTalksToLike) {
  const Card card = {"net", "117.0", "eth0", "node1", "x"};
  Card other = {"net", "117.0", "eth1", "node2", "y"};
  EXPECT_EQ(why_not(0, card, 1, other), "");
  other.version = "118.0";
  const std::string said = why_not(0, card, 1, other);
  for (const char* part : {"rank 0 on node1", "rank 1 on node2", "net 117.0", "net 118.0"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

}  // namespace
}  // namespace tasuki::ofi

#endif
