// LazyTable: what is kept of each of many, by number, made when it is first asked for. Of those that nobody
// asks for it takes an eighth of a byte, and of their neighbours eight bytes. LazyPages is the same for what
// is asked for together with its neighbours: sixteen are made at once, side by side, and one is found a look
// sooner.
//
// Entries do not move. Thread safety: none.
//
// Invariant: pages_ has a place for every page of the table's entries; a page is made with its first entry.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace tasuki {

template <class Entry>
class LazyTable {
 public:
  explicit LazyTable(std::size_t size = 0) { grow(size); }

  std::size_t size() const { return size_; }

  /// Has at least `size` entries from now on.
  void grow(std::size_t size) {
    if (size <= size_) return;
    size_ = size;
    pages_.resize((size + kPageEntries - 1) / kPageEntries);
  }

  /// The entry, which is made where it was not there. REQUIRES: number < size().
  Entry& operator[](std::size_t number) {
    std::unique_ptr<Page>& page = pages_[number / kPageEntries];
    if (page == nullptr) [[unlikely]]
      page = std::make_unique<Page>();
    std::unique_ptr<Entry>& entry = (*page)[number % kPageEntries];
    if (entry == nullptr) [[unlikely]]
      entry = std::make_unique<Entry>();
    return *entry;
  }

  /// The entry, or null where it was never asked for. REQUIRES: number < size().
  const Entry* find(std::size_t number) const {
    const std::unique_ptr<Page>& page = pages_[number / kPageEntries];
    return page != nullptr ? (*page)[number % kPageEntries].get() : nullptr;
  }

  /// Calls `each(number, entry)` for those that are there.
  template <class Each>
  void for_each(Each&& each) {
    for (std::size_t number = 0; number < size_; ++number) {
      if (pages_[number / kPageEntries] == nullptr) {
        number |= kPageEntries - 1;
      } else if (find(number) != nullptr) {
        each(number, (*this)[number]);
      }
    }
  }

 private:
  static constexpr std::size_t kPageEntries = 64;
  using Page = std::array<std::unique_ptr<Entry>, kPageEntries>;

  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
};

template <class Entry>
class LazyPages {
 public:
  explicit LazyPages(std::size_t size) : pages_((size + kPageEntries - 1) / kPageEntries) {}

  /// REQUIRES: number < the size that it was made with.
  Entry& operator[](std::size_t number) {
    std::unique_ptr<Entry[]>& page = pages_[number / kPageEntries];
    if (page == nullptr) [[unlikely]]
      page = std::make_unique<Entry[]>(kPageEntries);
    return page[number % kPageEntries];
  }

 private:
  static constexpr std::size_t kPageEntries = 16;

  std::vector<std::unique_ptr<Entry[]>> pages_;
};

}  // namespace tasuki
