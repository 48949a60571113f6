// Looking at shared memory and /proc, and when.
#include "launch/top/top.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/calls/function.hpp"
#include "base/system/process_state.hpp"
#include "base/variables/statistics.hpp"
#include "doctor/call.hpp"
#include "doctor/snapshot.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

using local::Life;
using State = TopRow::State;

constexpr std::int64_t kLookNs = 50'000'000;
constexpr std::int64_t kPictureNs = 500'000'000;
constexpr std::int64_t kLineNs = 1'000'000'000;

RankLook look_at(const Subject& rank) {
  const CallLine& line = rank.board->line;
  RankLook look;
  look.word = line.word.load(std::memory_order_relaxed);
  look.moves = line.moves.load(std::memory_order_relaxed);
  look.place = (look.word & kInside) != 0 ? RankLook::Place::kInside : RankLook::Place::kOutside;
  return look;
}

/// Where a rank is, but for what its line says.
State state_of(const Subject& rank) {
  if (rank.ended) return State::kEnded;
  const std::int32_t pid = local::pid_of(*rank.block);
  if (pid > 0) {
    const ProcessState process = state_of_process(pid);
    if (process.ended()) return State::kEnded;
    if (process.stopped()) return State::kStopped;
  }
  switch (rank.block->life.load(std::memory_order_acquire)) {
    case Life::kStarted:
      return State::kStarting;
    case Life::kFinalized:
      return State::kFinalized;
    case Life::kAborting:
      return State::kEnded;
    default:
      return State::kComputes;
  }
}

std::string time_text(std::int64_t ns) {
  const long seconds = static_cast<long>(ns / 1'000'000'000);
  return seconds < 3600 ? format("%ld:%02ld", seconds / 60, seconds % 60)
                        : format("%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace

Top::Top(TopScreen::Place place, int fd, std::string title, std::int64_t since_ns)
    : screen_(place), fd_(fd), terminal_(isatty(fd) != 0), title_(std::move(title)), since_ns_(since_ns) {}

bool Top::look(const std::vector<SubjectWorld>& worlds, std::int64_t now_ns) {
  if (now_ns < look_ns_) return false;
  for (const SubjectWorld& world : worlds) {
    for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
      const Subject& subject = world.ranks[rank];
      if (subject.block->life.load(std::memory_order_acquire) == Life::kStarted) continue;
      histories_[{world.number, static_cast<int>(rank)}].look(look_at(subject), now_ns);
    }
  }
  look_ns_ = now_ns + kLookNs;
  if (now_ns < picture_ns_) return false;
  picture_ns_ = now_ns + (terminal_ ? kPictureNs : kLineNs);
  return true;
}

std::string Top::picture(const std::vector<SubjectWorld>& worlds, std::int64_t now_ns) {
  const TopTable shown = table(worlds, now_ns);
  for (const SubjectWorld& world : worlds) {
    for (const Subject& rank : world.ranks) rank.board->asked.fetch_add(1, std::memory_order_relaxed);
  }
  if (!terminal_) return top_summary(shown);
  const TopScreen::Size size = terminal_size(fd_);
  return screen_.show(top_lines(shown, size.columns, screen_.height(size), true), size);
}

TopTable Top::table(const std::vector<SubjectWorld>& worlds, std::int64_t now_ns) {
  TopTable table;
  for (const SubjectWorld& world : worlds) {
    for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
      table.rows.push_back(row(world, static_cast<int>(rank), now_ns));
    }
  }
  table.title =
      format("%s: %zu rank%s", title_.c_str(), table.rows.size(), table.rows.size() == 1 ? "" : "s");
  if (since_ns_ != 0) table.title += ", " + time_text(now_ns - since_ns_);
  return table;
}

TopRow Top::row(const SubjectWorld& world, int rank, std::int64_t now_ns) {
  const Subject& subject = world.ranks[static_cast<std::size_t>(rank)];
  TopHistory& history = histories_[{world.number, rank}];
  history.count(load(subject.block->statistics), now_ns);
  TopRow row;
  row.name = (world.number > 0 ? std::to_string(world.number) + "." : "") + std::to_string(rank);
  row.state = state_of(subject);
  doctor::RankState state;
  doctor::read_board(*subject.board, static_cast<int>(world.ranks.size()), 1, &state);
  // The report is of some time ago: it says more only about a call that still lasts.
  if (state.report && state.report->word != state.line.word) state.report.reset();
  if (state.line.inside && (row.state == State::kComputes || row.state == State::kStopped)) {
    if (row.state == State::kComputes) row.state = State::kInside;
    row.function = doctor::name_of(state.line.function);
    row.call = doctor::call_text(state);
  }
  history.describe(now_ns, &row);
  return row;
}

}  // namespace tasuki::launch
