// Subarrays and distributed arrays (MPI 5.1.3, 5.1.4).
//
// Both are built dimension by dimension, from the one that varies fastest: each step takes the layout of the
// dimensions inside, whose full array has extent `extent`, and places copies of it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/user_memory.hpp"
#include "datatype/call/api.hpp"
#include "datatype/call/construct.hpp"

namespace tasuki {
namespace {

/// The selected part of the dimensions done so far.
class ArrayPart {
 public:
  explicit ArrayPart(const Datatype& oldtype)
      : layout_(oldtype.layout),
        extent_(oldtype.extent),
        copies_(1),
        low_(oldtype.true_lb),
        high_(Wide{oldtype.true_lb} + oldtype.true_extent) {}

  /// Selects `length` indices from `start` on of the `size` of this dimension.
  bool select(Count size, Count start, Count length) {
    const LayoutRef inside = layout_;
    if (!note(start, start + length - 1, length)) return false;
    layout_ = layout_strided(bytes(start), length, static_cast<Count>(extent_), inside);
    return grow(size);
  }

  /// Selects, of `size` indices, the blocks of `block` indices number first, first + step, …
  bool select_cyclic(Count size, Count block, Count first, Count step) {
    const Count blocks_all = size / block + (size % block > 0 ? 1 : 0);
    const Count blocks = first < blocks_all ? (blocks_all - first - 1) / step + 1 : 0;
    if (blocks == 0) return select(size, 0, 0);
    const Count last = (first + (blocks - 1) * step) * block;  // where the last block starts
    const Count last_length = std::min(block, size - last);
    const Count length = (blocks - 1) * block + last_length;
    const LayoutRef inside = layout_;
    if (!note(first * block, last + last_length - 1, length)) return false;
    const auto extent = static_cast<Count>(extent_);
    LayoutBuilder builder;
    if (blocks > 1) {
      const LayoutRef whole = layout_strided(0, block, extent, inside);
      builder.add(bytes(first * block), blocks - 1, blocks > 2 ? bytes(step * block) : 0, whole);
    }
    builder.add(bytes(last), 1, 0, layout_strided(0, last_length, extent, inside));
    layout_ = builder.finish();
    return grow(size);
  }

  /// Makes the datatype. Returns null on overflow.
  Datatype* finish(const Datatype& oldtype) const {
    const Wide size = oldtype.size > 0 ? copies_ * oldtype.size : 0;
    if (!fits(size)) return nullptr;
    auto* made = new Datatype;
    made->size = static_cast<Count>(size);
    made->extent = static_cast<Count>(extent_);
    made->alignment = oldtype.alignment;
    made->bounds_marked = true;
    if (size > 0) {
      made->true_lb = static_cast<Count>(low_);
      made->true_extent = static_cast<Count>(high_ - low_);
    }
    made->layout = size > 0 ? layout_ : layout_run(0, 0);
    made->signature = signature_repeat(size > 0 ? static_cast<Count>(copies_) : 0, oldtype.signature);
    note_contiguous(made);
    return made;
  }

 private:
  Count bytes(Count index) const { return static_cast<Count>(index * Wide{extent_}); }

  /// Notes that `length` indices between `first` and `last` of this dimension are selected.
  bool note(Count first, Count last, Count length) {
    copies_ *= length;
    if (copies_ == 0) return true;
    const Wide one = first * extent_;
    const Wide other = last * extent_;
    low_ += std::min(one, other);
    high_ += std::max(one, other);
    return fits(one) && fits(other) && fits(low_) && fits(high_) && fits(high_ - low_) && fits(copies_);
  }

  bool grow(Count size) {
    extent_ *= size;
    return fits(extent_);
  }

