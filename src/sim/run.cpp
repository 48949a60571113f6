// The executor of schedules on a simulated machine: see sim/run.hpp.
#include "sim/run.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
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
  int open = 0;          // of the round
  std::size_t left = 0;  // operations that are not over
};

/// From one rank to another.
struct Channel {
  std::vector<int> sends, receives;  // operations, in their order
  std::vector<bool> sent, posted;    // which are ready
  std::size_t next = 0;              // that is to go
  bool under_way = false;
};

}  // namespace

class ScheduleRun::Ranks {
 public:
  Ranks(const Job& job, std::vector<int> processors, Processors& shared, Flows& flows, Traffic& traffic,
        std::function<void(int)> over)
      : job_(job),
        processors_(std::move(processors)),
        shared_(shared),
        flows_(flows),
        traffic_(traffic),
        rank_is_over_(std::move(over)),
        ranks_(job.hosts.size()) {}

  void prepare(int number) {
    schedule_.clear();
    job_.write(number, schedule_);
    take(number, schedule_);
  }

  void start(int number) {
    Rank& rank = rank_of(number);
    if (rank.left == 0) return end(number);
    if (job_.way == Way::kRounds) return start_rounds(number);
    for (std::size_t index = 0; index < rank.operations.size(); ++index) {
      if (rank.operations[index].waits == 0) release(number, static_cast<int>(index));
    }
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
        traffic_.messages += 1;
        traffic_.bytes += operation.bytes;
        if (host_of(number) != host_of(step.peer)) traffic_.network_bytes += operation.bytes;
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
    rank.left = rank.operations.size();
  }

  int host_of(int rank) const { return job_.hosts[static_cast<std::size_t>(rank)]; }
  int processor_of(int rank) const { return processors_[static_cast<std::size_t>(rank)]; }

  void start_rounds(int number) {
    Rank& rank = rank_of(number);
    while (rank.open == 0 && rank.round < rank.round_ends.size()) {
      const std::size_t begin = rank.round == 0 ? 0 : rank.round_ends[rank.round - 1];
      const std::size_t end = rank.round_ends[rank.round++];
      rank.open = static_cast<int>(end - begin);
      for (std::size_t index = begin; index < end; ++index) release(number, static_cast<int>(index));
    }
  }

  static double share(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

  /// The step may start now.
  void release(int number, int index) {
    const Operation& operation = rank_of(number).operations[static_cast<std::size_t>(index)];
    const Costs& costs = job_.costs;
    if (operation.action == Action::kReceive) {
      ready(operation.peer, number, index, false);
    } else if (operation.action == Action::kSend) {
      shared_.take(processor_of(number), costs.software_seconds, Span::Kind::kSend,
                   [this, number, index, peer = operation.peer] { ready(number, peer, index, true); });
    } else {
      const double rate = operation.action == Action::kReduce ? costs.reduced_bytes_per_second
                                                              : costs.copied_bytes_per_second;
      shared_.take(processor_of(number), share(operation.bytes, rate), Span::Kind::kCompute,
                   [this, number, index] { over(number, index); });
    }
  }

  double bytes_of_send(int from, int index) {
    return rank_of(from).operations[static_cast<std::size_t>(index)].bytes;
  }
  bool waits_for_receive(double bytes) const { return bytes > job_.eager_bytes_max; }

  /// One side of a transfer is ready.
  void ready(int from, int to, int index, bool is_send) {
    Channel& found = channel(from, to);
    const std::vector<int>& order = is_send ? found.sends : found.receives;
    std::vector<bool>& marks = is_send ? found.sent : found.posted;
    marks.resize(order.size());
    const auto number =
        static_cast<std::size_t>(std::lower_bound(order.begin(), order.end(), index) - order.begin());
    marks[number] = true;
    if (!is_send && number < found.next) return over(to, index);  // it has come
    go_on(from, to, found);
    if (is_send && !waits_for_receive(bytes_of_send(from, index))) over(from, index);
  }

  static bool is_marked(const std::vector<bool>& marks, std::size_t number) {
    return number < marks.size() && marks[number];
  }

  void go_on(int from, int to, Channel& found) {
    if (found.under_way || !is_marked(found.sent, found.next)) return;
    const double bytes = bytes_of_send(from, found.sends[found.next]);
    const bool waits = waits_for_receive(bytes);
    if (waits && !is_marked(found.posted, found.next)) return;
    found.under_way = true;
    const Costs& costs = job_.costs;
    const auto arrived = [this, from, to, bytes, waits, place = &found, begin = flows_.now()] {
      shared_.note({processor_of(from), Span::Kind::kTransfer, begin, flows_.now(), processor_of(to)});
      Channel& one = *place;
      const std::size_t number = one.next++;
      const bool is_awaited = is_marked(one.posted, number);
      one.under_way = false;
      traffic_.received_bytes += bytes;
      go_on(from, to, one);
      if (waits) over(from, one.sends[number]);
      if (is_awaited) over(to, one.receives[number]);
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
    Rank& rank = rank_of(number);
    if (--rank.left == 0) return end(number);
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

  /// As an event of its own: what is called may end this object.
  void end(int number) {
    flows_.at(flows_.now(), [this, number] { rank_is_over_(number); });
  }

  const Job& job_;
  const std::vector<int> processors_;
  Processors& shared_;
  Flows& flows_;
  Traffic& traffic_;
  const std::function<void(int)> rank_is_over_;
  Schedule schedule_;  // of the rank that is prepared
  Dependencies dependencies_;
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint64_t, Channel> channels_;
};

ScheduleRun::ScheduleRun(const Job& job, std::vector<int> processors, Processors& shared, Flows& flows,
                         Traffic& traffic, std::function<void(int)> over)
    : ranks_(std::make_unique<Ranks>(job, std::move(processors), shared, flows, traffic, std::move(over))) {}

ScheduleRun::~ScheduleRun() = default;

void ScheduleRun::prepare(int rank) {
  ranks_->prepare(rank);
}

void ScheduleRun::start(int rank) {
  ranks_->start(rank);
}

Outcome run(const Job& job, Flows& flows) {
  const auto ranks = static_cast<int>(job.hosts.size());
  const double begin = flows.now();
  std::vector<int> numbers(job.hosts.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  Processors processors(job.hosts.size(), flows, job.records);
  Traffic traffic;
  int over = 0;
  double last = begin;
  ScheduleRun all(job, std::move(numbers), processors, flows, traffic, [&](int) {
    ++over;
    last = flows.now();
  });
  for (int rank = 0; rank < ranks; ++rank) all.prepare(rank);
  flows.at(begin, [&] {
    for (int rank = 0; rank < ranks; ++rank) all.start(rank);
  });
  flows.run();
  return {.seconds = last - begin,
          .traffic = traffic,
          .processor_busy_seconds = processors.busy_seconds(),
          .complete = over == ranks,
          .spans = std::move(processors.spans())};
}

}  // namespace tasuki::sim
