// Exchange: see exchange.hpp.
//
// Why there is no deadlock: a rank goes through the steps of its loop in the same order as all others, and
// waits in a step only for what others start in an earlier one, or for the other end of what they have
// started. So the rank that is farthest behind never waits for long, and there is no circle. Long messages
// between nodes are started few at a time, but by aggregators only: a rank's own parts never wait for their
// turn.
#include "io/two_phase/exchange.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "io/file/reused_buffer.hpp"
#include "io/two_phase/exchange_parts.hpp"
#include "io/two_phase/message_pacer.hpp"
#include "io/two_phase/oversized_views.hpp"
#include "io/two_phase/start_message.hpp"
#include "io/two_phase/window_mover.hpp"

namespace tasuki {
namespace {

constexpr Count kCyclesUnderWay = 2;        // one whose messages fly while the other one is moved
constexpr Count kPacedBytesMin = 64 << 10;  // shorter ones may be under way before they are received

/// A part of this rank's, packed.
struct OwnPart {
  ExchangePart part;
  std::byte* packed;
  Request* request = nullptr;  // of its message; null: it has none, or is over
};

/// What is under way of one cycle.
struct Cycle {
  FileRange window;
  std::vector<ExchangePart> parts;  // of the window, ascending by rank
  std::size_t next = 0;             // of them: the first one that has not had its turn
  std::vector<WindowPart> turn;     // those whose turn it is
  std::deque<Request*> messages;    // of them; null: it waits for its turn in the pacer
  ReusedBuffer window_buffer;
  std::vector<OwnPart> own;
  ReusedBuffer own_buffer;
};

class Exchange {
 public:
  Exchange(Course& course, const Access& access, const AccessPlan& plan, const PhasePlace& place);
  Task write();
  Task read();
  /// Gives the first error of a message.
  Task finish();
  const Outcome& outcome() const { return mover_.outcome(); }

 private:
  Cycle& cycle(Count number) { return cycles_[static_cast<std::size_t>(number % kCyclesUnderWay)]; }
  int rank_of(int aggregator) const { return plan_.aggregators[static_cast<std::size_t>(aggregator)]; }

  void begin_own(Count number);
  void start_own(Count number);
  void pack(const OwnPart& own);
  void unpack(const OwnPart& own, Count bytes);
  std::byte* packed_of(Count number, const ExchangePart& part, std::byte** room);
  Task begin_window(Count number);
  void begin_turn(Count number);
  void start_turn(Count number);
  Task wait_turn(Cycle& cycle, Count* bytes);
  Task wait_served(Cycle& cycle, Count number);
  Count read_bytes(const FileRange& window, const FileMap& map, const PositionRange& range) const;
  Task wait_sent(Count number);
  Task take_own(Count number);
  Task open_to_write(Count number);
  Task open_to_read(Count number);
  Task serve(Count number);
  Request* start(bool send, std::byte* memory, Count bytes, int peer, Count number);
  void keep(Code code) {
    if (code_ == kSuccess) code_ = code;
  }
  void note(Count number, std::int64_t begin_ns, Count bytes);

