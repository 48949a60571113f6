// The arithmetic of looks, and the columns.
#include "launch/top/top_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/stable_sort.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

using State = TopRow::State;

constexpr double kShareSeconds = 2;              // over which the share of time in MPI is averaged
constexpr std::int64_t kWaitsNs = 500'000'000;   // a call that is this old and has not moved waits
constexpr std::int64_t kRateNs = 1'000'000'000;  // over which rates are taken, at least
constexpr std::int64_t kShownNs = 500'000'000;   // how long a state lasts until it is shown
constexpr std::size_t kCountedMax = 16;

double seconds_of(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

Traffic difference(const Traffic& later, const Traffic& earlier) {
  const auto minus = [](std::uint64_t one, std::uint64_t other) { return one > other ? one - other : 0; };
  return {minus(later.messages, earlier.messages), minus(later.bytes, earlier.bytes)};
}

void add(const Traffic& from, Traffic* to) {
  to->messages += from.messages;
  to->bytes += from.bytes;
}

void add_traffic(const TopRow& from, TopRow* to) {
  for (int way = 0; way < kWays; ++way) {
    add(from.ways[way].sent, &to->ways[way].sent);
    add(from.ways[way].received, &to->ways[way].received);
  }
  to->sleeps += from.sleeps;
}

double rate(std::uint64_t amount, double interval) {
  return interval > 0 ? static_cast<double>(amount) / interval : 0;
}

// ----- words -----------------------------------------------------------------------------------------------

std::string state_text(const TopRow& row) {
  switch (row.state) {
    case State::kStarting:
      return "has not called MPI_Init";
    case State::kComputes:
      return "computes";
    case State::kInside:
      return "in " + row.call;
    case State::kWaits:
      return "waits in " + row.call;
    case State::kStopped:
      return row.call.empty() ? "stopped" : "stopped in " + row.call;
    case State::kFinalized:
      return "finalized";
    case State::kEnded:
      return "ended";
  }
  return "";
}

std::string duration_text(double seconds) {
  if (seconds < seconds_of(kShownNs)) return "";
  if (seconds < 99.95) return format("%.1f s", seconds);
  const auto whole = static_cast<long>(seconds);
  return whole < 3600 ? format("%ld:%02ld", whole / 60, whole % 60)
                      : format("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string share_text(double share) {
  return format("%.0f %%", share * 100);
}

/// "pull 71, short 29": percent of the bytes sent, or of messages where none has any.
std::string ways_text(const TopRow& row) {
  const Traffic all = row.traffic().sent;
  const auto part = [&](const WayTraffic& way) {
    return all.bytes != 0 ? way.sent.bytes : way.sent.messages;
  };
  const std::uint64_t whole = all.bytes != 0 ? all.bytes : all.messages;
  if (whole == 0) return "";
  std::vector<std::pair<long, int>> shares;
  for (int way = 0; way < kWays; ++way) {
    const double percent = 100 * static_cast<double>(part(row.ways[way])) / static_cast<double>(whole);
    if (std::lround(percent) > 0) shares.emplace_back(std::lround(percent), way);
  }
  stable_sort(&shares, [](const auto& one, const auto& other) { return one.first > other.first; });
  std::string text;
  for (const auto& [percent, way] : shares) {
    text += format("%s%s %ld", text.empty() ? "" : ", ", way_name(static_cast<Way>(way)), percent);
  }
  return text;
}

// ----- columns ---------------------------------------------------------------------------------------------

struct Column {
  const char* heading;
  int width;
  int rank;  // those of the highest numbers are left out first where it is narrow
  bool left;
  std::string (*text)(const TopRow& row);
};

std::string messages_text(const TopRow& row, const Traffic& traffic) {
  return row.interval > 0 ? short_number(rate(traffic.messages, row.interval)) : "";
}

std::string bytes_text(const TopRow& row, const Traffic& traffic) {
  return row.interval > 0 ? byte_text(rate(traffic.bytes, row.interval)) : "";
}

// The first two are as wide as what stands in them.
constexpr Column kColumns[] = {
    {"rank", 0, 0, true, [](const TopRow& row) { return row.name; }},
    {"state", 0, 0, true, state_text},
    {"for", 7, 1, false, [](const TopRow& row) { return duration_text(row.seconds); }},
    {"MPI", 5, 2, false, [](const TopRow& row) { return share_text(row.mpi_share); }},
    {"sent/s", 7, 3, false, [](const TopRow& row) { return messages_text(row, row.traffic().sent); }},
    {"bytes/s", 8, 4, false, [](const TopRow& row) { return bytes_text(row, row.traffic().sent); }},
    {"recv/s", 7, 6, false, [](const TopRow& row) { return messages_text(row, row.traffic().received); }},
    {"bytes/s", 8, 7, false, [](const TopRow& row) { return bytes_text(row, row.traffic().received); }},
    {"sleeps/s", 8, 8, false,
     [](const TopRow& row) {
       return row.interval > 0 ? short_number(row.sleeps / row.interval) : std::string();
     }},
    {"ways, % of bytes", 22, 5, true, ways_text},
};
constexpr int kNames = 0;
constexpr int kStates = 1;
constexpr int kGap = 2;
constexpr int kStateWidthMin = 24;
constexpr int kStateWidthWanted = 44;  // before the columns from this rank on are shown
constexpr int kLessWanted = 6;
constexpr int kNameWidthMax = 24;

/// `text` cut, or filled with blanks, to `width` columns. (Names of functions and programs are plain letters;
/// bytes above them are parts of letters, which are never cut in the middle.)
std::string fitted(const std::string& text, int width, bool left) {
  std::size_t end = 0;
  int columns = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && columns == width) break;
    if (begins) ++columns;
  }
  std::string part = text.substr(0, end);
  if (end < text.size() && width >= 4) {
    while (columns > width - 2) {
      while (!part.empty() && (static_cast<unsigned char>(part.back()) & 0xc0) == 0x80) part.pop_back();
      part.pop_back();
      --columns;
    }
    part += "..";
    columns += 2;
  }
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - columns)), ' ');
  return left ? part + blanks : blanks + part;
}

