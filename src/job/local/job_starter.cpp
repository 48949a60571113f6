// A rank of a job that our mpiexec started: everything goes through the job segment.
//
// Behind the fixed part of the segment, which mpiexec maps too, lies the ranks' region: the doorbells of all
// ranks, the rings between virtual nodes where there are several, and, for each node, what its ranks share
// (node/shared_node.hpp, link/shm/shm_link.hpp).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/system/memory_file.hpp"
#include "base/system/process_state.hpp"
#include "job/local/job_launcher.hpp"
#include "job/local/local.hpp"
#include "job/network.hpp"
#include "job/value_table.hpp"
#include "link/loop/loop_link.hpp"
#include "link/shm/shm_link.hpp"
#include "memory/heap_library.hpp"
#include "memory/mapped_heaps.hpp"
#include "node/processors.hpp"
#include "node/shared_node.hpp"

namespace tasuki::local {
namespace {

/// Whether a rank of the job has finalised MPI, or its process has ended.
bool has_ended(const RankBlock& rank) {
  if (rank.life.load(std::memory_order_acquire) >= Life::kFinalized) return true;
  const std::int32_t pid = pid_of(rank);
  return pid > 0 && state_of_process(pid).ended();
}

class JobDirectory final : public Directory {
 public:
  explicit JobDirectory(const MappedJob& job)
      : job_(job),
        values_(values_of(job.header, job.size), job.rank, job.size,
                [blocks = job.blocks](int rank) { return has_ended(blocks[rank]); }) {}

  int rank() const override { return job_.rank; }
  int size() const override { return job_.size; }
  int nodes() const override { return std::max(1, job_.header->nodes); }
  int node(int rank) const override { return job_.blocks[rank].node; }
  bool has_virtual_nodes() const override { return nodes() > 1 && job_.header->hosts <= 1; }
  std::uint64_t machine() const override { return machine_; }
  std::uint64_t job_id() const override { return job_.header->job_id; }
  std::string parent_port() const override { return bounded(job_.header->parent_port); }
  bool spans_hosts() const override { return job_.header->family_hosts > 1; }
  int application_number() const override { return job_.blocks[job_.rank].application; }
  int universe_size() const override {
    const int given = job_.header->universe_size;
    return given > 0 ? std::max(job_.size, given) : 0;
  }

  bool get(int rank, std::string_view key, std::string* value) const override {
    return values_.get(rank, key, value);
  }
  void enter_fence() override {
    values_.enter_fence();
    if (job_.header->hosts > 1) tell_values_put(bounded(job_.header->launcher_socket).c_str());
  }
  Fence look_at_fence(std::string* error) override { return values_.look_at_fence(error); }

  /// The ranks on `node`, ascending.
  std::vector<int> ranks_on(int node) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < job_.size; ++rank) {
      if (job_.blocks[rank].node == node) ranks.push_back(rank);
    }
    return ranks;
  }

 protected:
  bool put_checked(std::string_view key, std::string_view value, std::string* error) override {
    return values_.put(key, value, error);
  }

 private:
  const MappedJob& job_;
  const std::uint64_t machine_ = machine_number();
  ValueTable values_;
};

class JobNode final : public SharedNode {
 public:
  JobNode(const MappedJob& job, std::vector<int> ranks)
      : SharedNode(std::move(ranks), job.rank),
        job_(job),
        home_(job.header->hosts > 1 ? home_of(affinity_mask(), self(), size())
                                    : home_of(affinity_mask(), job.rank, job.size)) {
    visit_processor(home_);
  }

  int process_id(int rank) const override {
    const std::int32_t pid = job_.blocks[rank].claimed_pid.load(std::memory_order_relaxed);
    return pid > 0 ? pid : -1;
  }
  bool has_died(int rank) const override {
    return has_ended(identity_of(job_.blocks[rank]), identity_of(job_.blocks[job_.rank]).numbering);
  }
  int processors_available() const override { return std::max(1, job_.header->processors_available); }
  double processors_per_node() const override {
    if (job_.header->hosts > 1) return std::max(1, job_.header->host_processors);
    return static_cast<double>(processors_available()) / std::max(1, job_.header->nodes);
  }
  int ranks_on_machine() const override { return job_.header->hosts > 1 ? size() : job_.size; }
  int home_processor() const override { return home_; }
  CallBoard& call_board() override { return *board_of_rank(job_.header, job_.size, job_.rank); }

  std::unique_ptr<SymmetricHeap> make_symmetric_heap() override {
    std::vector<MappedHeaps::OfRank> heaps;
    for (const int rank : ranks()) heaps.push_back({rank, &job_.blocks[rank].symmetric_heap});
    return std::make_unique<MappedHeaps>(job_.rank, heaps, find_heap());
  }

