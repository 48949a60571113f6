// SharedSegment: memory that several processes of one machine map. One of them creates it and tells the
// others its address, by any means; they open it.
//
// It is a memfd: it has no name that could leak, is not limited by the size of /dev/shm, reads as zero at
// first, and takes memory only where it is touched. The others reach it through the creator's descriptor
// under /proc, which has to stay open until they did: see stop_sharing(). What a descriptor leads to is
// checked by a random number, because the creator may be gone and its numbers used again.
//
// A size that this machine cannot have is an error at once, not a SIGBUS at the first touch.
//
// Ownership: an object owns its mapping; the memory itself lives until the last mapping is gone.
// Thread safety: different objects may be used by different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace tasuki {

/// Where a segment is found, as it travels in messages.
struct SegmentAddress {
  std::int32_t pid = 0;  // of the creator
  std::int32_t fd = -1;  // in the creator
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  // random; also stands behind the segment's last page
};
static_assert(std::is_trivially_copyable_v<SegmentAddress> && sizeof(SegmentAddress) == 24);

class SharedSegment {
 public:
  /// Makes a segment of `bytes` > 0. Returns null and one line in `error` when that cannot be had.
  static std::unique_ptr<SharedSegment> create(std::size_t bytes, std::string* error);

  /// Maps the segment at `address`. Returns null and one line in `error` when it is gone or out of reach.
  static std::unique_ptr<SharedSegment> open(const SegmentAddress& address, std::string* error);

  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* base() const { return base_; }  // page aligned
  std::size_t bytes() const { return address_.bytes; }
  /// Of use to others while the creator shares it.
  const SegmentAddress& address() const { return address_; }

  /// Creator: all processes that want it have opened it. Gives the descriptor back.
  void stop_sharing();

 private:
  SharedSegment(const SegmentAddress& address, std::byte* base, int fd)
      : address_(address), base_(base), fd_(fd) {}

  SegmentAddress address_;
  std::byte* base_;
  int fd_;  // the creator's while it shares, else -1
};

/// The machine's page size in bytes.
std::size_t page_bytes();

/// `bytes` rounded up to whole pages.
std::size_t round_to_pages(std::size_t bytes);

}  // namespace tasuki
