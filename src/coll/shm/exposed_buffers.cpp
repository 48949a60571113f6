// Images of a shared schedule: see coll/shm/exposed_buffers.hpp.
#include "coll/shm/exposed_buffers.hpp"

#include <algorithm>
#include <cstring>

#include "base/predefined.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

constexpr Count kMemoryKeptBytesMax = 4 << 20;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kEntriesInRoom = 12;  // longer tables lie elsewhere

Count round_up(Count bytes) {
  return (bytes + Count{kAlignment} - 1) / Count{kAlignment} * Count{kAlignment};
}

/// Others see a copy, whatever the buffer is.
bool is_copied(Image::Use use) {
  return use == Image::Use::kSaved || use == Image::Use::kKept;
}

bool is_read(Image::Use use) {
  return use == Image::Use::kRead || is_copied(use);
}

}  // namespace

Images::~Images() {
  if (memory_ != nullptr) process_.global_memory->deallocate(memory_);
}

void Images::add(void* buffer, Count count, const Datatype& type, Image::Use use) {
  Own image{.buffer = buffer, .type = &type, .count = count, .bytes = count * type.size, .use = use};
  if (type.contiguous && !is_copied(use)) image.dense = static_cast<std::byte*>(buffer);
  own_.push_back(image);
}

Code Images::prepare(Comm& comm) {
  comm_ = &comm;
  error_ = 0;
  offered_ = 0;
  Count needed = 0;
  bool kept = false;
  for (std::size_t number = 0; number < own_.size(); ++number) {
    Own& image = own_[number];
    const bool is_shared = image.use >= Image::Use::kRead;
    if (is_shared) offered_ = number + 1;
    kept = kept || image.use == Image::Use::kKept;
    if (image.bytes == 0) continue;
    if (is_shared && image.dense != nullptr)
      image.address = process_.global_memory->find(image.dense, static_cast<std::size_t>(image.bytes));
    image.staged =
        is_shared ? image.address == 0 : image.use == Image::Use::kResult && image.dense == nullptr;
    if (image.staged) needed += round_up(image.bytes);
  }
  const bool has_room = offered_ <= kEntriesInRoom;
  if (!has_room) needed += round_up(static_cast<Count>(offered_ * sizeof(Entry)));
  table_ = nullptr;
  if (needed == 0) return 0;
  std::byte* next = memory_of(needed, kept);
  if (next == nullptr) return refuse_memory(needed);
  for (Own& image : own_) {
    if (!image.staged) continue;
    image.dense = next;
    image.address = reinterpret_cast<GlobalAddress>(next);
    next += round_up(image.bytes);
  }
  if (!has_room) table_ = next;
  return 0;
}

/// Null where there is none.
std::byte* Images::memory_of(Count bytes, bool kept) {
  if (kept) return comm_->stage->keep(bytes);
  if (bytes <= memory_bytes_) return memory_;
  GlobalMemory& memory = *process_.global_memory;
  if (memory_ != nullptr) memory.deallocate(memory_);
  memory_ = static_cast<std::byte*>(memory.allocate_global(static_cast<std::size_t>(bytes), kAlignment));
  memory_bytes_ = memory_ != nullptr ? bytes : 0;
  return memory_;
}

/// Nothing is staged: those images are not there.
Code Images::refuse_memory(Count bytes) {
  for (Own& image : own_) {
    if (image.staged) image.dense = nullptr;
  }
  return process_.fail(kErrNoMem,
                       "%lld bytes of memory that the other ranks can reach could not be allocated",
                       static_cast<long long>(bytes));
}

