// BufferPool: memory for messages of the buffered mode (MPI 3.6), attached by the user or automatic.
//
// Attached memory is handed out by MPI's own accounting: a message of n packed bytes takes at most n +
// kBsendOverhead. Entries are kept in the order of their addresses; a new one goes behind the newest where it
// fits, else into the first gap, so messages that leave in order make the buffer a ring.
//
// Owner: PointToPoint (the process's) or the communicator it is attached to.
// Thread safety: none; the process lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "base/variables/counters.hpp"
#include "object/slots.hpp"
#include "p2p/request.hpp"

namespace tasuki {

class BufferPool;

struct BufferEntry {
  Count offset;  // in the attached buffer; 0 in an automatic one
  Count bytes;   // that it takes of the buffer
  std::uint64_t serial;
  std::byte* data;
  std::unique_ptr<std::byte[]> own;  // of an automatic buffer
  std::list<BufferEntry>::iterator place;
};

/// What MPI_Buffer_iflush starts: done when all messages that were in the buffer then have left.
struct FlushRequest final : Request {
  explicit FlushRequest(Comm& on) : Request(RequestType::kFlush, on) { active = true; }
  /// Whether it waits for that send.
  bool waits_for(const Request& request) const;
  const BufferPool* pool = nullptr;
  std::uint64_t serial_end = 0;  // waits for entries below it
  std::size_t entries_left = 0;
};

class BufferPool {
 public:
  /// `buffer` may be kBufferAutomatic; then `size` means nothing.
  BufferPool(void* buffer, Count size, Counters& counters);
  ~BufferPool();

  /// Room for a message of `bytes` packed bytes, or null when there is none.
  BufferEntry* take(Count bytes);
  void give_back(BufferEntry* entry);
  /// Whether there is room for such a message, as far as one look tells: false says nothing.
  bool has_room(Count bytes) const {
    return automatic() || (entries_.empty() && bytes <= size_ && bytes_taken_by(bytes) <= size_);
  }

  /// Returns once it is empty. Reports name the ranks whose receives it waits for.
  void wait_until_empty(Process& process) const;

  /// Makes `request` complete once all entries that are in use now have been given back.
  void notify(FlushRequest* request);

  bool empty() const { return entries_.empty(); }
  bool automatic() const { return start_ == kBufferAutomatic; }
  void* start() const { return start_; }
  Count size() const { return automatic() ? 0 : size_; }
  Count bytes_used() const { return bytes_used_; }
  static constexpr Count kBufferedBytesMax = INT64_MAX / 2;  // no machine has so many
  static Count bytes_taken_by(Count message_bytes);

 private:
  using Place = std::list<BufferEntry>::iterator;
  void count(Count bytes);  // taken, or given back if negative
  BufferEntry* put(Place before, Count offset, Count bytes);
  Count gap_end(Place next) { return next == entries_.end() ? size_ : next->offset; }

  Counters& counters_;
  std::byte* start_;
  Count size_;
  Count bytes_used_ = 0;
  std::uint64_t serial_next_ = 0;
  std::list<BufferEntry> entries_;
  Place newest_ = entries_.end();
  std::vector<FlushRequest*> flushes_;
};

/// Of a communicator or a session: the buffer that is attached to it.
inline constexpr Slot<BufferPool> kBufferSlot{SlotNumber::kBuffer};

}  // namespace tasuki
