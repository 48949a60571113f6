// The executor of schedules on a simulated machine: see sim/run.hpp.
#include "sim/run.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "sim/dependencies.hpp"

namespace tasuki::sim {
namespace {

using Action = Step::Action;

/// What is kept of a step.
struct Operation {
  Action action;
  int peer;
  double bytes;
  int waits = 0;            // steps of this rank that have to be over first
  std::uint32_t after = 0;  // the first of those that wait for it, in Rank::after
};

struct Rank {
  std::vector<Operation> operations;
  std::vector<std::uint32_t> round_ends;
  std::vector<int> after;
  std::size_t round = 0;
  int open = 0;  // of the round
  double processor_free = 0, busy = 0;
};

/// From one rank to another.
struct Channel {
  std::vector<int> sends, receives;  // operations, in their order
  std::vector<bool> sent, posted;    // which are ready
  std::size_t next = 0;              // that is to go
  bool under_way = false;
};

class Runner {
 public:
  Runner(const Job& job, Flows& flows)
      : job_(job), flows_(flows), ranks_(static_cast<std::size_t>(job.ranks)) {
    Schedule schedule;
    for (int number = 0; number < job.ranks; ++number) {
      schedule.clear();
      job.write(number, schedule);
      take(number, schedule);
    }
  }

  Outcome run() {
    const double begin = flows_.now();
    last_ = begin;
    for (Rank& rank : ranks_) rank.processor_free = begin;
    flows_.at(begin, [this] {
      for (int number = 0; number < job_.ranks; ++number) start(number);
    });
    flows_.run();
    outcome_.seconds = last_ - begin;
    for (const Rank& rank : ranks_) {
      outcome_.processor_busy_seconds = std::max(outcome_.processor_busy_seconds, rank.busy);
    }
    outcome_.complete = steps_ == done_;
    return outcome_;
  }

 private:
  Rank& rank_of(int number) { return ranks_[static_cast<std::size_t>(number)]; }
  Channel& channel(int from, int to) {
    return channels_[static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)];
  }
  /// Keeps what is needed of a rank's schedule.
  void take(int number, const Schedule& schedule) {
    Rank& rank = rank_of(number);
    rank.round_ends.assign(schedule.round_ends.begin(), schedule.round_ends.end());
    const bool by_data = job_.way == Way::kData;
    if (by_data) find_dependencies(schedule, job_.reduced_element_bytes, &dependencies_);
    for (std::size_t index = 0; index < schedule.steps.size(); ++index) {
      const Step& step = schedule.steps[index];
      const auto self = static_cast<int>(index);
      const auto bytes = bytes_of(step, job_.reduced_element_bytes);
      Operation operation{.action = step.action, .peer = step.peer, .bytes = static_cast<double>(bytes)};
      if (step.action == Action::kSend) {
        channel(number, step.peer).sends.push_back(self);
        outcome_.messages += 1;
        outcome_.bytes += operation.bytes;
        if (host_of(number) != host_of(step.peer)) outcome_.network_bytes += operation.bytes;
      } else if (step.action == Action::kReceive) {
        channel(step.peer, number).receives.push_back(self);
      }
      if (by_data) {
        operation.waits = static_cast<int>(dependencies_.waits(index));
        operation.after = static_cast<std::uint32_t>(rank.after.size());
        for (const std::uint32_t after : dependencies_.after(index))
          rank.after.push_back(static_cast<int>(after));
        rank.after.push_back(-1);
      }
      rank.operations.push_back(operation);
    }
    steps_ += schedule.steps.size();
  }

  int host_of(int rank) const { return rank / job_.ranks_per_host; }

  void start(int number) {
    Rank& rank = rank_of(number);
    if (job_.way == Way::kRounds) return start_rounds(number);
    for (std::size_t index = 0; index < rank.operations.size(); ++index) {
      if (rank.operations[index].waits == 0) release(number, static_cast<int>(index));
    }
  }

  void start_rounds(int number) {
    Rank& rank = rank_of(number);
    while (rank.open == 0 && rank.round < rank.round_ends.size()) {
      const std::size_t begin = rank.round == 0 ? 0 : rank.round_ends[rank.round - 1];
      const std::size_t end = rank.round_ends[rank.round++];
      rank.open = static_cast<int>(end - begin);
      for (std::size_t index = begin; index < end; ++index) release(number, static_cast<int>(index));
    }
  }

