// The flag-based collectives that reduce: see coll/shm/flag_collectives.hpp.
#include "base/predefined.hpp"
#include "coll/algorithm/order.hpp"
#include "coll/check/arguments.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

/// The vectors as they lie packed on the node segment, and how they are combined: in the order of
/// coll/algorithm/order.hpp, into a result that is laid out as the user's datatype says.
class Vectors {
 public:
  Vectors(Comm& comm, NodeSegment& segment, const Op& op, Datatype& datatype)
      : comm_(comm), segment_(segment), op_(op), datatype_(datatype) {
    if (datatype.contiguous) [[likely]]
      kernel_ = segment.kernel(op, datatype);
    if (datatype.alignment > kLineAlignment) [[unlikely]]
      padding_ = kLineAlignment;
  }

  /// Gets ready to combine `count` elements. Returns 0, or the error of an operation that does not fit the
  /// datatype, or of memory that is not to be had.
  Code prepare(Count count) {
    if (kernel_ != nullptr && (count * datatype_.size <= kLineBytes || segment_.size() < 4)) [[likely]]
      return 0;
    return prepare_scratch(count);
  }

  bool need_copies() const { return kernel_ == nullptr; }

  /// Writes this rank's vector where the others will see it. Returns where that is.
  const std::byte* pack(const void* sendbuf, const void* recvbuf, Count count) const {
    const Piece input(sendbuf == kInPlace ? recvbuf : sendbuf, count, datatype_);
    std::byte* room = segment_.room(input.bytes() + padding_);
    room += padding_of(room);
    pack_inline(input, room, kInlineBytes);
    return room;
  }

  const std::byte* of(int member) const {
    const std::byte* shown = segment_.data(member);
    return shown + padding_of(shown);
  }

  /// What the members before `end` show, `of(member)`, combined; a node of the tree is divided at
  /// `middle(first, end)`.
  template <class Middle, class Of>
  void combine(int end, const Piece& result, const Middle& middle, const Of& of) {
    if (kernel_ == nullptr) return combine_copies(0, end, result, 0, middle, of);
    alignas(kScratchAlignment) std::byte lines[kLevelsMax * kScratchAlignment];
    std::byte* const rooms = scratch_ != nullptr ? scratch_ : lines;
    const std::byte* sum = combine_by_kernel(0, end, result, rooms, middle, of);
    if (end == 1) unpack_inline(result, sum, result.bytes());
  }

 private:
  /// Returns where the sum is: at the result, or where a member shows it.
  template <class Middle, class Of>
  const std::byte* combine_by_kernel(int first, int end, const Piece& result, std::byte* rooms,
                                     const Middle& middle, const Of& of) const {
    if (end - first == 1) return of(first);
    const int cut = middle(first, end);
    // Where a member shows the right operand, the left one needs no room of its own.
    const Piece left_room = end - cut > 1 ? Piece(rooms, result.count, datatype_) : result;
    std::byte* const rest = cut - first > 1 && end - cut > 1 ? rooms + result.bytes() : rooms;
    const std::byte* left = combine_by_kernel(first, cut, left_room, rest, middle, of);
    const std::byte* right = combine_by_kernel(cut, end, result, rest, middle, of);
    kernel_(left, right, result.buffer(), static_cast<std::size_t>(result.count));
    return static_cast<const std::byte*>(result.buffer());
  }

  /// A user's operation, and any on elements with gaps: in memory of this rank's own, laid out as its
  /// datatype says.
  template <class Middle, class Of>
  void combine_copies(int first, int end, const Piece& result, int depth, const Middle& middle,
                      const Of& of) const {
    if (end - first == 1) {
      unpack_inline(result, of(first), result.bytes());
      return;
    }
    const int cut = middle(first, end);
    const Piece left = Piece(scratch_, result.count, datatype_)[depth];
    combine_copies(first, cut, left, depth + 1, middle, of);
    combine_copies(cut, end, result, depth + 1, middle, of);
    reduce_local(comm_.process, op_, left.buffer(), result.buffer(), result.count, datatype_);
  }

  static constexpr Count kLevelsMax = 31;     // of a tree
  static constexpr Count kLineAlignment = 8;  // of data in a line, which some types are not content with

  std::uintptr_t padding_of(const std::byte* data) const {
    return reinterpret_cast<std::uintptr_t>(data) & static_cast<std::uintptr_t>(padding_);
  }

  [[gnu::noinline]] Code prepare_scratch(Count count) {
    if (const Code code = check_reduction(comm_, count, datatype_, op_); code != 0) return code;
    scratch_ = segment_.scratch(ceil_log2(segment_.size()) * count, datatype_);
    if (scratch_ != nullptr) return 0;
    return comm_.process.fail(kErrNoMem, "no memory for %lld elements of the reduction",
                              static_cast<long long>(count));
  }

  Comm& comm_;
  NodeSegment& segment_;
  const Op& op_;
  Datatype& datatype_;
  ReductionKernel kernel_ = nullptr;  // null: by copies in scratch memory
  Count padding_ = 0;                 // at most, before a vector
  std::byte* scratch_ = nullptr;      // for the left operands
};

/// Whether buffers for a result of `count` elements are what they must not be.
bool are_wrong(const void* sendbuf, const void* recvbuf, Count count, const Datatype& datatype) {
  if (recvbuf == kInPlace) [[unlikely]]
    return true;
  return sendbuf == recvbuf && count * datatype.size > 0;
}

