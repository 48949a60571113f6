// A program on a simulated machine: see sim/program.hpp.
#include "sim/program.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace tasuki::sim {
namespace {

using Operation = Program::Operation;
using Message = Program::Message;

std::size_t at(int number) {
  return static_cast<std::size_t>(number);
}

/// What is known of an operation while the program runs.
struct State {
  int waits = 0;
  bool is_over = false;
  std::vector<int> after;
};

struct Half {
  int operation = -1;  // of its timeline
  bool is_there = false;
};

struct Passing {
  Half send, receive;
  bool is_under_way = false, has_arrived = false;
};

/// The messages of a timeline between hosts.
struct Sender {
  int under_way = 0;
  std::deque<std::pair<int, double>> waiting;  // messages, and the control messages' time of each
};

/// A call that has begun.
struct Running {
  std::unique_ptr<ScheduleRun> run;
  std::vector<int> operations;  // of each member, in its timeline
  int over = 0;
};

struct Meeting {
  std::vector<std::pair<int, int>> came;  // timeline and operation
};

class Player {
 public:
  Player(const Program& program, Flows& flows)
      : program_(program),
        flows_(flows),
        processors_(program.timelines.size(), flows, program.records),
        states_(program.timelines.size()),
        passing_(program.messages.size()),
        senders_(program.timelines.size()),
        running_(program.calls.size()),
        meetings_(program.meetings.size()) {
    outcome_.timeline_seconds.resize(program.timelines.size());
    outcome_.computing_seconds.resize(program.timelines.size());
    for (const auto& timeline : program.timelines) {
      std::vector<State>& states = states_[outcome_.ends.size()];
      states.resize(timeline.size());
      for (std::size_t index = 0; index < timeline.size(); ++index) {
        for (const int earlier : timeline[index].requires_these) {
          states[at(earlier)].after.push_back(static_cast<int>(index));
          ++states[index].waits;
        }
      }
      left_ += timeline.size();
      outcome_.ends.emplace_back(timeline.size(), 0.0);
    }
  }

  ProgramOutcome run() {
    begin_ = flows_.now();
    flows_.at(begin_, [this] {
      for (std::size_t timeline = 0; timeline < states_.size(); ++timeline) {
        for (std::size_t index = 0; index < states_[timeline].size(); ++index) {
          // What it requires may have ended meanwhile: only what requires nothing.
          if (program_.timelines[timeline][index].requires_these.empty())
            start(static_cast<int>(timeline), static_cast<int>(index));
        }
      }
    });
    flows_.run();
    outcome_.complete = left_ == 0;
    if (!outcome_.complete) find_stuck();
    outcome_.traffic = traffic_;
    outcome_.processor_busy_seconds = processors_.busy_seconds();
    for (const double end : outcome_.timeline_seconds) outcome_.seconds = std::max(outcome_.seconds, end);
    outcome_.spans = std::move(processors_.spans());
    return std::move(outcome_);
  }

 private:
  /// Of each timeline the first operation that has started and has not ended.
  void find_stuck() {
    for (std::size_t timeline = 0; timeline < states_.size(); ++timeline) {
      const auto& states = states_[timeline];
      const auto found = std::find_if(states.begin(), states.end(),
                                      [](const State& one) { return one.waits == 0 && !one.is_over; });
      if (found != states.end())
        outcome_.stuck.emplace_back(static_cast<int>(timeline), static_cast<int>(found - states.begin()));
    }
  }

  int host_of(int timeline) const { return program_.hosts[at(timeline)]; }

  void start(int timeline, int index) {
    const Operation& operation = program_.timelines[at(timeline)][at(index)];
    switch (operation.kind) {
      case Operation::Kind::kCompute:
        outcome_.computing_seconds[at(timeline)] += operation.seconds;
        processors_.take(timeline, operation.seconds, Span::Kind::kProgram,
                         [this, timeline, index] { over(timeline, index); });
        break;
      case Operation::Kind::kSend:
        processors_.take(timeline, program_.costs.software_seconds, Span::Kind::kSend,
                         [this, number = operation.number, index] { sent(number, index); });
        break;
      case Operation::Kind::kReceive:
        posted(operation.number, index);
        break;
      case Operation::Kind::kCollective:
        enter(timeline, index, operation.number);
        break;
      case Operation::Kind::kMeet:
        meet(timeline, index, operation.number);
        break;
      case Operation::Kind::kJoin:
        over(timeline, index);
        break;
    }
  }

  void over(int timeline, int index) {
    const double now = flows_.now() - begin_;
    outcome_.ends[at(timeline)][at(index)] = now;
    outcome_.timeline_seconds[at(timeline)] = std::max(outcome_.timeline_seconds[at(timeline)], now);
    states_[at(timeline)][at(index)].is_over = true;
    --left_;
    for (const int later : states_[at(timeline)][at(index)].after) {
      if (--states_[at(timeline)][at(later)].waits == 0) start(timeline, later);
    }
  }

