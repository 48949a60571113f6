// Verdicts and their words.
#include "launch/ending/rank_end.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <string_view>

#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

using local::Life;

bool finished_early(const RankEnd& end) {
  return end.life == Life::kJoined || end.life == Life::kInitialized;
}

/// Whether other ranks wait, or will wait, for one that does not come.
bool is_absent(const RankEnd& end) {
  return !end.in_world && end.others_in_world;
}

std::string signal_cause(const RankEnd& end) {
  const int signal = WTERMSIG(end.wait_status);
  std::string text = "was killed by " + signal_text(signal);
  if (end.life != Life::kStarted && !end.whereabouts.empty()) text += " " + end.whereabouts;
  if (signal != SIGKILL) return text;
  if (!end.memory_exceeded.empty()) return text + ": " + end.memory_exceeded;
  return text + "; the kernel sends this signal too when memory runs out";
}

/// ", after MPI_Bcast at solve.c:10", or " in MPI_Allreduce (…)": where a program left without MPI_Finalize.
std::string left_from(const RankEnd& end) {
  constexpr std::string_view kOutside = "outside MPI";
  if (end.whereabouts.rfind(kOutside, 0) == 0) return end.whereabouts.substr(kOutside.size());
  return end.whereabouts.empty() ? "" : " " + end.whereabouts;
}

std::string cause(const RankEnd& end) {
  if (end.life == Life::kAborting) {
    const std::string site = end.site.empty() ? "" : "; called at " + end.site;
    if (end.abort_message.empty()) return format("ended the job with code %d", end.abort_code) + site;
    return "ended the job: " + end.abort_message + site;
  }
  if (WIFSIGNALED(end.wait_status)) return signal_cause(end);
  const int status = WEXITSTATUS(end.wait_status);
  std::string text = format("exited with status %d", status);
  if (status > 128 && status <= 128 + SIGRTMAX) {
    const bool memory = status - 128 == SIGKILL && !end.memory_exceeded.empty();
    text += " (as a shell reports " + signal_text(status - 128) + (memory ? ": " + end.memory_exceeded : "") +
            ")";
  }
  if (end.life == Life::kJoined) return text + " in MPI_Init";
  if (end.life == Life::kInitialized) {
    return text + (end.in_world ? " without calling MPI_Finalize" : " without finalising its MPI session") +
           left_from(end);
  }
  if (status == 0 && is_absent(end)) return text + " without calling MPI_Init, as other ranks did";
  return text;
}

}  // namespace

Verdict judge(const RankEnd& end) {
  if (end.life == Life::kAborting || WIFSIGNALED(end.wait_status) || finished_early(end)) {
    return Verdict::kFailed;
  }
  if (is_absent(end)) return Verdict::kFailed;
  const int status = WEXITSTATUS(end.wait_status);
  if (status == 0) return Verdict::kFine;
  return end.life == Life::kFinalized ? Verdict::kReturned : Verdict::kFailed;
}

int exit_status(const RankEnd& end) {
  if (judge(end) == Verdict::kFine) return 0;
  if (end.life == Life::kAborting) return (end.abort_code & 0xff) != 0 ? end.abort_code & 0xff : 1;
  if (WIFSIGNALED(end.wait_status)) return 128 + WTERMSIG(end.wait_status);
  const int status = WEXITSTATUS(end.wait_status);
  return status != 0 ? status : 1;
}

std::string signal_text(int signal) {
  return format("signal %d (%s)", signal, strsignal(signal));
}

std::string failure_message(const RankEnd& end, const std::string& host, int others) {
  std::string text = format("mpiexec: rank %d%s (pid %d on %s) ", end.rank,
                            end.spawn > 0 ? format(" of spawn %d", end.spawn).c_str() : "", end.pid,
                            end.host.empty() ? host.c_str() : end.host.c_str()) +
                     cause(end);
  if (others == 1) text += "; ending the other rank";
  if (others > 1) text += format("; ending the other %d ranks", others);
  return text;
}

}  // namespace tasuki::launch
