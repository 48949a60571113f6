// The maps between each ABI and the core: every constant goes over and back, and what is no constant stays
// none.
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

#include "base/error.hpp"
#include "base/predefined.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "generated/binding/abi/mpich/abi_tables_mpich.hpp"
#include "generated/binding/abi/standard/abi_tables_standard.hpp"

namespace tasuki {
namespace {

using Map = int (*)(int);

/// How many values of first..last have a constant, all of which must come back from the other side.
int round_trips(Map there, Map back, int first, int last) {
  int constants = 0;
  for (int value = first; value <= last; ++value) {
    const int other = there(value);
    if (other == abi_mpich::kNoConstant) continue;
    EXPECT_EQ(back(other), value);
    ++constants;
  }
  return constants;
}

TEST(AbiTables, MpichEnumerationsGoOverAndBack) {
  namespace abi = abi_mpich;
  EXPECT_EQ(round_trips(abi::thread_level_to_core, abi::thread_level_from_core, -9, 5000), 4);
  EXPECT_EQ(round_trips(abi::comparison_to_core, abi::comparison_from_core, -9, 999), 4);
  EXPECT_EQ(round_trips(abi::topology_to_core, abi::topology_from_core, -9, 999), 3);
  EXPECT_EQ(round_trips(abi::split_type_to_core, abi::split_type_from_core, -9, 999), 4);
  EXPECT_EQ(round_trips(abi::combiner_to_core, abi::combiner_from_core, -9, 999), 17);
  EXPECT_EQ(round_trips(abi::order_to_core, abi::order_from_core, -9, 999), 2);
  EXPECT_EQ(round_trips(abi::distribution_to_core, abi::distribution_from_core, -9, 999), 3);
  EXPECT_EQ(round_trips(abi::typeclass_to_core, abi::typeclass_from_core, -9, 999), 3);
  EXPECT_EQ(round_trips(abi::lock_type_to_core, abi::lock_type_from_core, -9, 999), 2);
  EXPECT_EQ(round_trips(abi::win_flavor_to_core, abi::win_flavor_from_core, -9, 999), 4);
  EXPECT_EQ(round_trips(abi::win_model_to_core, abi::win_model_from_core, -9, 999), 2);
  EXPECT_EQ(round_trips(abi::seek_to_core, abi::seek_from_core, -9, 999), 3);
  EXPECT_EQ(round_trips(abi::verbosity_to_core, abi::verbosity_from_core, -9, 999), 9);
  EXPECT_EQ(round_trips(abi::bind_to_core, abi::bind_from_core, -9, 20000), 12);
  EXPECT_EQ(round_trips(abi::scope_to_core, abi::scope_from_core, -9, 99999), 7);
  EXPECT_EQ(round_trips(abi::pvar_class_to_core, abi::pvar_class_from_core, -9, 999), 10);
  EXPECT_EQ(round_trips(abi::source_order_to_core, abi::source_order_from_core, -9, 999), 2);
  EXPECT_EQ(round_trips(abi::cb_safety_to_core, abi::cb_safety_from_core, -9, 999), 4);
  EXPECT_EQ(round_trips(abi::file_mode_to_core, abi::file_mode_from_core, -9, 0xffff), 1 << 9);
  EXPECT_EQ(round_trips(abi::win_assert_to_core, abi::win_assert_from_core, -9, 0x1ffff), 1 << 5);
}

TEST(AbiTables, MpichEnumerationsKnowTheirNames) {
  namespace abi = abi_mpich;
  EXPECT_EQ(abi::thread_level_to_core(3), static_cast<int>(ThreadLevel::kMultiple));
  EXPECT_EQ(abi::comparison_from_core(static_cast<int>(Comparison::kUnequal)), 3);
  EXPECT_EQ(abi::combiner_from_core(109), 19);            // HINDEXED_BLOCK, out of order in the MPICH ABI
  EXPECT_EQ(abi::file_mode_to_core(1 | 8), 2 | 32);       // CREATE | RDWR
  EXPECT_EQ(abi::win_assert_from_core(8192), 2048);       // NOSTORE
  EXPECT_EQ(abi::combiner_to_core(5), abi::kNoConstant);  // HVECTOR_INTEGER: the core never makes one
}

TEST(AbiTables, MpichRanksAndTags) {
  namespace abi = abi_mpich;
  EXPECT_EQ(abi::rank_to_core(-1), kProcNull);
  EXPECT_EQ(abi::rank_to_core(-2), kAnySource);
  EXPECT_EQ(abi::rank_to_core(-3), kRoot);
  EXPECT_EQ(abi::rank_to_core(kUndefined), kUndefined);
  EXPECT_EQ(abi::rank_to_core(7), 7);
  EXPECT_EQ(abi::rank_to_core(-4), -2) << "-4 is the core's MPI_ROOT, not this ABI's";
  EXPECT_EQ(round_trips(abi::rank_to_core, abi::rank_from_core, -40000, 9), 40010);
  EXPECT_EQ(abi::tag_to_core(-1), kAnyTag);
  EXPECT_EQ(abi::tag_from_core(kAnyTag), -1);
  EXPECT_EQ(abi::tag_to_core(-2), -1) << "-2 is the core's MPI_ANY_TAG, not this ABI's";
  EXPECT_EQ(round_trips(abi::tag_to_core, abi::tag_from_core, -40000, 9), 40010);
  EXPECT_EQ(abi::tag_to_core(kTagMax), kTagMax);
}

TEST(AbiTables, DefaultDistributionArgumentIsNoBlockSize) {
  EXPECT_EQ(abi_standard::darg_to_core(19), kDistributeDefaultArg);
  EXPECT_EQ(abi_standard::darg_from_core(kDistributeDefaultArg), 19);
  EXPECT_EQ(abi_mpich::darg_to_core(-49767), kDistributeDefaultArg);
  EXPECT_EQ(abi_mpich::darg_to_core(19), 19);
  EXPECT_EQ(abi_mpich::darg_from_core(kDistributeDefaultArg), -49767);
}

TEST(AbiTables, MpichKeyvals) {
  namespace abi = abi_mpich;
  EXPECT_EQ(abi::keyval_to_core(0x64400001), kTagUb);
  EXPECT_EQ(abi::keyval_from_core(kWinModel), 0x66000009);
  EXPECT_EQ(abi::keyval_to_core(0x24000000), kKeyvalInvalid);
  EXPECT_EQ(abi::keyval_from_core(kKeyvalInvalid), 0x24000000);
  EXPECT_EQ(abi::keyval_to_core(kTagUb), abi::kNoConstant) << "501 is the core's key, not this ABI's";
  for (int key : std::initializer_list<int>{kTagUb, kIo, kHost, kWtimeIsGlobal, kAppnum, kLastusedcode,
                                            kUniverseSize, kWinBase, kWinDispUnit, kWinSize, kWinCreateFlavor,
                                            kWinModel, kKeyvalUserFirst, kKeyvalUserFirst + 12345}) {
    EXPECT_EQ(abi::keyval_to_core(abi::keyval_from_core(key)), key);
  }
  EXPECT_EQ(abi::kKeyvalUserFirst, kKeyvalUserFirst);
}

TEST(AbiTables, MpichErrors) {
  namespace abi = abi_mpich;
  EXPECT_EQ(abi::error_from_core(kSuccess), 0);
  EXPECT_EQ(abi::error_from_core(kErrTruncate), 14);
  EXPECT_EQ(abi::error_from_core(kErrTruncate | 5 << 16), 14 | 5 << 16);
  EXPECT_EQ(abi::error_to_core(14 | 5 << 16), kErrTruncate | 5 << 16);
  EXPECT_EQ(abi::error_from_core(kErrLastcode), 0x3fffffff);
  EXPECT_GT(abi::error_from_core(kUserErrorFirst), 0x3fffffff)
      << "a user's class lies above MPI_ERR_LASTCODE";
  EXPECT_EQ(abi::error_to_core(54), abi::kNoConstant);
  EXPECT_EQ(abi::error_to_core(-1), abi::kNoConstant);
  int classes = 0;
  for (int error = 0; error <= 0xffff; ++error) {
    if (abi::error_from_core(error) != abi::kNoConstant) {
      EXPECT_EQ(abi::error_to_core(abi::error_from_core(error)), error);
      if (error < kUserErrorFirst) ++classes;
    }
  }
  EXPECT_EQ(classes, 82);
}

TEST(AbiTables, PredefinedHandlesOfBothAbisNameTheSameObjects) {
  std::set<std::uint32_t> handles;
  int objects = 0;
  for (std::uint16_t number = 0; number < kPredefinedCount; ++number) {
    const std::uint32_t handle = abi_mpich::handle_of_number(number);
    const bool is_mpich_only = number == kMpixCFloat16 || number == kMpiLb || number == kMpiUb;
    const bool in_both = handle != 0 && !is_mpich_only;
    EXPECT_EQ(abi_standard::number_of_handle(number), in_both ? number : 0);
    if (handle == 0) continue;
    EXPECT_EQ(abi_mpich::number_of_handle(handle), number);
    EXPECT_TRUE(handles.insert(handle).second) << number;
    ++objects;
  }
  EXPECT_EQ(objects, 2 + 1 + 73 + 14 + 3 + 1 + 1)
      << "comms, groups, datatypes, ops, errhandlers, info, message";
}

TEST(AbiTables, HandlesThatNameNoPredefinedObject) {
  EXPECT_EQ(abi_mpich::number_of_handle(0x44000000), kMpiCommWorld);
  EXPECT_EQ(abi_mpich::number_of_handle(0x8c000002), kMpiLongInt);
  for (std::uint32_t handle : {0u, 0x04000000u, 0x0c000000u, 0x2c000000u, 0x4c000012u, 0x44000002u,
                               0x84000000u, 0x8c000005u, 0x4c000405u ^ 0x100u, 0xffffffffu}) {
    EXPECT_EQ(abi_mpich::number_of_handle(handle), 0) << std::hex << handle;
  }
  for (std::uintptr_t handle : {std::uintptr_t{0}, std::uintptr_t{256}, std::uintptr_t{512},
                                std::uintptr_t{1024}, std::uintptr_t{4096}, ~std::uintptr_t{0}}) {
    EXPECT_EQ(abi_standard::number_of_handle(handle), 0) << handle;
  }
}

TEST(AbiTables, BufferSentinels) {
  EXPECT_EQ(abi_mpich::buffer_to_core(reinterpret_cast<void*>(-1)), kInPlace);
  EXPECT_EQ(abi_mpich::buffer_to_core(reinterpret_cast<void*>(-2)), kBufferAutomatic);
  EXPECT_EQ(abi_mpich::buffer_from_core(kBufferAutomatic), reinterpret_cast<void*>(-2));
  int here = 0;
  EXPECT_EQ(abi_mpich::buffer_to_core(&here), &here);
  EXPECT_EQ(abi_standard::buffer_to_core(reinterpret_cast<void*>(1)), kInPlace);
}

}  // namespace
}  // namespace tasuki
