// A simulated machine that runs the schedules of all ranks in one thread, twice over: once for what they do
// to the data, by rounds or by data (data_flow.hpp), with messages that are delivered in random order and
// torn buffers wherever a schedule relies on more than it may (schedule.hpp, invariants); and once for what
// they cost.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "coll/algorithm/algorithms.hpp"
#include "coll/schedule/data_flow.hpp"
#include "coll/schedule/schedule.hpp"
#include "support/sanitized.hpp"

namespace tasuki::test {

using Bytes = std::vector<std::uint8_t>;

/// Schedules are simulated for as many ranks at most; under sanitizers, which make it slow, for fewer.
inline constexpr int kSimulatedRanksMax = kSanitized ? 9 : 64;

/// inout[i] = in[i] op inout[i], one element.
using Combine = std::function<void(const std::uint8_t* in, std::uint8_t* inout)>;

struct SimulatedRank {
  Schedule schedule;
  Bytes send;
  Bytes receive;
  TypeShape send_type;  // an element's data is one run of `size` bytes that begins at true_lb
  TypeShape receive_type;
  std::vector<TypeShape> send_types, receive_types;  // of MPI_Alltoallw
  Count send_base = 0;                               // where in `send` the buffer's address 0 is
  Count receive_base = 0;

  Bytes scratch;
};

/// What a simulated rank starts when.
enum class Following { kRounds, kData };

class Simulation {
 public:
  Simulation(std::vector<SimulatedRank>& ranks, Combine combine, unsigned seed,
             Following following = Following::kRounds)
      : ranks_(ranks),
        combine_(std::move(combine)),
        seed_(seed),
        following_(following),
        random_(seed),
        states_(ranks.size()) {}

  /// Runs all schedules to their ends: as the executor runs them, and those of few ranks also the other way,
  /// on copies of the buffers. Fails the test when they stop before that, or give other results.
  void run() {
    const bool by_data = std::any_of(ranks_.begin(), ranks_.end(),
                                     [](const SimulatedRank& rank) { return rank.schedule.follows_data; });
    following_ = by_data ? Following::kData : Following::kRounds;
    if (ranks_.size() > 4 && ranks_.size() != 8) return run_to_end();
    std::vector<SimulatedRank> copies = ranks_;
    Simulation(copies, combine_, seed_ + 1, by_data ? Following::kRounds : Following::kData).run_to_end();
    run_to_end();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      ASSERT_EQ(copies[rank].receive, ranks_[rank].receive) << "rank " << rank << ", by data and by rounds";
  }

