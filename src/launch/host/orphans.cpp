// Reading /proc.
#include "launch/host/orphans.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/system/process_state.hpp"
#include "launch/base/format.hpp"
#include "launch/base/numbered_entries.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

// As much of "tasuki-source-lines" (doctor/source_lines.hpp) as the kernel keeps of a name.
constexpr std::string_view kSourceLinesName = "tasuki-source-l";

bool has_name_of_helper(const ProcessState& process) {
  return process.name == kGuardName || process.name == kSessionName || process.name == kSourceLinesName;
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

std::vector<int> children() {
  return children_of(static_cast<int>(getpid()));
}

std::vector<int> children_of(int pid) {
  const std::string text = local::read_text(format("/proc/%d/task/%d/children", pid, pid));
  std::vector<int> found;
  char* end = nullptr;
  for (const char* at = text.c_str();; at = end) {
    const long child = std::strtol(at, &end, 10);
    if (end == at) return found;
    found.push_back(static_cast<int>(child));
  }
}

bool is_helper(int pid) {
  return has_name_of_helper(state_of_process(pid));
}

bool has_mark(int pid, const std::string& assignment) {
  const std::string environment = '\0' + local::read_text("/proc/" + std::to_string(pid) + "/environ");
  return environment.find('\0' + assignment + '\0') != std::string::npos;
}

std::vector<int> processes_with(const std::string& assignment) {
  std::vector<int> found;
  each_number("/proc", [&](int pid) {
    if (pid == getpid() || !has_mark(pid, assignment)) return;
    const ProcessState process = state_of_process(pid);
    if (process.known() && !process.ended() && !has_name_of_helper(process)) found.push_back(pid);
  });
  return found;
}

}  // namespace tasuki::launch