 private:
  const MappedJob& job_;
  int home_;
};

class JobStarter final : public Starter {
 public:
  explicit JobStarter(const MappedJob& mapped)
      : job_(mapped),
        directory_(job_),
        node_(job_, directory_.ranks_on(directory_.node(job_.rank))),
        launcher_(job_, node_.call_board()) {}

  ~JobStarter() override {
    if (region_.base != nullptr) munmap(region_.base, region_.bytes);
    munmap(job_.header, region_offset(job_.size));
    close(job_.fd);
  }

  Directory& directory() override { return directory_; }
  Launcher& launcher() override { return launcher_; }
  Node& node() override { return node_; }

  std::unique_ptr<Link> make_link(const Config& config) override {
    const int nodes = directory_.nodes();
    const std::size_t loops_at = round_to_page(Doorbells::bytes_needed(job_.size));
    std::size_t end = loops_at + (nodes > 1 ? round_to_page(LoopLink::bytes_needed(job_.size)) : 0);
    std::size_t own = 0;  // where this node's part begins
    for (int node = 0; node < nodes; ++node) {
      if (node == directory_.node(job_.rank)) own = end;
      const auto ranks = static_cast<int>(directory_.ranks_on(node).size());
      end += round_to_page(SharedNode::bytes_needed(ranks)) +
             round_to_page(ShmLink::bytes_needed(ranks, config));
    }
    map_region(end);
    node_.share(std::make_unique<Doorbells>(region_, job_.size, job_.rank, true), region_.base + own);
    const std::size_t rings = own + round_to_page(SharedNode::bytes_needed(node_.size()));
    auto link = std::make_unique<ShmLink>(
        region_.base + rings, node_.doorbells(),
        ShmLink::Job{directory_.job_id(), node_.ranks(), job_.rank, job_.size}, config);
    if (nodes == 1) return link;
    std::vector<int> node_of_rank;
    for (int rank = 0; rank < job_.size; ++rank) node_of_rank.push_back(directory_.node(rank));
    const bool hosts = job_.header->hosts > 1;
    if (hosts || config.network == kNetworkFabric) {
      return make_network_link(std::move(link), node_.doorbells(), std::move(node_of_rank), !hosts,
                               bounded(job_.header->address), directory_, launcher_, config, clock());
    }
    return std::make_unique<LoopLink>(std::move(link), node_.doorbells(), region_.base + loops_at,
                                      std::move(node_of_rank), NetworkModel::of(config), clock());
  }

  bool add_network(const Config& config, std::unique_ptr<Link>* link, std::string* error) override {
    const bool one_machine = job_.header->family_hosts <= 1 && config.network == kNetworkFabric;
    return add_network_link(link, node_.doorbells(), one_machine, bounded(job_.header->address), directory_,
                            launcher_, config, clock(), error);
  }

 private:
  /// The ranks agree on the region's size (the first one sets it) and each sees to it that it is there.
  void map_region(std::size_t bytes) {
    std::uint64_t agreed = 0;
    if (!job_.header->region_bytes.compare_exchange_strong(agreed, bytes, std::memory_order_acq_rel) &&
        agreed != bytes) {
      launcher_.abort(1, "MPI_Init: this rank wants " + std::to_string(bytes) +
                             " bytes of shared memory where another wants " + std::to_string(agreed) +
                             "; TASUKI_RING_BYTES must be the same for all ranks");
    }
    const std::uint64_t offset = region_offset(job_.size);
    void* memory = MAP_FAILED;
    if (set_memory_file_bytes(job_.fd, offset + bytes)) {
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, job_.fd,
                    static_cast<off_t>(offset));
    }
    if (memory == MAP_FAILED) {
      launcher_.abort(1, "MPI_Init: cannot get " + std::to_string(bytes) +
                             " bytes of shared memory: " + std::strerror(errno) +
                             (errno == EFBIG ? " (the limit of file sizes, ulimit -f)" : ""));
    }
    // The kernel would dump it whole, and make the pages that were never touched.
    madvise(memory, bytes, MADV_DONTDUMP);
    region_ = {static_cast<std::byte*>(memory), bytes, job_.fd, offset};
  }

  const MappedJob job_;
  SharedRegion region_;
  JobDirectory directory_;
  JobNode node_;
  JobLauncher launcher_;
};

}  // namespace

std::unique_ptr<Starter> make_job_starter(const MappedJob& mapped) {
  return std::make_unique<JobStarter>(mapped);
}

}  // namespace tasuki::local
