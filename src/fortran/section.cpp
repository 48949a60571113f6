// Reading descriptors of either kind, and making datatypes and copies of sections.
#include "fortran/section.hpp"

#include <algorithm>
#include <cstdio>

#include "fortran/kept_types.hpp"

extern "C" int tasuki_fortran_refuse(const char* name, MPI_Comm comm, MPI_Win win, MPI_File file,
                                     int error_class,
                                     const char* text);  // of the C library

namespace tasuki::fortran {
namespace {

/// gfortran's own descriptor (libgfortran.h).
struct NativeDescriptor {
  struct Dimension {
    std::ptrdiff_t stride;  // in units of `span` bytes
    std::ptrdiff_t lower_bound, upper_bound;
  };
  void* base;
  std::size_t offset;
  std::size_t element_bytes;
  std::int32_t version;
  std::int8_t rank;
  std::int8_t type;
  std::int16_t attribute;
  std::ptrdiff_t span;
  Dimension dimensions[15];
};

/// In gfortran's own, the bytes of version, rank, type are the element's size, which is no petabyte.
bool is_native(const Descriptor& descriptor) {
  return descriptor.rest[0] == 0 && descriptor.rest[1] == 0 && descriptor.rest[2] == 0;
}

/// Of MPI's own datatypes, whose handles mean the same as long as the program runs.
bool is_predefined(MPI_Datatype type) {
#ifdef TASUKI_ABI_MPICH
  constexpr std::uint32_t kBuiltIn = 1;  // the kind of a handle is in its upper two bits
  return static_cast<std::uint32_t>(type) >> 30 == kBuiltIn;
#else
  constexpr Fint kPredefinedMax = 4095;
  return number(type) <= kPredefinedMax && number(type) > 0;
#endif
}

}  // namespace

Section::Section(const Descriptor* descriptor) {
  const bool native = is_native(*descriptor);
  const auto* const own = reinterpret_cast<const NativeDescriptor*>(descriptor);
  base_ = static_cast<std::byte*>(descriptor->base);
  element_bytes_ = native ? own->element_bytes : descriptor->element_bytes;
  const int dimensions = native ? own->rank : descriptor->rank;
  auto piece_bytes = static_cast<std::ptrdiff_t>(element_bytes_);
  for (int i = 0; i < dimensions; ++i) {
    std::int64_t extent = 0;
    std::ptrdiff_t stride_bytes = 0;
    if (native) {
      const NativeDescriptor::Dimension& dimension = own->dimensions[i];
      extent = std::max<std::int64_t>(dimension.upper_bound - dimension.lower_bound + 1, 0);
      const bool is_assumed_size =
          i == dimensions - 1 && dimension.upper_bound == 0 && dimension.lower_bound == 1;
      if (is_assumed_size && descriptor->base != nullptr) extent = -1;
      stride_bytes = dimension.stride * own->span;
    } else {
      extent = descriptor->dimensions[i].extent;
      stride_bytes = descriptor->dimensions[i].stride_bytes;
    }
    if (extent < 0) {  // of an assumed size: such an array lies in one piece
      elements_ = -1;
      return;
    }
    elements_ *= extent;
    if (extent == 1) continue;
    is_one_piece_ = is_one_piece_ && stride_bytes == piece_bytes;
    piece_bytes *= extent;
    extents_[rank_] = extent;
    strides_bytes_[rank_++] = stride_bytes;
  }
  if (elements_ == 0) is_one_piece_ = true;
}

template <bool kToPiece>
void Section::copy(std::byte* piece) const {
  std::int64_t index[15] = {};
  const std::byte* from = base_;
  for (std::int64_t done = 0; done < elements_; ++done, piece += element_bytes_) {
    auto* const element = const_cast<std::byte*>(from);
    if constexpr (kToPiece)
      std::memcpy(piece, element, element_bytes_);
    else
      std::memcpy(element, piece, element_bytes_);
    for (int i = 0; i < rank_; ++i) {
      from += strides_bytes_[i];
      if (++index[i] < extents_[i]) break;
      from -= strides_bytes_[i] * extents_[i];
      index[i] = 0;
    }
  }
}

/// Of the first `dimensions` dimensions: whole blocks of the ones below, and what is left of one.
int Section::make_prefix(int dimensions, std::int64_t count, MPI_Datatype element, MPI_Datatype* made) const {
  if (dimensions == 0) return PMPI_Type_contiguous_c(count, element, made);
  const int top = dimensions - 1;
  std::int64_t block = 1;
  for (int i = 0; i < top; ++i) block *= extents_[i];
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  MPI_Datatype blocks = MPI_DATATYPE_NULL;
  int code = make_prefix(top, block, element, &whole);
  if (code != MPI_SUCCESS) return code;
  code = PMPI_Type_create_hvector_c(count / block, 1, strides_bytes_[top], whole, &blocks);
  PMPI_Type_free(&whole);
  if (code != MPI_SUCCESS || count % block == 0) {
    *made = blocks;
    return code;
  }
  MPI_Datatype rest = MPI_DATATYPE_NULL;
  code = make_prefix(top, count % block, element, &rest);
  if (code == MPI_SUCCESS) {
    const MPI_Count lengths[] = {1, 1};
    const MPI_Count displacements[] = {0, strides_bytes_[top] * (count / block)};
    const MPI_Datatype types[] = {blocks, rest};
    code = PMPI_Type_create_struct_c(2, lengths, displacements, types, made);
    PMPI_Type_free(&rest);
  }
  PMPI_Type_free(&blocks);
  return code;
}

int Section::make_type(std::int64_t count, MPI_Datatype element, MPI_Datatype* made) const {
  const int code = make_prefix(rank_, count, element, made);
  return code == MPI_SUCCESS ? PMPI_Type_commit(made) : code;
}

bool Section::describe(std::int64_t count, MPI_Datatype type, Shape* shape) const {
  if (rank_ > kKeptRankMax || !is_predefined(type)) return false;
  shape->count = count;
  shape->element_bytes = static_cast<std::int64_t>(element_bytes_);
  shape->type = number(type);
  shape->rank = rank_;
  std::copy_n(extents_, rank_, shape->extents);
  std::copy_n(strides_bytes_, rank_, shape->strides_bytes);
  return true;
}

void* find_base(const Descriptor* descriptor, bool* is_section) {
  const Section section(descriptor);
  if (!section.is_one_piece()) *is_section = true;
  return c_buffer(section.base());
}

Layout::Layout(const Descriptor* descriptor, std::int64_t count, MPI_Datatype type)
    : descriptor_(descriptor), base_(nullptr), count_(count), type_(type) {
  const Section section(descriptor);
  base_ = c_buffer(section.base());
  if (section.is_one_piece() || count <= 0 || number(type) == number(MPI_DATATYPE_NULL)) return;
  Shape shape;
  const bool is_kept_kind = section.describe(count, type, &shape);
  if (is_kept_kind) kept_ = find_kept(shape);
  if (kept_ == nullptr) {
    make(section);
    if (code_ != MPI_SUCCESS) return;
    if (is_kept_kind) kept_ = keep_type(shape, type_);
    is_own_ = kept_ == nullptr;
  }
  if (kept_ != nullptr) type_ = kept_->type;
  count_ = 1;
}

/// Makes a datatype of `count_` elements of `type_`, and puts it there.
void Layout::make(const Section& section) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count bytes = 0;
  MPI_Count first = 0;
  MPI_Count step = 0;
  code_ = PMPI_Type_get_true_extent_c(type_, &lower, &extent);
  if (code_ == MPI_SUCCESS) code_ = PMPI_Type_get_extent_c(type_, &first, &step);
  if (code_ == MPI_SUCCESS) code_ = PMPI_Type_size_c(type_, &bytes);
  if (code_ != MPI_SUCCESS) return;
  const auto element_bytes = static_cast<MPI_Count>(section.element_bytes());
  const bool is_solid = lower == 0 && extent == bytes && (step == bytes || count_ == 1);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Datatype element = type_;
  MPI_Count elements = count_;
  if (bytes != element_bytes && is_solid && count_ * bytes % element_bytes == 0) {
    // Several elements of the array make one of the datatype, or the other way round.
    elements = count_ * bytes / element_bytes;
    code_ = PMPI_Type_contiguous_c(element_bytes, MPI_BYTE, &element);
  } else if (bytes != element_bytes || !is_solid) {
    code_ = MPI_ERR_TYPE;
    return;
  }
  bytes_ = count_ * bytes;
  if (code_ == MPI_SUCCESS && elements > section.elements()) code_ = MPI_ERR_COUNT;
  if (code_ == MPI_SUCCESS) code_ = section.make_type(elements, element, &made);
  if (number(element) != number(type_)) PMPI_Type_free(&element);
  if (code_ == MPI_SUCCESS) type_ = made;
}

