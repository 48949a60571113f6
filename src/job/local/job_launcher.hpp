// JobLauncher: our mpiexec, as a rank of its job sees it: through the rank's block of the job segment, and,
// for what needs an answer, by mpiexec's socket.
//
// Ownership: the segment is the starter's. Thread safety: as Launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/variables/statistics.hpp"
#include "job/launcher.hpp"
#include "job/local/map_job_segment.hpp"

namespace tasuki::local {

/// A text of the segment, which may have lost its end.
template <std::size_t kBytes>
std::string bounded(const char (&text)[kBytes]) {
  return {text, strnlen(text, kBytes)};
}

class JobLauncher final : public Launcher {
 public:
  /// `board`: this rank's.
  JobLauncher(const MappedJob& job, CallBoard& board)
      : Launcher(job.rank, job.size), job_(job), board_(board) {}

  const char* tuning_table() const override;
  bool spawn(const SpawnRequest& request, std::string* error) override;
  bool ask_about_name(const NameRequest& request, std::string* port, std::string* error) override;
  void report_connections(const ConnectionReport& report) override;
  void publish_program() override;
  void join_world() override;
  void mark_initialized() override;
  void mark_finalized() override;
  bool report(const Counters* counters) override;
  void publish() override { publish(false); }
  void report_leaks(const std::vector<Leak>& leaks) override;
  void wait_to_be_ended() override;
  [[noreturn]] void abort(int exit_code, const std::string& message) override;

 private:
  RankBlock& block() const { return job_.blocks[job_.rank]; }
  bool another_dies() const;
  bool ask(const std::string& request, std::string* text, std::string* error);
  void publish(bool finished);

  const MappedJob& job_;
  CallBoard& board_;
  const Counters* counters_ = nullptr;  // what is reported; null: nothing is wanted
  HeapKind heap_ = HeapKind::kUnknown;  // what malloc() gave at the start
  std::int64_t begin_ns_ = 0;           // of the present use of MPI; 0: there is none
  std::int64_t earlier_ns_ = 0;         // how long the earlier ones took
};

}  // namespace tasuki::local
