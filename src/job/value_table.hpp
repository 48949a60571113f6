// ValueTable: the values and fences of a Directory in memory that all ranks of a job map. Each rank has a
// page of it that it alone writes.
//
// The memory is all zeros at first. What others wrote there is not trusted: no length leads out of a page.
//
// Ownership: the caller owns the memory, which outlives the table. Thread safety: each object belongs to one
// rank; all ranks use the memory at once.
//
// Invariants:
//  1. The first `bytes` bytes of a page's entries are whole entries that never change.
//  2. `fences` grows by one with each fence, after all that the rank put before it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "job/directory.hpp"

namespace tasuki {

class ValueTable {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t bytes_needed(int size) { return static_cast<std::size_t>(size) * kPageBytes; }

  /// `memory`: bytes_needed(size) of it, aligned to 64. `has_ended(rank)`: whether that rank's process is
  /// gone, or it has finalised MPI.
  ValueTable(std::byte* memory, int rank, int size, std::function<bool(int)> has_ended);

  /// As Directory's. REQUIRES for put(): what Directory::put() checks.
  bool put(std::string_view key, std::string_view value, std::string* error);
  bool get(int rank, std::string_view key, std::string* value) const;
  void enter_fence();
  Directory::Fence look_at_fence(std::string* error);

  /// What a rank has put, and how many fences it has entered, to be written into the memory of another host.
  static std::string page_text(const std::byte* memory, int rank);
  /// Returns false when `text` is no page's. The rank's page has no other writer.
  static bool take_page(std::byte* memory, int rank, std::string_view text);

 private:
  static constexpr std::size_t kHeadBytes = 64;
  static constexpr std::size_t kEntryBytesMax = kPageBytes - kHeadBytes;

  struct Page {                                            // writer: its rank
    alignas(kHeadBytes) std::atomic<std::uint32_t> bytes;  // of `entries`; release publishes them
    std::atomic<std::uint32_t> fences;                     // entered; release, seq_cst
    alignas(kHeadBytes) std::byte entries[kEntryBytesMax];
  };
  static_assert(sizeof(Page) == kPageBytes);
  struct EntryHead {
    std::uint16_t key_bytes;
    std::uint16_t value_bytes;
  };

  Page& page(int rank) const { return pages_[rank]; }

  Page* pages_;
  int rank_;
  int size_;
  std::function<bool(int)> has_ended_;
  std::uint32_t fences_ = 0;  // entered by this rank
  int come_ = 0;              // ranks below this one have entered the last of them
};

}  // namespace tasuki
