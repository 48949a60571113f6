// Messages of one sender are received in their order, with wildcards and without, whatever way they travel.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

/// A message that carries its number; sizes go through all the protocols.
Bytes numbered(int number) {
  constexpr std::size_t kSizes[] = {4, 40, 41, 900, 1024, 1025, 5000, 30000};
  Bytes data(kSizes[static_cast<std::size_t>(number * 7) % 8], 0);
  std::memcpy(data.data(), &number, sizeof number);
  return data;
}

int number_of(const Bytes& data) {
  int number;
  std::memcpy(&number, data.data(), sizeof number);
  return number;
}

constexpr int kMessages = 300;

TEST(MessageOrder, PostedReceivesFromOneSource) {
  on_both_networks(2, [](Rank& on) {
    std::vector<Bytes> data;
    std::vector<Request*> requests;
    for (int i = 0; i < kMessages; ++i) data.push_back(on.rank == 0 ? numbered(i) : Bytes(30000));
    for (int i = 0; i < kMessages; ++i) {
      Bytes& one = data[static_cast<std::size_t>(i)];
      requests.push_back(on.rank == 0 ? on.isend(one, 1, 7)
                                      : on.irecv(one, i % 2 ? kAnySource : 0, i % 3 ? kAnyTag : 7));
    }
    EXPECT_EQ(on.waitall(requests), 0);
    for (int i = 0; i < kMessages && on.rank == 1; ++i)
      EXPECT_EQ(number_of(data[static_cast<std::size_t>(i)]), i);
  });
}

TEST(MessageOrder, FromAnySourceEachSendersMessagesInTheirOrder) {
  on_both_networks(4, [](Rank& on) {
    if (on.rank != 0) {
      for (int i = 0; i < kMessages; ++i) on.send(numbered(i), 0, on.rank);
      return;
    }
    std::map<int, int> next;
    Bytes data(30000);
    for (int i = 0; i < 3 * kMessages; ++i) {
      Status status;
      ASSERT_EQ(on.recv(data, kAnySource, kAnyTag, &status), 0);
      EXPECT_EQ(status.tag, status.source);
      ASSERT_EQ(number_of(data), next[status.source]++) << "from " << status.source;
      EXPECT_EQ(status.bytes, static_cast<Count>(numbered(number_of(data)).size()));
    }
    EXPECT_EQ(next[1] + next[2] + next[3], 3 * kMessages);
  });
}

TEST(MessageOrder, TagsPickOutOfTheOrder) {
  on_both_networks(2, [](Rank& on) {
    if (on.rank == 0) {
      std::vector<Bytes> data;
      std::vector<Request*> requests;
      for (int i = 0; i < kMessages; ++i) data.push_back(numbered(i));
      for (int i = 0; i < kMessages; ++i)
        requests.push_back(on.isend(data[static_cast<std::size_t>(i)], 1, i));
      EXPECT_EQ(on.waitall(requests), 0);
      return;
    }
    Bytes data(30000);
    for (int i = kMessages - 1; i >= 0; --i) {  // the last one first
      Status status;
      ASSERT_EQ(on.recv(data, 0, i, &status), 0);
      ASSERT_EQ(number_of(data), i);
      EXPECT_EQ(status.tag, i);
    }
  });
}

}  // namespace
}  // namespace tasuki::test
