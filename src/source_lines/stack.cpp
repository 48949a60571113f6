// PTRACE_SEIZE and PTRACE_INTERRUPT: unlike PTRACE_ATTACH they send no SIGSTOP, so that nothing is left
// behind when the tracer dies.
#include "source_lines/stack.hpp"

#include <elfutils/libdwfl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tasuki::source_lines {
namespace {

constexpr int kLooks = 100;
constexpr useconds_t kBetweenLooksUs = 2000;

char* debug_path = nullptr;  // libdw's own list of places

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = nullptr,
    .debuginfo_path = &debug_path,
};

/// Stops it. `signal` is one that it was about to get, to be passed on.
bool stop(int pid, int* signal) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return false;
  if (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) return false;
  for (int look = 0; look < kLooks; ++look) {  // one that hangs in the kernel does not stop
    int status = 0;
    if (waitpid(pid, &status, __WALL | WNOHANG) == pid) {
      if (!WIFSTOPPED(status)) return false;
      *signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
      return true;
    }
    usleep(kBetweenLooksUs);
  }
  return false;
}

int take_frame(Dwfl_Frame* frame, void* into) {
  auto* const addresses = static_cast<std::vector<std::uint64_t>*>(into);
  Dwarf_Addr address = 0;
  bool is_exact = false;  // else it is where a call returns to
  if (!dwfl_frame_pc(frame, &address, &is_exact)) return DWARF_CB_ABORT;
  addresses->push_back(is_exact ? address : address - 1);
  return addresses->size() < kFramesMax ? DWARF_CB_OK : DWARF_CB_ABORT;
}

}  // namespace

std::vector<std::uint64_t> read_stack(int pid) {
  std::vector<std::uint64_t> addresses;
  int signal = 0;
  if (!stop(pid, &signal)) return addresses;
  Dwfl* const session = dwfl_begin(&kCallbacks);
  if (session != nullptr && dwfl_linux_proc_report(session, pid) == 0 &&
      dwfl_report_end(session, nullptr, nullptr) == 0 && dwfl_linux_proc_attach(session, pid, true) == 0) {
    dwfl_getthread_frames(session, pid, take_frame, &addresses);
  }
  dwfl_end(session);
  ptrace(PTRACE_DETACH, pid, nullptr, signal);
  return addresses;
}

}  // namespace tasuki::source_lines
