// The datatypes of the array sections that were used last. A program that exchanges halos names the same few
// sections again and again, and to make, commit and free their datatypes costs more than a short message.
//
// A section is known by its shape, not by where it lies. Only datatypes of predefined elements are kept: a
// datatype of the program's own may be freed, and its handle be given to another.
//
// They are freed at the beginning of MPI_Finalize, by an attribute of MPI_COMM_SELF; without MPI_COMM_SELF,
// in a program that has sessions alone, none is kept.
//
// Thread safety: a lock guards the table. A datatype that a call is using stays until the call ends.
#pragma once

#include <atomic>
#include <cstdint>

#include "fortran/section.hpp"

namespace tasuki::fortran {

/// What a section's datatype depends on.
struct Shape {
  std::int64_t count;  // of the call
  std::int64_t element_bytes;
  std::int32_t type;  // of the call, predefined
  std::int32_t rank;
  std::int64_t extents[Section::kKeptRankMax];
  std::int64_t strides_bytes[Section::kKeptRankMax];

  bool operator==(const Shape& other) const;
};

struct KeptType {
  Shape shape;
  MPI_Datatype type;
  std::uint32_t last_use;  // 0: none is here
  std::atomic<std::uint32_t> users;
};

/// The datatype of this shape, or null. A call that has one gives it back.
KeptType* find_kept(const Shape& shape);
/// Takes over a datatype of this shape that was made for a call; null where there is no room for it.
KeptType* keep_type(const Shape& shape, MPI_Datatype type);
inline void give_back(KeptType* kept) {
  kept->users.fetch_sub(1, std::memory_order_release);
}

}  // namespace tasuki::fortran
