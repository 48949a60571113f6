// From memory to frames and back.
#include "launch/hosts/mirror.hpp"

#include <cstring>

#include "base/system/clock.hpp"
#include "job/message_fields.hpp"
#include "launch/hosts/orders.hpp"

namespace tasuki::launch {
namespace {

enum BoardPart : std::uint32_t { kLine, kReport, kFiles };

template <class Thing>
std::string bytes_of(const Thing& thing) {
  static_assert(std::is_trivially_copyable_v<Thing>);
  return {reinterpret_cast<const char*>(&thing), sizeof thing};
}

template <class Thing>
bool read_bytes(const std::string& text, Thing* thing) {
  static_assert(std::is_trivially_copyable_v<Thing>);
  if (text.size() != sizeof *thing) return false;
  std::memcpy(thing, text.data(), sizeof *thing);
  return true;
}

struct LineCopy {
  LineValues values;
  std::uint64_t moves;
};

/// With what the clock of that host shows, to which `since_ns` belongs.
struct ReportCopy {
  RankReport report;
  std::int64_t now_ns;
};

LineCopy copy_of(const CallLine& line) {
  LineCopy copy{};
  copy.values = values_of(line);
  copy.moves = line.moves.load(std::memory_order_relaxed);
  return copy;
}

/// `clock_ahead_ns`: what this host's clock shows more than that of the rank's host; unknown at first. It
/// stays the same, for a wait that began at another time is taken for another wait.
bool take_board(const std::string& text, std::optional<std::int64_t>* clock_ahead_ns, CallBoard* board) {
  FieldReader from(text);
  const auto part = from.number();
  const std::string bytes = from.text();
  if (!from.over()) return false;
  if (part == kLine) {
    LineCopy copy{};
    if (!read_bytes(bytes, &copy)) return false;
    put_back(copy.values, &board->line);
    board->line.moves.store(copy.moves, std::memory_order_relaxed);
    return true;
  }
  if (part == kReport) {
    ReportCopy copy{};
    if (!read_bytes(bytes, &copy)) return false;
    if (!*clock_ahead_ns) *clock_ahead_ns = clock_ns() - copy.now_ns;
    copy.report.since_ns += **clock_ahead_ns;
    publish_report(copy.report, board);
    return true;
  }
  const std::size_t files = bytes.size() / sizeof(MappedFile);
  if (part != kFiles || bytes.size() % sizeof(MappedFile) != 0 || files > kMappedFiles) return false;
  std::memcpy(board->files, bytes.data(), bytes.size());
  board->files_known.store(static_cast<std::uint32_t>(files), std::memory_order_release);
  return true;
}

}  // namespace

std::string Mirror::of_rank(int rank, const std::string& text) const {
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(world_.number));
  to.number(static_cast<std::uint32_t>(rank));
  to.text(text);
  return to.take();
}

std::string Mirror::board_part(int rank, std::uint32_t part, const std::string& text) const {
  FieldWriter to;
  to.number(part);
  to.text(text);
  return of_rank(rank, to.take());
}

Mirror::Mirror(World& world) : world_(world), told_(world.ranks.size()) {}

template <class Each>
void Mirror::for_each(bool here, Each&& each) {
  for (int rank = 0; rank < world_.size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (world_.ranks[index].here == here) each(rank, told_[index]);
  }
}

void Mirror::tell_values(const Tell& tell) {
  for_each(true, [&](int rank, Told& told) {
    std::string now = ValueTable::page_text(values(), rank);
    if (now == told.values) return;
    tell(Frame::kValues, of_rank(rank, now));
    told.values = std::move(now);
  });
}

void Mirror::tell_states(const Tell& tell) {
  for_each(true, [&](int rank, Told& told) {
    std::string now = encode(state_of(world_.segment.rank(rank)));
    if (now == told.state) return;
    tell(Frame::kState, of_rank(rank, now));
    told.state = std::move(now);
  });
}

void Mirror::tell_boards(const Tell& tell) {
  for_each(true, [&](int rank, Told& told) {
    const CallBoard& board = world_.segment.board(rank);
    std::string line = bytes_of(copy_of(board.line));
    if (line != told.line) {
      tell(Frame::kBoard, board_part(rank, kLine, line));
      told.line = std::move(line);
    }
    const std::uint64_t version = board.version.load(std::memory_order_acquire);
    ReportCopy copy{};
    if (version != told.report && read_report(board, &copy.report)) {
      copy.now_ns = clock_ns();
      tell(Frame::kBoard, board_part(rank, kReport, bytes_of(copy)));
      told.report = version;
    }
    const std::uint32_t files = board.files_known.load(std::memory_order_acquire);
    if (told.files || files == 0 || files > kMappedFiles) return;
    told.files = true;
    const std::string bytes(reinterpret_cast<const char*>(board.files), files * sizeof(MappedFile));
    tell(Frame::kBoard, board_part(rank, kFiles, bytes));
  });
}

void Mirror::tell_questions(const Tell& tell) {
  for_each(false, [&](int rank, Told& told) {
    const std::uint64_t asked = world_.segment.board(rank).asked.load(std::memory_order_relaxed);
    if (asked == told.asked) return;
    told.asked = asked;
    tell(Frame::kAsk, of_rank(rank, bytes_of(asked)));
  });
}

std::uint32_t Mirror::world_of(std::string_view payload) {
  return FieldReader(payload).number();
}

int Mirror::rank_of(std::string_view payload) const {
  FieldReader from(payload);
  const std::uint32_t world = from.number();
  const std::uint32_t rank = from.number();
  return static_cast<int>(world) == world_.number && rank < world_.ranks.size() ? static_cast<int>(rank) : -1;
}

bool Mirror::take(Frame frame, std::string_view payload) {
  FieldReader from(payload);
  const std::uint32_t world = from.number();
  const std::uint32_t rank = from.number();
  const std::string text = from.text();
  if (!from.over() || static_cast<int>(world) != world_.number || rank >= world_.ranks.size()) return false;
  const auto number = static_cast<int>(rank);
  if (frame == Frame::kAsk) {  // of a rank here, as the others are of ranks elsewhere
    std::uint64_t asked = 0;
    if (!world_.ranks[rank].here || !read_bytes(text, &asked)) return false;
    world_.segment.board(number).asked.store(asked, std::memory_order_seq_cst);
    return true;
  }
  if (world_.ranks[rank].here) return false;
  if (frame == Frame::kValues) return ValueTable::take_page(values(), number, text);
  if (frame == Frame::kBoard) {
    return take_board(text, &told_[rank].clock_ahead_ns, &world_.segment.board(number));
  }
  RankState state;
  if (frame != Frame::kState || !decode(text, &state)) return false;
  store(state, &world_.segment.rank(number));
  return true;
}

}  // namespace tasuki::launch
