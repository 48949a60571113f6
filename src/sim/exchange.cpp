// A collective write on a simulated machine: see sim/exchange.hpp.
#include "sim/exchange.hpp"

#include <algorithm>
#include <deque>

namespace tasuki::sim {
namespace {

struct Message {
  int to;  // a rank
  Count bytes;
};

/// A rank in one of its cycles.
struct Turn {
  std::vector<Message> messages;  // its own, as it issues them
  std::size_t next = 0;
  std::size_t left = 0;                      // of its own that are not over
  std::size_t missing = 0;                   // that are to come
  std::vector<std::function<void()>> early;  // messages that wait until it is in the cycle
  double begin = 0;
  bool is_open = false, is_written = true, is_over = false;
};

struct Rank {
  std::deque<Turn> turns;  // by cycle
  Count opened = 0, ended = 0;
  int under_way = 0;
  double processor_free = 0, busy = 0;
};

struct Target {
  std::deque<std::function<void()>> waiting;
  bool is_busy = false;
  int node = -1;  // of the last window
  double busy = 0;
};

class Exchange {
 public:
  Exchange(const ExchangeJob& job, Flows& flows)
      : job_(job),
        flows_(flows),
        ranks_(static_cast<std::size_t>(job.map->size())),
        number_(ranks_.size(), -1),
        targets_(static_cast<std::size_t>(job.targets)) {
    for (std::size_t i = 0; i < job.aggregators.size(); ++i)
      number_[static_cast<std::size_t>(job.aggregators[i])] = static_cast<int>(i);
    outcome_.rank_seconds.resize(ranks_.size());
    for (Rank& rank : ranks_) rank.turns.resize(static_cast<std::size_t>(job.cycles));
  }

  ExchangeOutcome run() {
    begin_ = last_ = flows_.now();
    for (Rank& rank : ranks_) rank.processor_free = begin_;
    flows_.at(begin_, [this] {
      for (Count cycle = 0; cycle < std::min(job_.cycles, job_.cycles_at_a_time); ++cycle) plan(cycle);
      for (int rank = 0; rank < job_.map->size(); ++rank) open(rank);
    });
    flows_.run();
    outcome_.seconds = last_ - begin_;
    outcome_.complete = outcome_.bytes == outcome_.received_bytes;
    for (const Rank& rank : ranks_) {
      outcome_.processor_busy_seconds = std::max(outcome_.processor_busy_seconds, rank.busy);
      outcome_.complete = outcome_.complete && rank.ended == job_.cycles;
    }
    for (const Target& target : targets_)
      outcome_.target_busy_seconds = std::max(outcome_.target_busy_seconds, target.busy);
    const auto aggregators = static_cast<double>(job_.aggregators.size());
    outcome_.exchange_seconds /= aggregators;
    outcome_.write_seconds /= aggregators;
    return std::move(outcome_);
  }

 private:
  static std::size_t at(Count number) { return static_cast<std::size_t>(number); }
  Rank& rank_of(int rank) { return ranks_[at(rank)]; }
  Turn& turn_of(int rank, Count cycle) { return ranks_[at(rank)].turns[at(cycle)]; }
  int node_of(int rank) const { return job_.map->node_of(rank); }

  /// All ranks' messages of a cycle, in their orders.
  void plan(Count cycle) {
    const std::size_t width = job_.aggregators.size();
    std::vector<Count> amounts(ranks_.size() * width);
    for (std::size_t i = 0; i < amounts.size(); ++i)
      amounts[i] = job_.bytes(static_cast<int>(i / width), static_cast<int>(i % width), cycle);
    const CycleAmounts all{job_.aggregators, amounts};
    for (int rank = 0; rank < job_.map->size(); ++rank) {
      Turn& turn = turn_of(rank, cycle);
      for (const int to : exchange_order(job_.order, *job_.map, rank, all)) {
        if (number_[at(to)] < 0) continue;
        const Count bytes = all.of(rank, at(number_[at(to)]));
        if (bytes == 0) continue;
        turn.messages.push_back({to, bytes});
        Turn& receiver = turn_of(to, cycle);
        ++receiver.missing;
        receiver.is_written = false;
        outcome_.messages += 1;
        outcome_.bytes += static_cast<double>(bytes);
        if (node_of(rank) != node_of(to)) outcome_.network_bytes += static_cast<double>(bytes);
      }
      turn.left = turn.messages.size();
    }
  }

  /// The rank begins its next cycle, where it may.
  void open(int number) {
    Rank& rank = rank_of(number);
    while (rank.opened < job_.cycles && rank.opened - rank.ended < job_.cycles_at_a_time) {
      if (job_.cycles_at_a_time == 1 && rank.opened > whole_) return;
      const Count cycle = rank.opened++;
      Turn& turn = turn_of(number, cycle);
      turn.is_open = true;
      turn.begin = flows_.now();
      for (auto& message : turn.early) message();
      turn.early.clear();
      issue(number);
      end_if_over(number, cycle);
    }
  }

  void issue(int number) {
    Rank& rank = rank_of(number);
    for (Count cycle = rank.ended; cycle < rank.opened; ++cycle) {
      Turn& turn = turn_of(number, cycle);
      while (turn.next < turn.messages.size()) {
        if (job_.messages_under_way > 0 && rank.under_way == job_.messages_under_way) return;
        ++rank.under_way;
        const Message message = turn.messages[turn.next++];
        on_processor(number, job_.costs.software_seconds,
                     [this, number, cycle, message] { depart(number, cycle, message); });
      }
    }
  }

