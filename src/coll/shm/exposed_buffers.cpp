// The exposed buffers of a single-copy schedule: see coll/shm/exposed_buffers.hpp.
#include "coll/shm/exposed_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/copy.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

constexpr Count kMemoryKeptBytesMax = 4 << 20;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kEntriesInRoom = 12;  // longer tables lie elsewhere

Count round_up(Count bytes) {
  return (bytes + Count{kAlignment} - 1) / Count{kAlignment} * Count{kAlignment};
}

/// Whether what it holds when it is offered counts, and whether what it holds in the end does.
bool is_read(ExposedBuffer::Use use) {
  return use == ExposedBuffer::Use::kRead || use == ExposedBuffer::Use::kKept ||
         use == ExposedBuffer::Use::kSwapped;
}
bool is_written(ExposedBuffer::Use use) {
  return use != ExposedBuffer::Use::kRead && use != ExposedBuffer::Use::kKept;
}

}  // namespace

ExposedBuffers::~ExposedBuffers() {
  if (memory_ != nullptr) process_.symmetric_heap->deallocate(memory_);
}

void ExposedBuffers::add(const ExposedBuffer& exposed, void* buffer, const Datatype& type) {
  Own own{.buffer = buffer, .type = &type, .count = exposed.count, .bytes = exposed.count * type.size};
  own.use = exposed.use;
  own.part_begin = exposed.part_begin;
  own.part_bytes = own.use == ExposedBuffer::Use::kSwapped ? exposed.part_bytes : own.bytes;
  if (type.contiguous && own.use != ExposedBuffer::Use::kKept) own.dense = static_cast<std::byte*>(buffer);
  own_.push_back(own);
}

Code ExposedBuffers::prepare(Comm& comm) {
  comm_ = &comm;
  error_ = 0;
  offered_ = 0;
  Count needed = 0;
  bool kept = false;
  for (std::size_t number = 0; number < own_.size(); ++number) {
    Own& exposed = own_[number];
    const bool is_single_copy = exposed.use >= ExposedBuffer::Use::kRead;
    if (is_single_copy) offered_ = number + 1;
    kept = kept || exposed.use == ExposedBuffer::Use::kKept;
    if (exposed.bytes == 0) continue;
    if (is_single_copy && exposed.dense != nullptr)
      exposed.address =
          process_.symmetric_heap->locate(exposed.dense, static_cast<std::size_t>(exposed.bytes)).address;
    exposed.staged = is_single_copy
                         ? exposed.address == 0
                         : exposed.use == ExposedBuffer::Use::kCombined && exposed.dense == nullptr;
    if (exposed.staged) needed += round_up(exposed.part_bytes);
  }
  const bool has_room = offered_ <= kEntriesInRoom;
  if (!has_room) needed += round_up(static_cast<Count>(offered_ * sizeof(Entry)));
  table_ = nullptr;
  if (needed == 0) return 0;
  std::byte* next = memory_of(needed, kept);
  if (next == nullptr) return refuse_memory(needed);
  for (Own& exposed : own_) {
    if (!exposed.staged) continue;
    exposed.dense = next;
    exposed.address =
        reinterpret_cast<SymmetricAddress>(next) - static_cast<SymmetricAddress>(exposed.part_begin);
    next += round_up(exposed.part_bytes);
  }
  if (!has_room) table_ = next;
  return 0;
}

/// Null where there is none.
std::byte* ExposedBuffers::memory_of(Count bytes, bool kept) {
  if (kept) return comm_->slots.get(kNodeSegmentSlot)->keep(bytes);
  if (bytes <= memory_bytes_) return memory_;
  SymmetricHeap& memory = *process_.symmetric_heap;
  if (memory_ != nullptr) memory.deallocate(memory_);
  memory_ = static_cast<std::byte*>(memory.allocate_symmetric(static_cast<std::size_t>(bytes), kAlignment));
  memory_bytes_ = memory_ != nullptr ? bytes : 0;
  return memory_;
}