std::string cut(const std::string& text, int width) {
  std::string line = fitted(text, width, true);
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

struct Layout {
  std::vector<int> columns;
  std::vector<int> widths;
};

int sum_of(const Layout& layout) {
  int sum = 0;
  for (const int width : layout.widths) sum += width + kGap;
  return sum - kGap;
}

Layout plan_columns(const std::vector<TopRow>& rows, int width) {
  int names = 4;
  int states = kStateWidthMin;
  for (const TopRow& row : rows) {
    names = std::max(names, static_cast<int>(row.name.size()));
    states = std::max(states, static_cast<int>(state_text(row).size()));
  }
  names = std::min(names, kNameWidthMax);
  Layout layout;
  int least = kStateWidthMin;  // of the states
  for (int most = 9; most >= 0; --most) {
    layout = {};
    least = most >= kLessWanted ? std::min(states, kStateWidthWanted) : kStateWidthMin;
    for (int column = 0; column < static_cast<int>(std::size(kColumns)); ++column) {
      if (kColumns[column].rank > most) continue;
      layout.columns.push_back(column);
      layout.widths.push_back(column == kNames ? names : column == kStates ? least : kColumns[column].width);
    }
    if (sum_of(layout) <= width) break;
  }
  layout.widths[kStates] =
      std::min(states, std::max(8, least + width - sum_of(layout)));  // what is left over
  return layout;
}

template <class Text>
std::string table_line(const Layout& layout, int width, Text&& text) {
  std::string line;
  for (std::size_t index = 0; index < layout.columns.size(); ++index) {
    const Column& column = kColumns[layout.columns[index]];
    if (index > 0) line += std::string(kGap, ' ');
    line += fitted(text(column), layout.widths[index], column.left);
  }
  return cut(line, width);
}

// ----- groups ----------------------------------------------------------------------------------------------

/// What two ranks have in common that stand in one line. kWaits and kInside change from look to look where
/// there are many; they stand together.
std::string group_key(const TopRow& row) {
  const bool waits = row.state == State::kWaits || row.state == State::kInside;
  return std::to_string(static_cast<int>(waits ? State::kInside : row.state)) + row.function;
}

struct Group {
  TopRow row;
  std::vector<std::string> names;
};

void join(const TopRow& row, Group* group) {
  TopRow& all = group->row;
  if (all.call != row.call) all.call = all.function;
  if (all.state != row.state) all.state = State::kInside;
  all.seconds = std::min(all.seconds, row.seconds);
  all.mpi_share += row.mpi_share;
  all.interval = std::max(all.interval, row.interval);
  ++all.ranks;
  add_traffic(row, &all);
  group->names.push_back(row.name);
}

/// The largest groups first.
std::vector<TopRow> grouped(const std::vector<TopRow>& rows) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  for (const TopRow& row : rows) {
    const auto [entry, is_new] = places.emplace(group_key(row), groups.size());
    if (is_new) {
      groups.push_back({row, {row.name}});
    } else {
      join(row, &groups[entry->second]);
    }
  }
  stable_sort(&groups, [](const Group& one, const Group& other) { return one.row.ranks > other.row.ranks; });
  std::vector<TopRow> joined;
  for (Group& group : groups) {
    group.row.mpi_share /= group.row.ranks;
    group.row.name = rank_list(group.names);
    joined.push_back(std::move(group.row));
  }
  return joined;
}