Layout::~Layout() {
  if (kept_ != nullptr) give_back(kept_);
  if (is_own_) PMPI_Type_free(&type_);
}

Piece::Piece(const Descriptor* descriptor, bool goes_back)
    : section_(descriptor), base_(c_buffer(section_.base())), goes_back_(goes_back) {
  if (section_.is_one_piece()) return;
  const auto elements = static_cast<std::size_t>(section_.elements());
  copy_ = std::make_unique<std::byte[]>(elements * section_.element_bytes());
  section_.copy_to(copy_.get());
  base_ = copy_.get();
}

void Piece::give_back() const {
  if (copy_ != nullptr && goes_back_) section_.copy_from(copy_.get());
}

void Piece::fill() const {
  if (copy_ != nullptr) section_.copy_to(copy_.get());
}

TextView text_of(const Descriptor* argument, std::size_t hidden_length) {
  // A descriptor's version is a small number or a date, a text's bytes there are letters or not there at all:
  // the text of a data representation is short. So what starts with printable letters is the text.
  const auto* const text = reinterpret_cast<const char*>(argument);
  const bool is_text = text[0] >= ' ' && text[0] <= '~' && text[1] >= ' ' && text[1] <= '~' &&
                       text[2] >= ' ' && text[2] <= '~' && text[3] >= ' ' && text[3] <= '~' && text[6] >= ' ';
  if (is_text) return {text, hidden_length};
  return {static_cast<const char*>(argument->base), argument->element_bytes};
}

