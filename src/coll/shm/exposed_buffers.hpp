// The exposed buffers of a single-copy schedule while it runs: this rank's own, and the way to those of the
// others (coll/schedule/schedule.hpp says what an exposed buffer is).
//
// A buffer that others touch is exposed where it is, in the user's own memory, where that is global and
// dense; elsewhere it is staged: dense bytes in symmetric memory, copied before or after. A rank offers a
// table of addresses and sizes, in its room on the node segment or, where that is too small, in symmetric
// memory. What another rank offers is not trusted: nothing outside its symmetric memory is touched, and
// nothing beyond the bytes that it says. The staging memory is as large as what is staged: of the buffers, or
// of their parts that others touch.
//
// Ownership: the staging memory belongs to this object, which keeps some of it for the next collective; that
// of buffers that are kept is the node segment's. Thread safety: the caller holds the process lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "coll/schedule/schedule.hpp"
#include "coll/shm/node_segment.hpp"
#include "datatype/datatype.hpp"
#include "memory/symmetric_heap.hpp"
#include "object/comm.hpp"

namespace tasuki {

class ExposedBuffers {
 public:
  explicit ExposedBuffers(Process& process) : process_(process) {}
  ~ExposedBuffers();
  ExposedBuffers(const ExposedBuffers&) = delete;
  ExposedBuffers& operator=(const ExposedBuffers&) = delete;

  /// Where the bytes of a step lie: at a dense address, or in the user's buffer by its datatype.
  struct Bytes {
    std::byte* at = nullptr;          // null: by `typed`; both null: there are none
    const Datatype* typed = nullptr;  // of `elements` elements at `buffer`, from byte `skip` of them on
    void* buffer = nullptr;
    Count elements = 0;
    Count skip = 0;
    Count bytes = 0;        // as many as were asked for, or fewer where the exposed buffer ends
    bool streamed = false;  // what is written there goes past the caches: another rank reads it next
    bool exist() const { return at != nullptr || typed != nullptr; }
  };

  /// One more exposed buffer of this rank's, of the schedule that is about to run on `comm`, which has a node
  /// segment.
  void add(const ExposedBuffer& exposed, void* buffer, const Datatype& type);
  void add_empty() { own_.emplace_back(); }

  /// Decides which are staged, and finds memory for that. An error is that of this rank; the others see that
  /// its buffers are not there. REQUIRES: the collective has begun on the node segment.
  Code prepare(Comm& comm);

  /// Writes the table for the others, and copies what they read; where it is to be seen: in the room.
  /// Returns how many bytes of it.
  Count offer();

  /// What others wrote to buffers that are staged goes to the user's buffers.
  void accept();

  /// `bytes` bytes of an exposed buffer from place.offset on. Fewer, with an error noted, where the exposed
  /// buffer is shorter; none, with an error noted, where its memory is out of reach.
  Bytes find(Place place, Count bytes);

  /// `bytes` of them, without the first `skipped`; fewer where there are not so many.
  static Bytes part_of(Bytes whole, Count skipped, Count bytes) {
    whole.bytes = std::min(whole.bytes - skipped, bytes);
    if (whole.at != nullptr) whole.at += skipped;
    whole.skip += skipped;
    return whole;
  }

  /// Of an exposed buffer: how long it is in all.
  Count length(Place place) const;

  /// Of the longest one of this rank's.
  Count bytes_max() const {
    Count bytes = 0;
    for (const Own& exposed : own_) bytes = std::max(bytes, exposed.bytes);
    return bytes;
  }

  Code error() const { return error_; }

  /// Forgets the exposed buffers; gives memory back where it is much.
  void clear();

 private:
  /// Whether so many bytes that `member` reads next are written past the caches (base/copy.hpp).
  bool is_streamed(Count bytes, int member) const;

  struct Own {
    void* buffer = nullptr;
    const Datatype* type = nullptr;
    Count count = 0;
    Count bytes = 0;
    ExposedBuffer::Use use = ExposedBuffer::Use::kOwn;
    Count part_begin = 0;          // what others may touch: all of it,
    Count part_bytes = 0;          // or a part
    std::byte* dense = nullptr;    // null: by its datatype; where it is staged: of the part
    SymmetricAddress address = 0;  // of the whole, as it is offered
    bool staged = false;
  };
  /// What is offered, as the others see it.
  struct Entry {
    SymmetricAddress address;  // 0: there is none
    std::uint64_t bytes;
  };
  struct Table {
    std::uint64_t entries;
    SymmetricAddress elsewhere;  // where the entries are when they do not follow; 0: they do
  };

  const Own* own(Place place) const;
  void stage(const Own& exposed) const;
  void unstage(const Own& exposed) const;
  Entry entry(int member, std::size_t number) const;
  std::size_t number_of(Place place) const;
  std::byte* memory_of(Count bytes, bool kept);
  Code refuse_memory(Count bytes);
  void note(Code code) {
    if (error_ == 0) error_ = code;
  }

  Process& process_;
  Comm* comm_ = nullptr;
  std::vector<Own> own_;
  std::size_t offered_ = 0;  // one more than the number of the last exposed buffer that is offered
  std::byte* memory_ = nullptr;
  Count memory_bytes_ = 0;
  std::byte* table_ = nullptr;  // of entries that have no room on the node segment
  Code error_ = 0;
};

/// As many bytes as both have, from the one to the other, which may overlap.
void move_bytes(const ExposedBuffers::Bytes& from, const ExposedBuffers::Bytes& to);

}  // namespace tasuki