  /// The processor of a rank takes so long for something, after what it has begun.
  template <class Body>
  void on_processor(int number, double seconds, Span::Kind kind, Body&& then) {
    Rank& rank = rank_of(number);
    rank.processor_free = std::max(rank.processor_free, flows_.now()) + seconds;
    rank.busy += seconds;
    if (job_.records)
      outcome_.spans.push_back({number, kind, rank.processor_free - seconds, rank.processor_free, -1});
    flows_.at(rank.processor_free, std::forward<Body>(then));
  }

  static double share(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

  /// The step may start now.
  void release(int number, int index) {
    const Operation& operation = rank_of(number).operations[static_cast<std::size_t>(index)];
    const Costs& costs = job_.costs;
    if (operation.action == Action::kReceive) {
      ready(operation.peer, number, index, false);
    } else if (operation.action == Action::kSend) {
      on_processor(number, costs.software_seconds, Span::Kind::kSend,
                   [this, number, index, peer = operation.peer] { ready(number, peer, index, true); });
    } else {
      const double rate = operation.action == Action::kReduce ? costs.reduced_bytes_per_second
                                                              : costs.copied_bytes_per_second;
      on_processor(number, share(operation.bytes, rate), Span::Kind::kCompute,
                   [this, number, index] { over(number, index); });
    }
  }

  /// One side of a transfer is ready.
  void ready(int from, int to, int index, bool is_send) {
    Channel& found = channel(from, to);
    const std::vector<int>& order = is_send ? found.sends : found.receives;
    std::vector<bool>& marks = is_send ? found.sent : found.posted;
    marks.resize(order.size());
    marks[static_cast<std::size_t>(std::lower_bound(order.begin(), order.end(), index) - order.begin())] =
        true;
    go_on(from, to, found);
  }

  void go_on(int from, int to, Channel& found) {
    const std::size_t next = found.next;
    if (found.under_way || next >= found.sent.size() || next >= found.posted.size()) return;
    if (!found.sent[next] || !found.posted[next]) return;
    found.under_way = true;
    const double bytes = rank_of(from).operations[static_cast<std::size_t>(found.sends[next])].bytes;
    const Costs& costs = job_.costs;
    const auto arrived = [this, from, to, bytes, place = &found, begin = flows_.now()] {
      if (job_.records) outcome_.spans.push_back({from, Span::Kind::kTransfer, begin, flows_.now(), to});
      Channel& one = *place;
      const int send = one.sends[one.next], receive = one.receives[one.next];
      ++one.next;
      one.under_way = false;
      outcome_.received_bytes += bytes;
      go_on(from, to, one);
      over(from, send);
      over(to, receive);
    };
    if (host_of(from) == host_of(to)) {
      flows_.at(flows_.now() + share(bytes, costs.copied_bytes_per_second), arrived);
    } else if (bytes == 0) {
      flows_.at(flows_.now() + costs.hardware_seconds, arrived);
    } else {
      flows_.at(flows_.now() + costs.hardware_seconds, [this, from, to, bytes, arrived] {
        flows_.start(host_of(from), host_of(to), bytes, arrived);
      });
    }
  }

  void over(int number, int index) {
    last_ = std::max(last_, flows_.now());
    ++done_;
    Rank& rank = rank_of(number);
    if (job_.way == Way::kRounds) {
      if (--rank.open == 0) start_rounds(number);
      return;
    }
    const Operation& operation = rank.operations[static_cast<std::size_t>(index)];
    for (std::size_t i = operation.after; rank.after[i] >= 0; ++i) {
      if (--rank.operations[static_cast<std::size_t>(rank.after[i])].waits == 0)
        release(number, rank.after[i]);
    }
  }

  const Job& job_;
  Flows& flows_;
  Dependencies dependencies_;  // of the schedule that is taken
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint64_t, Channel> channels_;
  Outcome outcome_;
  double last_ = 0;
  std::size_t steps_ = 0, done_ = 0;
};

}  // namespace

Outcome run(const Job& job, Flows& flows) {
  return Runner(job, flows).run();
}

}  // namespace tasuki::sim
