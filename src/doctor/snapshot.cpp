// Boards into snapshots: nothing of a board is believed that cannot be.
#include "doctor/snapshot.hpp"

#include <algorithm>
#include <cstring>

#include "base/calls/function.hpp"

namespace tasuki::doctor {
namespace {

constexpr int kCallsShift = 16;
constexpr int kReadsMax = 8;

Function checked_function(std::uint64_t number) {
  return number < kFunctions ? static_cast<Function>(number) : Function::kNone;
}

/// Ends a text, and takes out what a terminal must not see.
template <std::size_t bytes>
void check_text(char (&text)[bytes]) {
  text[bytes - 1] = '\0';
  for (char* at = text; *at != '\0'; ++at) {
    const auto letter = static_cast<unsigned char>(*at);
    if (letter < ' ' || letter == 0x7f) *at = '?';
  }
}

std::int32_t checked_rank(std::int32_t rank, int world_size) {
  const bool is_special = rank <= kNobody && rank >= kForeign;
  return is_special || (rank >= 0 && rank < world_size) ? rank : kNobody;
}

std::int32_t checked_tag(std::int32_t tag) {
  return tag >= 0 || tag == kAnyTagOfReport ? tag : 0;
}

void check_set(int world_size, RankSet* set) {
  for (int rank = world_size; rank < kReportedRanksMax; ++rank) {
    set->words[rank / 64] &= ~(std::uint64_t{1} << (rank % 64));
  }
}

void check_message(int world_size, ReportedMessage* message) {
  message->bytes = std::max<std::int64_t>(message->bytes, -1);
  message->peer = checked_rank(message->peer, world_size);
  message->tag = checked_tag(message->tag);
  message->function = static_cast<std::uint16_t>(checked_function(message->function));
  if (message->kind > OpenKind::kUnexpected) message->kind = OpenKind::kNone;
  message->is_awaited = message->is_awaited != 0;
  check_text(message->comm_name);
}

void check_report(int world_size, RankReport* report) {
  const Function function = checked_function(report->word & kFunctionBits);
  report->word = (report->word & ~kFunctionBits) | static_cast<std::uint64_t>(function);
  if (report->awaits > Awaits::kAny) report->awaits = Awaits::kNothing;
  report->peer = checked_rank(report->peer, world_size);
  report->root = checked_rank(report->root, world_size);
  report->tag = checked_tag(report->tag);
  report->comms_total = std::min<std::uint32_t>(report->comms_total, 1u << 30);
  report->open_total = std::min<std::uint32_t>(report->open_total, 1u << 30);
  report->unexpected_total = std::min<std::uint32_t>(report->unexpected_total, 1u << 30);
  report->pairs_total = std::min<std::uint32_t>(report->pairs_total, 1u << 30);
  const int comms = std::min<int>(static_cast<int>(report->comms_total), kReportedComms);
  if (report->comm_index < 0 || report->comm_index >= comms) report->comm_index = -1;
  check_text(report->type_name);
  check_text(report->op_name);
  check_text(report->object_name);
  check_text(report->outside);
  check_set(world_size, &report->members);
  check_set(world_size, &report->lacks);
  check_set(world_size, &report->either);
  for (ReportedComm& comm : report->comms) check_text(comm.name);
  for (ReportedMessage& message : report->open) check_message(world_size, &message);
  for (ReportedMessage& message : report->unexpected) check_message(world_size, &message);
}

Line read_line(const CallLine& from) {
  Line line;
  for (int look = 0; look < kReadsMax; ++look) {
    line.word = from.word.load(std::memory_order_relaxed);
    line.site = from.site.load(std::memory_order_relaxed);
    line.peer = from.peer.load(std::memory_order_relaxed);
    line.tag = from.tag.load(std::memory_order_relaxed);
    line.count = from.count.load(std::memory_order_relaxed);
    line.moves = from.moves.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (from.word.load(std::memory_order_relaxed) == line.word) break;
  }
  line.calls = line.word >> kCallsShift;
  line.function = checked_function(line.word & kFunctionBits);
  line.inside = (line.word & kInside) != 0 && line.function != Function::kNone;
  return line;
}

}  // namespace

void read_board(const CallBoard& board, int world_size, std::uint64_t asked, RankState* state) {
  state->line = read_line(board.line);
  state->report.reset();
  RankReport report;
  if (!read_report(board, &report) || report.answers < asked) return;
  check_report(world_size, &report);
  state->report = report;
}

std::vector<std::uint64_t> addresses(const RankState& state) {
  std::vector<std::uint64_t> all = {state.line.site};
  if (state.report) {
    all.push_back(state.report->site);
    all.insert(all.end(), std::begin(state.report->frames), std::end(state.report->frames));
    for (const ReportedMessage& message : state.report->open) {
      if (message.kind != OpenKind::kNone) all.push_back(message.site);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase(all, 0);
  return all;
}

}  // namespace tasuki::doctor
