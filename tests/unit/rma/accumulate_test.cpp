// Combining elements: that every operation and type gives what a reduction gives, at any address and with any
// datatype of the target, and that ranks that combine at once lose nothing, whichever way they take.
#include "rma/access/accumulate.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/predefined.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "support/lock_users.hpp"
#include "support/world.hpp"

namespace tasuki::rma {
namespace {

constexpr std::uint16_t kOps[] = {kMpiSum,    kMpiProd,   kMpiMin,     kMpiMax, kMpiBand,
                                  kMpiBor,    kMpiBxor,   kMpiLand,    kMpiLor, kMpiLxor,
                                  kMpiMinloc, kMpiMaxloc, kMpiReplace, kMpiNoOp};

Datatype& predefined_type(Process& process, std::uint16_t number) {
  return *static_cast<Datatype*>(process.objects->predefined[number]);
}

/// Small values that every representation has, packed.
std::vector<std::byte> values(const Datatype& type, int count, int seed) {
  std::vector<std::byte> packed(static_cast<std::size_t>(type.size * count));
  const BasicInfo& info = *basic_info(type);
  for (int i = 0; i < count; ++i) {
    std::byte* place = packed.data() + type.size * i;
    const int value = (seed * 7 + i * 3) % 5 + 1;
    if (info.representation == Representation::kFloating && info.size == 8) {
      const double number = value;
      std::memcpy(place, &number, sizeof number);
    } else if (info.representation == Representation::kFloating && info.size == 4) {
      const float number = static_cast<float>(value);
      std::memcpy(place, &number, sizeof number);
    } else if (info.representation == Representation::kFloating && !info.quad && info.size == 16) {
      const long double number = value;
      std::memset(place, 0, sizeof number);
      std::memcpy(place, &number, 10);
    } else if (info.predefined == kMpiDoubleInt) {
      const double number = value;
      std::memcpy(place, &number, sizeof number);
      std::memcpy(place + 8, &value, sizeof value);
    } else {
      place[0] = static_cast<std::byte>(value);  // of integers and pairs of integers: little-endian
    }
  }
  return packed;
}

/// Of a long double of the x87, 10 of its 16 bytes have a meaning; what an operation leaves in the others has
/// none.
void clear_padding(const Datatype& type, std::vector<std::byte>* packed) {
  const BasicInfo& info = *basic_info(type);
  const bool is_floating =
      info.representation == Representation::kFloating || info.representation == Representation::kComplex;
  const int parts = info.representation == Representation::kComplex ? 2 : 1;
  if (!is_floating || info.quad || info.size != 16 * parts || LDBL_MANT_DIG != 64) return;
  for (std::size_t i = 0; i < packed->size(); ++i) {
    if (i % 16 >= 10) (*packed)[i] = std::byte{0};
  }
}

constexpr int kCount = 300;

/// What `ranks` origins and one target share, as a window has it.
struct Shared {
  explicit Shared(int ranks, GuardRules its_rules = {})
      : marks(static_cast<std::size_t>(ranks)), rules(its_rules) {
    for (int rank = 0; rank < ranks; ++rank) users.push_back(std::make_unique<TestLockUser>(rank, ranks));
    part.way.store(rules.first);
    can_change = allow_barriers_of_others();
  }
  ElementGuard guard(int rank, const std::byte* base) {
    return {part,
            marks.data(),
            rank,
            static_cast<int>(marks.size()),
            base,
            rules,
            *users[static_cast<std::size_t>(rank)]};
  }

  PartGuard part{};
  std::vector<OriginMark> marks;
  GuardRules rules;
  std::vector<std::unique_ptr<TestLockUser>> users;
  bool can_change;
};

/// By instructions for ever; under locks from the start; by instructions at first; alone.
const std::vector<GuardRules> kRules = {guard_rules(1, true), guard_rules(0, false), guard_rules(0, true)};

/// Combines at `shift` bytes behind an aligned address and compares with the kernel on aligned arrays.
void check(Process& process, std::uint16_t op, std::uint16_t basic, std::size_t shift,
           const ElementGuard& guard) {
  Combination how;
  if (!make_combination(op, basic, &how)) return;
  Datatype& type = predefined_type(process, basic);
  const auto extent = static_cast<std::size_t>(type.extent);
  std::vector<std::byte> memory(extent * kCount + 64, std::byte{0});
  auto* base =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 31) / 32 * 32) + shift;
  const std::vector<std::byte> before = values(type, kCount, 1);
  const std::vector<std::byte> operand = values(type, kCount, 2);
  PackCursor(type, kCount).unpack(base, before.data(), before.size());

