// Values and cards on their way over a wire: any bytes come back, whatever a wire's limit; what nobody wrote
// is refused; and ranks are told apart by whether they share memory.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "job/wire/pmi1_wire.hpp"
#include "job/wire/rank_card.hpp"
#include "job/wire/value_text.hpp"

namespace tasuki::wire {
namespace {

std::string random_bytes(std::mt19937& random, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(random());
  return bytes;
}

TEST(WireValues, AnyBytesComeBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    Values values;
    for (int i = 0; i < round % 7; ++i) {
      const std::string name = std::to_string(i) + random_bytes(random, 5);
      values[name] = random_bytes(random, round * i);
    }
    const std::string text = text_of(values);
    for (const std::size_t limit : {16, 63, 1023}) {
      std::vector<std::string> pieces = pieces_of(text, limit);
      std::string whole;
      const std::size_t announced = take_piece_count(&pieces[0]);
      EXPECT_EQ(announced, pieces.size());
      for (const std::string& piece : pieces) {
        EXPECT_LE(piece.size(), limit);
        EXPECT_EQ(piece.find_first_of(" \n=;\""), std::string::npos);
        whole += piece;
      }
      Values back;
      ASSERT_TRUE(values_of(whole, &back));
      EXPECT_EQ(back, values);
    }
  }
}

TEST(WireValues, WhatNobodyWroteIsRefused) {
  Values values;
  for (const char* text : {"key", "key:value", "key,", "a:%4,", "a:%zz,", "a:b c,", ",:", "a:%4"})
    EXPECT_FALSE(values_of(text, &values)) << text;
  for (std::string piece : {"", "+", "x+", "12", "0", "-1+", "9999999+"})
    EXPECT_EQ(take_piece_count(&piece), 0u) << piece;
}

TEST(WireValues, LinesAreReadByTheirKeys) {
  const Pmi1Message message = parse_pmi1("cmd=get_result  rc=0 value=a=b msg=success");
  EXPECT_EQ(message.at("cmd"), "get_result");
  EXPECT_EQ(message.at("rc"), "0");
  EXPECT_EQ(message.at("value"), "a=b");
  EXPECT_TRUE(parse_pmi1("").empty());
  EXPECT_TRUE(parse_pmi1("no key").empty());
}

RankCard card(std::uint64_t machine, std::uint64_t numbering, std::uint32_t user) {
  RankCard card;
  card.machine = machine;
  card.process.numbering = numbering;
  card.user = user;
  card.process.pid = 100;
  card.host = "node" + std::to_string(machine);
  return card;
}

TEST(RankCards, ComeBack) {
  RankCard sent = card(~0ull, 4026531836, 1000);
  sent.network_namespace = 4026531840;
  sent.process.start_ticks = 123456789;
  sent.memory_fd = 7;
  sent.memory_id = ~1ull;
  sent.job_id = 5;
  sent.quota = 3;
  sent.processors = {0, 1, 2, 5, 7, 8};
  RankCard got;
  ASSERT_TRUE(decode(encode(sent), &got));
  EXPECT_EQ(encode(got), encode(sent));
  EXPECT_EQ(got.processors, sent.processors);
  EXPECT_EQ(got.network_namespace, sent.network_namespace);
  for (const char* text : {"", "1 2 3", "1 1 1 1 0 1 1 1 1 1 - x", "1 1 1 1 1 1 1 1 1 1 5-3 x",
                           "1 1 1 1 1 1 1 1 1 1 a x", "1 1 1 1 1 1 1 1 1 1 0-99999999 x"}) {
    RankCard bad;
    EXPECT_FALSE(decode(text, &bad)) << text;
  }
}

TEST(RankCards, OfManyProcessorsFitIntoAValue) {
  RankCard odd = card(1, 2, 3);
  for (int number = 1; number < 4000; number += 2) odd.processors.push_back(number);
  odd.host = std::string(200, 'h');
  const std::string text = encode(odd);
  EXPECT_LE(text.size(), kValueBytesMax);
  RankCard got;
  EXPECT_TRUE(decode(text, &got));
}

TEST(RankCards, NodesAreThoseWhoShareMemory) {
  const std::vector<RankCard> cards{card(1, 1, 1), card(2, 1, 1), card(1, 1, 1),
                                    card(1, 2, 1), card(2, 1, 1), card(1, 1, 9)};
  const std::vector<int> hosts = possible_hosts(cards);
  EXPECT_EQ(hosts, (std::vector<int>{0, 1, 0, 3, 1, 5}));
  EXPECT_EQ(nodes_of(hosts, {true, true, true, true, true, true}), (std::vector<int>{0, 1, 0, 2, 1, 3}));
  // Rank 2 could not map rank 0's memory.
  EXPECT_EQ(nodes_of(hosts, {true, true, false, true, true, true}), (std::vector<int>{0, 1, 2, 3, 1, 4}));
  EXPECT_EQ(hosts_text(cards), "node1, node2");
}

TEST(RankCards, InterfacesAreSharedByAllRanksOfOneNetworkNamespace) {
  std::vector<RankCard> cards{card(1, 1, 1), card(1, 2, 1)};
  EXPECT_TRUE(share_interfaces(cards));
  cards[1].network_namespace = 5;
  EXPECT_FALSE(share_interfaces(cards));
  cards[1] = card(2, 1, 1);
  EXPECT_FALSE(share_interfaces(cards));
}

TEST(RankCards, ProcessorsAreThoseOfAllWithinTheLeastQuota) {
  std::vector<RankCard> cards{card(1, 1, 1), card(1, 1, 1)};
  EXPECT_EQ(processors_of(cards, {0, 1}), 1);
  cards[0].processors = {0, 1};
  cards[1].processors = {1, 2, 3};
  EXPECT_EQ(processors_of(cards, {0, 1}), 4);
  EXPECT_EQ(processors_of(cards, {0}), 2);
  cards[1].quota = 3;
  EXPECT_EQ(processors_of(cards, {0, 1}), 3);
}

}  // namespace
}  // namespace tasuki::wire