  /// Runs all schedules as far as they come while the rank `absent` does not begin its own. Returns how many
  /// come to their ends.
  int run_without(int absent) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      SimulatedRank& simulated = ranks_[rank];
      simulated.scratch.assign(static_cast<std::size_t>(simulated.schedule.scratch_bytes), 0xcd);
      if (following_ == Following::kRounds) continue;
      states_[rank].flow.prepare(simulated.schedule, [this, &simulated](ElementType type, int block) {
        return shape(simulated, type, block);
      });
      states_[rank].flow.begin();
    }
    for (bool moved = true; moved;) {
      moved = false;
      std::vector<std::size_t> order(ranks_.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random_);
      for (std::size_t rank : order) moved |= static_cast<int>(rank) != absent && start_some(rank);
      moved |= deliver_some();
    }
    int ended = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ended += is_through(rank) ? 1 : 0;
    return ended;
  }

 private:
  static constexpr std::uint32_t kOver = UINT32_MAX;

  struct State {
    std::size_t round = 0;
    int open = 0;   // sends and receives that have started and are not over
    DataFlow flow;  // by data
  };
  struct Message {
    Bytes data;
    std::uint32_t late = kOver;  // the step, not packed yet: the receive takes it from the sender's buffer
  };
  using Pair = std::pair<int, int>;  // from, to

  TypeShape shape(const SimulatedRank& rank, ElementType type, int peer) const {
    switch (type) {
      case ElementType::kSendType:
        return rank.send_type;
      case ElementType::kReceiveType:
        return rank.receive_type;
      case ElementType::kSendTypeOfPeer:
        return rank.send_types[static_cast<std::size_t>(peer)];
      case ElementType::kReceiveTypeOfPeer:
        return rank.receive_types[static_cast<std::size_t>(peer)];
      case ElementType::kBytes:
        break;
    }
    return {};
  }

  /// The address of an element's data, checked to lie in its buffer.
  std::uint8_t* data(SimulatedRank& rank, Place place, const TypeShape& type, Count index) {
    Bytes& buffer = place.space == Space::kSend      ? rank.send
                    : place.space == Space::kReceive ? rank.receive
                                                     : rank.scratch;
    const Count base = place.space == Space::kSend      ? rank.send_base
                       : place.space == Space::kReceive ? rank.receive_base
                                                        : 0;
    const Count at = base + place.offset + index * type.extent + type.true_lb;
    EXPECT_GE(at, 0);
    EXPECT_LE(at + type.size, static_cast<Count>(buffer.size()));
    if (at < 0 || at + type.size > static_cast<Count>(buffer.size())) std::abort();
    return buffer.data() + at;
  }

  Bytes pack(SimulatedRank& rank, Place from, Count count, const TypeShape& type) {
    Bytes packed;
    for (Count i = 0; i < count; ++i) {
      const std::uint8_t* element = data(rank, from, type, i);
      packed.insert(packed.end(), element, element + type.size);
    }
    return packed;
  }

  void unpack(SimulatedRank& rank, Place to, Count count, const TypeShape& type, const Bytes& packed) {
    ASSERT_EQ(count * type.size, static_cast<Count>(packed.size())) << "sent and received bytes differ";
    for (Count i = 0; i < count; ++i) {
      const auto* from = packed.data() + i * type.size;
      std::copy(from, from + type.size, data(rank, to, type, i));
    }
  }

  void run_to_end() {
    run_without(-1);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      ASSERT_TRUE(is_through(rank)) << "rank " << rank << " hangs";
    for (const auto& [pair, queue] : in_flight_)
      ASSERT_TRUE(queue.empty()) << pair.first << " sent to " << pair.second << " what no rank received";
  }

  bool is_through(std::size_t rank) const {
    const State& state = states_[rank];
    if (following_ == Following::kData) return state.flow.is_over();
    return state.round == ranks_[rank].schedule.round_ends.size() && state.open == 0;
  }

  bool start_some(std::size_t rank) {
    return following_ == Following::kRounds ? start_round(rank) : start_by_data(rank);
  }

  bool start_by_data(std::size_t rank) {
    State& state = states_[rank];
    bool moved = false;
    for (std::uint32_t step; state.flow.next(static_cast<std::size_t>(state.open), &step); moved = true)
      run_step(static_cast<int>(rank), step);
    return moved;
  }

  /// Of a step that is over: by rounds it counts in any case.
  void over(int rank, std::uint32_t step) {
    if (following_ == Following::kData) states_[static_cast<std::size_t>(rank)].flow.over(step);
  }
  void message_over(int rank, std::uint32_t step) {
    --states_[static_cast<std::size_t>(rank)].open;
    over(rank, step);
  }

  bool start_round(std::size_t index) {
    SimulatedRank& rank = ranks_[index];
    State& state = states_[index];
    const Schedule& schedule = rank.schedule;
    if (state.open > 0 || state.round == schedule.round_ends.size()) return false;
    const std::size_t begin = state.round == 0 ? 0 : schedule.round_ends[state.round - 1];
    const std::size_t end = schedule.round_ends[state.round];
    ++state.round;
    for (std::size_t i = begin; i < end; ++i)
      run_step(static_cast<int>(index), static_cast<std::uint32_t>(i));
    return true;
  }

  void run_step(int index, std::uint32_t number) {
    SimulatedRank& rank = ranks_[static_cast<std::size_t>(index)];
    const Step& step = rank.schedule.steps[number];
    const TypeShape type = shape(rank, step.type, step.block);
    switch (step.action) {
      case Step::Action::kSend: {
        Message message;
        if (random_() % 2 == 0) {
          message.data = pack(rank, step.from, step.count, type);
          over(index, number);
        } else {
          message.late = number;
          ++states_[static_cast<std::size_t>(index)].open;
        }
        in_flight_[{index, step.peer}].push_back(std::move(message));
        return;
      }
      case Step::Action::kReceive:
        // A step that reads before the message is here shall see that it is not.
        for (Count i = 0; i < step.count; ++i)
          std::memset(data(rank, step.to, type, i), 0xee, static_cast<std::size_t>(type.size));
        posted_[{step.peer, index}].push_back(number);
        ++states_[static_cast<std::size_t>(index)].open;
        return;
      case Step::Action::kReduce:
        EXPECT_NE(step.to.space, Space::kSend);
        for (Count i = 0; i < step.count; ++i)
          combine_(data(rank, step.from, type, i), data(rank, step.to, type, i));
        over(index, number);
        return;
      case Step::Action::kSum: {
        EXPECT_NE(step.to.space, Space::kSend);
        const auto vector_bytes = step.count * type.size;
        Bytes sum = pack(rank, step.from, step.count, type);
        for (Count vector = 1; vector < step.to_count; ++vector)
          for (Count i = 0; i < step.count; ++i)
            combine_(data(rank, step.from + vector * vector_bytes, type, i), sum.data() + i * type.size);
        unpack(rank, step.to, step.count, type, sum);
        over(index, number);
        return;
      }
      case Step::Action::kCopy: {
        EXPECT_NE(step.to.space, Space::kSend);
        const TypeShape to_type = shape(rank, step.to_type, step.to_block);
        unpack(rank, step.to, step.to_count, to_type, pack(rank, step.from, step.count, type));
        over(index, number);
        return;
      }
      default:
        ADD_FAILURE() << "no algorithm of messages compares calls or has shared memory";
        return;
    }
  }

  /// Delivers the first message of each of some pairs of ranks.
  bool deliver_some() {
    bool moved = false;
    for (auto& [pair, queue] : in_flight_) {
      auto& receives = posted_[pair];
      if (queue.empty() || receives.empty()) continue;
      moved = true;
      if (random_() % 3 == 0) continue;
      Message message = std::move(queue.front());
      queue.pop_front();
      const std::uint32_t received_by = receives.front();
      receives.pop_front();
      SimulatedRank& sender = ranks_[static_cast<std::size_t>(pair.first)];
      SimulatedRank& receiver = ranks_[static_cast<std::size_t>(pair.second)];
      const Step& receive = receiver.schedule.steps[received_by];
      if (message.late != kOver) {
        const Step& send = sender.schedule.steps[message.late];
        message.data = pack(sender, send.from, send.count, shape(sender, send.type, send.block));
        message_over(pair.first, message.late);
      }
      unpack(receiver, receive.to, receive.count, shape(receiver, receive.type, receive.block), message.data);
      message_over(pair.second, received_by);
    }
    return moved;
  }

  std::vector<SimulatedRank>& ranks_;
  Combine combine_;
  unsigned seed_;
  Following following_;
  std::mt19937 random_;
  std::vector<State> states_;
  std::map<Pair, std::deque<Message>> in_flight_;
  std::map<Pair, std::deque<std::uint32_t>> posted_;
};