/// "3 wait, 1 computes" in place of a state, as a row of all.
struct Sums {
  TopRow row;
  std::string states;
};

Sums sums_of(const std::vector<TopRow>& rows) {
  Sums sums;
  int counts[7] = {};
  sums.row.ranks = 0;
  for (const TopRow& row : rows) {
    counts[static_cast<int>(row.state)] += row.ranks;
    sums.row.ranks += row.ranks;
    sums.row.mpi_share += row.mpi_share * row.ranks;
    sums.row.interval = std::max(sums.row.interval, row.interval);
    add_traffic(row, &sums.row);
  }
  if (sums.row.ranks > 0) sums.row.mpi_share /= sums.row.ranks;
  const char* const words[] = {"not in MPI yet", "compute",   "in MPI", "wait",
                               "stopped",        "finalized", "ended"};
  for (int state = 0; state < 7; ++state) {
    if (counts[state] == 0) continue;
    sums.states += format("%s%d %s", sums.states.empty() ? "" : ", ", counts[state],
                          counts[state] == 1 && state == 1   ? "computes"
                          : counts[state] == 1 && state == 3 ? "waits"
                                                             : words[state]);
  }
  return sums;
}

/// Reads "12" of "12", and of "1.12" the rank after the world's name.
bool split_name(const std::string& name, std::string* world, long* rank) {
  const std::size_t point = name.rfind('.');
  *world = point == std::string::npos ? "" : name.substr(0, point + 1);
  const char* const begin = name.data() + world->size();
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(begin, end, *rank);
  return error == std::errc() && stop == end;
}

}  // namespace

WayTraffic TopRow::traffic() const {
  WayTraffic all;
  for (const WayTraffic& way : ways) {
    add(way.sent, &all.sent);
    add(way.received, &all.received);
  }
  return all;
}

void TopHistory::look(const RankLook& look, std::int64_t now_ns) {
  const bool first = looked_ns_ == 0;
  if (first || look.word != last_.word || look.place != last_.place) since_ns_ = still_ns_ = now_ns;
  if (look.moves != last_.moves) still_ns_ = now_ns;
  const double inside = look.place == RankLook::Place::kInside ? 1 : 0;
  if (first) first_ns_ = looked_ns_ = now_ns;
  // A mean as long as there are few looks, then one that forgets.
  const double step = seconds_of(now_ns - looked_ns_);
  const double all = seconds_of(now_ns - first_ns_) + step;
  const double weight = first ? 1 : std::max(1 - std::exp(-step / kShareSeconds), all > 0 ? step / all : 0);
  mpi_share_ += (inside - mpi_share_) * weight;
  last_ = look;
  looked_ns_ = now_ns;
}

void TopHistory::count(const RunStatistics& counts, std::int64_t now_ns) {
  counted_.push_back({now_ns, counts});
  // The newest one that is old enough is kept: rates are differences to it.
  while (counted_.size() > 2 && (now_ns - counted_[1].at_ns >= kRateNs || counted_.size() > kCountedMax)) {
    counted_.pop_front();
  }
}

