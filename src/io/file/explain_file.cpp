// What TASUKI_EXPLAIN says about files.
#include "io/file/explain_file.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <string_view>

namespace tasuki {
namespace {

constexpr std::size_t kLineBytes = 1024;

/// Whether the line is to be written; keeps that it was.
bool is_new(std::vector<std::size_t>* told, std::string_view line) {
  const std::size_t number = std::hash<std::string_view>()(line);
  if (told->size() > kFileLinesMax || std::find(told->begin(), told->end(), number) != told->end())
    return false;
  told->push_back(number);
  return true;
}

}  // namespace

bool explains_files(const Process& process) {
  const std::int64_t explain = process.config.explain;
  return explain == kExplainAll || (explain == kExplainRank0 && process.rank == 0);
}

void explain_file(const File& file, const char* format, ...) {
  const Process& process = file.process;
  if (!explains_files(process)) return;
  char line[kLineBytes];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::vector<std::size_t>& told = process.files->told;
  if (!is_new(&told, file.name + line)) return;
  if (told.size() > kFileLinesMax) {
    std::fprintf(stderr, "tasuki: rank %d: more about files is not reported\n", process.rank);
    return;
  }
  std::fprintf(stderr, "tasuki: rank %d: file \"%.400s\": %s\n", process.rank, file.name.c_str(), line);
}

}  // namespace tasuki