// ----- what is refused ----------------------------------------------------------------------------------

namespace {

int refuse(const Caller& caller, int error_class, const char* text) {
  return tasuki_fortran_refuse(caller.function, caller.comm, caller.win, caller.file, error_class, text);
}

int refuse_count(const Caller& caller, const Names& names, std::int64_t count, std::int64_t bytes,
                 const Section& section) {
  char text[300];
  std::snprintf(
      text, sizeof text,
      "%s = %lld, which are %lld bytes; expected no more than the array section %s has: %lld elements "
      "of %zu bytes, %lld in all",
      names.count, static_cast<long long>(count), static_cast<long long>(bytes), names.buffer,
      static_cast<long long>(section.elements()), section.element_bytes(),
      static_cast<long long>(section.elements()) * static_cast<long long>(section.element_bytes()));
  return refuse(caller, MPI_ERR_COUNT, text);
}

/// The bytes from the buffer's address to the end of the last element.
std::int64_t bytes_needed(std::int64_t count, MPI_Datatype type) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower = 0;
  MPI_Count true_extent = 0;
  if (PMPI_Type_get_extent_c(type, &lower, &extent) != MPI_SUCCESS ||
      PMPI_Type_get_true_extent_c(type, &true_lower, &true_extent) != MPI_SUCCESS)
    return 0;
  return (count - 1) * extent + true_lower + true_extent;
}

}  // namespace

int Layout::refuse(const Caller& caller, const Names& names) const {
  const Section section(descriptor_);
  if (code_ == MPI_ERR_COUNT) return refuse_count(caller, names, count_, bytes_, section);
  char text[300];
  if (code_ == MPI_ERR_TYPE)
    std::snprintf(
        text, sizeof text,
        "%s has gaps, or is no multiple or part of an element; expected one without, as %s is an array "
        "section, with elements of %zu bytes",
        names.datatype, names.buffer, section.element_bytes());
  else
    std::snprintf(text, sizeof text, "a datatype for the array section %s cannot be made", names.buffer);
  return fortran::refuse(caller, code_, text);
}

bool Piece::holds(std::int64_t count, MPI_Datatype type) const {
  if (copy_ == nullptr || count <= 0 || number(type) == number(MPI_DATATYPE_NULL)) return true;
  bytes_ = bytes_needed(count, type);
  return bytes_ <= section_.elements() * static_cast<std::int64_t>(section_.element_bytes());
}

int Piece::refuse(const Caller& caller, const Names& names, std::int64_t count) const {
  return refuse_count(caller, names, count, bytes_, section_);
}

int refuse_section(const Caller& caller, const char* name, const Descriptor* descriptor) {
  const Section section(descriptor);
  if (section.is_one_piece()) return MPI_SUCCESS;
  char text[200];
  std::snprintf(
      text, sizeof text,
      "%s is an array section, whose %lld elements do not lie in one piece; expected memory in one piece",
      name, static_cast<long long>(section.elements()));
  return refuse(caller, MPI_ERR_BUFFER, text);
}

}  // namespace tasuki::fortran
