// BufferPool: its accounting.
#include "p2p/buffer_pool.hpp"

#include <iterator>
#include <utility>

#include "base/user_memory.hpp"
#include "p2p/message_requests.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/waiting_call.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

bool is_of_pool(const Request& request, const void* pool) {
  return request.request_type == RequestType::kSend && static_cast<const SendRequest&>(request).pool == pool;
}

}  // namespace

bool FlushRequest::waits_for(const Request& request) const {
  return pool != nullptr && is_of_pool(request, pool) &&
         static_cast<const SendRequest&>(request).entry->serial < serial_end;
}

BufferPool::BufferPool(void* buffer, Count size, Counters& counters)
    : counters_(counters), start_(static_cast<std::byte*>(buffer)), size_(size) {
  counters_.buffer_bytes += static_cast<std::uint64_t>(this->size());
}

BufferPool::~BufferPool() {
  for (const BufferEntry& entry : entries_) count(-entry.bytes);
  counters_.buffer_bytes -= static_cast<std::uint64_t>(size());
}

void BufferPool::count(Count bytes) {
  bytes_used_ += bytes;
  if (automatic()) return;
  if (bytes > 0) {
    counters_.buffered_bytes.add(static_cast<std::uint64_t>(bytes));
  } else {
    counters_.buffered_bytes.subtract(static_cast<std::uint64_t>(-bytes));
  }
}

Count BufferPool::bytes_taken_by(Count message_bytes) {
  // Rounding up to 16 adds 15 at most, so this stays below message_bytes + kBsendOverhead.
  return (message_bytes + 15) / 16 * 16 + kBsendOverhead - 16;
}

BufferEntry* BufferPool::put(Place before, Count offset, Count bytes) {
  const Place place = entries_.insert(before, BufferEntry{});
  place->offset = offset;
  place->bytes = bytes;
  place->serial = serial_next_++;
  place->place = place;
  count(bytes);
  newest_ = place;
  return &*place;
}

BufferEntry* BufferPool::take(Count message_bytes) {
  if (message_bytes > kBufferedBytesMax) return nullptr;
  const Count bytes = bytes_taken_by(message_bytes);
  if (automatic()) {
    std::unique_ptr<std::byte[]> own = allocate_for_user(message_bytes);
    if (own == nullptr) return nullptr;
    BufferEntry* entry = put(entries_.end(), 0, bytes);
    entry->own = std::move(own);
    entry->data = entry->own.get();
    return entry;
  }
  if (bytes > size_ - bytes_used_) return nullptr;
  BufferEntry* entry = nullptr;
  if (newest_ != entries_.end()) {
    const Count from = newest_->offset + newest_->bytes;
    if (gap_end(std::next(newest_)) - from >= bytes) entry = put(std::next(newest_), from, bytes);
  }
  Count from = 0;
  for (Place next = entries_.begin(); entry == nullptr; ++next) {
    if (gap_end(next) - from >= bytes) entry = put(next, from, bytes);
    if (next == entries_.end()) break;
    from = next->offset + next->bytes;
  }
  if (entry != nullptr) entry->data = start_ + entry->offset;
  return entry;
}

void BufferPool::give_back(BufferEntry* entry) {
  const Place place = entry->place;
  const std::uint64_t serial = entry->serial;
  count(-entry->bytes);
  if (newest_ == place) newest_ = place == entries_.begin() ? entries_.end() : std::prev(place);
  entries_.erase(place);
  std::erase_if(flushes_, [serial](FlushRequest* flush) {
    if (serial >= flush->serial_end || --flush->entries_left != 0) return false;
    flush->complete();
    release(flush);
    return true;
  });
}

void BufferPool::wait_until_empty(Process& process) const {
  if (empty()) return;
  const WaitingCall waiting(*process.p2p, is_of_pool, this);
  process.progress->wait_until([this] { return empty(); });
}

void BufferPool::notify(FlushRequest* request) {
  request->pool = this;
  request->serial_end = serial_next_;
  request->entries_left = entries_.size();
  if (entries_.empty()) return request->complete();
  flushes_.push_back(retain(request));
}

}  // namespace tasuki
