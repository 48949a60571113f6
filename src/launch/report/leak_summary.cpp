// Merging what the ranks left behind.
#include "launch/report/leak_summary.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kLinesMax = 1000;  // a program that spawns for ever may leak for ever

/// The file that holds the call which returns to `site`, or all zeros.
MappedFile file_of(const std::vector<MappedFile>& files, std::uint64_t site) {
  for (const MappedFile& file : files) {
    if (site != 0 && file.begin <= site - 1 && site - 1 < file.end) return file;
  }
  return {};
}

/// Where a site lies in its file.
std::uint64_t offset_of(std::uint64_t site, const MappedFile& file) {
  return site - file.begin + file.offset;
}

/// "0-3, 7": of ranks in order.
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[first]);
    if (last != first) text += (last == first + 1 ? ", " : "-") + std::to_string(ranks[last]);
    first = last + 1;
  }
  return text;
}

/// "2 to 9 on each of ranks 0, 1"
std::string holders_text(const std::map<int, std::uint32_t>& counts) {
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  std::vector<int> ranks;
  for (const auto& [rank, count] : counts) {
    least = std::min(least, count);
    most = std::max(most, count);
    ranks.push_back(rank);
  }
  const std::string range = most != least ? " to " + std::to_string(most) : "";
  return std::to_string(least) + range +
         format(ranks.size() == 1 ? " on rank %s" : " on each of ranks %s", ranks_text(ranks).c_str());
}

}  // namespace

LeakSummary::Line& LeakSummary::line_of(int spawn, const Leak& leak, const MappedFile& file) {
  const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) {
    Leak alike = leak;
    alike.count = line.leak.count;
    alike.site = line.leak.site;
    return line.spawn == spawn && line.leak == alike && std::strcmp(line.file.path, file.path) == 0 &&
           (file.path[0] == '\0' ? line.leak.site == leak.site
                                 : offset_of(line.leak.site, line.file) == offset_of(leak.site, file));
  });
  return found != lines_.end() ? *found : lines_.emplace_back(Line{spawn, leak, file, {}});
}

void LeakSummary::add(int spawn, const LeakReport& report, const std::vector<MappedFile>& files) {
  for (const Leak& leak : report.leaks) {
    if (lines_.size() >= kLinesMax) return;
    Line& line = line_of(spawn, leak, file_of(files, leak.site));
    const auto holder = std::find_if(line.holders.begin(), line.holders.end(),
                                     [&report](const Holder& one) { return one.rank == report.rank; });
    if (holder != line.holders.end()) {
      holder->count += leak.count;
    } else {
      line.holders.push_back({report.rank, leak.count});
    }
  }
}

std::vector<SourceQuery> LeakSummary::queries() const {
  std::vector<SourceQuery> queries;
  for (const Line& line : lines_) {
    SourceQuery& query = queries.emplace_back();
    if (line.file.path[0] != '\0') query.files = {line.file};
    query.addresses = {line.leak.site};
  }
  return queries;
}

/// Two calls on one source line, as of a loop that the compiler has unrolled, are one here.
std::string LeakSummary::text(const std::vector<SourceAnswer>& answers) const {
  std::vector<std::pair<std::string, std::map<int, std::uint32_t>>>
      merged;  // what, and how many of which rank
  std::vector<int> spawns;
  for (std::size_t index = 0; index < lines_.size(); ++index) {
    const Line& line = lines_[index];
    std::string place;
    if (index < answers.size() && !answers[index].lines.empty()) place = short_text(answers[index].lines[0]);
    const std::string what = leak_text(line.leak, place);
    std::size_t at = 0;
    while (at < merged.size() && (merged[at].first != what || spawns[at] != line.spawn)) ++at;
    if (at == merged.size()) {
      merged.push_back({what, {}});
      spawns.push_back(line.spawn);
    }
    for (const Holder& holder : line.holders) merged[at].second[holder.rank] += holder.count;
  }
  std::string text = std::string("mpiexec: ") + kLeakHeading;
  for (std::size_t at = 0; at < merged.size(); ++at) {
    text += "\nmpiexec:   " + merged[at].first + ": " + holders_text(merged[at].second);
    if (spawns[at] > 0) text += format(" of spawn %d", spawns[at]);
  }
  return text;
}

}  // namespace tasuki::launch
