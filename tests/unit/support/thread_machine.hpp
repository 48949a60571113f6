// ThreadMachine: the memory that a machine's ranks share, for ranks that are threads of the test program:
// their doorbells, the wires between nodes, and each node's part; and the links over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/system/clock.hpp"
#include "base/variables/config.hpp"
#include "link/link.hpp"
#include "link/loop/loop_link.hpp"
#include "link/shm/shm_link.hpp"
#include "node/doorbells.hpp"

namespace tasuki::test {

class ThreadMachine {
 public:
  /// `nodes`: of each rank; empty: all are on one.
  ThreadMachine(int size, std::vector<int> nodes, const Config& config, std::uint64_t job = 0);
  ~ThreadMachine();
  ThreadMachine(const ThreadMachine&) = delete;
  ThreadMachine& operator=(const ThreadMachine&) = delete;

  int size() const { return size_; }
  int nodes() const { return static_cast<int>(ranks_.size()); }
  int node(int rank) const { return nodes_[static_cast<std::size_t>(rank)]; }
  /// The ranks on the node of `rank`.
  const std::vector<int>& ranks_beside(int rank) const {
    return ranks_[static_cast<std::size_t>(node(rank))];
  }

  std::unique_ptr<Doorbells> make_doorbells(int rank, bool use_membarrier = false) const;
  std::unique_ptr<ShmLink> make_shm_link(int rank, Doorbells& doorbells) const;
  std::unique_ptr<LoopLink> make_loop_link(int rank, Doorbells& doorbells, const NetworkModel& model,
                                           const Clock& clock = real_clock()) const;
  /// Of the two the one that fits.
  std::unique_ptr<Link> make_link(int rank, Doorbells& doorbells, const NetworkModel& model,
                                  const Clock& clock = real_clock()) const;

  struct Part {
    std::byte* memory;
    std::size_t bytes;
  };
  Part all() const { return {base_, bytes_}; }
  Part bells() const { return {base_, Doorbells::bytes_needed(size_)}; }
  Part shared(int rank) const;  // what a SharedNode is given
  Part rings(int rank) const;

 private:
  Config config_;
  int size_;
  std::uint64_t job_;
  std::vector<int> nodes_;               // by rank
  std::vector<std::vector<int>> ranks_;  // by node
  std::vector<std::size_t> parts_;       // by node: where its part begins
  std::size_t loops_at_ = 0;
  std::size_t bytes_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace tasuki::test