  // ---- messages ----

  void sent(int number, int index) {
    const Message& message = program_.messages[at(number)];
    Passing& passing = passing_[at(number)];
    traffic_.messages += 1;
    traffic_.bytes += message.bytes;
    if (host_of(message.from) != host_of(message.to)) traffic_.network_bytes += message.bytes;
    passing.send = {index, true};
    if (!message.waits_for_receive) {
      depart(number, 0);
      over(message.from, index);
    } else if (passing.receive.is_there) {
      depart(number, program_.control_seconds);
    }
  }

  void posted(int number, int index) {
    const Message& message = program_.messages[at(number)];
    Passing& passing = passing_[at(number)];
    passing.receive = {index, true};
    if (passing.has_arrived) return over(message.to, index);
    if (message.waits_for_receive && passing.send.is_there) depart(number, program_.control_seconds);
  }

  void depart(int number, double control) {
    const Message& message = program_.messages[at(number)];
    if (host_of(message.from) != host_of(message.to) && program_.messages_under_way > 0) {
      Sender& sender = senders_[at(message.from)];
      if (sender.under_way == program_.messages_under_way) {
        sender.waiting.emplace_back(number, control);
        return;
      }
      ++sender.under_way;
    }
    const Costs& costs = program_.costs;
    const double bytes = message.bytes, begin = flows_.now();
    const auto arrived = [this, number, begin] { arrive(number, begin); };
    if (host_of(message.from) == host_of(message.to)) {
      const double rate = costs.copied_bytes_per_second;
      flows_.at(begin + (rate > 0 ? bytes / rate : 0), arrived);
    } else if (bytes == 0) {
      flows_.at(begin + control + costs.hardware_seconds, arrived);
    } else {
      flows_.at(begin + control + costs.hardware_seconds, [this, number, arrived] {
        const Message& one = program_.messages[at(number)];
        flows_.start(host_of(one.from), host_of(one.to), one.bytes, arrived);
      });
    }
  }

  void arrive(int number, double begin) {
    const Message& message = program_.messages[at(number)];
    Passing& passing = passing_[at(number)];
    processors_.note({message.from, Span::Kind::kTransfer, begin, flows_.now(), message.to});
    traffic_.received_bytes += message.bytes;
    passing.has_arrived = true;
    if (host_of(message.from) != host_of(message.to)) send_next(message.from);
    if (message.waits_for_receive) over(message.from, passing.send.operation);
    if (passing.receive.is_there) over(message.to, passing.receive.operation);
  }

  void send_next(int timeline) {
    Sender& sender = senders_[at(timeline)];
    --sender.under_way;
    if (sender.waiting.empty()) return;
    const auto [number, control] = sender.waiting.front();
    sender.waiting.pop_front();
    depart(number, control);
  }

  // ---- what several do together ----

  void enter(int timeline, int index, int number) {
    const Program::Call& call = program_.calls[at(number)];
    Running& running = running_[at(number)];
    if (running.run == nullptr) {
      running.operations.resize(call.members->size());
      running.run = std::make_unique<ScheduleRun>(*call.job, *call.members, processors_, flows_, traffic_,
                                                  [this, number](int member) { leave(number, member); });
    }
    const auto found = std::find(call.members->begin(), call.members->end(), timeline);
    const auto member = static_cast<int>(found - call.members->begin());
    running.operations[at(member)] = index;
    running.run->prepare(member);
    running.run->start(member);
  }

  void leave(int number, int member) {
    Running& running = running_[at(number)];
    const std::vector<int>& members = *program_.calls[at(number)].members;
    const int index = running.operations[at(member)];
    if (++running.over == static_cast<int>(members.size())) running = {};
    over(members[at(member)], index);
  }

  void meet(int timeline, int index, int number) {
    Meeting& meeting = meetings_[at(number)];
    meeting.came.emplace_back(timeline, index);
    if (static_cast<int>(meeting.came.size()) < program_.meetings[at(number)]) return;
    const double now = flows_.now();
    for (const auto& [other, operation] : meeting.came) {
      const double end = now + program_.timelines[at(other)][at(operation)].seconds;
      processors_.note({other, Span::Kind::kRecorded, now, end, timeline});
      flows_.at(end, [this, member = other, one = operation] { over(member, one); });
    }
  }

  const Program& program_;
  Flows& flows_;
  Processors processors_;
  std::vector<std::vector<State>> states_;
  std::vector<Passing> passing_;
  std::vector<Sender> senders_;
  std::vector<Running> running_;
  std::vector<Meeting> meetings_;
  Traffic traffic_;
  ProgramOutcome outcome_;
  double begin_ = 0;
  std::size_t left_ = 0;
};

}  // namespace

ProgramOutcome run_program(const Program& program, Flows& flows) {
  return Player(program, flows).run();
}

}  // namespace tasuki::sim
