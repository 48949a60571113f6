// Reading /proc.
#include "launch/orphans.hpp"

#include <dirent.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "launch/text.hpp"
#include "runtime/local/processors.hpp"

namespace tasuki::launch {
namespace {

// As much of "tasuki-source-lines" (source_lines.hpp) as the kernel keeps of a name.
constexpr std::string_view kSourceLinesName = "tasuki-source-l";

struct Process {
  bool running = false;
  bool helper = false;  // an mpiexec's own
};

Process look_at(int pid) {
  const std::string stat = local::read_text("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t begin = stat.find('('), end = stat.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 2 >= stat.size()) return {};
  const std::string_view name(stat.data() + begin + 1, end - begin - 1);
  const char state = stat[end + 2];
  return {state != 'Z' && state != 'X', name == kGuardName || name == kSourceLinesName};
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

std::vector<int> children() {
  const int self = static_cast<int>(getpid());
  const std::string text = local::read_text(format("/proc/%d/task/%d/children", self, self));
  std::vector<int> found;
  char* end = nullptr;
  for (const char* at = text.c_str();; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at) return found;
    found.push_back(static_cast<int>(pid));
  }
}

bool is_helper(int pid) {
  return look_at(pid).helper;
}

bool has_mark(int pid, const std::string& assignment) {
  const std::string environment = '\0' + local::read_text("/proc/" + std::to_string(pid) + "/environ");
  return environment.find('\0' + assignment + '\0') != std::string::npos;
}

std::vector<int> processes_with(const std::string& assignment) {
  std::vector<int> found;
  DIR* entries = opendir("/proc");
  if (entries == nullptr) return found;
  while (const dirent* entry = readdir(entries)) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 0 || pid == getpid() || !has_mark(pid, assignment)) continue;
    const Process process = look_at(pid);
    if (process.running && !process.helper) found.push_back(pid);
  }
  closedir(entries);
  return found;
}

}  // namespace tasuki::launch