  std::vector<std::byte> in(extent * kCount + 32), expected(extent * kCount + 32);
  auto* in_structs =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(in.data()) + 15) / 16 * 16);
  auto* structs =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(expected.data()) + 15) / 16 * 16);
  PackCursor(type, kCount).unpack(in_structs, operand.data(), operand.size());
  PackCursor(type, kCount).unpack(structs, op == kMpiReplace ? operand.data() : before.data(), before.size());
  if (how.kernel != nullptr) how.kernel(in_structs, structs, structs, kCount);
  std::vector<std::byte> wanted(before.size());
  PackCursor(type, kCount).pack(structs, wanted.data(), wanted.size());
  clear_padding(type, &wanted);

  std::vector<std::byte> old(before.size());
  combine(how, {base, kCount, &type, guard}, 0, type.size * kCount, operand.data(), old.data());
  std::vector<std::byte> after(before.size());
  PackCursor(type, kCount).pack(base, after.data(), after.size());
  clear_padding(type, &after);
  EXPECT_EQ(old, before) << "op " << op << " on " << type.name << " at +" << shift;
  EXPECT_EQ(after, wanted) << "op " << op << " on " << type.name << " at +" << shift;

  // The same of arrays.
  std::vector<std::byte> old_structs(extent * kCount);
  PackCursor(type, kCount).unpack(base, before.data(), before.size());
  combine_array(how, guard, base, kCount, in_structs, old_structs.data());
  PackCursor(type, kCount).pack(base, after.data(), after.size());
  PackCursor(type, kCount).pack(old_structs.data(), old.data(), old.size());
  clear_padding(type, &after);
  EXPECT_EQ(old, before) << "op " << op << " on an array of " << type.name << " at +" << shift;
  EXPECT_EQ(after, wanted) << "op " << op << " on an array of " << type.name << " at +" << shift;
}

TEST(Accumulate, GivesWhatAReductionGivesAtAnyAddress) {
  test::run_ranks(1, [](Process& process) {
    int combinations = 0;
    for (std::uint16_t basic = 1; basic < kPredefinedCount; ++basic) {
      const BasicInfo* info = basic_info(basic);
      if (info == nullptr || info->size == 0) continue;
      for (const std::uint16_t op : kOps) {
        Combination how;
        combinations += make_combination(op, basic, &how);
        for (const std::size_t shift : {0, 1, 2, 4, 8}) {
          check(process, op, basic, shift, ElementGuard());
          for (const GuardRules& rules : kRules) {
            Shared shared(2, rules);
            check(process, op, basic, shift, shared.guard(0, nullptr));
          }
        }
      }
    }
    EXPECT_GT(combinations, 300);
  });
}

TEST(Accumulate, RefusesWhatIsNotDefined) {
  Combination how;
  EXPECT_FALSE(make_combination(kMpiBand, kMpiDouble, &how));
  EXPECT_FALSE(make_combination(kMpiSum, kMpiWchar, &how));
  EXPECT_FALSE(make_combination(kMpiMaxloc, kMpiInt, &how));
  EXPECT_FALSE(make_combination(kMpiSum, 0, &how));
  EXPECT_FALSE(make_combination(0, kMpiInt, &how));
  EXPECT_TRUE(make_combination(kMpiReplace, kMpiWchar, &how));
}

TEST(Accumulate, KnowsTheBasicTypeOfDerivedOnes) {
  test::run_ranks(1, [](Process& process) {
    Datatype *pairs = nullptr, *mixed = nullptr, *nested = nullptr;
    Datatype& pair = predefined_type(process, kMpiShortInt);
    ASSERT_EQ(api::type_contiguous(process, 3, &pair, &pairs, false), 0);
    ASSERT_EQ(api::type_vector(process, 2, 1, 2, pairs, &nested, false), 0);
    EXPECT_EQ(basic_type_of(*nested), basic_info(kMpiShortInt));
    Datatype* const parts[] = {&predefined_type(process, kMpiInt), &predefined_type(process, kMpiDouble)};
    const int lengths[] = {1, 1};
    const std::int64_t places[] = {0, 8};
    ASSERT_EQ(
        api::type_create_struct(process, 2, CountArray(lengths), CountArray(places), parts, &mixed, false),
        0);
    EXPECT_EQ(basic_type_of(*mixed), nullptr);
    for (Datatype** type : {&nested, &pairs, &mixed}) api::type_free(process, type);
  });
}

constexpr int kThreads = 8;

