// Addresses as text: what is written is read again, and nothing else is.
#include "link/peer_address.hpp"

#include <gtest/gtest.h>

namespace tasuki {
namespace {

PeerAddress address_of_bytes(std::uint32_t length) {
  PeerAddress address;
  address.name = {0xfedcba9876543210u, 12};
  address.place = 0x123456789abcdef0u;
  address.length = length;
  for (std::uint32_t i = 0; i < length; ++i) address.bytes[i] = static_cast<std::byte>(i * 37 + 1);
  return address;
}

TEST(PeerAddress, OfAnyLengthIsReadAgain) {
  for (const std::uint32_t length : {0u, 1u, 2u, 24u, 135u, 136u}) {
    const PeerAddress wanted = address_of_bytes(length);
    const std::string text = to_text(wanted);
    EXPECT_EQ(text.find_first_of(" =;@"), std::string::npos);
    PeerAddress read;
    ASSERT_TRUE(from_text(text, &read)) << text;
    EXPECT_EQ(read.name, wanted.name);
    EXPECT_EQ(read.place, wanted.place);
    EXPECT_EQ(read.length, length);
    EXPECT_EQ(read.bytes, wanted.bytes);
  }
}

TEST(PeerAddress, WhatWasNeverWrittenIsRefused) {
  PeerAddress read;
  const std::string good = to_text(address_of_bytes(24));
  for (const std::string& bad :
       {std::string(), std::string("1"), std::string("1."), std::string("1.2"), std::string("1.2."),
        std::string("x.2.3."), good + "A", good + "+", good + "=", "0" + good, " " + good, good + " ",
        to_text(address_of_bytes(PeerAddress::kBytesMax)) + "AA"}) {
    EXPECT_FALSE(from_text(bad, &read)) << bad;
  }
}

/// What another process has written is not believed.
TEST(PeerAddress, ALengthThatCannotBeIsCut) {
  PeerAddress address = address_of_bytes(24);
  address.length = 4'000'000'000u;
  EXPECT_LE(to_text(address).size(), kAddressTextMax);
}

}  // namespace
}  // namespace tasuki