/// Nothing is staged: those exposed buffers are not there.
Code ExposedBuffers::refuse_memory(Count bytes) {
  for (Own& exposed : own_) {
    if (exposed.staged) exposed.dense = nullptr;
  }
  return process_.fail(kErrNoMem,
                       "%lld bytes of memory that the other ranks can reach could not be allocated",
                       static_cast<long long>(bytes));
}

void ExposedBuffers::stage(const Own& exposed) const {
  const Progress::Release released(*process_.progress, exposed.part_bytes);
  const int reader = comm_->rank == 0 ? comm_->size() - 1 : 0;  // one of them
  if (exposed.use == ExposedBuffer::Use::kKept && exposed.type->contiguous &&
      is_streamed(exposed.part_bytes, reader)) {
    return stream_bytes(exposed.dense, exposed.buffer, static_cast<std::size_t>(exposed.part_bytes));
  }
  PackCursor cursor(*exposed.type, exposed.count);
  cursor.seek(exposed.part_begin);
  cursor.pack(exposed.buffer, exposed.dense, static_cast<std::size_t>(exposed.part_bytes));
}

void ExposedBuffers::unstage(const Own& exposed) const {
  const Progress::Release released(*process_.progress, exposed.part_bytes);
  PackCursor cursor(*exposed.type, exposed.count);
  cursor.seek(exposed.part_begin);
  cursor.unpack(exposed.buffer, exposed.dense, static_cast<std::size_t>(exposed.part_bytes));
}

Count ExposedBuffers::offer() {
  for (const Own& exposed : own_) {
    if (!exposed.staged || !is_read(exposed.use) || exposed.dense == nullptr) continue;
    stage(exposed);
  }
  Table table{.entries = offered_, .elsewhere = reinterpret_cast<SymmetricAddress>(table_)};
  const bool follows = offered_ <= kEntriesInRoom;
  if (!follows && table_ == nullptr) table.entries = 0;
  const std::size_t bytes = sizeof table + (follows ? table.entries * sizeof(Entry) : 0);
  std::byte* room = comm_->slots.get(kNodeSegmentSlot)->room(static_cast<Count>(bytes));
  std::memcpy(room, &table, sizeof table);
  std::byte* out = follows ? room + sizeof table : table_;
  for (std::size_t number = 0; number < table.entries; ++number, out += sizeof(Entry)) {
    const Own& exposed = own_[number];
    const bool is_single_copy = exposed.use >= ExposedBuffer::Use::kRead;
    const Entry one{is_single_copy ? exposed.address : 0,
                    is_single_copy ? static_cast<std::uint64_t>(exposed.bytes) : 0};
    std::memcpy(out, &one, sizeof one);
  }
  return static_cast<Count>(bytes);
}

void ExposedBuffers::accept() {
  for (const Own& exposed : own_) {
    if (!exposed.staged || !is_written(exposed.use) || exposed.dense == nullptr) continue;
    unstage(exposed);
  }
}

std::size_t ExposedBuffers::number_of(Place place) const {
  switch (place.space) {
    case Space::kInput:
      return 0;
    case Space::kOutput:
      return 1;
    case Space::kBlockForMe:
      return static_cast<std::size_t>(comm_->rank);
    default:
      return static_cast<std::size_t>(comm_->size() + place.member);
  }
}

/// Null where it is another rank's.
const ExposedBuffers::Own* ExposedBuffers::own(Place place) const {
  if (place.space != Space::kBlockFrom && place.member != comm_->rank) return nullptr;
  return &own_[number_of(place)];
}

ExposedBuffers::Entry ExposedBuffers::entry(int member, std::size_t number) const {
  const std::byte* room = comm_->slots.get(kNodeSegmentSlot)->data(member);
  Table table;
  std::memcpy(&table, room, sizeof table);
  Entry found{0, 0};
  if (number >= table.entries) return found;
  const std::byte* entries = room + sizeof table;
  if (table.entries > kEntriesInRoom) {
    const std::size_t bytes = (number + 1) * sizeof(Entry);
    if (!process_.symmetric_heap->locate(comm_->endpoint(member), table.elsewhere, bytes).is_shared())
      return found;
    entries = reinterpret_cast<const std::byte*>(table.elsewhere);
  }
  std::memcpy(&found, entries + number * sizeof(Entry), sizeof found);
  return found;
}

