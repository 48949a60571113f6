// Where buffers lie and what they share, against a map of every byte.
#include "check/overlap.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <vector>

#include "base/predefined.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "reduction/op.hpp"
#include "support/predefined.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

void with_process(const std::function<void(Process&)>& body) {
  run_ranks(1, body);
}

Ref<Datatype> vector_of_ints(Process& process, int blocks, int length, int stride) {
  Datatype* made = nullptr;
  EXPECT_EQ(api::type_vector(process, blocks, length, stride, type(process, kMpiInt), &made, false), 0);
  return Ref<Datatype>(made);
}

/// Every byte that `count` vectors at `address` name; `twice`: those that they name more than once.
std::set<std::uintptr_t> bytes_of(std::uintptr_t address, int count, int blocks, int length, int stride,
                                  Count extent, std::set<std::uintptr_t>* twice) {
  std::set<std::uintptr_t> bytes;
  for (int element = 0; element < count; ++element) {
    for (int block = 0; block < blocks; ++block) {
      for (int byte = 0; byte < 4 * length; ++byte) {
        const auto at = static_cast<std::uintptr_t>(static_cast<Count>(address) + element * extent +
                                                    4 * block * stride + byte);
        if (!bytes.insert(at).second) twice->insert(at);
      }
    }
  }
  return bytes;
}

TEST(Overlap, OfRandomVectorsIsThatOfTheirBytes) {
  with_process([](Process& process) {
    std::mt19937 random(7);
    const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    int shared = 0, apart = 0, held_twice = 0;
    for (int round = 0; round < 2000; ++round) {
      struct Side {
        Area area;
        std::set<std::uintptr_t> bytes, twice;
      } sides[2];
      for (Side& side : sides) {
        const int count = pick(1, 3), blocks = pick(1, 4), length = pick(1, 3), stride = pick(-4, 5);
        const auto at = static_cast<std::uintptr_t>(1 << 20) + static_cast<std::uintptr_t>(4 * pick(0, 40));
        const Ref<Datatype> type = vector_of_ints(process, blocks, length, stride);
        side.area = Area(reinterpret_cast<void*>(at), count, type.get());
        side.bytes = bytes_of(at, count, blocks, length, stride, type->extent, &side.twice);
        const ByteSpan hull = side.area.hull();
        ASSERT_EQ(hull.begin, *side.bytes.begin());
        ASSERT_EQ(hull.end, *side.bytes.rbegin() + 1);
        const ByteSpan twice = bytes_held_twice(side.area);
        ASSERT_EQ(twice.empty(), side.twice.empty()) << "round " << round;
        for (std::uintptr_t byte = twice.begin; byte < twice.end; ++byte) ASSERT_TRUE(side.twice.count(byte));
        held_twice += twice.empty() ? 0 : 1;
      }
      const ByteSpan both = shared_bytes(sides[0].area, sides[1].area);
      bool expected = false;
      for (const std::uintptr_t byte : sides[0].bytes) expected = expected || sides[1].bytes.count(byte) != 0;
      ASSERT_EQ(!both.empty(), expected) << "round " << round;
      for (std::uintptr_t byte = both.begin; byte < both.end; ++byte)
        ASSERT_TRUE(sides[0].bytes.count(byte) && sides[1].bytes.count(byte));
      ++(expected ? shared : apart);
    }
    EXPECT_GT(shared, 200);
    EXPECT_GT(apart, 200);
    EXPECT_GT(held_twice, 200);
  });
}

TEST(Overlap, OfTheColumnsOfAMatrixIsNone) {
  with_process([](Process& process) {
    int matrix[8][8];
    const Ref<Datatype> column = vector_of_ints(process, 8, 1, 8);
    const Area first(&matrix[0][0], 1, column.get()), second(&matrix[0][1], 1, column.get());
    EXPECT_TRUE(shared_bytes(first, second).empty());
    const Area row(&matrix[3][0], 8, type(process, kMpiInt));
    const ByteSpan both = shared_bytes(row, second);
    EXPECT_EQ(both.begin, reinterpret_cast<std::uintptr_t>(&matrix[3][1]));
    EXPECT_EQ(both.bytes(), sizeof(int));
  });
}

TEST(Overlap, LeavesAloneWhatHasTooManyRuns) {
  with_process([](Process& process) {
    std::vector<int> data(1 << 18);
    const Ref<Datatype> every_other = vector_of_ints(process, 1 << 17, 1, 2);
    const Area area(data.data(), 1, every_other.get());
    EXPECT_FALSE(runs_of(area));
    EXPECT_TRUE(shared_bytes(area, Area(data.data(), 1, type(process, kMpiInt))).empty());
  });
}

TEST(Checksum, CountsTheBytesOfTheTypeAlone) {
  with_process([](Process& process) {
    int matrix[4][4] = {};
    const Ref<Datatype> column = vector_of_ints(process, 4, 1, 4);
    const Area area(&matrix[0][1], 1, column.get());
    const std::uint64_t before = checksum_of(area);
    matrix[2][2] = 1;
    EXPECT_EQ(checksum_of(area), before);
    matrix[2][1] = 1;
    EXPECT_NE(checksum_of(area), before);
    char text[13] = "abcdefghijkl";
    const Area bytes(text, 13, type(process, kMpiByte));
    const std::uint64_t sum = checksum_of(bytes);
    for (char& one : text) {
      one = static_cast<char>(one ^ 1);
      EXPECT_NE(checksum_of(bytes), sum);
      one = static_cast<char>(one ^ 1);
    }
    EXPECT_EQ(checksum_of(bytes), sum);
  });
}

TEST(Overlap, TellsWhatLiesInNoMemory) {
  with_process([](Process& process) {
    int value = 0;
    EXPECT_FALSE(is_out_of_memory({&value, 1, type(process, kMpiInt)}));
    EXPECT_TRUE(is_out_of_memory({reinterpret_cast<void*>(64), 1, type(process, kMpiInt)}));
    EXPECT_FALSE(is_out_of_memory({nullptr, 0, type(process, kMpiInt)}));
    const Ref<Datatype> backwards = vector_of_ints(process, 2, 1, -(1 << 20));
    EXPECT_TRUE(is_out_of_memory({reinterpret_cast<void*>(4096), 1, backwards.get()}));
  });
}

}  // namespace
}  // namespace tasuki::test