/// The call ends here, and takes no part.
[[gnu::cold, gnu::noinline]] bool refuse(Comm& comm) {
  comm.take_back_call();
  return true;
}

auto middle_in(const Fold& fold) {
  return [&fold](int first, int end) { return middle_of_all(fold, first, end); };
}

/// Meets the others and reduces what all show, from `from` bytes on, into `result`.
void reduce_all(Comm& comm, NodeSegment& segment, FlagOperation operation, Vectors& vectors,
                const void* sendbuf, const void* recvbuf, Count count, Count bytes, Count from,
                const Piece& result) {
  begin_by_flags(comm, segment, operation);
  vectors.pack(sendbuf, recvbuf, count);
  segment.show(0, bytes);
  segment.await_all(0);
  const Fold fold(segment.size(), 0);
  vectors.combine(segment.size(), result, middle_in(fold),
                  [&](int member) { return vectors.of(member) + from; });
  segment.leave();
}

}  // namespace

bool flag_allreduce(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf, Count count,
                    Datatype& datatype, const Op& op, Code* code) {
  const Count bytes = inline_bytes(count, datatype.size);
  if (!segment.takes_flags(FlagOperation::kAllreduce, bytes) || are_wrong(sendbuf, recvbuf, count, datatype))
    return false;
  Vectors vectors(comm, segment, op, datatype);
  *code = vectors.prepare(count);
  if (*code != 0) return refuse(comm);
  reduce_all(comm, segment, FlagOperation::kAllreduce, vectors, sendbuf, recvbuf, count, bytes, 0,
             Piece(recvbuf, count, datatype));
  return true;
}

bool flag_reduce_scatter(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf,
                         const Blocks& parts, Datatype& datatype, const Op& op, Code* code) {
  Count count = 0;  // of the whole vector
  Count begin = 0;  // of this rank's part
  for (int member = 0; member < segment.size(); ++member) {
    const Count part = parts.count_of(member);
    if (part < 0 || part > kInlineBytes) return false;
    if (member < segment.rank()) begin += part;
    count += part;
  }
  const Count bytes = inline_bytes(count, datatype.size);
  const Piece result(recvbuf, parts.count_of(segment.rank()), datatype);
  if (!segment.takes_flags(FlagOperation::kReduceScatter, bytes) ||
      are_wrong(sendbuf, recvbuf, result.count, datatype))
    return false;
  Vectors vectors(comm, segment, op, datatype);
  *code = vectors.prepare(count);
  if (*code != 0) return refuse(comm);
  reduce_all(comm, segment, FlagOperation::kReduceScatter, vectors, sendbuf, recvbuf, count, bytes,
             begin * datatype.size, result);
  return true;
}

bool flag_reduce(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf, Count count,
                 Datatype& datatype, const Op& op, int root, Code* code) {
  const Count bytes = inline_bytes(count, datatype.size);
  const bool is_root = segment.rank() == root;
  if (!segment.takes_flags(FlagOperation::kReduce, bytes) ||
      (is_root ? are_wrong(sendbuf, recvbuf, count, datatype) : sendbuf == kInPlace))
    return false;
  Vectors vectors(comm, segment, op, datatype);
  *code = vectors.prepare(count);
  if (*code != 0) return refuse(comm);
  begin_by_flags(comm, segment, FlagOperation::kReduce);
  if (!is_root) {
    vectors.pack(sendbuf, recvbuf, count);
    segment.publish(0, bytes);
    segment.leave();
    return true;
  }
  const std::byte* own = static_cast<const std::byte*>(sendbuf);
  if (vectors.need_copies() || sendbuf == kInPlace) own = vectors.pack(sendbuf, recvbuf, count);
  const Fold fold(segment.size(), 0);
  vectors.combine(segment.size(), Piece(recvbuf, count, datatype), middle_in(fold), [&](int member) {
    if (member == root) return own;
    segment.await(member, 0);
    return vectors.of(member);
  });
  segment.leave();
  return true;
}

bool flag_scan(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf, Count count,
               Datatype& datatype, const Op& op, bool inclusive, Code* code) {
  const Count bytes = inline_bytes(count, datatype.size);
  const auto operation = inclusive ? FlagOperation::kScan : FlagOperation::kExscan;
  const int rank = segment.rank();
  const Count results = !inclusive && rank == 0 ? 0 : count;
  if (!segment.takes_flags(operation, bytes) || are_wrong(sendbuf, recvbuf, results, datatype)) return false;
  Vectors vectors(comm, segment, op, datatype);
  *code = vectors.prepare(count);
  if (*code != 0) return refuse(comm);
  begin_by_flags(comm, segment, operation);
  const std::byte* own = vectors.pack(sendbuf, recvbuf, count);
  if (rank < segment.size() - 1) segment.publish(0, bytes);
  // The last operand is this rank's own vector, or in MPI_Exscan that of the rank before it.
  const int last = inclusive ? rank : rank - 1;
  if (last >= 0) {
    vectors.combine(last + 1, Piece(recvbuf, count, datatype), middle_of_scan, [&](int member) {
      if (member == rank) return own;
      segment.await(member, 0);
      return vectors.of(member);
    });
  }
  segment.leave();
  return true;
}

}  // namespace tasuki
