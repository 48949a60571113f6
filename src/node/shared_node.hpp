// SharedNode: a Node whose ranks map memory together. The starter hands the memory over once its size is
// known: the doorbells of the machine, and the node's own part, in which lie the locks of file ranges and a
// page for each ordered pair of ranks. Pages are touched only when used, so pairs that never talk cost
// address space alone.
//
// Ownership: the memory is the starter's and outlives the node. Thread safety: as Node.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "memory/range_table.hpp"
#include "node/doorbells.hpp"
#include "node/node.hpp"

namespace tasuki {

class SharedNode : public Node {
 public:
  using Node::Node;

  /// Bytes of a node's part for `size` ranks.
  static std::size_t bytes_needed(int size) {
    const auto ranks = static_cast<std::size_t>(size);
    return pages_offset(size) + ranks * ranks * kPairPageBytes;
  }

  /// `part`: bytes_needed(size()) of memory, zero at first and aligned to 64.
  void share(std::unique_ptr<Doorbells> doorbells, std::byte* part) {
    doorbells_ = std::move(doorbells);
    part_ = part;
  }
  /// REQUIRES: share() was called.
  Doorbells& doorbells() { return *doorbells_; }

  std::byte* file_locks() override { return part_; }
  std::byte* pair_page(int from, int to) override {
    const int sender = number(from);
    const int receiver = number(to);
    if (part_ == nullptr || sender == kElsewhere || receiver == kElsewhere) return nullptr;
    const auto index = static_cast<std::size_t>(receiver) * static_cast<std::size_t>(size()) +
                       static_cast<std::size_t>(sender);
    return part_ + pages_offset(size()) + index * kPairPageBytes;
  }
  void wake(int endpoint) override { doorbells_->wake(endpoint); }
  bool sleeps_with_fence(int endpoint) const override { return doorbells_->sleeps_with_fence(endpoint); }

 private:
  static std::size_t pages_offset(int size) {
    return (RangeTable::bytes_needed(size) + kPairPageBytes - 1) / kPairPageBytes * kPairPageBytes;
  }

  std::unique_ptr<Doorbells> doorbells_;
  std::byte* part_ = nullptr;
};

}  // namespace tasuki
