// tasuki-source-lines: answers mpiexec's questions for source lines (launch/doctor/source_lines.hpp).
//
// Questions come on standard input, a line each, numbered from 0:
//
//   at OFFSET INODE PATH   the instruction at that offset (hexadecimal) of the file
//   stack PID              the calls that the process is in
//
// Each answer is a line on standard output, or one for each frame of a stack; what is not known is not
// answered: number, function, source file, line, module, with a tab between. Answers go out one by one, so
// that those given before the time is over count; stacks come last, since they may take longest.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/calls/mapped_files.hpp"
#include "base/system/kill_score.hpp"
#include "source_lines/places.hpp"
#include "source_lines/stack.hpp"

namespace {

using namespace tasuki;
using namespace tasuki::source_lines;

/// What would break a line of ours is shown as '?'.
std::string shown(std::string text) {
  for (char& character : text) {
    if (character == '\t' || character == '\n') character = '?';
  }
  return text;
}

void answer(int question, const Place& place, const std::string& module) {
  std::printf("%d\t%s\t%s\t%d\t%s\n", question, shown(place.function).c_str(), shown(place.source).c_str(),
              place.line, shown(module).c_str());
  std::fflush(stdout);
}

void answer_place(Places& places, int question, const char* text) {
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;
  int path_at = 0;
  if (std::sscanf(text, "%" SCNx64 " %" SCNu64 " %n", &offset, &inode, &path_at) < 2 || path_at == 0) return;
  const Place place = places.find(text + path_at, offset, inode);
  if (!place.function.empty() || !place.source.empty()) answer(question, place, "");
}

void answer_stack(Places& places, int question, int pid) {
  const std::vector<MappedFile> files = mapped_files(pid);
  for (const std::uint64_t address : read_stack(pid)) {
    for (const MappedFile& file : files) {
      if (address < file.begin || address >= file.end) continue;
      answer(question, places.find(file.path, address - file.begin + file.offset, file.inode), file.path);
    }
  }
}

}  // namespace

int main() {
  set_kill_score(kKillScoreMost);  // mpiexec can do without
  Places places;
  std::vector<std::pair<int, int>> stacks;  // question, process
  int question = 0;
  for (std::string line; std::getline(std::cin, line); ++question) {
    if (line.starts_with("at ")) answer_place(places, question, line.c_str() + 3);
    if (line.starts_with("stack ")) stacks.emplace_back(question, std::atoi(line.c_str() + 6));
  }
  for (const auto& [number, pid] : stacks) answer_stack(places, number, pid);
  return 0;
}