Count ExposedBuffers::length(Place place) const {
  if (const Own* exposed = own(place)) return exposed->bytes;
  return std::max<Count>(0, static_cast<Count>(entry(place.member, number_of(place)).bytes));
}

ExposedBuffers::Bytes ExposedBuffers::find(Place place, Count bytes) {
  if (const Own* exposed = own(place)) {
    Bytes found{.bytes = std::min(bytes, exposed->bytes - place.offset)};
    if (found.bytes <= 0) return {};
    if (exposed->dense != nullptr) {
      found.at = exposed->dense + place.offset;
    } else if (!exposed->staged) {
      found.typed = exposed->type;
      found.buffer = exposed->buffer;
      found.elements = exposed->count;
      found.skip = place.offset;
    }
    return found;
  }
  const Entry theirs = entry(place.member, number_of(place));
  const auto length = static_cast<Count>(theirs.bytes);  // less than 0: what no rank has
  if (length <= place.offset) return {};
  Bytes found{.bytes = std::min(bytes, length - place.offset), .streamed = is_streamed(bytes, place.member)};
  const auto reached = static_cast<std::size_t>(std::max<Count>(found.bytes, 1));  // it is there, or an error
  const SymmetricAddress address = theirs.address + static_cast<SymmetricAddress>(place.offset);
  if (theirs.address == 0 ||
      !process_.symmetric_heap->locate(comm_->endpoint(place.member), address, reached).is_shared()) {
    note(process_.fail(kErrNoMem,
                       "the buffer of rank %d is not to be had: it is private, and could not be staged",
                       place.member));
    return {};
  }
  found.at = found.bytes > 0 ? reinterpret_cast<std::byte*>(address) : nullptr;
  return found;
}

bool ExposedBuffers::is_streamed(Count bytes, int member) const {
  return process_.p2p->large->is_streamed_to(comm_->endpoint(member), bytes);
}

void ExposedBuffers::clear() {
  own_.clear();
  comm_ = nullptr;
  error_ = 0;
  if (memory_bytes_ <= kMemoryKeptBytesMax) return;
  process_.symmetric_heap->deallocate(memory_);
  memory_ = nullptr;
  memory_bytes_ = 0;
}

void move_bytes(const ExposedBuffers::Bytes& from, const ExposedBuffers::Bytes& to) {
  const Count bytes = std::min(from.bytes, to.bytes);
  if (!from.exist() || !to.exist() || bytes <= 0) return;
  const auto size = static_cast<std::size_t>(bytes);
  if (from.at != nullptr && to.at != nullptr) {
    if (from.at == to.at) return;
    if (std::less_equal<>{}(from.at + bytes, to.at) || std::less_equal<>{}(to.at + bytes, from.at))
      to.streamed ? stream_bytes(to.at, from.at, size) : copy_bytes(to.at, from.at, size);
    else
      std::memmove(to.at, from.at, size);
    return;
  }
  if (to.at != nullptr) {
    PackCursor cursor(*from.typed, from.elements);
    cursor.seek(from.skip);
    cursor.pack(from.buffer, to.at, size);
    return;
  }
  PackCursor cursor(*to.typed, to.elements);
  cursor.seek(to.skip);
  if (from.at != nullptr) {
    cursor.unpack(to.buffer, from.at, size);
    return;
  }
  // Between two buffers of this rank: a block to itself.
  PackCursor source(*from.typed, from.elements);
  source.seek(from.skip);
  std::byte piece[4096];
  for (Count moved = 0; moved < bytes;) {
    const std::size_t part =
        source.pack(from.buffer, piece, std::min(sizeof piece, static_cast<std::size_t>(bytes - moved)));
    cursor.unpack(to.buffer, piece, part);
    moved += static_cast<Count>(part);
  }
}

}  // namespace tasuki