/// The bytes that a step sends, receives or reduces.
inline double bytes_of_step(const SimulatedRank& rank, const Step& step) {
  const Count size = step.type == ElementType::kSendType      ? rank.send_type.size
                     : step.type == ElementType::kReceiveType ? rank.receive_type.size
                                                              : 1;
  return static_cast<double>(step.count * size);
}

/// What the schedules of all ranks cost on a machine where a message takes one unit of time and where a rank
/// sends at most `links` messages and receives at most as many at a time. Where the ranks are on nodes, a
/// message between two of them is on its way for so many units more.
class CostMeter {
 public:
  explicit CostMeter(const std::vector<SimulatedRank>& ranks, int links = 1)
      : ranks_(ranks), links_(links), ports_(ranks.size()) {}
  CostMeter(const std::vector<SimulatedRank>& ranks, std::vector<int> node_of, int units_between)
      : ranks_(ranks),
        links_(1),
        node_of_(std::move(node_of)),
        units_between_(units_between),
        ports_(ranks.size()) {}

  Cost measure() {
    Cost cost;
    while (!advance_all()) {
      cost.steps += 1;
      if (cost.steps > 100000) break;  // they hang
      move_messages();
    }
    for (const Port& port : ports_) {
      cost.bytes = std::max({cost.bytes, port.sent, port.received});
      cost.messages += port.messages;
      cost.total_bytes += port.sent;
      cost.reduced_bytes = std::max(cost.reduced_bytes, port.reduced);
      cost.total_reduced_bytes += port.reduced;
    }
    return cost;
  }

 private:
  struct Arrival {
    int source;
    int ready;  // the time from which on it can be taken
  };
  struct Port {
    std::size_t round = 0;
    std::map<int, int> wanted;     // receives of the round that are open, by source
    std::map<int, int> delivered;  // messages that are here, and not yet received by a step, by source
    std::deque<int> out;           // destinations of sends that have not left
    std::deque<Arrival> in;        // messages that are on their way here and not taken yet
    double messages = 0, sent = 0, received = 0, reduced = 0;
  };

  /// Whether all that the round waits for is over.
  static bool round_is_over(Port& port) {
    for (auto& [source, open] : port.wanted) {
      int& here = port.delivered[source];
      const int taken = std::min(open, here);
      open -= taken;
      here -= taken;
      if (open > 0) return false;
    }
    return port.out.empty();
  }

