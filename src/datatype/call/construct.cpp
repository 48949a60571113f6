// The constructors that place blocks: contiguous, vector, indexed and struct with their variants, resized.
#include "datatype/call/construct.hpp"

#include <algorithm>

#include "base/user_memory.hpp"
#include "datatype/call/api.hpp"
#include "datatype/predefined.hpp"

namespace tasuki {

void Bounds::span(Wide low, Wide high, Wide* lb, Wide* ub, bool first) {
  *lb = first ? low : std::min(*lb, low);
  *ub = first ? high : std::max(*ub, high);
}

void Bounds::place(Wide displacement, Count copies, Wide stride, const Datatype& type) {
  if (copies == 0) return;
  if (!fits(displacement)) {
    overflow_ = true;
    return;
  }
  const Wide last = (copies - 1) * stride;
  const Wide low = displacement + std::min<Wide>(0, last);
  const Wide high = displacement + std::max<Wide>(0, last);
  if (type.size > 0) {
    size_ += Wide{copies} * type.size;
    span(low + type.true_lb, high + type.true_lb + type.true_extent, &true_lb_, &true_ub_, !any_data_);
    span(low + type.lb, high + type.lb + type.extent, &lb_, &ub_, !any_data_);
    any_data_ = true;
    alignment_ = std::max(alignment_, type.alignment);
  }
  if (type.bounds_marked) {
    span(low + type.lb, high + type.lb + type.extent, &marked_lb_, &marked_ub_, !any_marker_);
    any_marker_ = true;
  }
  overflow_ = overflow_ || !fits(size_) || !fits(low) || !fits(high) || !fits(true_lb_) || !fits(true_ub_) ||
              !fits(lb_) || !fits(ub_) || !fits(marked_lb_) || !fits(marked_ub_);
}

void Bounds::place_marker(Wide displacement, bool upper) {
  Limit& limit = upper ? upper_ : lower_;
  limit.at = !limit.given ? displacement
             : upper      ? std::max(limit.at, displacement)
                          : std::min(limit.at, displacement);
  limit.given = true;
}

bool Bounds::describe(Datatype* datatype, Padding padding) const {
  const Wide lb = lower_.given ? lower_.at : any_marker_ ? marked_lb_ : lb_;
  const Wide ub = upper_.given ? upper_.at : any_marker_ ? marked_ub_ : ub_;
  Wide extent = ub - lb;
  if (!any_marker_ && !upper_.given && padding == Padding::kToAlignment)
    extent = (extent + alignment_ - 1) / alignment_ * alignment_;
  const Wide true_extent = true_ub_ - true_lb_;
  if (overflow_ || !fits(extent) || !fits(lb + extent) || !fits(true_extent)) return false;
  datatype->size = static_cast<Count>(size_);
  datatype->lb = static_cast<Count>(lb);
  datatype->extent = static_cast<Count>(extent);
  datatype->true_lb = static_cast<Count>(true_lb_);
  datatype->true_extent = static_cast<Count>(true_extent);
  datatype->alignment = alignment_;
  datatype->bounds_marked = any_marker_;
  return true;
}

Code check_oldtype(Process& process, const Datatype* type, const char* argument) {
  if (type == nullptr) return process.fail(kErrType, "%s = MPI_DATATYPE_NULL, expected a datatype", argument);
  return kSuccess;
}

Code fail_overflow(Process& process) {
  return process.fail(kErrType, "size, extent or a displacement of the new type is beyond 63 bits");
}

void note_contiguous(Datatype* datatype) {
  const Layout& layout = *datatype->layout;
  datatype->contiguous = datatype->lb == 0 && datatype->size == datatype->extent &&
                         layout.shape == Layout::Shape::kRun && layout.offset == 0;
}

void note_origin(Datatype* datatype, Combiner combiner, Datatype* oldtype, bool wide) {
  datatype->combiner = combiner;
  datatype->wide = wide;
  datatype->types.push_back(retain(oldtype));
}

bool reserve_origin(Datatype* datatype, Count numbers, Count addresses, Count types) {
  constexpr Count kFew = 4;
  const auto few_more = [](Count n) { return static_cast<std::size_t>(n) + kFew; };
  const bool counts = datatype->wide ? try_reserve(&datatype->large_counts, few_more(numbers + addresses))
                                     : try_reserve(&datatype->integers, few_more(numbers)) &&
                                           try_reserve(&datatype->addresses, few_more(addresses));
  return counts && try_reserve(&datatype->types, few_more(types));
}

Datatype* clone(const Datatype& datatype) {
  auto* made = new Datatype;
  made->size = datatype.size;
  made->lb = datatype.lb;
  made->extent = datatype.extent;
  made->true_lb = datatype.true_lb;
  made->true_extent = datatype.true_extent;
  made->alignment = datatype.alignment;
  made->committed = datatype.committed;
  made->contiguous = datatype.contiguous;
  made->bounds_marked = datatype.bounds_marked;
  made->layout = datatype.layout;
  made->signature = datatype.signature;
  return made;
}

bool copy_origin(const Datatype& from, Datatype* to) {
  if (!try_assign(&to->integers, from.integers.data(), from.integers.size()) ||
      !try_assign(&to->addresses, from.addresses.data(), from.addresses.size()) ||
      !try_assign(&to->large_counts, from.large_counts.data(), from.large_counts.size()) ||
      !try_reserve(&to->types, from.types.size()))
    return false;
  to->combiner = from.combiner;
  to->wide = from.wide;
  for (Datatype* type : from.types) to->types.push_back(retain(type));
  return true;
}

Datatype* clone_with_origin(const Datatype& datatype) {
  Ref<Datatype> made(clone(datatype));
  return copy_origin(datatype, made.get()) ? made.take() : nullptr;
}

namespace {

Code check_count(Process& process, Count count, const char* argument) {
  if (count >= 0) return kSuccess;
  return process.fail(kErrCount, "%s = %lld, expected 0 or more", argument, printed(count));
}

Code check_length(Process& process, Count length) {
  if (length >= 0) return kSuccess;
  return process.fail(kErrArg, "blocklength = %lld, expected 0 or more", printed(length));
}

/// The integers of a narrow constructor, or the large counts of a wide one.
void note_number(Datatype* datatype, Count number) {
  if (datatype->wide) {
    datatype->large_counts.push_back(number);
  } else {
    datatype->integers.push_back(static_cast<int>(number));
  }
}

/// A byte displacement: an address in the narrow form.
void note_address(Datatype* datatype, Count address) {
  if (datatype->wide) {
    datatype->large_counts.push_back(address);
  } else {
    datatype->addresses.push_back(static_cast<Aint>(address));
  }
}

/// `count` blocks of `blocklength` elements, `stride` bytes apart.
Code make_strided(Process& process, Count count, Count blocklength, Wide stride, Datatype* oldtype,
                  Datatype** made) {
  if (const Code code = check_count(process, count, "count")) return code;
  if (const Code code = check_length(process, blocklength)) return code;
  if (const Code code = check_oldtype(process, oldtype, "oldtype")) return code;
  if (!fits(stride)) return fail_overflow(process);
  Datatype block;  // one block, as a step in between
  Bounds block_bounds;
  block_bounds.place(0, blocklength, oldtype->extent, *oldtype);
  if (!block_bounds.describe(&block)) return fail_overflow(process);
  Bounds bounds;
  bounds.place(0, blocklength == 0 ? 0 : count, stride, block);
  Ref<Datatype> result(new Datatype);
  if (!bounds.describe(result.get())) return fail_overflow(process);
  const LayoutRef run = layout_strided(0, blocklength, oldtype->extent, oldtype->layout);
  result->layout = layout_strided(0, count, static_cast<Count>(stride), run);
  result->signature = signature_repeat(oldtype->size > 0 ? count * blocklength : 0, oldtype->signature);
  note_contiguous(result.get());
  *made = result.take();
  return kSuccess;
}

/// Room for the lists that a constructor of listed blocks was given: lengths, where each has its own, and
/// places, in elements or in bytes.
bool reserve_lists(Datatype* datatype, Count count) {
  const Combiner combiner = datatype->combiner;
  const bool in_bytes = combiner == Combiner::kHindexed || combiner == Combiner::kHindexedBlock;
  const bool own_lengths = combiner == Combiner::kIndexed || combiner == Combiner::kHindexed;
  return reserve_origin(datatype, (own_lengths ? count : 0) + (in_bytes ? 0 : count), in_bytes ? count : 0,
                        1);
}

/// `count` blocks of length(i) elements at displacement(i) bytes.
template <class Length, class Displacement>
Code make_listed(Process& process, Combiner combiner, Count count, Length length, Displacement displacement,
                 Datatype* oldtype, Datatype** made, bool wide) {
  if (const Code code = check_count(process, count, "count")) return code;
  if (const Code code = check_oldtype(process, oldtype, "oldtype")) return code;
  Bounds bounds;
  Wide copies = 0;
  for (Count i = 0; i < count; ++i) {
    const Count blocklength = length(i);
    if (blocklength < 0) {
      return process.fail(kErrArg, "blocklength of block %lld = %lld, expected 0 or more", printed(i),
                          printed(blocklength));
    }
    bounds.place(displacement(i), blocklength, oldtype->extent, *oldtype);
    copies += blocklength;
    if (bounds.overflow()) return fail_overflow(process);
  }
  Ref<Datatype> result(new Datatype);
  if (!bounds.describe(result.get())) return fail_overflow(process);
  note_origin(result.get(), combiner, oldtype, wide);
  if (!reserve_lists(result.get(), count)) return fail_memory(process, "count", count);
  LayoutBuilder layout;
  if (oldtype->size > 0) {
    for (Count i = 0; i < count; ++i) {
      layout.add(static_cast<Count>(displacement(i)), length(i), oldtype->extent, oldtype->layout);
    }
  }
  result->layout = layout.finish();
  if (result->layout == nullptr) return fail_memory(process, "count", count);
  result->signature =
      signature_repeat(oldtype->size > 0 ? static_cast<Count>(copies) : 0, oldtype->signature);
  note_contiguous(result.get());
  *made = result.take();
  return kSuccess;
}

Wide scaled(Count displacement, const Datatype* type) {
  return type == nullptr ? 0 : Wide{displacement} * type->extent;
}

}  // namespace

namespace api {

Code type_contiguous(Process& process, Count count, Datatype* oldtype, Datatype** newtype, bool wide) {
  const Wide extent = oldtype == nullptr ? 0 : oldtype->extent;
  if (const Code code = make_strided(process, count, 1, extent, oldtype, newtype)) return code;
  note_origin(*newtype, Combiner::kContiguous, oldtype, wide);
  note_number(*newtype, count);
  return kSuccess;
}

Code type_vector(Process& process, Count count, Count blocklength, Count stride, Datatype* oldtype,
                 Datatype** newtype, bool wide) {
  const Wide bytes = scaled(stride, oldtype);
  if (const Code code = make_strided(process, count, blocklength, bytes, oldtype, newtype)) return code;
  note_origin(*newtype, Combiner::kVector, oldtype, wide);
  note_number(*newtype, count);
  note_number(*newtype, blocklength);
  note_number(*newtype, stride);
  return kSuccess;
}

Code type_create_hvector(Process& process, Count count, Count blocklength, Count stride, Datatype* oldtype,
                         Datatype** newtype, bool wide) {
  if (const Code code = make_strided(process, count, blocklength, stride, oldtype, newtype)) return code;
  note_origin(*newtype, Combiner::kHvector, oldtype, wide);
  note_number(*newtype, count);
  note_number(*newtype, blocklength);
  note_address(*newtype, stride);
  return kSuccess;
}

Code type_indexed(Process& process, Count count, CountArray blocklengths, CountArray displacements,
                  Datatype* oldtype, Datatype** newtype, bool wide) {
  const auto length = [&](Count i) { return blocklengths[static_cast<std::size_t>(i)]; };
  const auto place = [&](Count i) { return scaled(displacements[static_cast<std::size_t>(i)], oldtype); };
  if (const Code code =
          make_listed(process, Combiner::kIndexed, count, length, place, oldtype, newtype, wide))
    return code;
  note_number(*newtype, count);
  for (Count i = 0; i < count; ++i) note_number(*newtype, length(i));
  for (Count i = 0; i < count; ++i) note_number(*newtype, displacements[static_cast<std::size_t>(i)]);
  return kSuccess;
}

Code type_create_hindexed(Process& process, Count count, CountArray blocklengths, CountArray displacements,
                          Datatype* oldtype, Datatype** newtype, bool wide) {
  const auto length = [&](Count i) { return blocklengths[static_cast<std::size_t>(i)]; };
  const auto place = [&](Count i) { return Wide{displacements[static_cast<std::size_t>(i)]}; };
  if (const Code code =
          make_listed(process, Combiner::kHindexed, count, length, place, oldtype, newtype, wide))
    return code;
  note_number(*newtype, count);
  for (Count i = 0; i < count; ++i) note_number(*newtype, length(i));
  for (Count i = 0; i < count; ++i) note_address(*newtype, displacements[static_cast<std::size_t>(i)]);
  return kSuccess;
}

Code type_create_indexed_block(Process& process, Count count, Count blocklength, CountArray displacements,
                               Datatype* oldtype, Datatype** newtype, bool wide) {
  if (const Code code = check_length(process, blocklength)) return code;
  const auto length = [&](Count) { return blocklength; };
  const auto place = [&](Count i) { return scaled(displacements[static_cast<std::size_t>(i)], oldtype); };
  if (const Code code =
          make_listed(process, Combiner::kIndexedBlock, count, length, place, oldtype, newtype, wide))
    return code;
  note_number(*newtype, count);
  note_number(*newtype, blocklength);
  for (Count i = 0; i < count; ++i) note_number(*newtype, displacements[static_cast<std::size_t>(i)]);
  return kSuccess;
}

Code type_create_hindexed_block(Process& process, Count count, Count blocklength, CountArray displacements,
                                Datatype* oldtype, Datatype** newtype, bool wide) {
  if (const Code code = check_length(process, blocklength)) return code;
  const auto length = [&](Count) { return blocklength; };
  const auto place = [&](Count i) { return Wide{displacements[static_cast<std::size_t>(i)]}; };
  if (const Code code =
          make_listed(process, Combiner::kHindexedBlock, count, length, place, oldtype, newtype, wide))
    return code;
  note_number(*newtype, count);
  note_number(*newtype, blocklength);
  for (Count i = 0; i < count; ++i) note_address(*newtype, displacements[static_cast<std::size_t>(i)]);
  return kSuccess;
}

Code type_create_struct(Process& process, Count count, CountArray blocklengths, CountArray displacements,
                        Datatype* const* types, Datatype** newtype, bool wide) {
  if (const Code code = check_count(process, count, "count")) return code;
  Bounds bounds;
  for (Count i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (const Code code = check_oldtype(process, types[k], "a type of array_of_types")) return code;
    if (blocklengths[k] < 0) {
      return process.fail(kErrArg, "blocklength of block %lld = %lld, expected 0 or more", printed(i),
                          printed(blocklengths[k]));
    }
    const std::uint16_t number = types[k]->predefined;
    if (number != kMpiLb && number != kMpiUb)
      bounds.place(displacements[k], blocklengths[k], types[k]->extent, *types[k]);
    else if (blocklengths[k] > 0)
      bounds.place_marker(displacements[k], number == kMpiUb);
    if (bounds.overflow()) return fail_overflow(process);
  }
  Ref<Datatype> result(new Datatype);
  if (!bounds.describe(result.get(), Padding::kToAlignment)) return fail_overflow(process);
  LayoutBuilder layout;
  SignatureBuilder signature;
  result->combiner = Combiner::kStruct;
  result->wide = wide;
  if (!reserve_origin(result.get(), count, count, count)) return fail_memory(process, "count", count);
  note_number(result.get(), count);
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    layout.add(displacements[k], blocklengths[k], types[k]->extent, types[k]->layout);
    signature.add(types[k]->size > 0 ? blocklengths[k] : 0, types[k]->signature);
    result->types.push_back(retain(types[k]));
    note_number(result.get(), blocklengths[k]);
  }
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
    note_address(result.get(), displacements[k]);
  result->layout = layout.finish();
  result->signature = signature.finish();
  if (result->layout == nullptr || result->signature == nullptr) return fail_memory(process, "count", count);
  note_contiguous(result.get());
  *newtype = result.take();
  return kSuccess;
}

Code type_create_resized(Process& process, Datatype* oldtype, Count lb, Count extent, Datatype** newtype,
                         bool wide) {
  if (const Code code = check_oldtype(process, oldtype, "oldtype")) return code;
  if (!fits(Wide{lb} + extent)) return fail_overflow(process);
  Datatype* result = clone(*oldtype);
  result->lb = lb;
  result->extent = extent;
  result->bounds_marked = true;
  result->committed = false;
  note_contiguous(result);
  note_origin(result, Combiner::kResized, oldtype, wide);
  note_address(result, lb);
  note_address(result, extent);
  *newtype = result;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
