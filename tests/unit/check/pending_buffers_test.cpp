// The memory of operations that are not over: what may be used beside it, and which operation changed it.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "check/checks.hpp"

namespace tasuki::test {
namespace {

Area bytes(const void* at, Count count) {
  return {reinterpret_cast<std::uintptr_t>(at), count};
}

TEST(PendingBuffers, LetReadersShare) {
  PendingBuffers pending;
  std::vector<char> data(100);
  int one = 0, other = 0;
  pending.begin(&one, "MPI_Isend (dest = 1, tag = 0)", {{bytes(data.data(), 50), false}});
  EXPECT_EQ(pending.conflict(bytes(data.data() + 40, 60), false), "");
  const std::string text = pending.conflict(bytes(data.data() + 40, 60), true);
  EXPECT_NE(text.find("bytes 0..9"), std::string::npos) << text;
  EXPECT_NE(text.find("being sent by MPI_Isend (dest = 1, tag = 0), which is not over"), std::string::npos)
      << text;
  pending.begin(&other, "MPI_Irecv", {{bytes(data.data() + 50, 50), true}});
  EXPECT_NE(pending.conflict(bytes(data.data() + 99, 1), false).find("received into by MPI_Irecv"),
            std::string::npos);
  EXPECT_EQ(pending.conflict(bytes(data.data() + 100, 1), true), "");
  EXPECT_EQ(pending.end(&other), "");
  EXPECT_EQ(pending.conflict(bytes(data.data() + 99, 1), true), "");
  EXPECT_EQ(pending.end(&one), "");
  EXPECT_FALSE(pending.has(&one));
}

TEST(PendingBuffers, TellWhatWasChanged) {
  PendingBuffers pending;
  std::vector<char> data(100);
  int key = 0;
  pending.begin(&key, "MPI_Isend (dest = 1, tag = 5)", {{bytes(data.data(), 50), false}});
  pending.add(&key, {bytes(data.data() + 60, 20), false});
  pending.add(&key, {bytes(data.data() + 90, 10), true});
  data[55] = data[95] = 1;
  EXPECT_EQ(pending.end(&key), "");
  pending.begin(&key, "MPI_Isend (dest = 1, tag = 5)", {{bytes(data.data(), 50), false}});
  pending.add(&key, {bytes(data.data() + 60, 20), false});
  data[79] = 1;
  const std::string text = pending.end(&key);
  EXPECT_EQ(text, "the buffer of MPI_Isend (dest = 1, tag = 5) was changed before that was over");
  EXPECT_EQ(pending.end(&key), "") << "it is not known any more";
}

/// Against a list that is searched from end to end.
TEST(PendingBuffers, AreFoundWhateverTheirLengths) {
  std::mt19937 random(11);
  const auto pick = [&](Count from, Count to) {
    return std::uniform_int_distribution<Count>(from, to)(random);
  };
  struct Known {
    Count begin, end;
    bool writes;
  };
  PendingBuffers pending;
  std::vector<char> memory(4096);
  std::vector<Known> known(64);
  std::vector<bool> open(known.size());
  int conflicts = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto index = static_cast<std::size_t>(pick(0, static_cast<Count>(known.size()) - 1));
    if (open[index]) {
      EXPECT_EQ(pending.end(&known[index]), "");
      open[index] = false;
      continue;
    }
    const Count begin = pick(0, 4000), length = pick(0, pick(0, 9) == 0 ? 4096 - begin : 30);
    const Known wanted{begin, std::min<Count>(begin + length, 4096), pick(0, 1) == 1};
    bool expected = false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      expected = expected || (open[i] && wanted.begin < known[i].end && known[i].begin < wanted.end &&
                              (wanted.writes || known[i].writes) && wanted.begin < wanted.end &&
                              known[i].begin < known[i].end);
    }
    const Area area = bytes(memory.data() + wanted.begin, wanted.end - wanted.begin);
    ASSERT_EQ(!pending.conflict(area, wanted.writes).empty(), expected) << "round " << round;
    conflicts += expected ? 1 : 0;
    known[index] = wanted;
    open[index] = true;
    pending.begin(&known[index], "MPI_Irecv", {{area, wanted.writes}});
  }
  EXPECT_GT(conflicts, 1000);
}

}  // namespace
}  // namespace tasuki::test
