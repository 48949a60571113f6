// Running a schedule that follows data: see coll/schedule/data_flow.hpp. coll/run/execution.cpp runs those
// that keep rounds.
//
// Each step starts as soon as the data, or the room, is there that it needs: several segments of a pipeline,
// or blocks of an all-to-all, are under way, and no direction waits for another. Messages to one rank start
// in the order of the schedule, and so do receives from it: so they are matched in it.
#include "coll/run/execution.hpp"
#include "p2p/request.hpp"

namespace tasuki {
namespace {

constexpr unsigned kStepsPerTurn = 32;

}  // namespace

void Execution::begin_data_flow() {
  round_ = 1;
  if (flow_ == nullptr) flow_ = std::make_unique<DataFlow>();
  if (!flow_is_prepared_) {
    flow_->prepare(schedule, [this](ElementType type, int block) { return shape_of(datatype(type, block)); });
    flow_is_prepared_ = true;
  }
  flow_->begin();
}

bool Execution::advance_by_data(bool* moved) {
  if (round_ == 0) begin_data_flow();
  while (true) {
    start_what_may(moved);
    if (!look_for_ends()) return flow_->is_over();
    *moved = true;
  }
}

void Execution::start_what_may(bool* moved) {
  std::uint32_t step;
  for (unsigned steps = 1; flow_->next(under_way_.size(), &step); ++steps) {
    // As of rounds: other threads get their turn between steps that are short and many.
    if (steps % kStepsPerTurn == 0) const Progress::Release turn(*process_.progress);
    *moved = true;
    const std::size_t before = under_way_.size();
    run_step(schedule.steps[step]);
    if (under_way_.size() > before) {
      steps_under_way_.push_back(step);
    } else {
      flow_->over(step);
    }
  }
}

/// Whether any message under way is over.
bool Execution::look_for_ends() {
  std::size_t kept = 0;
  for (std::size_t number = 0; number < under_way_.size(); ++number) {
    Request* message = under_way_[number];
    const std::uint32_t step = steps_under_way_[number];
    if (!message->done) {
      under_way_[kept] = message;
      steps_under_way_[kept++] = step;
      continue;
    }
    note(message->status.error);
    release(message);
    flow_->over(step);
  }
  const bool any = kept != under_way_.size();
  under_way_.resize(kept);
  steps_under_way_.resize(kept);
  return any;
}

}  // namespace tasuki