  void depart(int from, Count cycle, Message message) {
    Turn& receiver = turn_of(message.to, cycle);
    if (!receiver.is_open) {
      receiver.early.push_back([this, from, cycle, message] { depart(from, cycle, message); });
      return;
    }
    const auto bytes = static_cast<double>(message.bytes);
    const auto arrived = [this, from, cycle, message] {
      on_processor(message.to, job_.receive_seconds,
                   [this, from, cycle, message] { take(from, cycle, message); });
    };
    if (node_of(from) == node_of(message.to)) {
      flows_.at(flows_.now() + share(bytes, job_.costs.copied_bytes_per_second), arrived);
      return;
    }
    flows_.at(flows_.now() + job_.costs.hardware_seconds, [this, from, message, bytes, arrived] {
      flows_.start(node_of(from), node_of(message.to), bytes, arrived);
    });
  }

  /// A message is with its receiver.
  void take(int from, Count cycle, Message message) {
    outcome_.received_bytes += static_cast<double>(message.bytes);
    note(from);
    note(message.to);
    Turn& sender = turn_of(from, cycle);
    --rank_of(from).under_way;
    --sender.left;
    issue(from);
    end_if_over(from, cycle);
    Turn& receiver = turn_of(message.to, cycle);
    if (--receiver.missing == 0) {
      outcome_.exchange_seconds += flows_.now() - receiver.begin;
      write(message.to, cycle);
    }
  }

  void note(int rank) {
    last_ = std::max(last_, flows_.now());
    outcome_.rank_seconds[at(rank)] = flows_.now() - begin_;
  }

  void write(int rank, Count cycle) {
    const int target = job_.target(number_[at(rank)], cycle);
    if (target < 0) return written(rank, cycle, flows_.now());
    double bytes = 0;
    for (int sender = 0; sender < job_.map->size(); ++sender)
      bytes += static_cast<double>(job_.bytes(sender, number_[at(rank)], cycle));
    targets_[at(target)].waiting.push_back([this, rank, cycle, target, bytes, asked = flows_.now()] {
      const double begin = flows_.now();
      Target& one = targets_[at(target)];
      const double wait = one.node >= 0 && one.node != node_of(rank) ? job_.handover_seconds : 0;
      one.node = node_of(rank);
      flows_.at(begin + wait, [this, rank, cycle, target, bytes, begin, asked] {
        flows_.start_write(node_of(rank), target, bytes, [this, rank, cycle, target, bytes, begin, asked] {
          outcome_.written_bytes += bytes;
          targets_[at(target)].busy += flows_.now() - begin;
          targets_[at(target)].is_busy = false;
          serve(target);
          written(rank, cycle, asked);
        });
      });
    });
    serve(target);
  }

  void serve(int target) {
    Target& one = targets_[at(target)];
    if (one.is_busy || one.waiting.empty()) return;
    one.is_busy = true;
    const auto next = std::move(one.waiting.front());
    one.waiting.pop_front();
    next();
  }

  void written(int rank, Count cycle, double asked) {
    last_ = std::max(last_, flows_.now());
    outcome_.write_seconds += flows_.now() - asked;
    turn_of(rank, cycle).is_written = true;
    end_if_over(rank, cycle);
  }

  /// Cycles of a rank end in their order.
  void end_if_over(int number, Count cycle) {
    Turn& turn = turn_of(number, cycle);
    if (turn.is_over || !turn.is_open || turn.left > 0 || turn.missing > 0 || !turn.is_written) return;
    turn.is_over = true;
    Rank& rank = rank_of(number);
    const Count before = rank.ended;
    while (rank.ended < job_.cycles && rank.turns[at(rank.ended)].is_over) ++rank.ended;
    if (rank.ended == before) return;
    last_ = std::max(last_, flows_.now());
    if (job_.cycles_at_a_time == 1) {
      if (++ended_ % ranks_.size() != 0 || rank.ended == job_.cycles) return;
      plan(++whole_);
      for (int other = 0; other < job_.map->size(); ++other) open(other);
    } else {
      while (planned_ < job_.cycles && planned_ < rank.ended + job_.cycles_at_a_time) plan(planned_++);
      open(number);
    }
  }

  template <class Body>
  void on_processor(int number, double seconds, Body&& then) {
    Rank& rank = rank_of(number);
    rank.processor_free = std::max(rank.processor_free, flows_.now()) + seconds;
    rank.busy += seconds;
    flows_.at(rank.processor_free, std::forward<Body>(then));
  }

  static double share(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

  const ExchangeJob& job_;
  Flows& flows_;
  std::vector<Rank> ranks_;
  std::vector<int> number_;  // of each rank among the aggregators; -1: it is none
  std::vector<Target> targets_;
  ExchangeOutcome outcome_;
  double begin_ = 0, last_ = 0;
  Count whole_ = 0;  // one at a time: the cycle that all are in
  Count planned_ = job_.cycles_at_a_time;
  std::size_t ended_ = 0;
};

}  // namespace

ExchangeOutcome run_exchange(const ExchangeJob& job, Flows& flows) {
  return Exchange(job, flows).run();
}

}  // namespace tasuki::sim
