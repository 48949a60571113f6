// Choice buffers of mpi_f08: descriptors of arrays, and sections of arrays that do not lie in one piece
// (MPI 5.0, 19.1.12 and 19.1.13).
//
// MPI sees a section as if its elements lay one after the other. Where the call takes the buffer with a count
// and a datatype, a section becomes a datatype that names its elements where they lie (Layout). Where that is
// not enough, its elements are copied into one piece and back (Piece): for reductions, which take no such
// datatype, and where several ranks' blocks lie in one section.
//
// Two kinds of descriptor come: that of ISO_Fortran_binding.h (MPI's own modules), whose first 24 bytes
// gfortran and flang fill alike, and gfortran's own, which programs pass that were built with MPICH's
// modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fortran/arguments.hpp"

namespace tasuki::fortran {

/// ISO_Fortran_binding.h's descriptor, as far as compilers agree.
struct Descriptor {
  struct Dimension {
    std::ptrdiff_t lower_bound;
    std::ptrdiff_t extent;  // -1: of an assumed-size array
    std::ptrdiff_t stride_bytes;
  };
  void* base;
  std::size_t element_bytes;
  std::uint32_t version;  // in gfortran's own: the lower half of element_bytes
  std::uint8_t rank;
  std::uint8_t rest[3];
  Dimension dimensions[15];
};

struct Shape;     // fortran/kept_types.hpp
struct KeptType;  // likewise

/// An array section: where its elements lie.
class Section {
 public:
  /// Of sections with up to so many dimensions the datatypes are kept.
  static constexpr int kKeptRankMax = 5;

  explicit Section(const Descriptor* descriptor);

  void* base() const { return base_; }
  std::size_t element_bytes() const { return element_bytes_; }
  std::int64_t elements() const { return elements_; }
  /// The elements lie one after the other.
  bool is_one_piece() const { return is_one_piece_; }

  /// Copies all elements to or from one piece of memory.
  void copy_to(std::byte* piece) const { copy<true>(piece); }
  void copy_from(const std::byte* piece) const { copy<false>(const_cast<std::byte*>(piece)); }
  /// The datatype of the first `count` elements, each of the type `element`. Returns MPI's code.
  int make_type(std::int64_t count, MPI_Datatype element, MPI_Datatype* made) const;
  /// What a datatype for `count` elements of `type` depends on. False: such datatypes are not kept.
  bool describe(std::int64_t count, MPI_Datatype type, Shape* shape) const;

 private:
  template <bool kToPiece>
  void copy(std::byte* piece) const;
  int make_prefix(int dimensions, std::int64_t count, MPI_Datatype element, MPI_Datatype* made) const;

  std::byte* base_;
  std::size_t element_bytes_;
  std::int64_t elements_ = 1;
  int rank_ = 0;  // dimensions with more than one element
  bool is_one_piece_ = true;
  std::int64_t extents_[15];
  std::ptrdiff_t strides_bytes_[15];
};

/// The buffer's address as C takes it, where it lies in one piece; sets `*is_section` where it does not.
[[gnu::noinline]] void* find_base(const Descriptor* descriptor, bool* is_section);

/// For most buffers, which are scalars or whole arrays: no call.
[[gnu::always_inline]] inline void* base_of(const Descriptor* descriptor, bool* is_section) {
  const bool is_native = (descriptor->rest[0] | descriptor->rest[1] | descriptor->rest[2]) == 0;
  auto piece_bytes = static_cast<std::ptrdiff_t>(descriptor->element_bytes);
  bool is_one_piece = !is_native;
  for (int i = 0; i < descriptor->rank && is_one_piece; ++i) {
    const Descriptor::Dimension& dimension = descriptor->dimensions[i];
    is_one_piece = dimension.stride_bytes == piece_bytes;
    piece_bytes *= dimension.extent;
  }
  return is_one_piece ? c_buffer(descriptor->base) : find_base(descriptor, is_section);
}

/// A call that is refused for a section: its name, and whose error handler hears of it.
struct Caller {
  const char* function;  // MPI_Send
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Win win = MPI_WIN_NULL;
  MPI_File file = MPI_FILE_NULL;
};

/// Arguments' names, for messages.
struct Names {
  const char *buffer, *count, *datatype;
};

/// A buffer with a count and a datatype, as C is to have it.
class Layout {
 public:
  Layout(const Descriptor* descriptor, std::int64_t count, MPI_Datatype type);
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  /// MPI_SUCCESS, or what went wrong.
  int code() const { return code_; }
  /// Ends the call for what went wrong. Returns what its error handler leaves.
  [[gnu::noinline, gnu::cold]] int refuse(const Caller& caller, const Names& names) const;
  void* base() const { return base_; }
  template <class Count>
  Count count() const {
    return static_cast<Count>(count_);
  }
  MPI_Datatype type() const { return type_; }

 private:
  void make(const Section& section);

  const Descriptor* descriptor_;
  void* base_;
  std::int64_t count_;
  MPI_Datatype type_;
  std::int64_t bytes_ = 0;
  bool is_own_ = false;
  KeptType* kept_ = nullptr;
  int code_ = MPI_SUCCESS;
};

/// A buffer in one piece: the user's own, or a copy of a section, whose elements go back at the end.
class Piece {
 public:
  Piece(const Descriptor* descriptor, bool goes_back);
  ~Piece() { give_back(); }
  Piece(Piece&& other) = default;
  Piece& operator=(Piece&&) = delete;

  void* base() const { return base_; }
  /// Whether `count` elements of the datatype fit into a section that was copied.
  bool holds(std::int64_t count, MPI_Datatype type) const;
  /// Ends the call for a section that does not hold them.
  [[gnu::noinline, gnu::cold]] int refuse(const Caller& caller, const Names& names, std::int64_t count) const;
  /// Copies what came into the section, if it is to.
  void give_back() const;
  /// Copies the section's elements again.
  void fill() const;

 private:
  Section section_;
  void* base_;
  std::unique_ptr<std::byte[]> copy_;  // null: the user's own
  bool goes_back_;
  mutable std::int64_t bytes_ = 0;  // that holds() found needed
};

/// The text of a CHARACTER argument of a procedure that is bind(C): a descriptor, or from a program built
/// with MPICH's modules the text itself, whose length is at the end of the arguments.
struct TextView {
  const char* text;
  std::size_t bytes;
};
TextView text_of(const Descriptor* argument, std::size_t hidden_length);

/// Ends a call that needs memory in one piece where a section does not lie so; MPI_SUCCESS for another
/// buffer.
[[gnu::noinline, gnu::cold]] int refuse_section(const Caller& caller, const char* name,
                                                const Descriptor* descriptor);

}  // namespace tasuki::fortran
