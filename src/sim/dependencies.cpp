// The order that data imposes on steps: see sim/dependencies.hpp.
#include "sim/dependencies.hpp"

#include <algorithm>

namespace tasuki::sim {
namespace {

/// A part begins at `at` where one spans it.
template <class Memory>
void cut(Memory& memory, Count at) {
  auto next = memory.upper_bound(at);
  if (next == memory.begin()) return;
  const auto part = std::prev(next);
  if (part->first == at || part->second.end <= at) return;
  auto second = part->second;
  part->second.end = at;
  memory.emplace_hint(next, at, std::move(second));
}

/// Visits the parts of a range, which are made where there are none.
template <class Memory, class Body>
void for_range(Memory& memory, Count begin, Count end, Body&& body) {
  if (begin >= end) return;
  cut(memory, begin);
  cut(memory, end);
  Count at = begin;
  auto part = memory.lower_bound(begin);
  while (at < end) {
    if (part == memory.end() || part->first > at) {
      const Count gap_end = part == memory.end() ? end : std::min(end, part->first);
      part = memory.emplace_hint(part, at, typename Memory::mapped_type{gap_end, -1, {}});
    }
    body(part->second);
    at = part->second.end;
    ++part;
  }
}

}  // namespace

const std::vector<int>& Dependencies::add(const Step& step) {
  ++number_;
  found_.clear();
  const Count bytes = bytes_of(step, element_bytes_);
  const auto space = [&](Place place) -> Memory& {
    return spaces_[static_cast<std::size_t>(place.space) % spaces_.size()];
  };
  if (step.action != Step::Action::kReceive)
    read(space(step.from), step.from.offset, step.from.offset + bytes);
  if (step.action != Step::Action::kSend) write(space(step.to), step.to.offset, step.to.offset + bytes);
  return found_;
}

void Dependencies::wait_for(int step) {
  if (step < 0 || step == number_ || std::find(found_.begin(), found_.end(), step) != found_.end()) return;
  found_.push_back(step);
}

void Dependencies::read(Memory& memory, Count begin, Count end) {
  for_range(memory, begin, end, [&](Part& part) {
    wait_for(part.writer);
    part.readers.push_back(number_);
  });
}

void Dependencies::write(Memory& memory, Count begin, Count end) {
  for_range(memory, begin, end, [&](Part& part) {
    wait_for(part.writer);
    for (const int reader : part.readers) wait_for(reader);
    part.readers.clear();
    part.writer = number_;
  });
}

}  // namespace tasuki::sim
