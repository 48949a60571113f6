// The flag-based collectives that reduce: see coll/shm/flag_collectives.hpp.
#include "base/predefined.hpp"
#include "coll/algorithm/order.hpp"
#include "coll/check/arguments.hpp"
#include "coll/shm/flag_collectives.hpp"
#include "reduction/exact.hpp"

namespace tasuki {
namespace {

/// Of the tree: so many, the first of which are pairs of members.
struct Leaves {
  int count;
  int pairs;
};
Leaves leaves_of_all(int members) {
  return {floor_pow2(members), members - floor_pow2(members)};
}
Leaves leaves_of_scan(int members) {
  return {members, 0};
}

/// The vectors as they lie packed on the node segment, and how they are combined, into a result that is
/// laid out as the user's datatype says: from the last operand to the first, or, where that is to be
/// repeatable, in the order of coll/algorithm/order.hpp, or exactly (reduction/exact.hpp).
class Vectors {
 public:
  Vectors(Comm& comm, NodeSegment& segment, const Op& op, Datatype& datatype)
      : comm_(comm), segment_(segment), op_(op), datatype_(datatype) {
    if (datatype.contiguous) [[likely]]
      kernel_ = segment.kernel(op, datatype);
    if (datatype.alignment > kLineAlignment) [[unlikely]]
      padding_ = kLineAlignment;
    if (comm.repeatable() != Repeatable::kNo) [[unlikely]]
      way_ = way_of(comm);
  }

  /// Gets ready to combine `count` elements. Returns 0, or the error of an operation that does not fit the
  /// datatype, or of memory that is not to be had.
  Code prepare(Count count) {
    if (kernel_ != nullptr && (!takes_tree() || count * datatype_.size <= kLineBytes)) [[likely]]
      return 0;
    return prepare_scratch(count);
  }

  bool takes_tree() const { return way_ == Repeatable::kOrder; }
  bool need_copies() const { return kernel_ == nullptr; }

  /// Writes this rank's vector where the others will see it. Returns where that is.
  const std::byte* pack(const void* sendbuf, const void* recvbuf, Count count) const {
    const Piece input(sendbuf == kInPlace ? recvbuf : sendbuf, count, datatype_);
    std::byte* const room = room_for(input);
    pack_inline(input, room, kInlineBytes);
    return room;
  }
  /// The same of one that this rank does not read there.
  void pack_for_root(const void* sendbuf, Count count) const {
    const Piece input(sendbuf, count, datatype_);
    pack_for_others(segment_, input, room_for(input));
  }

  const std::byte* of(int member) const {
    const std::byte* shown = segment_.data(member);
    return shown + padding_of(shown);
  }

  /// What the first `members` show, `of(member)`, combined; `leaves` are those of the tree.
  template <class Of>
  [[gnu::always_inline]] void combine(int members, Leaves (*leaves)(int members), const Piece& result,
                                      const Of& of) const {
    if (kernel_ == nullptr) [[unlikely]]
      return combine_copies(leaves(members), 0, leaves(members).count, result, 0, of);
    if (way_ != Repeatable::kNo) [[unlikely]] {
      if (!takes_tree()) return combine_exactly(members, result, of);
      const std::byte* sum = combine_by_kernel(leaves(members), result, of);
      if (sum != result.buffer()) unpack_inline(result, sum, result.bytes());
      return;
    }
    // Where every instruction counts: from the last member to the first.
    const std::byte* sum = of(--members);
    if (members == 0) unpack_inline(result, sum, result.bytes());
    while (--members >= 0) {
      kernel_(of(members), sum, result.buffer(), static_cast<std::size_t>(result.count));
      sum = static_cast<const std::byte*>(result.buffer());
    }
  }

 private:
  /// Of two members both orders are the same.
  [[gnu::noinline]] Repeatable way_of(const Comm& comm) const {
    const Repeatable way = repeatable_for(comm.repeatable(), op_, datatype_);
    return way == Repeatable::kOrder && comm.size() <= 2 ? Repeatable::kNo : way;
  }

  template <class Of>
  [[gnu::noinline]] void combine_exactly(int members, const Piece& result, const Of& of) const {
    std::vector<const void*> vectors;
    for (int member = 0; member < members; ++member) vectors.push_back(of(member));
    find_exact_kernel(op_, datatype_)(vectors.data(), vectors.size(), result.buffer(),
                                      static_cast<std::size_t>(result.count));
  }

  /// Returns where the sum is: at the result, or where a member shows it. On the left is what there is so
  /// far; on the right come blocks of 2^k leaves, the next larger ones that make up the rest.
  template <class Of>
  [[gnu::noinline]] const std::byte* combine_by_kernel(const Leaves& leaves, const Piece& result,
                                                       const Of& of) const {
    alignas(kScratchAlignment) std::byte lines[kLevelsMax * kScratchAlignment];
    const std::byte* sums[kLevelsMax + 1];  // of subtrees, from the left
    const auto count = static_cast<std::size_t>(result.count);
    const auto room = [&](int level) {
      if (level == 0) return static_cast<std::byte*>(result.buffer());
      return (scratch_ != nullptr ? scratch_ : lines) + (level - 1) * result.bytes();
    };
    const auto combined = [&](const std::byte* left, const std::byte* right, int level) {
      kernel_(left, right, room(level), count);
      return room(level);
    };
    const auto leaf = [&](int number, int level) -> const std::byte* {
      if (number >= leaves.pairs) return of(number + leaves.pairs);
      const std::byte* left = of(2 * number);
      return combined(left, of(2 * number + 1), level);
    };
    sums[0] = leaf(0, 0);
    int next = 1;
    for (int block = 1; block < leaves.count; block *= 2) {
      if (((leaves.count - 1) & block) == 0) continue;
      int level = 1;
      for (int number = 0; number < block; ++number) {
        const std::byte* sum = leaf(next++, level);
        for (int ends = number; (ends & 1) != 0; ends >>= 1) {
          --level;
          sum = combined(sums[level], sum, level);
        }
        sums[level++] = sum;
      }
      sums[0] = combined(sums[0], sums[1], 0);
    }
    return sums[0];
  }