  /// Starts rounds until the rank has to wait. Returns whether it is through.
  bool advance(std::size_t rank) {
    Port& port = ports_[rank];
    const Schedule& schedule = ranks_[rank].schedule;
    while (round_is_over(port)) {
      if (port.round == schedule.round_ends.size()) return true;
      const std::size_t begin = port.round == 0 ? 0 : schedule.round_ends[port.round - 1];
      const std::size_t end = schedule.round_ends[port.round++];
      for (std::size_t i = begin; i < end; ++i) {
        const Step& step = schedule.steps[i];
        if (step.action == Step::Action::kSend) {
          port.out.push_back(step.peer);
          port.messages += 1;
          port.sent += bytes_of_step(ranks_[rank], step);
        } else if (step.action == Step::Action::kReceive) {
          ++port.wanted[step.peer];
          port.received += bytes_of_step(ranks_[rank], step);
        } else if (step.action == Step::Action::kReduce) {
          port.reduced += bytes_of_step(ranks_[rank], step);
        } else if (step.action == Step::Action::kSum) {
          port.reduced += static_cast<double>(step.to_count) * bytes_of_step(ranks_[rank], step);
        }
      }
    }
    return false;
  }

  bool advance_all() {
    bool through = true;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) through &= advance(rank);
    return through;
  }

  int ready_at(std::size_t from, int to) const {
    if (node_of_.empty() || node_of_[from] == node_of_[static_cast<std::size_t>(to)]) return now_;
    return now_ + units_between_;
  }

  /// One unit of time: every rank sends a message on each of its links and takes one in from each.
  void move_messages() {
    for (std::size_t rank = 0; rank < ports_.size(); ++rank) {
      Port& port = ports_[rank];
      for (int link = 0; link < links_ && !port.out.empty(); ++link) {
        const int to = port.out.front();
        ports_[static_cast<std::size_t>(to)].in.push_back({static_cast<int>(rank), ready_at(rank, to)});
        port.out.pop_front();
      }
    }
    for (Port& port : ports_) {
      for (int link = 0; link < links_; ++link) {
        const auto first =
            std::find_if(port.in.begin(), port.in.end(), [&](const Arrival& a) { return a.ready <= now_; });
        if (first == port.in.end()) break;
        ++port.delivered[first->source];
        port.in.erase(first);
      }
    }
    ++now_;
  }

  const std::vector<SimulatedRank>& ranks_;
  int links_;
  std::vector<int> node_of_ = {};  // by rank; empty: one node
  int units_between_ = 0;
  int now_ = 0;
  std::vector<Port> ports_;
};

inline Cost measure_cost(const std::vector<SimulatedRank>& ranks, int links = 1) {
  return CostMeter(ranks, links).measure();
}

/// What goes between nodes: in all, and into or out of the node with the most bytes.
struct Traffic {
  double messages = 0;
  double bytes = 0;
  double node_bytes = 0;
};

inline Traffic measure_traffic(const std::vector<SimulatedRank>& ranks, const std::vector<int>& node_of) {
  Traffic traffic;
  std::map<int, double> into, out_of;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Step& step : ranks[rank].schedule.steps) {
      if (step.action != Step::Action::kSend) continue;
      const int from = node_of[rank], to = node_of[static_cast<std::size_t>(step.peer)];
      if (from == to) continue;
      const double bytes = bytes_of_step(ranks[rank], step);
      traffic.messages += 1;
      traffic.bytes += bytes;
      traffic.node_bytes = std::max({traffic.node_bytes, out_of[from] += bytes, into[to] += bytes});
    }
  }
  return traffic;
}

/// The formula must say what the run cost: exactly (but for rounding) where `exact`, else it must be an upper
/// bound and at most `slack` times too high. `early`: the schedule lets messages come before they are wanted,
/// so that they may hold up others, by up to half the steps.
inline void expect_cost(const Cost& measured, const Cost& formula, bool exact, double slack = 1.6,
                        bool early = false) {
  const auto check = [&](const char* what, double is, double says) {
    const double rounding = 1e-6 * says + 1e-6;
    EXPECT_LE(is, says + rounding) << what;
    EXPECT_GE(is, (exact ? says : says / slack) - rounding) << what;
  };
  check("steps", measured.steps, formula.steps * (early ? 1.5 : 1));
  check("bytes", measured.bytes, formula.bytes);
  check("total bytes", measured.total_bytes, formula.total_bytes);
  check("reduced bytes", measured.reduced_bytes, formula.reduced_bytes);
  check("messages", measured.messages, formula.messages);
  check("total reduced bytes", measured.total_reduced_bytes, formula.total_reduced_bytes);
}

}  // namespace tasuki::test
