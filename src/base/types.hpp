// The core's own scalar types, sentinels and status. The core knows no ABI: the binding maps each
// ABI's constants to these. Where a value is free we took the one of the MPI-5.0 standard ABI, so that
// the map of that ABI is the identity.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki {

using Count = std::int64_t;     // MPI_Count, and every count inside the core
using Aint = std::intptr_t;     // MPI_Aint
using Offset = std::int64_t;    // MPI_Offset
using Code = int;               // an error code: 0 is success; see base/error.hpp
using Context = std::uint64_t;  // identifies a communicator's message space, in all jobs that meet

inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -2;
inline constexpr int kProcNull = -3;
inline constexpr int kRoot = -4;
inline constexpr int kUndefined = -32766;
inline constexpr int kTagMax = 0x3fffffff;  // MPI_TAG_UB
inline constexpr int kBsendOverhead = 96;   // bytes; MPI_BSEND_OVERHEAD of either ABI is at least this

/// Buffer sentinels: addresses that no user buffer has. The binding replaces its ABI's by these.
inline void* const kInPlace = reinterpret_cast<void*>(1);          // MPI_IN_PLACE
inline void* const kBufferAutomatic = reinterpret_cast<void*>(2);  // MPI_BUFFER_AUTOMATIC

/// Weights of a distributed graph: addresses that no user array has.
inline int* const kUnweighted = reinterpret_cast<int*>(4);    // MPI_UNWEIGHTED
inline int* const kWeightsEmpty = reinterpret_cast<int*>(8);  // MPI_WEIGHTS_EMPTY

enum class ThreadLevel : int { kSingle = 0, kFunneled = 1024, kSerialized = 2048, kMultiple = 4096 };

/// What a reduction's bits are not to depend on: the values of TASUKI_REPEATABLE_REDUCTIONS.
enum class Repeatable : std::uint8_t {
  kNo,
  kOrder,  // the algorithm and the nodes: combined in the one order of coll/algorithm/order.hpp
  kExact,  // nor the order and the number of ranks: reduction/exact.hpp
};

enum class Comparison : int { kIdent = 201, kCongruent = 202, kSimilar = 203, kUnequal = 204 };

/// The outcome of a completed receive (or any request). `bytes` is the packed size that arrived.
struct Status {
  int source = kAnySource;
  int tag = kAnyTag;
  Code error = 0;
  bool cancelled = false;
  Count bytes = 0;
};

/// The empty status of MPI 3.7.3: what a null or inactive request gives.
inline constexpr Status kEmptyStatus{};

/// A read-only view of a user's array of counts or displacements, either `int` or 64 bit wide
/// (the `_c` forms), so that neither form is copied.
class CountArray {
 public:
  CountArray() = default;
  explicit CountArray(const int* values) : narrow_(values) {}
  explicit CountArray(const std::int64_t* values) : wide_(values) {}
  Count operator[](std::size_t index) const { return wide_ ? wide_[index] : narrow_[index]; }
  explicit operator bool() const { return wide_ || narrow_; }

 private:
  const int* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
};

/// A user's callback of any signature; the binding, which knows the ABI, casts it back and calls it.
using AnyFunction = void (*)();

}  // namespace tasuki