/// Eight threads, each an origin, do `body(rank, guard)`.
template <class Body>
void run_origins(Shared& shared, const std::byte* base, Body&& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kThreads; ++rank) {
    threads.emplace_back([&, rank] { body(rank, shared.guard(rank, base)); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Accumulate, NothingIsLostAmongThreads) {
  test::run_ranks(1, [](Process& process) {
    alignas(16) std::array<std::byte, 64> memory{};
    const auto add = [&]<class T>(std::uint16_t basic, std::size_t shift, T, const GuardRules& rules) {
      memory.fill(std::byte{0});
      Datatype& type = predefined_type(process, basic);
      Combination how;
      ASSERT_TRUE(make_combination(kMpiSum, basic, &how));
      const T one = 1;
      std::vector<std::byte> operand(sizeof one);
      std::memcpy(operand.data(), &one, sizeof one);
      Shared shared(kThreads, rules);
      run_origins(shared, memory.data(), [&](int, const ElementGuard& guard) {
        for (int round = 0; round < 2000; ++round) {
          combine(how, {memory.data() + shift, 1, &type, guard}, 0, type.size, operand.data(), nullptr);
        }
      });
      T sum;
      std::memcpy(&sum, memory.data() + shift, sizeof sum);
      EXPECT_EQ(sum, T{16000}) << basic << " at +" << shift;
    };
    for (const GuardRules& rules : kRules) {
      add(kMpiInt, 4, int{}, rules);                    // a fetching addition, or the lock of the block
      add(kMpiInt, 3, int{}, rules);                    // an odd address: the lock
      add(kMpiDouble, 8, double{}, rules);              // compare-and-swap
      add(kMpiLongDouble, 16, (long double){}, rules);  // the lock
    }
  });
}

/// Four origins add single elements, the others long runs that overlap them and cross blocks; the way changes
/// meanwhile. `T`: of the elements.
template <class T>
void mix_sizes(Process& process, std::uint16_t basic, int round) {
  constexpr int kElements = 1500;
  constexpr int kRounds = 300;
  Datatype& type = predefined_type(process, basic);
  Combination how;
  ASSERT_TRUE(make_combination(kMpiSum, basic, &how));
  alignas(64) static std::array<T, kElements> memory;
  memory.fill(T{});
  const std::vector<T> ones(kElements, T{1});
  const auto* in = reinterpret_cast<const std::byte*>(ones.data());
  Shared shared(kThreads);
  auto* const base = reinterpret_cast<std::byte*>(memory.data());
  run_origins(shared, base, [&](int rank, const ElementGuard& guard) {
    for (int i = 0; i < kRounds; ++i) {
      if (rank >= kThreads / 2) {
        if (i < round * 10) continue;  // so that the change comes amid the single ones
        combine(how, {base, kElements, &type, guard}, 0, type.size * kElements, in, nullptr);
        continue;
      }
      for (int at = rank; at < kElements; at += 37)
        combine_array(how, guard, base + static_cast<std::size_t>(at) * sizeof(T), 1, in, nullptr);
    }
  });
  for (int at = 0; at < kElements; ++at) {
    int singles = 0;
    for (int rank = 0; rank < kThreads / 2; ++rank) singles += at >= rank && (at - rank) % 37 == 0;
    const int sums = singles * kRounds + kThreads / 2 * (kRounds - round * 10);
    ASSERT_EQ(memory[static_cast<std::size_t>(at)], static_cast<T>(sums)) << type.name << " " << at;
  }
}

TEST(Accumulate, LargeAndSmallOnesThatMeetLoseNothing) {
  test::run_ranks(1, [](Process& process) {
    for (int round = 0; round < 8; ++round) {
      mix_sizes<double>(process, kMpiDouble, round);
      mix_sizes<int>(process, kMpiInt, round);
      mix_sizes<long double>(process, kMpiLongDouble, round);
      mix_sizes<std::uint16_t>(process, kMpiUint16T, round);
    }
  });
}

TEST(Accumulate, ManyWordsChangeTheWayAndFewDoNot) {
  test::run_ranks(1, [](Process& process) {
    Datatype& type = predefined_type(process, kMpiInt);
    Combination how;
    ASSERT_TRUE(make_combination(kMpiSum, kMpiInt, &how));
    std::vector<int> memory(100), ones(100, 1);
    auto* const base = reinterpret_cast<std::byte*>(memory.data());
    const auto add = [&](Shared& shared, Count count) {
      combine(how, {base, count, &type, shared.guard(1, base)}, 0, type.size * count,
              reinterpret_cast<const std::byte*>(ones.data()), nullptr);
      return shared.part.way.load();
    };
    Shared shared(2);
    if (!shared.can_change) GTEST_SKIP() << "this system has no membarrier";
    EXPECT_EQ(add(shared, shared.rules.many_words - 1), WordWay::kInstructions);
    EXPECT_EQ(add(shared, shared.rules.many_words), WordWay::kLocks);
    EXPECT_EQ(add(shared, 1), WordWay::kLocks) << "it stays";
    Shared fine(2, guard_rules(4, true));
    EXPECT_EQ(add(fine, 100), WordWay::kInstructions) << "the hint wants each word by itself";
    EXPECT_EQ(memory[0], 4);
  });
}

TEST(Accumulate, TheGranularityIsThatOfTheBlocks) {
  EXPECT_EQ(guard_rules(0, true), GuardRules());
  EXPECT_EQ(guard_rules(0, false).first, WordWay::kLocks);
  EXPECT_EQ(guard_rules(8, false).first, WordWay::kInstructions);
  EXPECT_EQ(guard_rules(8, true).many_words, INT64_MAX);
  EXPECT_EQ(guard_rules(9, true).block_bits, 8u);
  EXPECT_EQ(guard_rules(1000, true).block_bits, 10u);
  EXPECT_EQ(guard_rules(999'999'999, true).block_bits, 16u);
  EXPECT_EQ(guard_rules(1000, true).first, WordWay::kLocks);
}

// A rank that died amid an instruction, or amid a change of the way, ends the wait for it.
TEST(ElementGuardDeathTest, EndsAWaitForARankThatDied) {
  Shared shared(2);
  if (!shared.can_change) GTEST_SKIP() << "the system runs no barriers of other processes";
  const int child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const TestLockUser user(0, 2, {{}, {child, 0, own_numbering()}});
  const ElementGuard guard(shared.part, shared.marks.data(), 0, 2, nullptr, shared.rules, user);
  const auto exits = testing::ExitedWithCode(7);
  const char* const dead = "user 1 died while it held a lock";
  shared.marks[1].inside.hold(*shared.users[1]);
  EXPECT_EXIT(guard.demand_locks(), exits, dead);
  shared.marks[1].inside.unlock();
  shared.part.change.lock(*shared.users[1]);
  shared.part.way.store(WordWay::kChanging);
  EXPECT_EXIT(guard.demand_locks(), exits, dead);
  EXPECT_EXIT(static_cast<void>(guard.enter()), exits, dead);
}

TEST(ElementGuardDeathTest, EndsTheJobWhereTheWayIsDamaged) {
  for (const WordWay way : {WordWay::kChanging, WordWay{9}}) {  // which nobody changes
    Shared shared(2);
    shared.part.way.store(way);
    const ElementGuard guard = shared.guard(0, nullptr);
    const std::string told = "how words of a window are combined is " +
                             std::to_string(static_cast<int>(way)) + ", which none of them writes";
    EXPECT_EXIT(guard.demand_locks(), testing::ExitedWithCode(7), told);
    EXPECT_EXIT(static_cast<void>(guard.enter()), testing::ExitedWithCode(7), told);
  }
}

void check_compare_and_swap(const ElementGuard& guard) {
  for (const std::uint16_t basic : {kMpiInt8T, kMpiInt16T, kMpiInt32T, kMpiInt64T, kMpiInteger16}) {
    const BasicInfo& type = *basic_info(basic);
    ASSERT_TRUE(can_compare_and_swap(type)) << type.name;
    for (const std::size_t shift : {0, 1}) {
      alignas(16) std::array<std::byte, 64> memory{};
      std::array<std::byte, 16> compare{}, origin{}, result{};
      origin[0] = std::byte{9};
      std::byte* place = memory.data() + shift;
      compare_and_swap(type, guard, place, compare.data(), origin.data(), result.data());
      EXPECT_EQ(place[0], std::byte{9});
      EXPECT_EQ(result[0], std::byte{0});
      origin[0] = std::byte{4};
      compare_and_swap(type, guard, place, compare.data(), origin.data(), result.data());
      EXPECT_EQ(place[0], std::byte{9}) << "what did not compare equal was replaced";
      EXPECT_EQ(result[0], std::byte{9});
    }
  }
}

TEST(Accumulate, CompareAndSwapTakesTheSameWays) {
  check_compare_and_swap(ElementGuard());
  for (const GuardRules& rules : kRules) {
    Shared shared(2, rules);
    check_compare_and_swap(shared.guard(1, nullptr));
  }
  EXPECT_FALSE(can_compare_and_swap(*basic_info(kMpiDouble)));
}

}  // namespace
}  // namespace tasuki::rma
