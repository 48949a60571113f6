// Files of hints.
#include "io/hints/system_hints.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "io/hints/hint_table.hpp"

namespace tasuki {
namespace {

constexpr const char* kSiteFile = "/etc/romio-hints";
constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::size_t kWarningsMax = 16;
constexpr std::size_t kValueBytesMax = 1023;  // as of an MPI_Info

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t\r", at);
    if (at == line.npos || line[at] == '#') return words;
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
}

/// What is wrong with the line, or nothing.
std::string problem_of(const std::vector<std::string>& words) {
  if (words.size() != 2)
    return "it has " + std::to_string(words.size()) + (words.size() == 1 ? " word" : " words") +
           ", expected a hint and its value";
  if (words[1].size() > kValueBytesMax)
    return "the value of " + words[0] + " is too long, expected up to 1023 characters";
  const HintRule* const rule = find_hint_rule(words[0]);
  IoHints ignored;
  if (rule == nullptr || rule->take(&ignored, words[1])) return {};
  return words[0] + " = \"" + words[1] + "\", expected " + rule->expected;
}

/// Reads a regular file, up to kFileBytesMax. Returns 0 or an errno.
int read_whole(const char* name, std::string* text) {
  const int fd = ::open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not keep the job waiting
  if (fd < 0) return errno;
  struct stat status;
  int error = fstat(fd, &status) == 0 ? 0 : errno;
  if (error == 0 && !S_ISREG(status.st_mode)) error = EINVAL;
  if (error == 0 && static_cast<std::size_t>(status.st_size) > kFileBytesMax) error = EFBIG;
  char block[4096];
  while (error == 0) {
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) error = errno;
    if (got > 0) text->append(block, static_cast<std::size_t>(got));
    if (text->size() > kFileBytesMax) error = EFBIG;
  }
  ::close(fd);
  return error;
}

void warn(const std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i < warnings.size() && i < kWarningsMax; ++i)
    std::fprintf(stderr, "tasuki: warning: %.1500s\n", warnings[i].c_str());
  if (warnings.size() > kWarningsMax)
    std::fprintf(stderr, "tasuki: warning: %zu more lines are ignored\n", warnings.size() - kWarningsMax);
}

}  // namespace

HintList parse_system_hints(const std::string& text, const std::string& name,
                            std::vector<std::string>* warnings) {
  HintList hints;
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::vector<std::string> words = words_of(text.substr(begin, end - begin));
    begin = end + 1;
    if (words.empty()) continue;
    const std::string problem = problem_of(words);
    if (!problem.empty()) {
      warnings->push_back(name + ":" + std::to_string(number) + ": " + problem + "; the line is ignored");
      continue;
    }
    const auto known =
        std::find_if(hints.begin(), hints.end(), [&](const auto& hint) { return hint.first == words[0]; });
    if (known != hints.end()) {
      known->second = words[1];
    } else {
      hints.emplace_back(words[0], words[1]);
    }
  }
  return hints;
}

const HintList& SystemHints::hints() {
  const char* const named = std::getenv("ROMIO_HINTS");
  const std::string name = named != nullptr && *named != '\0' ? named : kSiteFile;
  if (read_ && name == name_) return hints_;
  read_ = true;
  name_ = name;
  hints_.clear();
  std::string text;
  std::vector<std::string> warnings;
  const int error = read_whole(name.c_str(), &text);
  if (error == 0) {
    hints_ = parse_system_hints(text, name, &warnings);
  } else if (error != ENOENT || name != kSiteFile) {
    warnings.push_back("ROMIO_HINTS = \"" + name + "\" cannot be read: " +
                       (error == EINVAL ? std::string("expected an ordinary file") : std::strerror(error)) +
                       "; no hints are taken from it");
  }
  warn(warnings);
  return hints_;
}

}  // namespace tasuki
