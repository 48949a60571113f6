// RangeTable: which members may hold what at the same time, in which order requests are served, and that no
// words that others may have written keep it from going on. Threads are the members.
#include "memory/range_table.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "support/lock_users.hpp"

namespace tasuki {
namespace {

constexpr std::uint64_t kFile = 7;
const TestLockUser kUsers[] = {{0, 4}, {1, 4}, {2, 4}, {3, 4}};

class Memory {
 public:
  explicit Memory(int members) : bytes_(RangeTable::bytes_needed(members)) {
    base_ = static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{64}));
    std::memset(base_, 0, bytes_);
  }
  ~Memory() { ::operator delete (base_, std::align_val_t{64}); }
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* base_;
};

/// In the second line of the key's bucket.
SharedLock& gate_of(const Memory& memory, std::uint64_t key) {
  constexpr std::size_t kBucketBytes = RangeTable::bytes_needed(0) / kRangeBuckets;
  return *reinterpret_cast<SharedLock*>(memory.base() + key % kRangeBuckets * kBucketBytes + 64);
}

TEST(RangeTable, SharedRangesOverlapAndExclusiveOnesDoNot) {
  const Memory memory(2);
  RangeTable one(memory.base(), 2, 0, kFile, kUsers[0]);
  RangeTable two(memory.base(), 2, 1, kFile, kUsers[1]);
  const int shared = one.hold_shared(0, 100);
  ASSERT_NE(shared, RangeTable::kNone);
  const int also = two.hold_shared(50, 150);
  ASSERT_NE(also, RangeTable::kNone);
  two.release(also);

  const int beside = two.queue(100, 200, true);
  EXPECT_TRUE(two.admit(beside));
  two.release(beside);

  const int over = two.queue(99, 200, true);
  EXPECT_FALSE(two.admit(over));
  EXPECT_EQ(one.next_waiting(0), 1);
  one.release(shared);
  EXPECT_TRUE(one.notify());
  EXPECT_TRUE(two.admit(over));
  EXPECT_EQ(one.next_waiting(0), RangeTable::kNone);
  EXPECT_EQ(one.hold_shared(0, 100), RangeTable::kNone) << "an exclusive range is held";
  const int before = one.queue(0, 99, false);
  EXPECT_TRUE(one.admit(before));
}

TEST(RangeTable, KeysHaveNothingToDoWithEachOther) {
  const Memory memory(2);
  RangeTable one(memory.base(), 2, 0, kFile, kUsers[0]);
  RangeTable two(memory.base(), 2, 1, kFile + kRangeBuckets, kUsers[1]);  // in the same bucket
  EXPECT_TRUE(one.admit(one.queue(0, 100, true)));
  EXPECT_TRUE(two.admit(two.queue(0, 100, true)));
}

TEST(RangeTable, RequestsThatConflictAreServedInTheirOrder) {
  const Memory memory(4);
  std::vector<RangeTable> tables;
  for (int member = 0; member < 4; ++member)
    tables.emplace_back(memory.base(), 4, member, kFile, kUsers[member]);
  const int held = tables[0].hold_shared(0, 10);
  const int writer = tables[1].queue(0, 10, true);
  const int reader = tables[2].queue(5, 15, false);  // not past the writer that came before it
  const int apart = tables[3].queue(10, 20, true);   // but not past the reader
  EXPECT_FALSE(tables[1].admit(writer));
  EXPECT_FALSE(tables[2].admit(reader));
  EXPECT_FALSE(tables[3].admit(apart));
  tables[0].release(held);
  tables[0].notify();
  EXPECT_FALSE(tables[3].admit(apart));
  EXPECT_FALSE(tables[2].admit(reader));
  EXPECT_TRUE(tables[1].admit(writer));
  tables[1].release(writer);
  tables[1].notify();
  EXPECT_FALSE(tables[3].admit(apart));
  EXPECT_TRUE(tables[2].admit(reader));
  tables[2].release(reader);
  tables[2].notify();
  EXPECT_TRUE(tables[3].admit(apart));
}

