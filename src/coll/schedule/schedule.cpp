// How the algorithms write a schedule.
#include "coll/schedule/schedule.hpp"

#include <algorithm>

namespace tasuki {
namespace {

Count round_up(Count bytes, Count alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

void Schedule::send(Place from, Count count, ElementType type, int peer, int block) {
  steps.push_back({Step::Action::kSend, type, type, peer, from, {}, count, 0, block, block});
}

void Schedule::receive(Place to, Count count, ElementType type, int peer, int block) {
  steps.push_back({Step::Action::kReceive, type, type, peer, {}, to, count, 0, block, block});
}

void Schedule::reduce(Place from, Place to, Count count, ElementType type) {
  if (count == 0) return;
  steps.push_back({Step::Action::kReduce, type, type, -1, from, to, count, count, -1, -1});
}

void Schedule::sum(Place from, int vectors, Place to, Count count, ElementType type) {
  if (count == 0) return;
  steps.push_back({Step::Action::kSum, type, type, -1, from, to, count, vectors, -1, -1});
}

void Schedule::copy(Place from, Count count, ElementType type, Place to, Count to_count, ElementType to_type,
                    int block, int to_block) {
  if (count == 0 && to_count == 0) return;
  steps.push_back({Step::Action::kCopy, type, to_type, -1, from, to, count, to_count, block, to_block});
}

void Schedule::offer() {
  steps.push_back({.action = Step::Action::kOffer});
  shows_phases = true;
}

void Schedule::signal(int phase) {
  steps.push_back({.action = Step::Action::kSignal, .count = phase});
  shows_phases = true;
}

void Schedule::await(int member, int phase) {
  steps.push_back({.action = Step::Action::kAwait, .peer = member, .count = phase});
}

void Schedule::move(Place from, Place to, Count count, Count element_bytes) {
  if (count == 0 || element_bytes == 0) return;
  steps.push_back({.action = Step::Action::kMove,
                   .from = from,
                   .to = to,
                   .count = count,
                   .element_bytes = element_bytes});
}

void Schedule::combine(Place left, Place right, Place to, Count count, ElementType type,
                       Count element_bytes) {
  if (count == 0) return;
  steps.push_back({.action = Step::Action::kCombine,
                   .type = type,
                   .from = left,
                   .to = to,
                   .count = count,
                   .with = right,
                   .element_bytes = element_bytes});
}

void Schedule::sum_inputs(Count offset, int members, Place to, Count count, ElementType type,
                          Count element_bytes) {
  if (count == 0) return;
  steps.push_back({.action = Step::Action::kCombine,
                   .type = type,
                   .from = {Space::kInput, offset, 0},
                   .to = to,
                   .count = count,
                   .to_count = members,
                   .with = {Space::kInput, offset, 0},
                   .element_bytes = element_bytes});
}

void Schedule::accept() {
  steps.push_back({.action = Step::Action::kAccept});
}

void Schedule::end_pieces(std::size_t first_step, Count piece) {
  if (first_step == steps.size()) return;
  steps[first_step].group = static_cast<std::uint32_t>(steps.size() - first_step - 1);
  steps[first_step].piece = piece;
}

void Schedule::make_rooms(Count piece, const TypeShape& type) {
  left_room = scratch_elements(piece, type);
  right_room = scratch_elements(piece, type);
}

void Schedule::sign(Place to, Evidence what) {
  steps.push_back({.action = Step::Action::kSign, .to = to, .count = static_cast<Count>(what)});
}

void Schedule::compare(Place from, Place to, Evidence what) {
  steps.push_back(
      {.action = Step::Action::kCompare, .from = from, .to = to, .count = static_cast<Count>(what)});
}

void Schedule::make_local(std::size_t first_step) {
  for (std::size_t index = first_step; index < steps.size(); ++index) steps[index].local = true;
}

void Schedule::map_ranks(std::size_t first_step, std::span<const int> ranks) {
  for (std::size_t index = first_step; index < steps.size(); ++index) {
    Step& step = steps[index];
    if (step.action != Step::Action::kSend && step.action != Step::Action::kReceive) continue;
    step.peer = step.block = step.to_block = ranks[static_cast<std::size_t>(step.peer)];
  }
}

void Schedule::map_buffers(std::size_t first_step, Place send, Place receive) {
  const auto map = [&](Place& place) {
    if (place.space == Space::kSend) {
      place = send + place.offset;
    } else if (place.space == Space::kReceive) {
      place = receive + place.offset;
    }
  };
  for (std::size_t index = first_step; index < steps.size(); ++index) {
    map(steps[index].from);
    map(steps[index].to);
  }
}

void Schedule::end_round() {
  const auto end = static_cast<std::uint32_t>(steps.size());
  if (end != (round_ends.empty() ? 0 : round_ends.back())) round_ends.push_back(end);
}

Place Schedule::scratch(Count bytes) {
  const Count begin = round_up(scratch_bytes, kScratchAlignment);
  scratch_bytes = begin + bytes;
  return {Space::kScratch, begin};
}

Place Schedule::scratch_elements(Count count, const TypeShape& type) {
  if (count == 0) return scratch(0);
  const Count last = (count - 1) * type.extent;  // negative extents are legal
  const Count low = type.true_lb + std::min<Count>(0, last);
  const Count high = type.true_lb + type.true_extent + std::max<Count>(0, last);
  const Count shift =
      low < 0 ? round_up(-low, kScratchAlignment) : -(low / kScratchAlignment * kScratchAlignment);
  return scratch(high + shift) + shift;
}

void Schedule::clear() {
  algorithm = -1;
  choice = {};
  shows_phases = false;
  follows_data = false;
  steps.clear();
  round_ends.clear();
  boundaries.clear();
  counts.clear();
  exposed.clear();
  beside_bytes_max = kNoLimit;
  scratch_bytes = 0;
}

}  // namespace tasuki
