// Binding a schedule to a call: see coll/schedule/bound_schedule.hpp.
#include "coll/schedule/bound_schedule.hpp"

#include "base/predefined.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

constexpr Count kScratchKeptBytesMax = 4 << 20;  // more is given back when the collective is over

}  // namespace

TypeShape shape_of(const Datatype& datatype) {
  return {datatype.size, datatype.extent, datatype.true_lb, datatype.true_extent, datatype.contiguous};
}

void BoundSchedule::take_types(Datatype* const* send_types, std::size_t out_blocks,
                               Datatype* const* receive_types, std::size_t in_blocks) {
  if (send_types == nullptr) out_blocks = 0;
  types.assign(send_types, send_types + out_blocks);
  types.insert(types.end(), receive_types, receive_types + in_blocks);
  for (const Datatype* type : types) {
    type_sizes.push_back(type == nullptr ? 0 : type->size);
    type_lower_bounds.push_back(type == nullptr ? 0 : type->true_lb);
  }
  arguments.send_types = send_types == nullptr ? nullptr : types.data();
  arguments.receive_types = types.data() + out_blocks;
}

Code BoundSchedule::take_scratch() {
  if (schedule.scratch_bytes <= scratch_capacity_) return 0;
  const Count bytes =
      (schedule.scratch_bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  scratch_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kScratchAlignment, static_cast<std::size_t>(bytes))));
  scratch_capacity_ = scratch_ ? bytes : 0;
  if (scratch_) return 0;
  return process_.fail(kErrNoMem, "scratch memory of %lld bytes for the collective could not be allocated",
                       static_cast<long long>(bytes));
}

// Addresses are computed as numbers: the user's buffer may be MPI_BOTTOM, that is null.
std::byte* BoundSchedule::address(Place place) const {
  const void* base = scratch_.get();
  if (place.space == Space::kSend) base = arguments.send;
  if (place.space == Space::kReceive) base = arguments.receive;
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(base) + place.offset);
}

Datatype& BoundSchedule::datatype(ElementType type, int block) const {
  switch (type) {
    case ElementType::kSendType:
      return *arguments.send_type;
    case ElementType::kReceiveType:
      return *arguments.receive_type;
    case ElementType::kSendTypeOfPeer:
      return *arguments.send_types[block];
    case ElementType::kReceiveTypeOfPeer:
      return *arguments.receive_types[block];
    case ElementType::kBytes:
      break;
  }
  return *static_cast<Datatype*>(process_.objects->predefined[kMpiByte]);
}

void BoundSchedule::unbind() {
  types.clear();
  type_sizes.clear();
  type_lower_bounds.clear();
  schedule.clear();
  arguments = {};
  if (scratch_capacity_ > kScratchKeptBytesMax) {
    scratch_.reset();
    scratch_capacity_ = 0;
  }
}

}  // namespace tasuki