Count Images::offer() {
  for (const Own& image : own_) {
    if (image.staged && is_read(image.use) && image.dense != nullptr)
      copy_typed(image.buffer, image.count, *image.type, image.dense, image.bytes,
                 *static_cast<Datatype*>(process_.objects->predefined[kMpiByte]));
  }
  Table table{.entries = offered_, .elsewhere = reinterpret_cast<GlobalAddress>(table_)};
  const bool follows = offered_ <= kEntriesInRoom;
  if (!follows && table_ == nullptr) table.entries = 0;
  const std::size_t bytes = sizeof table + (follows ? table.entries * sizeof(Entry) : 0);
  std::byte* room = comm_->stage->room(static_cast<Count>(bytes));
  std::memcpy(room, &table, sizeof table);
  std::byte* out = follows ? room + sizeof table : table_;
  for (std::size_t number = 0; number < table.entries; ++number, out += sizeof(Entry)) {
    const Own& image = own_[number];
    const bool is_shared = image.use >= Image::Use::kRead;
    const Entry one{is_shared ? image.address : 0, is_shared ? static_cast<std::uint64_t>(image.bytes) : 0};
    std::memcpy(out, &one, sizeof one);
  }
  return static_cast<Count>(bytes);
}

void Images::accept() {
  for (const Own& image : own_) {
    if (!image.staged || is_read(image.use) || image.dense == nullptr) continue;
    copy_typed(image.dense, image.bytes, *static_cast<Datatype*>(process_.objects->predefined[kMpiByte]),
               image.buffer, image.count, *image.type);
  }
}

std::size_t Images::number_of(Place place) const {
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
const Images::Own* Images::own(Place place) const {
  if (place.space != Space::kBlockFrom && place.member != comm_->rank) return nullptr;
  return &own_[number_of(place)];
}

Images::Entry Images::entry(int member, std::size_t number) const {
  const std::byte* room = comm_->stage->data(member);
  Table table;
  std::memcpy(&table, room, sizeof table);
  Entry found{0, 0};
  if (number >= table.entries) return found;
  const std::byte* entries = room + sizeof table;
  if (table.entries > kEntriesInRoom) {
    const std::size_t bytes = (number + 1) * sizeof(Entry);
    if (!process_.global_memory->reach(comm_->endpoint(member), table.elsewhere, bytes)) return found;
    entries = reinterpret_cast<const std::byte*>(table.elsewhere);
  }
  std::memcpy(&found, entries + number * sizeof(Entry), sizeof found);
  return found;
}

Count Images::length(Place place) {
  if (const Own* image = own(place)) return image->bytes;
  return std::max<Count>(0, static_cast<Count>(entry(place.member, number_of(place)).bytes));
}

Images::Bytes Images::find(Place place, Count bytes) {
  if (const Own* image = own(place)) {
    Bytes found{.bytes = std::min(bytes, image->bytes - place.offset)};
    if (found.bytes <= 0) return {};
    if (image->dense != nullptr) {
      found.at = image->dense + place.offset;
    } else if (!image->staged) {
      found.typed = image->type;
      found.buffer = image->buffer;
      found.elements = image->count;
      found.skip = place.offset;
    }
    return found;
  }
  const Entry theirs = entry(place.member, number_of(place));
  const auto length = static_cast<Count>(theirs.bytes);  // less than 0: what no rank has
  if (length <= place.offset) return {};
  Bytes found{.bytes = std::min(bytes, length - place.offset)};
  if (found.bytes <= 0) return {};
  const GlobalAddress address = theirs.address + static_cast<GlobalAddress>(place.offset);
  if (theirs.address == 0 || !process_.global_memory->reach(comm_->endpoint(place.member), address,
                                                            static_cast<std::size_t>(found.bytes))) {
    note(process_.fail(kErrNoMem,
                       "the buffer of rank %d is not to be had: it is private, and could not be staged",
                       place.member));
    return {};
  }
  found.at = reinterpret_cast<std::byte*>(address);
  return found;
}

void Images::clear() {
  own_.clear();
  comm_ = nullptr;
  error_ = 0;
  if (memory_bytes_ <= kMemoryKeptBytesMax) return;
  process_.global_memory->deallocate(memory_);
  memory_ = nullptr;
  memory_bytes_ = 0;
}

void move_bytes(const Images::Bytes& from, const Images::Bytes& to) {
  const Count bytes = std::min(from.bytes, to.bytes);
  if (!from.exist() || !to.exist() || bytes <= 0) return;
  const auto size = static_cast<std::size_t>(bytes);
  if (from.at != nullptr && to.at != nullptr) {
    if (from.at != to.at) std::memmove(to.at, from.at, size);
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
