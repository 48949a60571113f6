// Which step may start next: see coll/schedule/data_flow.hpp.
#include "coll/schedule/data_flow.hpp"

#include <algorithm>
#include <functional>

namespace tasuki {

void DataFlow::prepare(const Schedule& schedule, const ShapeOf& shape_of) {
  schedule_ = &schedule;
  ++preparations_;
  dependencies_.find(schedule, shape_of);
  const std::size_t steps = schedule.steps.size();
  rounds_.resize(steps);
  open_.resize(schedule.round_ends.size());
  std::size_t begin = 0;
  for (std::size_t round = 0; round < open_.size(); ++round) {
    for (const std::size_t end = schedule.round_ends[round]; begin < end; ++begin)
      rounds_[begin] = static_cast<std::uint32_t>(round);
  }
  all_waits_.resize(steps);
  for (std::size_t step = 0; step < steps; ++step) all_waits_[step] = dependencies_.waits(step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::uint32_t next = dependencies_.next_message(step);
    if (next != Dependencies::kNone) ++all_waits_[next];
  }
}

void DataFlow::begin() {
  waits_ = all_waits_;
  std::uint32_t begin = 0;
  for (std::size_t round = 0; round < open_.size(); ++round) {
    const std::uint32_t end = schedule_->round_ends[round];
    open_[round] = end - begin;
    begin = end;
  }
  ready_.clear();
  for (std::size_t step = 0; step < waits_.size(); ++step) {  // ascending: a heap
    if (waits_[step] == 0) ready_.push_back(static_cast<std::uint32_t>(step));
  }
  oldest_ = 0;
  look_for_oldest();
}

bool DataFlow::next(std::size_t messages_under_way, std::uint32_t* step) {
  if (ready_.empty()) return false;
  const std::uint32_t first = ready_.front();
  if (first >= oldest_end_ && (first >= ahead_end_ || messages_under_way >= kMessagesMax)) return false;
  std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
  ready_.pop_back();
  const std::uint32_t next = dependencies_.next_message(first);
  if (next != Dependencies::kNone) wait_less(next);
  *step = first;
  return true;
}

void DataFlow::over(std::uint32_t step) {
  for (const std::uint32_t one : dependencies_.after(step)) wait_less(one);
  if (--open_[rounds_[step]] == 0 && rounds_[step] == oldest_) look_for_oldest();
}

void DataFlow::wait_less(std::uint32_t step) {
  if (--waits_[step] != 0) return;
  ready_.push_back(step);
  std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
}

void DataFlow::look_for_oldest() {
  while (oldest_ < open_.size() && open_[oldest_] == 0) ++oldest_;
  oldest_end_ = end_of_round(oldest_);
  ahead_end_ = end_of_round(oldest_ + kRoundsAhead);
}

/// Of the last one, where there is no such round.
std::size_t DataFlow::end_of_round(std::size_t round) const {
  return open_.empty() ? 0 : schedule_->round_ends[std::min(round, open_.size() - 1)];
}

}  // namespace tasuki