void TopHistory::describe(std::int64_t now_ns, TopRow* row) const {
  if (looked_ns_ != 0) row->seconds = seconds_of(now_ns - since_ns_);
  row->mpi_share = mpi_share_;
  if (row->state == State::kInside && looked_ns_ != 0 && now_ns - still_ns_ >= kWaitsNs) {
    row->state = State::kWaits;
  }
  if (counted_.empty()) return;
  const Counted& first = counted_.front();
  const Counted& last = counted_.back();
  row->counted = last.counts.running_ns != 0;
  row->interval = row->counted ? seconds_of(last.at_ns - first.at_ns) : 0;
  for (int way = 0; way < kWays; ++way) {
    row->ways[way].sent = difference(last.counts.ways[way].sent, first.counts.ways[way].sent);
    row->ways[way].received = difference(last.counts.ways[way].received, first.counts.ways[way].received);
  }
  row->sleeps = static_cast<double>(std::max(last.counts.sleeps, first.counts.sleeps) - first.counts.sleeps);
}

std::vector<std::string> top_lines(const TopTable& table, int width, int height, bool bold) {
  const int rows_max = std::max(0, height - 3);
  std::vector<TopRow> rows = table.rows;
  if (static_cast<int>(rows.size()) > rows_max) rows = grouped(rows);
  int more = 0;
  if (static_cast<int>(rows.size()) > rows_max) {
    for (std::size_t index = static_cast<std::size_t>(std::max(0, rows_max - 1)); index < rows.size();
         ++index) {
      more += rows[index].ranks;
    }
    rows.resize(static_cast<std::size_t>(std::max(0, rows_max - 1)));
  }
  const Layout layout = plan_columns(rows, width);
  const Sums sums = sums_of(table.rows);
  std::vector<std::string> lines;
  lines.push_back(cut(table.title, width));
  const std::string headings =
      table_line(layout, width, [](const Column& column) { return std::string(column.heading); });
  lines.push_back(bold ? "\033[1m" + headings + "\033[0m" : headings);
  for (const TopRow& row : rows) {
    lines.push_back(table_line(layout, width, [&row](const Column& column) { return column.text(row); }));
  }
  if (more > 0 && rows_max > 0) lines.push_back(cut(format("and %d more", more), width));
  lines.push_back(table_line(layout, width, [&sums](const Column& column) {
    if (&column == &kColumns[kNames]) return std::string("all");
    if (&column == &kColumns[kStates]) return sums.states;
    return column.text(sums.row);
  }));
  if (static_cast<int>(lines.size()) > height) {
    lines.erase(lines.begin(), lines.end() - std::max(0, height));  // the sums say most
  }
  return lines;
}

std::string top_summary(const TopTable& table) {
  const Sums sums = sums_of(table.rows);
  std::string text = table.title + ": " + sums.states;
  // What most of those in MPI are in.
  std::map<std::string, int> calls;
  for (const TopRow& row : table.rows) {
    if (!row.function.empty()) calls[row.function] += row.ranks;
  }
  const auto most = std::max_element(calls.begin(), calls.end(), [](const auto& one, const auto& other) {
    return one.second < other.second;
  });
  if (most != calls.end()) text += format(" (%d in %s)", most->second, most->first.c_str());
  text += "; in MPI " + share_text(sums.row.mpi_share);
  if (sums.row.interval > 0) {
    const Traffic sent = sums.row.traffic().sent;
    text += format("; %s messages/s, %s/s", short_number(rate(sent.messages, sums.row.interval)).c_str(),
                   byte_text(rate(sent.bytes, sums.row.interval)).c_str());
    if (const std::string ways = ways_text(sums.row); !ways.empty()) text += "; " + ways + " %";
  }
  return text;
}

std::string short_number(double number) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  if (unit == 0) return format(number > 0 && number < 9.95 ? "%.1f" : "%.0f", number);
  return format(number < 9.995 ? "%.2f%s" : number < 99.95 ? "%.1f%s" : "%.0f%s", number, kUnits[unit]);
}

std::string rank_list(const std::vector<std::string>& names) {
  std::string text;
  std::string world;
  std::string next_world;
  for (std::size_t begin = 0; begin < names.size();) {
    long first = 0;
    long last = 0;
    std::size_t end = begin + 1;
    if (split_name(names[begin], &world, &first)) {
      while (end < names.size() && split_name(names[end], &next_world, &last) && next_world == world &&
             last == first + static_cast<long>(end - begin)) {
        ++end;
      }
    }
    text += (text.empty() ? "" : ", ") + names[begin];
    if (end - begin > 1) {
      text += (end - begin > 2 ? "-" : ", ") + names[end - 1].substr(end - begin > 2 ? world.size() : 0);
    }
    begin = end;
  }
  return text;
}

}  // namespace tasuki::launch
