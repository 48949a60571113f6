// Running the steps of single-copy schedules: offers, phases, and what is moved and combined between the
// exposed buffers of ranks that share memory. See coll/schedule/schedule.hpp and
// coll/shm/exposed_buffers.hpp; coll/run/execution.cpp runs everything else.
#include <algorithm>
#include <cstring>

#include "base/predefined.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/node_segment.hpp"
#include "object/objects.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "reduction/exact.hpp"

namespace tasuki {
namespace {

constexpr unsigned kOffered = 1;
// In the word of a line, in place of bytes that are shown: what this member put was longer than its room.
constexpr Count kCut = Count{LineWord::kInPage} - 1;

}  // namespace

/// Begins the collective on the node segment. The schedule is run once: single-copy schedules are those of
/// blocking calls.
void Execution::begin_single_copy() {
  segment_ = comm_->slots.get(kNodeSegmentSlot);
  for (const ExposedBuffer& exposed : schedule.exposed) {
    if (exposed.count == 0) {  // it may have no datatype
      exposed_.add_empty();
    } else {
      exposed_.add(exposed, address(exposed.place), datatype(exposed.type, exposed.block));
    }
  }
  segment_->enter();
  if (schedule.shows_phases) segment_->room(0);
  note(exposed_.prepare(*comm_));
  may_sleep_ = has_cut_ = false;
}

void Execution::end_single_copy() {
  segment_->leave();
  note(exposed_.error());
  exposed_.clear();
  segment_ = nullptr;
  await_ = await_end_ = 0;
}

bool Execution::has_come(int member, unsigned phase) {
  return may_sleep_ ? segment_->has_come_or_wait(member, phase) : segment_->has_come(member, phase);
}

/// Whether all that the round awaits has come; goes on where it stood.
bool Execution::awaits_hold() {
  for (; await_ < await_end_; ++await_) {
    const Step& step = schedule.steps[await_];
    if (step.action != Step::Action::kAwait) continue;
    const auto phase = static_cast<unsigned>(step.count);
    if (step.peer != Step::kEveryone) {
      if (!has_come(step.peer, phase)) return false;
      continue;
    }
    for (; await_member_ < segment_->size(); ++await_member_) {
      if (await_member_ != segment_->rank() && !has_come(await_member_, phase)) return false;
    }
    await_member_ = 0;
  }
  segment_->stop_waiting();
  return true;
}

/// Those of awaits_hold().
void Execution::add_missing_members(std::vector<int>* endpoints) const {
  int member = await_member_;
  for (std::size_t await = await_; await < await_end_; ++await) {
    const Step& step = schedule.steps[await];
    if (step.action != Step::Action::kAwait) continue;
    const auto phase = static_cast<unsigned>(step.count);
    if (step.peer != Step::kEveryone) {
      if (!segment_->has_come(step.peer, phase)) endpoints->push_back(comm_->endpoint(step.peer));
      continue;
    }
    for (; member < segment_->size(); ++member) {
      if (member != segment_->rank() && !segment_->has_come(member, phase))
        endpoints->push_back(comm_->endpoint(member));
    }
    member = 0;
  }
}

/// Looks at memory until the schedule is over, or it is time to sleep: until then no rank needs to know which
/// rank this rank waits for. Returns whether it is over; if not, wait_until() has to go on with `patience`.
bool Execution::ends_awake(Progress::Patience& patience) {
  Progress& progress = *process_.progress;
  const std::uint32_t checks_per_poll = progress.checks_per_poll();
  bool moved = false;
  std::uint32_t checks = 0;
  do {
    for (std::uint32_t check = 0; check < checks_per_poll; ++check) {
      if (!awaits_hold()) continue;
      if (advance(&moved)) return true;
      checks = 0;
    }
    checks += checks_per_poll;
  } while (progress.spins_on(checks));
  const auto ends = [&] {
    moved = false;
    const bool ended = advance(&moved);
    if (moved) patience = {};
    return ended;
  };
  if (!process_.locking && progress.wait_awake(ends, patience)) return true;
  may_sleep_ = true;
  return false;
}

/// One pair of members after another finds out how far lines travel between them (protocol/line_pace.hpp): a
/// member writes for one of the others before it offers, and loads what another one has written before the
/// first bytes are moved. That one may not have; then the line is as before, and does not count.
void Execution::sample_lines(Step::Action next) {
  const std::uint64_t number = segment_->number();
  const int members = segment_->size();
  if (looked_at_ == number || members < 2 || !LinePace::is_sampled(static_cast<std::uint32_t>(number)))
    return;
  const auto away =
      static_cast<int>(1 + number / LinePace::kPeriod % static_cast<std::uint64_t>(members - 1));
  const auto endpoint = [&](int member) { return comm_->endpoint((member + members) % members); };
  LargeMessages& large = *process_.p2p->large;
  if (next == Step::Action::kOffer) large.write_line(endpoint(segment_->rank() + away), exposed_.bytes_max());
  if (next != Step::Action::kMove && next != Step::Action::kCombine) return;
  large.load_line(endpoint(segment_->rank() - away), exposed_.bytes_max());
  looked_at_ = number;
}

/// Runs the single-copy step at `index`, with its group. Returns the index of the last one that it ran.
std::size_t Execution::run_single_copy_step(std::size_t index) {
  const Step& step = schedule.steps[index];
  sample_lines(step.action);
  switch (step.action) {
    case Step::Action::kOffer:
      segment_->publish(kOffered, exposed_.offer());
      break;
    case Step::Action::kSignal:
      // The table stays where it is, for ranks that look later.
      segment_->publish(static_cast<unsigned>(step.count), has_cut_ ? kCut : 0);
      break;
    case Step::Action::kAccept:
      exposed_.accept();
      look_for_cuts();
      break;
    case Step::Action::kMove:
    case Step::Action::kCombine:
      run_group(index);
      return index + step.group;
    default:
      break;
  }
  return index;
}

/// The steps of a group find their operands first, and then take turns piece by piece.
void Execution::run_group(std::size_t first) {
  const Step* steps = &schedule.steps[first];
  const std::size_t size = steps[0].group + std::size_t{1};
  operands_.clear();
  for (std::size_t number = 0; number < size; ++number) {
    const Step& step = steps[number];
    check_length(step);
    const Count bytes = step.count * step.element_bytes;
    Operands found{.from = find(step.from, bytes), .to = find(step.to, bytes), .with = {}};
    if (step.action == Step::Action::kCombine) found.with = find(step.with, bytes);
    operands_.push_back(found);
  }
  if (!may_run_group(steps)) return;
  const Count count = steps[0].count;
  const Count piece = steps[0].group == 0 && steps[0].piece == 0 ? count : steps[0].piece;
  // All that the pieces need has been found. A user's operation lets go of the lock itself.
  const bool is_ours = arguments.op == nullptr || arguments.op->function == nullptr;
  const Progress::Release released(*process_.progress, is_ours ? count * steps[0].element_bytes : 0);
  for (Count begin = 0; begin < count; begin += piece) {
    process_.progress->note_move();
    const Count now = std::min(piece, count - begin);
    for (std::size_t number = 0; number < size; ++number) {
      const Step& step = steps[number];
      const Operands& all = operands_[number];
      const auto part = [&](const ExposedBuffers::Bytes& whole, Place place) {
        const Count skipped = place.space == Space::kPiece ? 0 : begin * step.element_bytes;
        return ExposedBuffers::part_of(whole, skipped, now * step.element_bytes);
      };
      const ExposedBuffers::Bytes from = part(all.from, step.from);
      const ExposedBuffers::Bytes to = part(all.to, step.to);
      if (step.action == Step::Action::kMove) {
        move_bytes(from, to);
      } else {
        combine(step, from, part(all.with, step.with), to);
      }
    }
  }
}

/// A group of moves swaps two blocks. If one is not there, or shorter, they stay as they are: its owner has
/// an error.
bool Execution::may_run_group(const Step* steps) const {
  if (steps[0].group == 0 || steps[0].action != Step::Action::kMove) return true;
  const auto is_there = [](const Operands& all) { return all.from.exist() && all.to.exist(); };
  return std::all_of(operands_.begin(), operands_.end(), is_there) &&
         exposed_.length(steps[1].from) == exposed_.length(steps[1].to);
}

ExposedBuffers::Bytes Execution::find(Place place, Count bytes) {
  if (is_exposed(place)) return exposed_.find(place, bytes);
  return {.at = address(place), .bytes = bytes};
}

/// What one rank sends to another has to fit where it goes. Of an input that is cut up, the rank that gets
/// checks it.
void Execution::check_length(const Step& step) {
  if (step.action != Step::Action::kMove || !is_exposed(step.from) || !is_exposed(step.to)) return;
  const bool gets = step.from.space != Space::kBlockFrom && step.from.member != comm_->rank;
  const bool puts = step.to.space != Space::kBlockFrom && step.to.member != comm_->rank;
  const bool own_block = !gets && !puts && step.to.space != Space::kOutput;
  const bool own_block_away = puts && step.to.space == Space::kBlockForMe;
  if (!gets && !own_block && !own_block_away) return;
  const Count sent = exposed_.length(step.from);
  const Count room = exposed_.length(step.to);
  if (sent <= room) return;
  if (puts) {
    has_cut_ = true;  // the owner reports it
    return;
  }
  note(process_.fail(kErrTruncate, "rank %d sends %lld bytes to rank %d, which has room to receive %lld",
                     gets ? step.from.member : comm_->rank, static_cast<long long>(sent), comm_->rank,
                     static_cast<long long>(room)));
}

/// Whether all that the others put here had room.
void Execution::look_for_cuts() {
  for (int member = 0; member < segment_->size(); ++member) {
    if (member == segment_->rank() || !segment_->has_come(member, kOffered) ||
        segment_->bytes(member) != kCut)
      continue;
    note(process_.fail(kErrTruncate, "rank %d sends more bytes to rank %d than that has room to receive",
                       member, comm_->rank));
  }
}

/// Of one piece, the first member's part of which is `first`. REQUIRES: the elements are dense.
void Execution::sum_inputs(const Step& step, const ExposedBuffers::Bytes& first,
                           const ExposedBuffers::Bytes& to) {
  Count bytes = to.bytes;
  vectors_.clear();
  for (int member = 0; member < step.to_count; ++member) {
    const ExposedBuffers::Bytes input =
        exposed_.find({Space::kInput, step.from.offset + first.skip, member}, to.bytes);
    if (input.at == nullptr) return;
    bytes = std::min(bytes, input.bytes);
    vectors_.push_back(input.at);
  }
  if (to.at == nullptr || bytes <= 0) return;
  find_exact_kernel(*arguments.op, datatype(step.type, step.block))(
      vectors_.data(), vectors_.size(), to.at, static_cast<std::size_t>(bytes / step.element_bytes));
}

/// Of one piece. Elements with gaps are unpacked for it, since exposed buffers are dense.
void Execution::combine(const Step& step, const ExposedBuffers::Bytes& left,
                        const ExposedBuffers::Bytes& right, const ExposedBuffers::Bytes& to) {
  if (step.to_count > 0) return sum_inputs(step, left, to);
  const Count bytes = std::min({left.bytes, right.bytes, to.bytes});
  if (left.at == nullptr || right.at == nullptr || to.at == nullptr || bytes <= 0) return;
  Datatype& type = datatype(step.type, step.block);
  const Op& op = *arguments.op;
  const Count count = bytes / step.element_bytes;
  if (type.contiguous && (op.function == nullptr || to.at != left.at))
    return combine_local(process_, op, left.at, right.at, to.at, count, type);
  Datatype& byte = datatype(ElementType::kBytes, -1);
  std::byte* left_room = address(schedule.left_room);
  std::byte* right_room = address(schedule.right_room);
  copy_typed(left.at, bytes, byte, left_room, count, type);
  copy_typed(right.at, bytes, byte, right_room, count, type);
  reduce_local(process_, op, left_room, right_room, count, type);
  copy_typed(right_room, count, type, to.at, bytes, byte);
}

}  // namespace tasuki
