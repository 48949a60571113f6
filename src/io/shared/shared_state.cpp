// The shared block of a file.
#include "io/shared/shared_state.hpp"

#include <new>
#include <utility>

namespace tasuki {

SharedState::SharedState(std::unique_ptr<SharedSegment> segment, std::unique_ptr<OwnBlock> own)
    : segment_(std::move(segment)), own_(std::move(own)) {
  block_ = segment_ != nullptr ? std::launder(reinterpret_cast<Block*>(segment_->base())) : &own_->block;
}

std::unique_ptr<SharedState> SharedState::create(int ranks, std::string* error) {
  std::unique_ptr<SharedSegment> segment;
  std::unique_ptr<OwnBlock> own;
  if (ranks == 1) {
    own = std::make_unique<OwnBlock>();
  } else {
    segment = SharedSegment::create(bytes_needed(ranks), error);
    if (segment == nullptr) return nullptr;
    ::new (static_cast<void*>(segment->base())) Block;
  }
  return std::unique_ptr<SharedState>(new SharedState(std::move(segment), std::move(own)));
}

std::unique_ptr<SharedState> SharedState::open(const SegmentAddress& address, int ranks, std::string* error) {
  if (address.bytes != bytes_needed(ranks)) {
    *error = "the address of the block that the ranks of the file share is damaged";
    return nullptr;
  }
  std::unique_ptr<SharedSegment> segment = SharedSegment::open(address, error);
  if (segment == nullptr) return nullptr;
  return std::unique_ptr<SharedState>(new SharedState(std::move(segment), nullptr));
}

}  // namespace tasuki