  /// A user's operation, and any on elements with gaps: in memory of this rank's own, laid out as its
  /// datatype says. Of the leaves [first, end).
  template <class Of>
  [[gnu::noinline]] void combine_copies(const Leaves& leaves, int first, int end, const Piece& result,
                                        int depth, const Of& of) const {
    const Piece left = Piece(scratch_, result.count, datatype_)[depth];
    if (end - first > 1) {
      const int middle = middle_of_scan(first, end);
      combine_copies(leaves, first, middle, left, depth + 1, of);
      combine_copies(leaves, middle, end, result, depth + 1, of);
    } else if (first < leaves.pairs) {
      unpack_inline(left, of(2 * first), result.bytes());
      unpack_inline(result, of(2 * first + 1), result.bytes());
    } else {
      unpack_inline(result, of(first + leaves.pairs), result.bytes());
      return;
    }
    reduce_local(comm_.process, op_, left.buffer(), result.buffer(), result.count, datatype_);
  }

  static constexpr Count kLevelsMax = 31;     // of a tree
  static constexpr Count kLineAlignment = 8;  // of data in a line, which some types are not content with

  std::byte* room_for(const Piece& input) const {
    std::byte* const room = segment_.room(input.bytes() + padding_);
    return room + padding_of(room);
  }
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
  Repeatable way_ = Repeatable::kNo;  // in which they are combined
  Count padding_ = 0;                 // at most, before a vector
  std::byte* scratch_ = nullptr;      // for the left operands
};

/// Whether buffers for a result of `count` elements are what they must not be.
bool are_wrong(const void* sendbuf, const void* recvbuf, Count count, const Datatype& datatype) {
  if (recvbuf == kInPlace) [[unlikely]]
    return true;
  return sendbuf == recvbuf && count * datatype.size > 0;
}

bool takes_flags(const Comm& comm, NodeSegment& segment, FlagOperation operation, Count bytes, const Op& op,
                 const Datatype& datatype) {
  return segment.takes_flags(operation, bytes,
                             [&] { return repeatable_for(comm.repeatable(), op, datatype); });
}

/// The call ends here, and takes no part.
[[gnu::cold, gnu::noinline]] bool refuse(Comm& comm) {
  comm.take_back_call();
  return true;
}

/// Meets the others and reduces what all show, from `from` bytes on, into `result`.
void reduce_all(Comm& comm, NodeSegment& segment, FlagOperation operation, const Vectors& vectors,
                const void* sendbuf, const void* recvbuf, Count count, Count bytes, Count from,
                const Piece& result) {
  begin_by_flags(comm, segment, operation);
  vectors.pack(sendbuf, recvbuf, count);
  segment.show(0, bytes);
  segment.await_all(0);
  vectors.combine(segment.size(), leaves_of_all, result,
                  [&](int member) { return vectors.of(member) + from; });
  segment.leave();
}

}  // namespace

bool flag_allreduce(Comm& comm, NodeSegment& segment, const void* sendbuf, void* recvbuf, Count count,
                    Datatype& datatype, const Op& op, Code* code) {
  const Count bytes = inline_bytes(count, datatype.size);
  if (!takes_flags(comm, segment, FlagOperation::kAllreduce, bytes, op, datatype) ||
      are_wrong(sendbuf, recvbuf, count, datatype))
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
  if (!takes_flags(comm, segment, FlagOperation::kReduceScatter, bytes, op, datatype) ||
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
  if (!takes_flags(comm, segment, FlagOperation::kReduce, bytes, op, datatype) ||
      (is_root ? are_wrong(sendbuf, recvbuf, count, datatype) : sendbuf == kInPlace))
    return false;
  Vectors vectors(comm, segment, op, datatype);
  *code = vectors.prepare(count);
  if (*code != 0) return refuse(comm);
  begin_by_flags(comm, segment, FlagOperation::kReduce);
  if (!is_root) {
    vectors.pack_for_root(sendbuf, count);
    segment.publish(0, bytes);
    segment.leave();
    return true;
  }
  const std::byte* own = static_cast<const std::byte*>(sendbuf);
  if (vectors.need_copies() || sendbuf == kInPlace) own = vectors.pack(sendbuf, recvbuf, count);
  vectors.combine(segment.size(), leaves_of_all, Piece(recvbuf, count, datatype), [&](int member) {
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
  if (!takes_flags(comm, segment, operation, bytes, op, datatype) ||
      are_wrong(sendbuf, recvbuf, results, datatype))
    return false;
  Vectors vectors(comm, segment, op, datatype);
  *code = vectors.prepare(count);
  if (*code != 0) return refuse(comm);
  begin_by_flags(comm, segment, operation);
  const std::byte* own = vectors.pack(sendbuf, recvbuf, count);
  if (rank < segment.size() - 1) segment.publish(0, bytes);
  // The last operand is this rank's own vector, or in MPI_Exscan that of the rank before it.
  const int last = inclusive ? rank : rank - 1;
  if (last >= 0) {
    vectors.combine(last + 1, leaves_of_scan, Piece(recvbuf, count, datatype), [&](int member) {
      if (member == rank) return own;
      segment.await(member, 0);
      return vectors.of(member);
    });
  }
  segment.leave();
  return true;
}

}  // namespace tasuki
