// ThreadMachine: the layout is that of a job's region.
#include "support/thread_machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "node/shared_node.hpp"

namespace tasuki::test {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

}  // namespace

ThreadMachine::ThreadMachine(int size, std::vector<int> nodes, const Config& config, std::uint64_t job)
    : config_(config), size_(size), job_(job), nodes_(std::move(nodes)) {
  if (nodes_.empty()) nodes_.assign(static_cast<std::size_t>(size), 0);
  ranks_.resize(1 + static_cast<std::size_t>(*std::max_element(nodes_.begin(), nodes_.end())));
  for (int rank = 0; rank < size; ++rank) ranks_[static_cast<std::size_t>(node(rank))].push_back(rank);
  loops_at_ = whole_pages(Doorbells::bytes_needed(size));
  bytes_ = loops_at_ + (ranks_.size() > 1 ? whole_pages(LoopLink::bytes_needed(size)) : 0);
  for (const std::vector<int>& ranks : ranks_) {
    parts_.push_back(bytes_);
    const auto count = static_cast<int>(ranks.size());
    if (count == 0) continue;  // a node that no rank is on
    bytes_ +=
        whole_pages(SharedNode::bytes_needed(count)) + whole_pages(ShmLink::bytes_needed(count, config));
  }
  void* memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  base_ = static_cast<std::byte*>(memory);
}

ThreadMachine::~ThreadMachine() {
  munmap(base_, bytes_);
}

std::unique_ptr<Doorbells> ThreadMachine::make_doorbells(int rank, bool use_membarrier) const {
  return std::make_unique<Doorbells>(SharedRegion{.base = base_, .bytes = bytes_}, size_, rank,
                                     use_membarrier);
}

ThreadMachine::Part ThreadMachine::shared(int rank) const {
  const auto count = static_cast<int>(ranks_beside(rank).size());
  return {base_ + parts_[static_cast<std::size_t>(node(rank))], SharedNode::bytes_needed(count)};
}

ThreadMachine::Part ThreadMachine::rings(int rank) const {
  const auto count = static_cast<int>(ranks_beside(rank).size());
  const Part before = shared(rank);
  return {before.memory + whole_pages(before.bytes), ShmLink::bytes_needed(count, config_)};
}

std::unique_ptr<ShmLink> ThreadMachine::make_shm_link(int rank, Doorbells& doorbells) const {
  return std::make_unique<ShmLink>(rings(rank).memory, doorbells,
                                   ShmLink::Job{job_, ranks_beside(rank), rank, size_}, config_);
}

std::unique_ptr<LoopLink> ThreadMachine::make_loop_link(int rank, Doorbells& doorbells,
                                                        const NetworkModel& model, const Clock& clock) const {
  return std::make_unique<LoopLink>(make_shm_link(rank, doorbells), doorbells, base_ + loops_at_, nodes_,
                                    model, clock);
}

std::unique_ptr<Link> ThreadMachine::make_link(int rank, Doorbells& doorbells, const NetworkModel& model,
                                               const Clock& clock) const {
  if (ranks_.size() == 1) return make_shm_link(rank, doorbells);
  return make_loop_link(rank, doorbells, model, clock);
}

}  // namespace tasuki::test
