// The MPI-5.0 standard ABI as the binding sees it: its mpi.h, the maps of its constants, how a handle is
// coded, and how a status is laid out (MPI 5.0, chapter 20).
//
// This file and mpich/abi.hpp offer the same names in namespace tasuki::abi; abi/abi.hpp chooses
// between them.
//
// A handle is a pointer-sized number: 1..4095 names a predefined object, in the core's own numbers; above
// that it is the value of the handle table (handle_table.hpp).
#pragma once

#include <cstdint>
#include <cstring>

#include "base/predefined.hpp"
#include "base/types.hpp"
#include "generated/binding/abi/standard/abi_tables_standard.hpp"
#include "mpi.h"

namespace tasuki::abi {

using namespace abi_standard;

using Bits = std::uintptr_t;  // a handle of any kind, as a number

inline constexpr const char* kName = "the MPI-5.0 standard ABI";
inline constexpr int kAbiMajor = MPI_ABI_VERSION;
inline constexpr int kAbiMinor = MPI_ABI_SUBVERSION;

template <class Handle>
Bits bits_of(Handle handle) {
  return reinterpret_cast<Bits>(handle);
}
template <class Handle>
Handle handle_of(Bits bits) {
  return reinterpret_cast<Handle>(bits);
}

/// The value of the handle table that `bits` stands for; 0 when it is none.
constexpr std::uint32_t table_value(Bits bits) {
  return bits > 4095 && bits <= 0x7fffffff ? static_cast<std::uint32_t>(bits) : 0;
}
constexpr Bits bits_of_table_value(std::uint32_t value) {
  return value;
}

/// The index into Objects::predefined that `bits` stands for; 0, where nothing lies, when it is none.
constexpr std::uint16_t predefined_number(Bits bits) {
  return bits < kPredefinedCount ? static_cast<std::uint16_t>(bits) : 0;
}

/// A handle as an int (MPI_X_toint, MPI_X_c2f) and back.
constexpr int int_of_bits(Bits bits) {
  return static_cast<int>(bits);
}
constexpr Bits bits_of_int(int value) {
  return value < 0 ? 0 : static_cast<Bits>(value);
}

inline bool is_in_place(const void* buffer) {
  return buffer == kInPlace;
}

/// Status: the count of bytes in internal[0..1], cancelled in internal[2]. Neither form touches MPI_ERROR.
inline void write_status(const Status& status, MPI_Status* to) {
  to->MPI_SOURCE = status.source;
  to->MPI_TAG = status.tag;
  std::memcpy(&to->MPI_internal[0], &status.bytes, sizeof status.bytes);
  to->MPI_internal[2] = status.cancelled;
}
inline Status read_status(const MPI_Status& from) {
  Status status;
  status.source = from.MPI_SOURCE;
  status.tag = from.MPI_TAG;
  status.error = from.MPI_ERROR;
  std::memcpy(&status.bytes, &from.MPI_internal[0], sizeof status.bytes);
  status.cancelled = from.MPI_internal[2] != 0;
  return status;
}

}  // namespace tasuki::abi
