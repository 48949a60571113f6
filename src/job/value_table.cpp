// Entries of a page: a head with two lengths, the key, the value, one after another.
#include "job/value_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tasuki {

ValueTable::ValueTable(std::byte* memory, int rank, int size, std::function<bool(int)> has_ended)
    : pages_(reinterpret_cast<Page*>(memory)), rank_(rank), size_(size), has_ended_(std::move(has_ended)) {}

bool ValueTable::put(std::string_view key, std::string_view value, std::string* error) {
  std::string before;
  if (get(rank_, key, &before)) {
    *error = "\"" + std::string(key) + "\" has been put before";
    return false;
  }
  Page& own = page(rank_);
  const std::size_t used = own.bytes.load(std::memory_order_relaxed);
  const EntryHead head{static_cast<std::uint16_t>(key.size()), static_cast<std::uint16_t>(value.size())};
  const std::size_t bytes = sizeof head + key.size() + value.size();
  if (used > kEntryBytesMax || bytes > kEntryBytesMax - used) {
    *error = "no room is left for \"" + std::string(key) + "\": a rank's values take " +
             std::to_string(kEntryBytesMax) + " bytes at most";
    return false;
  }
  std::byte* to = own.entries + used;
  std::memcpy(to, &head, sizeof head);
  std::memcpy(to + sizeof head, key.data(), key.size());
  if (!value.empty()) std::memcpy(to + sizeof head + key.size(), value.data(), value.size());
  own.bytes.store(static_cast<std::uint32_t>(used + bytes), std::memory_order_release);
  return true;
}

bool ValueTable::get(int rank, std::string_view key, std::string* value) const {
  if (rank < 0 || rank >= size_) return false;
  const Page& its = page(rank);
  const std::size_t used = its.bytes.load(std::memory_order_acquire);
  if (used > kEntryBytesMax) return false;
  for (std::size_t at = 0; used - at >= sizeof(EntryHead);) {
    EntryHead head;
    std::memcpy(&head, its.entries + at, sizeof head);
    at += sizeof head;
    if (std::size_t{head.key_bytes} + head.value_bytes > used - at) return false;
    const auto* text = reinterpret_cast<const char*>(its.entries + at);
    if (std::string_view(text, head.key_bytes) == key) {
      value->assign(text + head.key_bytes, head.value_bytes);
      return true;
    }
    at += std::size_t{head.key_bytes} + head.value_bytes;
  }
  return false;
}

std::string ValueTable::page_text(const std::byte* memory, int rank) {
  const Page& page = reinterpret_cast<const Page*>(memory)[rank];
  const std::uint32_t fences = page.fences.load(std::memory_order_seq_cst);
  const std::size_t bytes = std::min<std::size_t>(page.bytes.load(std::memory_order_acquire), kEntryBytesMax);
  std::string text(reinterpret_cast<const char*>(&fences), sizeof fences);
  return text.append(reinterpret_cast<const char*>(page.entries), bytes);
}

bool ValueTable::take_page(std::byte* memory, int rank, std::string_view text) {
  std::uint32_t fences = 0;
  if (text.size() < sizeof fences || text.size() - sizeof fences > kEntryBytesMax) return false;
  std::memcpy(&fences, text.data(), sizeof fences);
  text.remove_prefix(sizeof fences);
  Page& page = reinterpret_cast<Page*>(memory)[rank];
  const std::size_t before = page.bytes.load(std::memory_order_relaxed);
  if (text.size() < before) return false;
  std::memcpy(page.entries + before, text.data() + before, text.size() - before);
  page.bytes.store(static_cast<std::uint32_t>(text.size()), std::memory_order_release);
  page.fences.store(fences, std::memory_order_seq_cst);
  return true;
}

void ValueTable::enter_fence() {
  page(rank_).fences.store(++fences_, std::memory_order_seq_cst);
  come_ = 0;
}

Directory::Fence ValueTable::look_at_fence(std::string* error) {
  const auto has_come = [this](int rank) {
    const std::uint32_t fences = page(rank).fences.load(std::memory_order_seq_cst);
    return static_cast<std::int32_t>(fences - fences_) >= 0;
  };
  while (come_ < size_ && has_come(come_)) ++come_;
  if (come_ == size_) return Directory::Fence::kOver;
  for (int rank = come_; rank < size_; ++rank) {
    // It may have come and ended since the first look.
    if (has_come(rank) || !has_ended_(rank) || has_come(rank)) continue;
    *error = "rank " + std::to_string(rank) + " has ended, and all ranks of the job are to come";
    return Directory::Fence::kBroken;
  }
  return Directory::Fence::kOpen;
}

}  // namespace tasuki
