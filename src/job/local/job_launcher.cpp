// JobLauncher: what is written into the segment, and what is asked by the socket.
#include "job/local/job_launcher.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/calls/mapped_files.hpp"
#include "base/system/clock.hpp"
#include "base/system/process_state.hpp"
#include "job/local/local.hpp"
#include "memory/heap_library.hpp"

namespace tasuki::local {
namespace {

/// What the program printed before the end should be seen, but a stream that another thread holds is left
/// alone.
void flush_standard_output() {
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

// mpiexec sees the end of a rank within microseconds, unless the kernel takes long to free its memory.
constexpr long kLauncherTimeNs = 300'000'000;

}  // namespace

const char* JobLauncher::tuning_table() const {
  return std::getenv(kTuningTableName);
}

bool JobLauncher::spawn(const SpawnRequest& request, std::string* error) {
  std::string nothing;
  return ask(encode(request), &nothing, error);
}

bool JobLauncher::ask_about_name(const NameRequest& request, std::string* port, std::string* error) {
  return ask(encode(request), port, error);
}

/// Where mpiexec cannot be reached it dies, and this process with it.
void JobLauncher::report_connections(const ConnectionReport& report) {
  std::string nothing;
  ask(encode(report), &nothing, &nothing);
}

bool JobLauncher::ask(const std::string& request, std::string* text, std::string* error) {
  const int socket = connect_to_launcher(bounded(job_.header->launcher_socket).c_str());
  if (socket < 0) {
    *error = std::string("cannot reach mpiexec: ") + std::strerror(errno);
    return false;
  }
  const bool served = ask_launcher(socket, request, text, error);
  close(socket);
  return served;
}

void JobLauncher::publish_program() {
  publish_files(board_.line.site.load(std::memory_order_relaxed), &board_);
  // Where a process may only trace its descendants (Yama), what mpiexec starts may trace this one.
  prctl(PR_SET_PTRACER, job_.header->launcher_pid, 0, 0, 0);
}

void JobLauncher::join_world() {
  block().in_world.store(1, std::memory_order_seq_cst);
  const std::int32_t absent = job_.header->absent_rank.load(std::memory_order_seq_cst);
  if (absent != 0) {
    abort(1, "MPI_Init: rank " + std::to_string(absent - 1) + " ended without calling MPI_Init");
  }
}

void JobLauncher::mark_initialized() {
  if (begin_ns_ == 0) begin_ns_ = clock_ns();
  block().life.store(Life::kInitialized, std::memory_order_release);
}

void JobLauncher::mark_finalized() {
  publish(true);
  if (begin_ns_ != 0) earlier_ns_ += clock_ns() - begin_ns_;
  begin_ns_ = 0;
  block().life.store(Life::kFinalized, std::memory_order_release);
}

bool JobLauncher::report(const Counters* counters) {
  counters_ = counters;
  begin_ns_ = clock_ns();
  const HeapInterface* const heap = find_heap();
  heap_ = heap != nullptr && heap->global != 0 ? HeapKind::kGlobal : HeapKind::kPrivate;
  return job_.header->wants_statistics != 0;
}

void JobLauncher::report_leaks(const std::vector<Leak>& leaks) {
  const int socket = connect_to_launcher(job_.header->launcher_socket);
  if (socket < 0 || !send_leaks(socket, {.job_id = job_.header->job_id, .rank = job_.rank, .leaks = leaks})) {
    print_leaks(job_.rank, leaks);
  }
  if (socket >= 0) close(socket);
}

void JobLauncher::wait_to_be_ended() {
  timespec left{0, kLauncherTimeNs};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void JobLauncher::abort(int exit_code, const std::string& message) {
  if (another_dies()) wait_to_be_ended();  // whose end may well be why this one fails
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

/// Whether another rank of this world is on its way out, or gone, without having said so to mpiexec.
bool JobLauncher::another_dies() const {
  for (int rank = 0; rank < job_.size; ++rank) {
    const RankBlock& its = job_.blocks[rank];
    if (rank == job_.rank || its.life.load(std::memory_order_acquire) >= Life::kFinalized) continue;
    const std::int32_t pid = its.claimed_pid.load(std::memory_order_relaxed);
    if (pid > 0 && state_of_process(pid).exiting()) return true;
  }
  return false;
}

/// Between two uses of MPI the counts are elsewhere, and what was published at the end of the last one stays.
void JobLauncher::publish(bool finished) {
  if (counters_ == nullptr || begin_ns_ == 0) return;
  RunStatistics statistics = statistics_of(*counters_);
  statistics.running_ns = static_cast<std::uint64_t>(earlier_ns_ + clock_ns() - begin_ns_);
  statistics.heap = static_cast<std::uint64_t>(heap_);
  statistics.finished = finished ? 1 : 0;
  store(statistics, &block().statistics);
}

}  // namespace tasuki::local
