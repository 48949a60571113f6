// Which steps wait for which: see coll/schedule/dependencies.hpp.
#include "coll/schedule/dependencies.hpp"

#include <algorithm>
#include <iterator>

namespace tasuki {
namespace {

bool is_message(const Step& step) {
  return step.action == Step::Action::kSend || step.action == Step::Action::kReceive;
}

std::uint32_t begin_of_round(const Schedule& schedule, std::uint32_t step) {
  const auto end = std::upper_bound(schedule.round_ends.begin(), schedule.round_ends.end(), step);
  return end == schedule.round_ends.begin() ? 0 : *std::prev(end);
}

}  // namespace

void Dependencies::find(const Schedule& schedule, const ShapeOf& shape_of) {
  const std::size_t steps = schedule.steps.size();
  schedule_ = &schedule;
  waits_.assign(steps, 0);
  next_messages_.assign(steps, kNone);
  seen_by_.assign(steps, kNone);
  for (Parts& parts : parts_) parts.clear();
  users_.clear();
  edges_.clear();
  channels_.clear();
  round_begin_ = 0;
  auto round_end = schedule.round_ends.begin();
  const auto parts_of = [this](Place place) -> Parts& {
    return parts_[place.space == Space::kSend ? 0 : place.space == Space::kReceive ? 1 : 2];
  };
  for (step_ = 0; step_ < steps; ++step_) {
    if (round_end != schedule.round_ends.end() && step_ == *round_end) {
      round_begin_ = step_;
      ++round_end;
    }
    const Step& step = schedule.steps[step_];
    if (step.action != Step::Action::kReceive) {
      const Count vectors = step.action == Step::Action::kSum ? step.to_count : 1;
      use(parts_of(step.from), step.from, vectors * step.count, shape_of(step.type, step.block), false);
    }
    if (step.action == Step::Action::kCopy) {
      use(parts_of(step.to), step.to, step.to_count, shape_of(step.to_type, step.to_block), true);
    } else if (step.action != Step::Action::kSend) {
      use(parts_of(step.to), step.to, step.count, shape_of(step.type, step.block), true);
    }
    if (is_message(step)) follow(step);
  }
  sort_edges();
}

void Dependencies::use(Parts& parts, Place place, Count count, const TypeShape& shape, bool writes) {
  if (count == 0 || shape.size == 0) return;
  const Count last = (count - 1) * shape.extent;  // negative extents are legal
  const Count begin = place.offset + shape.true_lb + std::min<Count>(0, last);
  const Count end = place.offset + shape.true_lb + shape.true_extent + std::max<Count>(0, last);
  std::size_t index = cut(parts, begin);
  for (Count at = begin; at < end; ++index) {
    if (index == parts.size() || parts[index].begin > at) {
      const Count gap_end = index == parts.size() ? end : std::min(end, parts[index].begin);
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(index), Part{at, gap_end, kNone});
    } else if (parts[index].end > end) {
      cut(parts, end);
    }
    use_part(parts[index], writes);
    at = parts[index].end;
  }
}

/// Divides the part that `at` is amid. Returns the first that ends behind `at`.
std::size_t Dependencies::cut(Parts& parts, Count at) {
  const auto part =
      std::partition_point(parts.begin(), parts.end(), [at](const Part& one) { return one.end <= at; });
  const auto index = static_cast<std::size_t>(part - parts.begin());
  if (part == parts.end() || part->begin >= at) return index;
  Part second{at, part->end, kNone};
  for (std::uint32_t user = part->first_user; user != kNone; user = users_[user].next) {
    const auto copy = static_cast<std::uint32_t>(users_.size());
    (second.first_user == kNone ? second.first_user : users_.back().next) = copy;
    users_.push_back({users_[user].step, users_[user].writes, kNone});
  }
  part->end = at;
  parts.insert(part + 1, second);
  return index + 1;
}

/// Looks at those that used the part, the last first. Where a step waits for one that wrote, it has waited
/// for all before that one's round, which are forgotten; those of its round it may have passed by.
void Dependencies::use_part(Part& part, bool writes) {
  std::uint32_t waited_for = 0;  // all before this step are
  std::uint32_t last = kNone;
  for (std::uint32_t user = part.first_user; user != kNone; last = user, user = users_[user].next) {
    const User& other = users_[user];
    if (other.step < waited_for) {
      users_[last].next = kNone;
      break;
    }
    if (other.step == step_ || (!writes && !other.writes)) continue;
    if (other.step >= round_begin_ && is_message(schedule_->steps[other.step])) continue;
    wait_for(other.step);
    if (other.writes) waited_for = std::max(waited_for, begin_of_round(*schedule_, other.step));
  }
  users_.push_back({step_, writes, part.first_user});
  part.first_user = static_cast<std::uint32_t>(users_.size() - 1);
}

void Dependencies::wait_for(std::uint32_t other) {
  if (seen_by_[other] == step_) return;
  seen_by_[other] = step_;
  edges_.push_back({other, step_});
  ++waits_[step_];
}

void Dependencies::follow(const Step& step) {
  const bool sends = step.action == Step::Action::kSend;
  const auto channel = std::find_if(channels_.begin(), channels_.end(), [&](const Channel& one) {
    return one.peer == step.peer && one.local == step.local && one.sends == sends;
  });
  if (channel == channels_.end()) {
    channels_.push_back({step.peer, step.local, sends, step_});
    return;
  }
  next_messages_[channel->last] = step_;
  channel->last = step_;
}

/// By the step that is waited for.
void Dependencies::sort_edges() {
  after_ends_.assign(waits_.size(), 0);
  for (const Edge& edge : edges_) ++after_ends_[edge.before];
  std::uint32_t before = 0;
  for (std::uint32_t& end : after_ends_) {
    const std::uint32_t number = end;
    end = before;  // where its own begin; moved to their end below
    before += number;
  }
  after_.resize(edges_.size());
  for (const Edge& edge : edges_) after_[after_ends_[edge.before]++] = edge.after;
}

}  // namespace tasuki
