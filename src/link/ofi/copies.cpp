// OfiLink: memory named by keys: puts into and gets from memory of ranks on other nodes, past the buffers.
//
// A copy waits in its peer's queue until the connection is there and libfabric takes it; longer ones than the
// provider can go part after part, each when the one before it is confirmed.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "link/ofi/ofi_link.hpp"
#include "memory/symmetric_heap.hpp"

namespace tasuki {
namespace {

using ofi::Copy;
using ofi::FrameKind;
using ofi::Region;
using ofi::Tell;

// In MemoryKey::word, beside an address that may be 0: providers name memory by an offset, or by an address
// of a process, which has 57 bits.
constexpr std::uint64_t kNamed = std::uint64_t{1} << 63;

}  // namespace

bool OfiLink::can_put(int peer) const {
  if (!is_far(peer)) return behind_->can_put(peer);
  return fabric_->copying().copies && find_other(peer) == nullptr;
}

std::uint64_t OfiLink::copy_bytes_min(int peer) const {
  return is_far(peer) ? fabric_->copying().bytes_min : behind_->copy_bytes_min(peer);
}

bool OfiLink::copies_long_only(int peer) const {
  return is_far(peer) ? fabric_->copying().long_only : behind_->copies_long_only(peer);
}

bool OfiLink::may_register(int peer, std::uint64_t bytes) const {
  return is_far(peer) ? bytes >= fabric_->copying().register_bytes_min : behind_->may_register(peer, bytes);
}

void OfiLink::use_heap(SymmetricHeap& heap) {
  heap_ = &heap;
  behind_->use_heap(heap);
}

/// What of the own symmetric heap, which is registered at the first use.
const Region* OfiLink::heap_region(const void* base, std::size_t bytes, std::uint64_t* offset) {
  if (heap_ == nullptr || fabric_->copying().naming != ofi::Naming::kHeap) return nullptr;
  const SymmetricAddress address = heap_->locate(base, bytes).address;
  const auto [begin, all] = heap_->own_range();
  if (address == 0 || all == 0) return nullptr;
  *offset = address - begin;
  if (heap_region_ == nullptr) heap_region_ = fabric_->register_memory(reinterpret_cast<void*>(begin), all);
  return heap_region_;
}

bool OfiLink::register_memory(int peer, void* base, std::size_t bytes, MemoryKey* key) {
  if (!is_far(peer)) return behind_->register_memory(peer, base, bytes, key);
  const ofi::Inside inside(gate_);
  if (!can_put(peer)) return false;
  std::uint64_t offset = 0;
  const Region* region = heap_region(base, bytes, &offset);
  if (region == nullptr) region = fabric_->register_memory(base, bytes);
  if (region == nullptr) return false;
  *key = {(region->address + offset) | kNamed, bytes, region->key};
  return true;
}

void OfiLink::unregister_memory(int peer, const MemoryKey& key) {
  if (!is_far(peer)) return behind_->unregister_memory(peer, key);
  const ofi::Inside inside(gate_);
  if (heap_region_ == nullptr || key.access != heap_region_->key) fabric_->unregister_memory(key.access);
}

bool OfiLink::put_memory(int peer, const MemoryKey& key, std::uint64_t offset, const void* from,
                         std::size_t bytes, std::uint64_t* completed) {
  if (!is_far(peer)) return behind_->put_memory(peer, key, offset, from, bytes, completed);
  return copy_memory(peer, key, offset, {.puts = true, .here = from, .bytes = bytes}, completed);
}

bool OfiLink::put_and_tell(int peer, const MemoryKey& key, std::uint64_t offset, const void* from,
                           std::size_t bytes, std::uint32_t word, std::uint64_t* completed) {
  return is_far(peer) &&
         copy_memory(peer, key, offset,
                     {.puts = true, .here = from, .bytes = bytes, .tells = true, .word = word}, completed);
}

bool OfiLink::get_memory(int peer, const MemoryKey& key, std::uint64_t offset, void* to, std::size_t bytes,
                         std::uint64_t* completed) {
  if (!is_far(peer)) return behind_->get_memory(peer, key, offset, to, bytes, completed);
  return copy_memory(peer, key, offset, {.puts = false, .here = to, .bytes = bytes}, completed);
}

bool OfiLink::copy_memory(int peer, const MemoryKey& key, std::uint64_t offset, const Piece& piece,
                          std::uint64_t* completed) {
  const ofi::Inside inside(gate_);
  const bool is_within = offset <= key.bytes && piece.bytes <= key.bytes - offset;
  if (!can_put(peer) || (key.word & kNamed) == 0 || !is_within) return false;
  if (piece.bytes == 0) {
    ++*completed;
    return true;
  }
  if (free_copies_ == nullptr) free_copies_ = &copies_.emplace_back();
  Copy* const copy = std::exchange(free_copies_, free_copies_->next);
  copy->puts = piece.puts;
  copy->tells = piece.tells;
  copy->word = piece.word;
  copy->here = static_cast<std::byte*>(const_cast<void*>(piece.here));  // what is put is read only
  copy->there = (key.word & ~kNamed) + offset;
  copy->key = key.access;
  copy->bytes = piece.bytes;
  copy->peer = peer;
  copy->completed = completed;
  Peer& to = at(peer);
  if (!to.is_unfinished()) to.moved_ns = clock_.now_ns();
  to.copies.push_back(copy);
  list(peer);
  greet(peer);
  begin_copies(peer);
  return true;
}

/// Has libfabric take what waits.
void OfiLink::begin_copies(int peer) {
  Peer& to = at(peer);
  while (to.connected && !to.gone && !to.copies.empty()) {
    Copy* const copy = to.copies.front();
    const long result = fabric_->begin(to.number, copy);
    if (result != 0) {
      if (result != -FI_EAGAIN) lose_copy(peer, result);
      break;
    }
    to.copies.pop_front();
    ++to.copies_under_way;
    to.talked = true;
    if (copy->tells && copy->part == copy->bytes && fabric_->copying().tell == Tell::kOrder) tell(*copy);
  }
  if (!to.copies.empty()) restless_.store(true, std::memory_order_relaxed);
}

/// By a packet: what has been put is there before it.
void OfiLink::tell(const Copy& copy) {
  const ofi::WrittenWords words{copy.word};
  if (!say(copy.peer, FrameKind::kWritten, &words)) lose_copy(copy.peer, -FI_ENOMEM);
}

void OfiLink::lose_copy(int peer, long error) {
  Peer& to = at(peer);
  if (!leaving_) to.broken = true;
  to.trouble = fabric_->library().error_text(error);
}

void OfiLink::give_back(Copy* copy) {
  fabric_->end(copy);
  copy->next = std::exchange(free_copies_, copy);
}

/// A part of a copy is over. `error`: why it was lost; 0: it was not. Returns whether all of it is.
bool OfiLink::copied(Copy* copy, int error) {
  const int peer = copy->peer;
  Peer& to = at(peer);
  --to.copies_under_way;
  if (error != 0) {
    lose_copy(peer, error);
    give_back(copy);
    return false;
  }
  to.moved_ns = clock_.now_ns();
  to.patience_ns = connect_ns_ / 4;
  ++to.moves;
  copy->bytes -= copy->part;
  copy->here += copy->part;
  copy->there += copy->part;
  const bool over = copy->bytes == 0;
  if (over) {
    if (copy->tells && fabric_->copying().tell == Tell::kDelivery) tell(*copy);
    ++*copy->completed;
    give_back(copy);
  } else {
    to.copies.push_front(copy);
  }
  begin_copies(peer);
  return over;
}

/// The word of a put that is there.
void OfiLink::written(std::uint32_t word, PacketSink* sink) {
  if (sink == nullptr) {
    held_words_.push_back(word);  // this rank is leaving, and may come back
  } else {
    sink->written(word);
  }
}

}  // namespace tasuki
