// Hashes of type signatures: two sequences of basic types are taken to be the same if their hashes are.
//
// A hash is that of the sequence, not of how it was made: 4 copies of (int, int) have that of 8 ints. Types
// of one representation count as one, whatever their names: MPI_INT and MPI_INT32_T. All integers and
// characters of one byte count as bytes: MPI wants MPI_BYTE at both ends, but programs that send MPI_CHAR to
// MPI_BYTE are many, and lose nothing.
//
// Pure; any thread may call.
#pragma once

#include <cstdint>
#include <string>

#include "base/types.hpp"
#include "datatype/signature.hpp"

namespace tasuki {

/// A hash of a sequence that those of its parts give: hash(ab) = hash(a) * power(b) + hash(b).
struct SequenceHash {
  std::uint64_t hash = 0;
  std::uint64_t power = 1;

  static SequenceHash of(std::uint64_t item) {
    constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;
    return {(item + 1) * 0xbf58476d1ce4e5b9, kBase};
  }
  friend SequenceHash operator+(SequenceHash a, SequenceHash b) {
    return {a.hash * b.power + b.hash, a.power * b.power};
  }
  SequenceHash times(Count count) const {
    SequenceHash sum, doubled = *this;
    for (; count > 0; count /= 2, doubled = doubled + doubled) {
      if (count % 2 == 1) sum = sum + doubled;
    }
    return sum;
  }
};

/// What is known of the basic types of some data.
struct BasicTypes {
  SequenceHash hash;
  std::uint16_t only = 0;  // the basic type that all of it is of
  bool mixed = false;      // there are several
  bool packed = false;     // MPI_PACKED is among them, which goes with everything

  void add(const BasicTypes& part);
};

/// Those of `count` copies of `signature`.
BasicTypes basic_types(const Signature& signature, Count count);

/// Those of the first `elements` basic elements of them, or of all where there are fewer.
BasicTypes first_basic_types(const Signature& signature, Count count, Count elements);

/// "MPI_INT", or what tells mixed types from others. `only`: BasicTypes::only, 0 where they are mixed.
std::string basic_types_text(std::uint64_t hash, std::uint16_t only);

}  // namespace tasuki
