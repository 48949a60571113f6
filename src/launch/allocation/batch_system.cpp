// What batch systems tell a job of its hosts.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "launch/allocation/host_list.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool read_count(const std::string& word, int max, int* count) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || errno != 0 || number < 1 || number > max) return false;
  *count = static_cast<int>(number);
  return true;
}

/// "2(x3),1" as 2, 2, 2, 1.
bool expand_counts(const std::string& list, std::vector<int>* counts) {
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string word = list.substr(begin, end - begin);
    int times = 1;
    if (const std::size_t open = word.find("(x"); open != std::string::npos) {
      if (word.back() != ')' || !read_count(word.substr(open + 2, word.size() - open - 3), kHostsMax, &times))
        return false;
      word.resize(open);
    }
    int count = 0;
    if (!read_count(word, kSlotsMax, &count)) return false;
    counts->insert(counts->end(), static_cast<std::size_t>(times), count);
    begin = end + 1;
  }
  return !counts->empty() && counts->size() <= kHostsMax;
}

/// One name with one range in brackets, or more.
bool expand_name(const std::string& pattern, std::vector<std::string>* names) {
  const std::size_t open = pattern.find('[');
  if (open == std::string::npos) {
    names->push_back(pattern);
    return !pattern.empty();
  }
  const std::size_t close = pattern.find(']', open);
  if (close == std::string::npos) return false;
  const std::string ranges = pattern.substr(open + 1, close - open - 1);
  for (std::size_t begin = 0; begin < ranges.size();) {
    const std::size_t end = std::min(ranges.find(',', begin), ranges.size());
    const std::string range = ranges.substr(begin, end - begin);
    const std::size_t dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const std::string last = dash != std::string::npos ? range.substr(dash + 1) : first;
    char* rest = nullptr;
    const long from = std::strtol(first.c_str(), &rest, 10);
    if (first.empty() || *rest != '\0' || from < 0) return false;
    const long to = std::strtol(last.c_str(), &rest, 10);
    if (last.empty() || *rest != '\0' || to < from || to - from >= static_cast<long>(kHostsMax)) return false;
    for (long number = from; number <= to; ++number) {
      const std::string name =
          format("%s%0*ld", pattern.substr(0, open).c_str(), static_cast<int>(first.size()), number);
      if (!expand_name(name + pattern.substr(close + 1), names) || names->size() > kHostsMax) return false;
    }
    begin = end + 1;
  }
  return true;
}

bool read_slurm(const std::string& names, const char* counts, Allocation* found, std::string* error) {
  std::vector<std::string> hosts;
  std::vector<int> slots;
  if (!expand_names(names, &hosts)) {
    *error = format("Slurm's list of hosts, \"%.200s\", cannot be read", names.c_str());
    return false;
  }
  if (counts == nullptr || !expand_counts(counts, &slots) || slots.size() != hosts.size()) {
    *error = format("Slurm's numbers of tasks, \"%.200s\", do not fit its %zu hosts",
                    counts != nullptr ? counts : "", hosts.size());
    return false;
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) found->hosts.push_back({hosts[i], "", slots[i]});
  return true;
}

/// Lines that begin with a host's name; a number behind it is that of its slots, else each line is one slot.
bool read_lines(const std::string& path, const ReadFile& read, Allocation* found, std::string* error) {
  std::string text;
  if (!read(path, &text)) {
    *error = format("%s names the file %s, which cannot be read", found->source.c_str(), path.c_str());
    return false;
  }
  std::string list;
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    int slots = 1;
    if (words.size() > 1) read_count(words[1], kSlotsMax, &slots);
    list += (list.empty() ? "" : ",") + words[0] + ":" + std::to_string(slots);
  }
  if (add_host_list(list, &found->hosts, error)) return true;
  *error = format("%s, the file %s: %s", found->source.c_str(), path.c_str(), error->c_str());
  return false;
}

/// LSB_MCPU_HOSTS: "a 4 b 2".
bool read_pairs(const std::string& text, Allocation* found, std::string* error) {
  const std::vector<std::string> words = words_of(text);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    HostSlots host{words[i], "", 1};
    if (!read_count(words[i + 1], kSlotsMax, &host.slots)) {
      *error = format("%s = \"%.200s\", expected names with numbers of slots", found->source.c_str(),
                      text.c_str());
      return false;
    }
    found->hosts.push_back(host);
  }
  return true;
}

}  // namespace

bool expand_names(const std::string& list, std::vector<std::string>* names) {
  int depth = 0;
  std::string pattern;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || depth > 0) {
      pattern += c;
      continue;
    }
    if (depth < 0 || !expand_name(pattern, names)) return false;
    pattern.clear();
  }
  return !names->empty();
}

bool find_allocation(const GetEnvironment& get, const ReadFile& read, Allocation* found, std::string* error) {
  *found = {};
  const auto take = [&](const char* system, const char* source) {
    const char* value = get(source);
    if (value == nullptr || *value == '\0') return false;
    found->system = system;
    found->source = source;
    return true;
  };
  if (take("Slurm", "SLURM_JOB_NODELIST")) {
    const char* counts = get("SLURM_TASKS_PER_NODE");
    if (counts == nullptr) counts = get("SLURM_JOB_CPUS_PER_NODE");
    return read_slurm(get("SLURM_JOB_NODELIST"), counts, found, error);
  }
  if (take("PBS", "PBS_NODEFILE")) return read_lines(get("PBS_NODEFILE"), read, found, error);
  if (take("LSF", "LSB_DJOB_HOSTFILE")) return read_lines(get("LSB_DJOB_HOSTFILE"), read, found, error);
  if (take("LSF", "LSB_MCPU_HOSTS")) return read_pairs(get("LSB_MCPU_HOSTS"), found, error);
  if (take("Grid Engine", "PE_HOSTFILE")) return read_lines(get("PE_HOSTFILE"), read, found, error);
  return true;
}

}  // namespace tasuki::launch
