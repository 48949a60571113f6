// The block that the ranks of a file map: see mapped_state.hpp.
#include "io/shared/mapped_state.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "base/process.hpp"
#include "io/shared/mapped_range_locks.hpp"

namespace tasuki {

MappedState::MappedState(Comm& comm, void* block)
    : comm_(comm), block_(std::launder(static_cast<Block*>(block))) {}

MappedState::~MappedState() {
  if (in_own_heap_ != nullptr) comm_.process.symmetric_heap->deallocate(in_own_heap_);
}

/// Null where the memory would not be symmetric.
void* MappedState::make_in_heap(Comm& comm) {
  const std::size_t bytes = bytes_needed(comm.size());
  void* memory = comm.process.symmetric_heap->allocate_symmetric(bytes, alignof(Block));
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

std::unique_ptr<MappedState> MappedState::create(Comm& comm, bool heaps_are_reached, std::string* error) {
  if (comm.size() == 1) {
    auto own = std::make_unique<OwnBlock>();
    std::unique_ptr<MappedState> made(new MappedState(comm, &own->block));
    made->own_ = std::move(own);
    return made;
  }
  void* const in_heap = heaps_are_reached ? make_in_heap(comm) : nullptr;
  std::unique_ptr<SharedSegment> segment;
  if (in_heap == nullptr) {
    segment = SharedSegment::create(bytes_needed(comm.size()), error);
    if (segment == nullptr) return nullptr;
  }
  void* const memory = in_heap != nullptr ? in_heap : segment->base();
  ::new (memory) Block;
  std::unique_ptr<MappedState> made(new MappedState(comm, memory));
  made->in_own_heap_ = in_heap;
  made->segment_ = std::move(segment);
  return made;
}

BlockAddress MappedState::address() const {
  BlockAddress address;
  if (segment_ != nullptr) address.segment = segment_->address();
  if (in_own_heap_ != nullptr)
    address.in_heap = comm_.process.symmetric_heap->locate(in_own_heap_, bytes_needed(comm_.size())).address;
  return address;
}

std::unique_ptr<MappedState> MappedState::open(const BlockAddress& address, Comm& comm, std::string* error) {
  constexpr const char* kWhy = "the address of the block that the ranks of the file share is damaged";
  const std::size_t bytes = bytes_needed(comm.size());
  if (address.in_heap != 0) {
    if (!comm.process.symmetric_heap->locate(comm.endpoint(0), address.in_heap, bytes).is_shared()) {
      *error = kWhy;
      return nullptr;
    }
    return std::unique_ptr<MappedState>(new MappedState(comm, reinterpret_cast<void*>(address.in_heap)));
  }
  if (address.segment.bytes != bytes) {
    *error = kWhy;
    return nullptr;
  }
  std::unique_ptr<SharedSegment> segment = SharedSegment::open(address.segment, error);
  if (segment == nullptr) return nullptr;
  std::unique_ptr<MappedState> made(new MappedState(comm, segment->base()));
  made->segment_ = std::move(segment);
  return made;
}

std::unique_ptr<RangeLocks> MappedState::make_locks(std::uint64_t identity) {
  return std::make_unique<MappedRangeLocks>(comm_, reinterpret_cast<std::byte*>(block_ + 1), identity);
}

}  // namespace tasuki