  Course& course_;
  const Access& access_;
  const AccessPlan& plan_;
  Comm& comm_;
  PhasePlace place_;
  ExchangeParts parts_;
  OversizedViews oversized_;
  WindowMover mover_;
  PositionRange own_range_;
  std::byte* dense_ = nullptr;  // this rank's packed bytes, where they need not be packed
  PackCursor cursor_;
  std::array<Cycle, kCyclesUnderWay> cycles_;
  Pacer pacer_;
  Code code_ = kSuccess;
};

Exchange::Exchange(Course& course, const Access& access, const AccessPlan& plan, const PhasePlace& place)
    : course_(course),
      access_(access),
      plan_(plan),
      comm_(*access.file.comm),
      place_(place),
      parts_(plan, node_map(comm_), access.file.hints.order, comm_.rank),
      oversized_(course, plan, comm_),
      mover_(course, access.file, plan, place),
      cursor_(*access.datatype, access.count),
      pacer_(*access.file.process.progress) {
  const RankPart& own = plan.parts[static_cast<std::size_t>(comm_.rank)];
  own_range_ = own.range;
  if (own_range_.bytes() == 0) return;
  dense_ = own.data != 0 ? reinterpret_cast<std::byte*>(own.data) : dense_data(access);
}

// ----- messages --------------------------------------------------------------------------------------------

Request* Exchange::start(bool send, std::byte* memory, Count bytes, int peer, Count number) {
  return start_message(comm_, send, memory, bytes, peer, ExchangeMessage::kData, number);
}

void Exchange::note(Count number, std::int64_t begin_ns, Count bytes) {
  place_.cycle = static_cast<std::uint32_t>(number);
  note_phase(access_.file.process, place_, Phase::kExchange, begin_ns, bytes);
}

// ----- this rank's own parts -------------------------------------------------------------------------------

/// Finds this rank's parts and their room.
void Exchange::begin_own(Count number) {
  Cycle& now = cycle(number);
  const std::vector<ExchangePart> parts = parts_.own_parts(number);
  Count bytes = 0;
  for (const ExchangePart& part : parts) bytes += part.range.bytes();
  std::byte* room = dense_ == nullptr && bytes > 0 ? now.own_buffer.take(bytes) : nullptr;
  now.own.clear();
  for (const ExchangePart& part : parts) {
    if (dense_ != nullptr) {
      now.own.push_back({part, dense_ + (part.range.begin - own_range_.begin)});
    } else {
      now.own.push_back({part, room});
      room += part.range.bytes();
    }
  }
}

/// Starts the messages of this rank's parts: sends them, packed before, or receives them.
void Exchange::start_own(Count number) {
  const std::int64_t begin_ns = clock_ns();
  Count bytes = 0;
  for (OwnPart& own : cycle(number).own) {
    if (plan_.write) pack(own);
    if (!own.part.travels) continue;
    bytes += own.part.range.bytes();
    own.request =
        start(plan_.write, own.packed, own.part.range.bytes(), rank_of(own.part.aggregator), number);
  }
  if (plan_.write && bytes > 0) note(number, begin_ns, bytes);
}

void Exchange::pack(const OwnPart& own) {
  if (dense_ != nullptr) return;
  cursor_.seek(own.part.range.begin - own_range_.begin);
  cursor_.pack(access_.buffer, own.packed, static_cast<std::size_t>(own.part.range.bytes()));
}

void Exchange::unpack(const OwnPart& own, Count bytes) {
  if (dense_ != nullptr) return;
  cursor_.seek(own.part.range.begin - own_range_.begin);
  cursor_.unpack(access_.buffer, own.packed, static_cast<std::size_t>(bytes));
}

/// Writing: until this rank's messages are with their aggregators.
Task Exchange::wait_sent(Count number) {
  if (number < 0) co_return kSuccess;
  const std::int64_t begin_ns = clock_ns();
  bool waited = false;
  for (OwnPart& own : cycle(number).own) {
    if (own.request == nullptr) continue;
    keep(co_await end_of(course_, std::exchange(own.request, nullptr), nullptr));
    waited = true;
  }
  if (waited) note(number, begin_ns, 0);  // the bytes counted when they were sent
  co_return kSuccess;
}

/// Reading: this rank's parts have come, or the file had less.
Task Exchange::take_own(Count number) {
  const std::int64_t begin_ns = clock_ns();
  Count bytes = 0;
  for (OwnPart& own : cycle(number).own) {
    if (!own.part.travels) continue;
    Status status;
    keep(co_await end_of(course_, std::exchange(own.request, nullptr), &status));
    unpack(own, status.bytes);
    bytes += status.bytes;
  }
  if (bytes > 0) note(number, begin_ns, bytes);
  co_return kSuccess;
}

// ----- the parts of an aggregator's window -----------------------------------------------------------------

/// Where a part of the window lies, or is to lie: `*room` goes on behind it if that is where.
std::byte* Exchange::packed_of(Count number, const ExchangePart& part, std::byte** room) {
  if (part.travels) return std::exchange(*room, *room + part.range.bytes());
  if (part.rank == comm_.rank) {
    const std::vector<OwnPart>& all = cycle(number).own;
    return std::find_if(all.begin(), all.end(), [](const OwnPart& each) { return !each.part.travels; })
        ->packed;
  }
  const RankPart& owner = plan_.parts[static_cast<std::size_t>(part.rank)];
  const Count begin = owner.map != nullptr ? part.range.begin : oversized_.position(number, part.rank);
  return reinterpret_cast<std::byte*>(owner.data) + (begin - owner.range.begin);
}

Task Exchange::begin_window(Count number) {
  Cycle& now = cycle(number);
  now.window = parts_.window(number);
  now.parts = parts_.window_parts(number);
  now.next = 0;
  co_await oversized_.open(number, parts_, &now.parts);
  co_await oversized_.announce(number + 1);
  co_return kSuccess;
}

/// Finds whose turn it is: as many ranks' parts as there is room for. None, once all have had theirs.
void Exchange::begin_turn(Count number) {
  Cycle& now = cycle(number);
  now.turn.clear();
  Count bytes = 0;
  std::size_t end = now.next;
  for (; end < now.parts.size(); ++end) {
    const ExchangePart& part = now.parts[end];
    if (!part.travels) continue;
    if (bytes > 0 && bytes + part.range.bytes() > now.window.bytes()) break;
    bytes += part.range.bytes();
  }
  std::byte* room = bytes > 0 ? now.window_buffer.take(bytes) : nullptr;
  for (; now.next < end; ++now.next) {
    const ExchangePart& part = now.parts[now.next];
    const FileMap* map = plan_.parts[static_cast<std::size_t>(part.rank)].map;
    if (map == nullptr) map = oversized_.map(number, part.rank);
    now.turn.push_back({map, part.range, packed_of(number, part, &room)});
  }
}

/// Starts the messages of those whose turn it is: receives what they write, or sends what they read, as far
/// as the file had it.
void Exchange::start_turn(Count number) {
  Cycle& now = cycle(number);
  const std::size_t first = now.next - now.turn.size();
  std::size_t travelling = 0;
  for (std::size_t i = first; i < now.next; ++i) travelling += now.parts[i].travels ? 1 : 0;
  if (travelling == 0) return;
  const NodeMap& nodes = node_map(comm_);
  for (const int rank : parts_.order(number)) {
    const auto turn_begin = now.parts.begin() + static_cast<std::ptrdiff_t>(first);
    const auto turn_end = now.parts.begin() + static_cast<std::ptrdiff_t>(now.next);
    const auto part = std::lower_bound(turn_begin, turn_end, rank,
                                       [](const ExchangePart& one, int other) { return one.rank < other; });
    if (part == turn_end || part->rank != rank || !part->travels) continue;
    const WindowPart& here = now.turn[static_cast<std::size_t>(part - turn_begin)];
    Count bytes = part->range.bytes();
    if (!plan_.write) {
      bytes = read_bytes(now.window, *here.map, part->range);
    }
    const auto begin = [this, packed = here.packed, bytes, rank, number] {
      return start(!plan_.write, packed, bytes, rank, number);
    };
    const bool paced = bytes >= kPacedBytesMin && nodes.node_of(rank) != nodes.own_node();
    Request*& message = now.messages.emplace_back(paced ? nullptr : begin());
    if (paced) pacer_.add(&message, begin);
  }
}

/// Gives the bytes that have come.
Task Exchange::wait_turn(Cycle& cycle, Count* bytes) {
  for (Request*& message : cycle.messages) {
    Status status;
    co_await begin_and_end_of(course_, message);
    pacer_.take_out(&message);
    keep(co_await end_of(course_, message, &status));
    *bytes += status.bytes;
  }
  cycle.messages.clear();
  co_return kSuccess;
}

/// Reading: until what this rank has sent is with its readers, which count the bytes.
Task Exchange::wait_served(Cycle& cycle, Count number) {
  if (cycle.messages.empty()) co_return kSuccess;
  const std::int64_t begin_ns = clock_ns();
  Count bytes = 0;
  co_await wait_turn(cycle, &bytes);
  note(number, begin_ns, 0);
  co_return kSuccess;
}

/// Of a part of the window that was read: as much as could be had.
Count Exchange::read_bytes(const FileRange& window, const FileMap& map, const PositionRange& range) const {
  const Offset end = std::min(window.end, outcome().reached);
  return end <= window.begin ? 0 : map.range_in(range, window.begin, end).bytes();
}

Task Exchange::finish() {
  const Code code = co_await oversized_.finish();
  co_return code_ == kSuccess ? code : code_;
}

// ----- the two loops ---------------------------------------------------------------------------------------

Task Exchange::open_to_write(Count number) {
  co_await wait_sent(number - kCyclesUnderWay);
  begin_own(number);
  co_await begin_window(number);
  begin_turn(number);
  start_turn(number);
  start_own(number);
  co_return kSuccess;
}

Task Exchange::write() {
  const Count cycles = plan_.domains.cycles();
  co_await oversized_.announce(0);
  if (cycles > 0) co_await open_to_write(0);
  for (Count number = 0; number < cycles; ++number) {
    if (number + 1 < cycles) co_await open_to_write(number + 1);
    Cycle& now = cycle(number);
    co_await oversized_.take(number);
    while (!now.turn.empty()) {
      const std::int64_t begin_ns = clock_ns();
      if (!now.messages.empty()) {
        Count bytes = 0;
        co_await wait_turn(now, &bytes);
        note(number, begin_ns, bytes);
      }
      co_await mover_.move(number, now.window, now.turn);
      begin_turn(number);
      start_turn(number);
    }
  }
  for (Count number = cycles - kCyclesUnderWay; number < cycles; ++number) co_await wait_sent(number);
  co_return kSuccess;
}

/// Reads this rank's window and starts to send it.
Task Exchange::serve(Count number) {
  Cycle& now = cycle(number);
  co_await begin_window(number);
  co_await oversized_.take(number);
  while (now.next < now.parts.size()) {
    // What it sent before, of this window or of the one before the last: its room is needed.
    co_await wait_served(now, number);
    begin_turn(number);
    co_await mover_.move(number, now.window, now.turn);
    start_turn(number);
  }
  const FileMap* map = plan_.parts[static_cast<std::size_t>(comm_.rank)].map;
  for (const OwnPart& own : now.own) {
    if (!own.part.travels) unpack(own, read_bytes(now.window, *map, own.part.range));
  }
  co_return kSuccess;
}

Task Exchange::open_to_read(Count number) {
  begin_own(number);
  start_own(number);
  co_return co_await serve(number);
}

Task Exchange::read() {
  const Count cycles = plan_.domains.cycles();
  co_await oversized_.announce(0);
  if (cycles > 0) co_await open_to_read(0);
  for (Count number = 0; number < cycles; ++number) {
    if (number + 1 < cycles) co_await open_to_read(number + 1);
    co_await take_own(number);
  }
  for (Cycle& each : cycles_) co_await wait_served(each, cycles - 1);
  co_return kSuccess;
}

}  // namespace

Task exchange(Course& course, const Access& access, const AccessPlan& plan, const PhasePlace& place,
              Outcome* outcome) {
  Exchange running(course, access, plan, place);
  if (plan.write) {
    co_await running.write();
  } else {
    co_await running.read();
  }
  *outcome = running.outcome();
  co_return co_await running.finish();
}

}  // namespace tasuki
