// The MPICH ABI as the binding sees it: its mpi.h, the maps of its constants, how a handle is coded, and how
// a status is laid out. See standard/abi.hpp, which offers the same names.
//
// A handle is an int. Predefined ones have fixed values with bit 31 clear, pair types excepted (0x8c00000N);
// ours are the values of the handle table (handle_table.hpp) with bit 31 set. The table numbers its kinds so
// that none of ours looks like a pair type. An MPI_File is such an int as a pointer.
#pragma once

#include <cstdint>

#include "base/predefined.hpp"
#include "base/types.hpp"
#include "generated/binding/abi/mpich/abi_tables_mpich.hpp"
#include "generated/binding/abi/mpich/mpi.h"

namespace tasuki::abi {

using namespace abi_mpich;

using Bits = std::uint32_t;  // a handle of any kind, as a number

inline constexpr const char* kName = "the MPICH ABI";
inline constexpr int kAbiMajor = -1;
inline constexpr int kAbiMinor = -1;

inline Bits bits_of(int handle) {
  return static_cast<Bits>(handle);
}
inline Bits bits_of(MPI_File handle) {
  return static_cast<Bits>(reinterpret_cast<std::uintptr_t>(handle));
}
template <class Handle>
Handle handle_of(Bits bits) {
  return (Handle)(std::intptr_t)(int)bits;  // an int, or a pointer
}

inline constexpr Bits kUserBit = 0x80000000;
constexpr std::uint32_t table_value(Bits bits) {
  return (bits & kUserBit) != 0 ? bits & ~kUserBit : 0;
}
constexpr Bits bits_of_table_value(std::uint32_t value) {
  return value | kUserBit;
}
constexpr std::uint16_t predefined_number(Bits bits) {
  return number_of_handle(bits);
}

constexpr int int_of_bits(Bits bits) {
  return static_cast<int>(bits);
}
constexpr Bits bits_of_int(int value) {
  return static_cast<Bits>(value);
}

inline bool is_in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE;
}

/// Status: 63 bits of bytes, of which the upper 31 lie above the cancelled bit.
inline void write_status(const Status& status, MPI_Status* to) {
  const auto bytes = static_cast<std::uint64_t>(status.bytes);
  to->count_lo = static_cast<int>(bytes & 0xffffffff);
  to->count_hi_and_cancelled = static_cast<int>((bytes >> 32) << 1 | (status.cancelled ? 1 : 0));
  to->MPI_SOURCE = rank_from_core(status.source);
  to->MPI_TAG = tag_from_core(status.tag);
}
inline Status read_status(const MPI_Status& from) {
  Status status;
  const auto high = static_cast<std::uint32_t>(from.count_hi_and_cancelled);
  status.source = rank_to_core(from.MPI_SOURCE);
  status.tag = tag_to_core(from.MPI_TAG);
  status.error = error_to_core(from.MPI_ERROR);
  status.bytes =
      static_cast<Count>(std::uint64_t{high >> 1} << 32 | static_cast<std::uint32_t>(from.count_lo));
  status.cancelled = (high & 1) != 0;
  return status;
}

}  // namespace tasuki::abi
