// Which accesses may meet and which may not (MPI 12.7), and the tables in which they are found.
#include "rma/access/conflicts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/predefined.hpp"
#include "object/objects.hpp"
#include "support/lock_users.hpp"
#include "support/world.hpp"

namespace tasuki::rma {
namespace {

OpenAccess access(AccessKind kind, Count begin, Count end, int origin = 0, std::uint64_t address = 0) {
  OpenAccess made;
  made.kind = kind;
  made.begin = begin;
  made.end = end;
  made.origin = origin;
  made.origin_address = address;
  return made;
}

OpenAccess combining(std::uint16_t op, int element_bytes = 4) {
  OpenAccess made = access(AccessKind::kAccumulate, 0, 8);
  made.op = op;
  made.element_bytes = static_cast<std::uint8_t>(element_bytes);
  return made;
}

bool meet_badly(const OpenAccess& one, const OpenAccess& other) {
  EXPECT_EQ(is_conflict(one, other), is_conflict(other, one));
  return is_conflict(one, other);
}

TEST(Conflicts, NeedACommonByteAndAWrite) {
  constexpr auto kGet = AccessKind::kGet;
  constexpr auto kPut = AccessKind::kPut;
  EXPECT_FALSE(meet_badly(access(kPut, 0, 8), access(kPut, 8, 16)));
  EXPECT_FALSE(meet_badly(access(kGet, 0, 8), access(kGet, 0, 8)));
  EXPECT_TRUE(meet_badly(access(kGet, 0, 8), access(kPut, 7, 8)));
  EXPECT_TRUE(meet_badly(access(kPut, 0, 8), access(kPut, 4, 12)));
  EXPECT_TRUE(meet_badly(access(kPut, 0, 8), combining(kMpiSum)));
  EXPECT_TRUE(meet_badly(access(kGet, 0, 8), combining(kMpiSum)));
  EXPECT_FALSE(meet_badly(access(kGet, 0, 8), combining(kMpiNoOp)));
}

TEST(Conflicts, AccumulatesMeetWithOneOperationAndType) {
  EXPECT_FALSE(meet_badly(combining(kMpiSum), combining(kMpiSum)));
  EXPECT_FALSE(meet_badly(combining(kMpiSum), combining(kMpiNoOp)));
  EXPECT_TRUE(meet_badly(combining(kMpiSum), combining(kMpiReplace)));
  EXPECT_TRUE(meet_badly(combining(kMpiSum, 4), combining(kMpiSum, 8)));
  OpenAccess swap = combining(0);
  swap.kind = AccessKind::kCompareAndSwap;
  EXPECT_FALSE(meet_badly(swap, combining(kMpiReplace)));
  EXPECT_FALSE(meet_badly(swap, swap));
}

TEST(Conflicts, TheSameDataOnceMoreIsNone) {
  const OpenAccess first = access(AccessKind::kPut, 0, 64, 1, 0x1000);
  EXPECT_FALSE(meet_badly(first, access(AccessKind::kPut, 0, 64, 1, 0x1000)));
  EXPECT_FALSE(meet_badly(first, access(AccessKind::kPut, 16, 32, 1, 0x1010)));
  EXPECT_TRUE(meet_badly(first, access(AccessKind::kPut, 16, 32, 1, 0x1000)));
  EXPECT_TRUE(meet_badly(first, access(AccessKind::kPut, 0, 64, 2, 0x1000)));
  EXPECT_TRUE(meet_badly(first, access(AccessKind::kGet, 0, 64, 1, 0x1000)));
}

/// The tables of two ranks in one memory, as in a window's segment.
struct Tables {
  explicit Tables(Process& of) : process(of), memory(Conflicts::bytes_needed(2)) {}

  Code put(int origin, int target, Count offset, Count bytes, const void* from) {
    Datatype* byte = predefined_object<Datatype>(*process.objects, kMpiByte);
    const OriginBuffer side{static_cast<std::byte*>(const_cast<void*>(from)), bytes, byte};
    return of(origin).begin(process, access(AccessKind::kPut, 0, 0), {target, offset, bytes, byte}, &side,
                            true);
  }
  Conflicts& of(int rank) { return rank == 0 ? first : second; }

  Process& process;
  std::vector<std::byte> memory;
  const TestLockUser users[2] = {{0, 2}, {1, 2}};
  Conflicts first{memory.data(), 0, 2, users[0]};
  Conflicts second{memory.data(), 1, 2, users[1]};
};

TEST(Conflicts, LastUntilTheyAreCompleted) {
  test::run_ranks(1, [](Process& process) {
    Tables tables(process);
    const char data[64] = {};
    EXPECT_EQ(tables.put(0, 1, 0, 8, data), kSuccess);
    EXPECT_EQ(tables.put(0, 0, 0, 8, data), kSuccess);
    EXPECT_EQ(error_class_bits(tables.put(1, 1, 4, 8, data)), kErrRmaConflict);
    tables.of(1).completed_all();  // another origin's stays
    EXPECT_EQ(error_class_bits(tables.put(1, 1, 4, 8, data)), kErrRmaConflict);
    tables.of(0).completed_gets(1);  // and so does a put
    EXPECT_EQ(error_class_bits(tables.put(1, 1, 4, 8, data)), kErrRmaConflict);
    tables.of(1).origin_completed(0);
    EXPECT_EQ(tables.put(1, 1, 4, 8, data), kSuccess);
    EXPECT_EQ(tables.put(0, 1, 4, 8, data), kSuccess);  // the same data
    EXPECT_EQ(error_class_bits(tables.put(1, 0, 4, 8, data)), kErrRmaConflict);
    tables.of(0).completed(0);
    EXPECT_EQ(tables.put(1, 0, 4, 8, data), kSuccess);
  });
}

TEST(Conflicts, OfAFullTableAreNotSeenAndHarmNothing) {
  test::run_ranks(1, [](Process& process) {
    Tables tables(process);
    std::vector<char> data(100'000);
    for (Count i = 0; i < 3000; ++i) {
      ASSERT_EQ(tables.put(0, 1, 16 * i, 8, data.data() + 32 * i), kSuccess);
    }
    EXPECT_EQ(error_class_bits(tables.put(1, 1, 4, 8, data.data())), kErrRmaConflict);
    EXPECT_EQ(tables.put(1, 1, 16 * 2999, 8, data.data()), kSuccess);
  });
}

TEST(Conflicts, OfALoopTakeOneEntry) {
  test::run_ranks(1, [](Process& process) {
    Tables tables(process);
    std::vector<char> data(40'000);
    for (Count i = 0; i < 5000; ++i) {
      ASSERT_EQ(tables.put(0, 1, 8 * i, 8, data.data() + 8 * i), kSuccess);
    }
    EXPECT_EQ(error_class_bits(tables.put(1, 1, 8 * 4999, 8, data.data())), kErrRmaConflict);
  });
}

TEST(Conflicts, DamagedTablesAreReadWithinTheirBounds) {
  test::run_ranks(1, [](Process& process) {
    Tables tables(process);
    const char data[64] = {};
    for (std::size_t i = 4; i < 8; ++i) tables.memory[i] = std::byte{0xff};  // the count of rank 0's table
    tables.put(1, 0, 0, 8, data);
    tables.of(1).completed_all();
    EXPECT_EQ(tables.put(1, 0, 0, 8, data), kSuccess);
  });
}

}  // namespace
}  // namespace tasuki::rma
