// The block that the ranks of a file map: see mapped_state.hpp.
#include "io/shared/mapped_state.hpp"

#include <new>
#include <utility>

#include "io/shared/mapped_range_locks.hpp"

namespace tasuki {

MappedState::MappedState(Comm& comm, std::unique_ptr<SharedSegment> segment, std::unique_ptr<OwnBlock> own)
    : comm_(comm), segment_(std::move(segment)), own_(std::move(own)) {
  block_ = segment_ != nullptr ? std::launder(reinterpret_cast<Block*>(segment_->base())) : &own_->block;
}

std::unique_ptr<MappedState> MappedState::create(Comm& comm, std::string* error) {
  std::unique_ptr<SharedSegment> segment;
  std::unique_ptr<OwnBlock> own;
  if (comm.size() == 1) {
    own = std::make_unique<OwnBlock>();
  } else {
    segment = SharedSegment::create(bytes_needed(comm.size()), error);
    if (segment == nullptr) return nullptr;
    ::new (static_cast<void*>(segment->base())) Block;
  }
  return std::unique_ptr<MappedState>(new MappedState(comm, std::move(segment), std::move(own)));
}

std::unique_ptr<MappedState> MappedState::open(const SegmentAddress& address, Comm& comm,
                                               std::string* error) {
  if (address.bytes != bytes_needed(comm.size())) {
    *error = "the address of the block that the ranks of the file share is damaged";
    return nullptr;
  }
  std::unique_ptr<SharedSegment> segment = SharedSegment::open(address, error);
  if (segment == nullptr) return nullptr;
  return std::unique_ptr<MappedState>(new MappedState(comm, std::move(segment), nullptr));
}

std::unique_ptr<RangeLocks> MappedState::make_locks(std::uint64_t identity) {
  return std::make_unique<MappedRangeLocks>(comm_, reinterpret_cast<std::byte*>(block_ + 1), identity);
}

}  // namespace tasuki
