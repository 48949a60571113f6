// A rank of a job that our mpiexec started: everything goes through the job segment.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/clock.hpp"
#include "base/file_size.hpp"
#include "base/mapped_files.hpp"
#include "base/process_state.hpp"
#include "job/local/local.hpp"
#include "link/loop/loop_link.hpp"
#include "link/shm/shm_link.hpp"
#include "memory/arena_memory.hpp"
#include "memory/heap.hpp"
#include "node/processors.hpp"

namespace tasuki::local {
namespace {

/// What the program printed before the end should be seen, but a stream that another thread holds is left
/// alone.
void flush_standard_output() {
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

/// A text of the segment, which may have lost its end.
template <std::size_t kBytes>
std::string bounded(const char (&text)[kBytes]) {
  return {text, strnlen(text, kBytes)};
}

// mpiexec sees the end of a rank within microseconds, unless the kernel takes long to free its memory.
constexpr long kLauncherTimeNs = 300'000'000;

class JobBootstrap final : public Bootstrap {
 public:
  explicit JobBootstrap(const Attachment& attachment)
      : job_(attachment), mark_(mark_value(attachment.header->job_id, attachment.rank)) {
    block().mark_address.store(reinterpret_cast<std::uintptr_t>(&mark_), std::memory_order_release);
    home_ = home_of(affinity_mask(), job_.rank, job_.size);
    visit_processor(home_);
  }

  ~JobBootstrap() override {
    if (region_.base != nullptr) munmap(region_.base, region_.bytes);
    munmap(job_.header, transport_offset(job_.size));
    close(job_.fd);
  }

  int rank() const override { return job_.rank; }
  int size() const override { return job_.size; }
  int process_id(int rank) const override {
    const std::int32_t pid = job_.blocks[rank].claimed_pid.load(std::memory_order_relaxed);
    return pid > 0 ? pid : -1;
  }
  int nodes() const override { return std::max(1, job_.header->nodes); }
  int node(int rank) const override { return job_.blocks[rank].node; }
  std::uint64_t machine() const override { return machine_; }
  std::uint64_t job_id() const override { return job_.header->job_id; }
  std::string parent_port() const override { return bounded(job_.header->parent_port); }
  bool spawn(const SpawnRequest& request, std::string* error) override {
    const int socket = connect_to_launcher(bounded(job_.header->launcher_socket).c_str());
    if (socket < 0) {
      *error = std::string("cannot reach mpiexec: ") + std::strerror(errno);
      return false;
    }
    const bool started = ask_launcher(socket, request, error);
    close(socket);
    return started;
  }
  const char* tuning_table() const override { return std::getenv(kTuningTableName); }
  int application_number() const override { return block().application; }
  int universe_size() const override { return std::max(job_.size, job_.header->universe_size); }
  int processors_available() const override { return std::max(1, job_.header->processors_available); }

  int home_processor() const override { return home_; }

  std::unique_ptr<Transport> make_transport(const Config& config) override {
    const std::size_t bytes = ShmTransport::bytes_needed(job_.size, config);
    if (nodes() == 1) {
      map_region(bytes);
      return std::make_unique<ShmTransport>(region_, job_.rank, job_.size, config, true);
    }
    const std::size_t loops_at = round_to_page(bytes);
    map_region(loops_at + LoopTransport::bytes_needed(job_.size));
    std::vector<int> nodes;
    for (int rank = 0; rank < job_.size; ++rank) nodes.push_back(node(rank));
    return std::make_unique<LoopTransport>(
        std::make_unique<ShmTransport>(region_, job_.rank, job_.size, config, true), region_.base + loops_at,
        std::move(nodes), NetworkModel::of(config));
  }

  std::unique_ptr<GlobalMemory> make_global_memory() override {
    std::vector<PublishedArena*> arenas;
    for (int rank = 0; rank < job_.size; ++rank) {
      arenas.push_back(node(rank) == node(job_.rank) ? &job_.blocks[rank].arena : nullptr);
    }
    return std::make_unique<ArenaMemory>(job_.rank, std::move(arenas), find_heap());
  }

  std::byte* file_locks() override { return file_locks_of(job_.header, job_.size); }

  ProcessMark process_of(int rank) const override {
    const RankBlock& its = job_.blocks[rank];
    return {.pid = its.claimed_pid.load(std::memory_order_relaxed),
            .address = its.mark_address.load(std::memory_order_acquire),
            .value = mark_value(job_.header->job_id, rank)};
  }

  CallBoard& board() override { return *board_of_rank(job_.header, job_.size, job_.rank); }

  void publish_program() override {
    publish_files(board().line.site.load(std::memory_order_relaxed), &board());
    // Where a process may only trace its descendants (Yama), what mpiexec starts may trace this one.
    prctl(PR_SET_PTRACER, job_.header->launcher_pid, 0, 0, 0);
  }

  void join_world() override {
    block().in_world.store(1, std::memory_order_seq_cst);
    const std::int32_t absent = job_.header->absent_rank.load(std::memory_order_seq_cst);
    if (absent != 0) {
      abort(1, "MPI_Init: rank " + std::to_string(absent - 1) + " ended without calling MPI_Init");
    }
  }

  void mark_initialized() override {
    if (begin_ns_ == 0) begin_ns_ = clock_ns();
    block().life.store(Life::kInitialized, std::memory_order_release);
  }
  void mark_finalized() override {
    publish(true);
    if (begin_ns_ != 0) earlier_ns_ += clock_ns() - begin_ns_;
    begin_ns_ = 0;
    block().life.store(Life::kFinalized, std::memory_order_release);
  }

  bool report(const Counters* counters) override {
    counters_ = counters;
    begin_ns_ = clock_ns();
    const HeapInterface* const heap = find_heap();
    heap_ = heap != nullptr && heap->global != 0 ? HeapKind::kGlobal : HeapKind::kPrivate;
    return job_.header->wants_statistics != 0;
  }
  void publish() override { publish(false); }

  void tell_leaks(const std::vector<Leak>& leaks) override {
    const int socket = connect_to_launcher(job_.header->launcher_socket);
    if (socket < 0 ||
        !send_leaks(socket, {.job_id = job_.header->job_id, .rank = job_.rank, .leaks = leaks})) {
      print_leaks(job_.rank, leaks);
    }
    if (socket >= 0) close(socket);
  }

  void leave_to_launcher() override {
    timespec left{0, kLauncherTimeNs};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
  }

  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    if (another_dies()) leave_to_launcher();  // whose end may well be why this one fails
    publish(false);
    flush_standard_output();
    std::snprintf(block().abort_message, kAbortMessageBytes, "%s", message.c_str());
    block().abort_code.store(exit_code, std::memory_order_relaxed);
    block().life.store(Life::kAborting, std::memory_order_release);
    std::int32_t nobody = 0;
    job_.header->first_abort.compare_exchange_strong(nobody, job_.rank + 1, std::memory_order_acq_rel);
    // mpiexec watches the program that it started. Where that is a script around this one, the script must
    // end too: it leads the process group that mpiexec made.
    if (getpid() != getpgrp()) {
      signal(SIGTERM, SIG_IGN);
      kill(0, SIGTERM);
    }
    _exit((exit_code & 0xff) != 0 ? exit_code & 0xff : 1);
  }

 private:
  RankBlock& block() const { return job_.blocks[job_.rank]; }

  /// Whether another rank of this world is on its way out, or gone, without having said so to mpiexec.
  bool another_dies() const {
    for (int rank = 0; rank < job_.size; ++rank) {
      const RankBlock& its = job_.blocks[rank];
      if (rank == job_.rank || its.life.load(std::memory_order_acquire) >= Life::kFinalized) continue;
      const std::int32_t pid = its.claimed_pid.load(std::memory_order_relaxed);
      if (pid > 0 && state_of_process(pid).exiting()) return true;
    }
    return false;
  }

  /// Between two uses of MPI the counts are elsewhere, and what was published at the end of the last one
  /// stays.
  void publish(bool finished) {
    if (counters_ == nullptr || begin_ns_ == 0) return;
    RunStatistics statistics = statistics_of(*counters_);
    statistics.running_ns = static_cast<std::uint64_t>(earlier_ns_ + clock_ns() - begin_ns_);
    statistics.heap = static_cast<std::uint64_t>(heap_);
    statistics.finished = finished ? 1 : 0;
    store(statistics, &block().statistics);
  }

  /// The ranks agree on the region's size (the first one sets it) and each sees to it that it is there.
  void map_region(std::size_t bytes) {
    std::uint64_t agreed = 0;
    if (!job_.header->transport_bytes.compare_exchange_strong(agreed, bytes, std::memory_order_acq_rel) &&
        agreed != bytes) {
      abort(1, "MPI_Init: this rank wants " + std::to_string(bytes) +
                   " bytes of shared memory where another wants " + std::to_string(agreed) +
                   "; TASUKI_RING_BYTES must be the same for all ranks");
    }
    const std::uint64_t offset = transport_offset(job_.size);
    void* memory = MAP_FAILED;
    if (set_file_bytes(job_.fd, offset + bytes)) {
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, job_.fd,
                    static_cast<off_t>(offset));
    }
    if (memory == MAP_FAILED) {
      abort(1, "MPI_Init: cannot get " + std::to_string(bytes) + " bytes of shared memory: " +
                   std::strerror(errno) + (errno == EFBIG ? " (the limit of file sizes, ulimit -f)" : ""));
    }
    // The kernel would dump it whole, and make the pages that nobody has touched.
    madvise(memory, bytes, MADV_DONTDUMP);
    region_ = {static_cast<std::byte*>(memory), bytes, job_.header->job_id, job_.fd, offset};
  }

  Attachment job_;
  const std::uint64_t machine_ = machine_number();
  int home_ = -1;
  std::uint64_t mark_;  // peers that may read this process' memory look here
  SharedRegion region_;
  const Counters* counters_ = nullptr;  // what is reported; null: nothing is wanted
  HeapKind heap_ = HeapKind::kUnknown;  // what malloc() gave at the start
  std::int64_t begin_ns_ = 0;           // of the present use of MPI; 0: there is none
  std::int64_t earlier_ns_ = 0;         // how long the earlier ones took
};

}  // namespace

std::unique_ptr<Bootstrap> make_job_bootstrap(const Attachment& attachment) {
  return std::make_unique<JobBootstrap>(attachment);
}

}  // namespace tasuki::local