TEST(RangeTable, AMemberHasSoManySlots) {
  const Memory memory(1);
  RangeTable table(memory.base(), 1, 0, kFile, kUsers[0]);
  for (std::size_t slot = 0; slot < kRangeSlots; ++slot)
    EXPECT_NE(table.hold_shared(0, 1), RangeTable::kNone);
  EXPECT_EQ(table.hold_shared(0, 1), RangeTable::kNone);
  EXPECT_EQ(table.queue(0, 1, false), RangeTable::kNone);
  table.release(3);
  EXPECT_EQ(table.queue(0, 1, false), 3);
}

/// Bytes, each of which knows how many hold it: those of shared ranges count one, exclusive ones a thousand.
class Witness {
 public:
  void enter(Offset begin, Offset end, bool exclusive) { add(begin, end, exclusive ? 1000 : 1, exclusive); }
  void leave(Offset begin, Offset end, bool exclusive) {
    for (Offset place = begin; place < end; ++place) holders(place) -= exclusive ? 1000 : 1;
  }
  int faults() const { return faults_; }

 private:
  void add(Offset begin, Offset end, int weight, bool exclusive) {
    for (Offset place = begin; place < end; ++place) {
      const int found = holders(place).fetch_add(weight);
      if (found >= 1000 || (exclusive && found != 0)) ++faults_;
    }
  }
  std::atomic<int>& holders(Offset place) { return holders_[static_cast<std::size_t>(place)]; }
  std::array<std::atomic<int>, 64> holders_{};
  std::atomic<int> faults_{0};
};

TEST(RangeTable, NobodyIsWhereAnotherHasARangeForHimself) {
  constexpr int kMembers = 4;
  const Memory memory(kMembers);
  Witness witness;
  std::vector<std::thread> threads;
  for (int member = 0; member < kMembers; ++member) {
    threads.emplace_back([&, member] {
      RangeTable table(memory.base(), kMembers, member, kFile, kUsers[member]);
      std::mt19937 random(static_cast<unsigned>(member));
      for (int round = 0; round < 4000; ++round) {
        const bool exclusive = random() % 4 == 0;
        const Offset begin = static_cast<Offset>(random() % 60);
        const Offset end = begin + 1 + static_cast<Offset>(random() % 4);
        int slot = exclusive ? RangeTable::kNone : table.hold_shared(begin, end);
        if (slot == RangeTable::kNone) {
          table.notify();
          slot = table.queue(begin, end, exclusive);
          while (!table.admit(slot)) std::this_thread::yield();
        }
        witness.enter(begin, end, exclusive);
        if (round % 16 == 0) std::this_thread::yield();
        witness.leave(begin, end, exclusive);
        table.release(slot);
        table.notify();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(witness.faults(), 0);
}

TEST(RangeTable, ItGoesOnWhateverOthersWroteThere) {
  const Memory memory(2);
  std::mt19937 random(1);
  int seen = 0;
  for (int round = 0; round < 200; ++round) {
    for (std::size_t byte = 0; byte < memory.bytes(); ++byte) memory.base()[byte] = std::byte(random());
    const std::uint64_t key = random() | 1;
    new (&gate_of(memory, key)) SharedLock{};
    const auto self = static_cast<int>(random() % 2);
    RangeTable table(memory.base(), 2, self, key, kUsers[self]);
    const int slot = table.queue(0, 10, random() % 2 == 0);
    if (slot != RangeTable::kNone) table.admit(slot);
    table.notify();
    table.next_waiting(0);
    if (table.damaged() != RangeTable::kNone) ++seen;
  }
  EXPECT_EQ(seen, 200);
  Memory whole(2);
  RangeTable table(whole.base(), 2, 0, kFile, kUsers[0]);
  table.admit(table.queue(0, 10, true));
  EXPECT_EQ(table.damaged(), RangeTable::kNone);
}

TEST(RangeTableDeathTest, AMemberThatDiedBehindTheGateEndsTheJob) {
  const Memory memory(2);
  const int child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  gate_of(memory, kFile).lock(kUsers[1]);
  const TestLockUser user(0, 2, {{}, {child, 0, own_numbering()}});
  RangeTable table(memory.base(), 2, 0, kFile, user);
  EXPECT_NE(table.hold_shared(0, 10), RangeTable::kNone) << "which needs no gate";
  EXPECT_EXIT(table.queue(0, 10, true), testing::ExitedWithCode(7), "user 1 died while it held a lock");
}

}  // namespace
}  // namespace tasuki