  LayoutRef layout_;
  Wide extent_;
  Wide copies_;
  Wide low_, high_;
};

Code check_order(Process& process, int order) {
  if (order == kOrderC || order == kOrderFortran) return kSuccess;
  return process.fail(kErrArg, "order = %d, expected MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

/// Also whether there is memory for the numbers of each dimension that MPI_Type_get_contents gives.
Code check_dimensions(Process& process, int ndims, std::size_t dimension_bytes) {
  if (ndims > 0 && has_memory_for(static_cast<std::size_t>(ndims), dimension_bytes)) return kSuccess;
  if (ndims > 0) return fail_memory(process, "ndims", ndims);
  return process.fail(kErrArg, "ndims = %d, expected 1 or more", ndims);
}

/// The dimension that is the i-th fastest.
std::size_t fastest(int order, int ndims, int i) {
  return static_cast<std::size_t>(order == kOrderC ? ndims - 1 - i : i);
}

Code check_subarray(Process& process, std::size_t dimension, Count size, Count subsize, Count start) {
  if (size < 1) {
    return process.fail(kErrArg, "array_of_sizes[%zu] = %lld, expected 1 or more", dimension, printed(size));
  }
  if (subsize < 1 || subsize > size) {
    return process.fail(kErrArg, "array_of_subsizes[%zu] = %lld, expected 1..%lld (the size)", dimension,
                        printed(subsize), printed(size));
  }
  if (start < 0 || start > size - subsize) {
    return process.fail(kErrArg, "array_of_starts[%zu] = %lld, expected 0..%lld (size - subsize)", dimension,
                        printed(start), printed(size - subsize));
  }
  return kSuccess;
}

struct Dimension {
  std::size_t number;
  Count size;      // of the global array
  int distribute;  // ArrayDistribution
  int argument;
  int processes;  // of the process grid
  int coordinate;
};

Code check_darray_dimension(Process& process, const Dimension& d) {
  if (d.size < 1) {
    return process.fail(kErrArg, "array_of_gsizes[%zu] = %lld, expected 1 or more", d.number,
                        printed(d.size));
  }
  if (d.processes < 1) {
    return process.fail(kErrArg, "array_of_psizes[%zu] = %d, expected 1 or more", d.number, d.processes);
  }
  switch (d.distribute) {
    case kDistributeNone:
      if (d.processes == 1) return kSuccess;
      return process.fail(kErrArg, "array_of_psizes[%zu] = %d, expected 1 with MPI_DISTRIBUTE_NONE", d.number,
                          d.processes);
    case kDistributeBlock:
    case kDistributeCyclic:
      break;
    default:
      return process.fail(kErrArg,
                          "array_of_distribs[%zu] = %d, expected MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE",
                          d.number, d.distribute);
  }
  if (d.argument == kDistributeDefaultArg) return kSuccess;
  if (d.argument < 1) {
    return process.fail(kErrArg, "array_of_dargs[%zu] = %d, expected 1 or more, or MPI_DISTRIBUTE_DFLT_DARG",
                        d.number, d.argument);
  }
  if (d.distribute == kDistributeBlock && Wide{d.argument} * d.processes < d.size) {
    return process.fail(kErrArg,
                        "array_of_dargs[%zu] = %d, expected at least %lld: the blocks must hold %lld",
                        d.number, d.argument, printed((d.size - 1) / d.processes + 1), printed(d.size));
  }
  return kSuccess;
}

bool select_dimension(ArrayPart* part, const Dimension& d) {
  if (d.distribute == kDistributeNone) return part->select(d.size, 0, d.size);
  const bool by_default = d.argument == kDistributeDefaultArg;
  if (d.distribute == kDistributeCyclic) {
    return part->select_cyclic(d.size, by_default ? 1 : d.argument, d.coordinate, d.processes);
  }
  const Count block = by_default ? (d.size - 1) / d.processes + 1 : d.argument;
  const Wide start = Wide{block} * d.coordinate;
  if (start >= d.size) return part->select(d.size, 0, 0);
  return part->select(d.size, static_cast<Count>(start), std::min(block, d.size - static_cast<Count>(start)));
}

/// The place of `rank` in the process grid, which is numbered in row-major order whatever the array's order.
Code find_coordinates(Process& process, int size, int rank, int ndims, const int* psizes,
                      std::vector<int>* coordinates) {
  Wide processes = 1;
  for (int i = 0; i < ndims; ++i) {
    if (psizes[i] < 1) {
      return process.fail(kErrArg, "array_of_psizes[%d] = %d, expected 1 or more", i, psizes[i]);
    }
    processes *= psizes[i];
    if (processes > size) break;
  }
  if (processes != size) {
    return process.fail(kErrArg, "size = %d, expected the product of array_of_psizes", size);
  }
  if (rank < 0 || rank >= size) {
    return process.fail(kErrArg, "rank = %d, expected 0..%d (size - 1)", rank, size - 1);
  }
  if (!try_resize(coordinates, static_cast<std::size_t>(ndims))) return fail_memory(process, "ndims", ndims);
  for (int i = ndims - 1; i >= 0; --i) {
    (*coordinates)[static_cast<std::size_t>(i)] = rank % psizes[i];
    rank /= psizes[i];
  }
  return kSuccess;
}

/// Array numbers: integers of the narrow form, large counts of the wide one.
void note_array(Datatype* made, CountArray values, int ndims) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(ndims); ++i) {
    if (made->wide) {
      made->large_counts.push_back(values[i]);
    } else {
      made->integers.push_back(static_cast<int>(values[i]));
    }
  }
}

}  // namespace

namespace api {

Code type_create_subarray(Process& process, int ndims, CountArray sizes, CountArray subsizes,
                          CountArray starts, int order, Datatype* oldtype, Datatype** newtype, bool wide) {
  if (const Code code = check_dimensions(process, ndims, 3 * (wide ? sizeof(Count) : sizeof(int))))
    return code;
  if (const Code code = check_order(process, order)) return code;
  if (const Code code = check_oldtype(process, oldtype, "oldtype")) return code;
  ArrayPart part(*oldtype);
  for (int i = 0; i < ndims; ++i) {
    const std::size_t d = fastest(order, ndims, i);
    if (const Code code = check_subarray(process, d, sizes[d], subsizes[d], starts[d])) return code;
    if (!part.select(sizes[d], starts[d], subsizes[d])) return fail_overflow(process);
  }
  Ref<Datatype> made(part.finish(*oldtype));
  if (!made) return fail_overflow(process);
  note_origin(made.get(), Combiner::kSubarray, oldtype, wide);
  if (!reserve_origin(made.get(), 3 * Count{ndims}, 0, 0)) return fail_memory(process, "ndims", ndims);
  made->integers.push_back(ndims);
  note_array(made.get(), sizes, ndims);
  note_array(made.get(), subsizes, ndims);
  note_array(made.get(), starts, ndims);
  made->integers.push_back(order);
  *newtype = made.take();
  return kSuccess;
}

Code type_create_darray(Process& process, int size, int rank, int ndims, CountArray gsizes,
                        const int* distribs, const int* dargs, const int* psizes, int order,
                        Datatype* oldtype, Datatype** newtype, bool wide) {
  if (const Code code = check_dimensions(process, ndims, 5 * sizeof(int))) return code;
  if (const Code code = check_order(process, order)) return code;
  if (const Code code = check_oldtype(process, oldtype, "oldtype")) return code;
  std::vector<int> coordinates;
  if (const Code code = find_coordinates(process, size, rank, ndims, psizes, &coordinates)) return code;
  ArrayPart part(*oldtype);
  for (int i = 0; i < ndims; ++i) {
    const std::size_t d = fastest(order, ndims, i);
    const Dimension dimension{d, gsizes[d], distribs[d], dargs[d], psizes[d], coordinates[d]};
    if (const Code code = check_darray_dimension(process, dimension)) return code;
    if (!select_dimension(&part, dimension)) return fail_overflow(process);
  }
  Ref<Datatype> made(part.finish(*oldtype));
  if (!made) return fail_overflow(process);
  note_origin(made.get(), Combiner::kDarray, oldtype, wide);
  if (!reserve_origin(made.get(), Count{ndims}, 0, 0) ||
      !try_reserve(&made->integers, 4 * static_cast<std::size_t>(ndims) + 4))
    return fail_memory(process, "ndims", ndims);
  made->integers.insert(made->integers.end(), {size, rank, ndims});
  note_array(made.get(), gsizes, ndims);
  made->integers.insert(made->integers.end(), distribs, distribs + ndims);
  made->integers.insert(made->integers.end(), dargs, dargs + ndims);
  made->integers.insert(made->integers.end(), psizes, psizes + ndims);
  made->integers.push_back(order);
  *newtype = made.take();
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
