// Runs a program on a simulated machine: what each of its timelines (the threads of its ranks) computes,
// sends, receives and calls of collectives, in the order in which it does so.
//
// A timeline is a list of operations, each of which starts when those that it requires are over. Its
// computing, its sends and the steps of its collectives take its one processor, in the order in which they
// start. A short message leaves when its send is through with the processor (software); a long one waits for
// its receive, and for the control messages of a rendezvous. A collective runs its own schedules
// (sim/run.hpp), each rank's from when it comes to it.
#pragma once

#include <functional>
#include <vector>

#include "sim/flow.hpp"
#include "sim/run.hpp"

namespace tasuki::sim {

struct Program {
  struct Operation {
    enum class Kind : std::uint8_t {
      kCompute,     // takes `seconds`
      kSend,        // message `number`
      kReceive,     // the same
      kCollective,  // call `number`
      kMeet,        // meeting `number`: `seconds` after the last one has come
      kJoin,        // takes no time
      kLast = kJoin
    };
    Kind kind = Kind::kJoin;
    int number = 0;
    double seconds = 0;
    std::vector<int> requires_these;  // earlier operations of the timeline
  };
  struct Message {
    int from = 0, to = 0;  // timelines
    double bytes = 0;
    bool waits_for_receive = false;  // rendezvous
  };
  /// A call of a collective: its timelines in the order of their ranks there, and what they run.
  struct Call {
    const std::vector<int>* members = nullptr;
    const Job* job = nullptr;
  };

  std::vector<int> hosts;  // of each timeline
  std::vector<std::vector<Operation>> timelines;
  std::vector<Message> messages;
  std::vector<Call> calls;
  std::vector<int> meetings;  // how many come to each
  Costs costs;
  double control_seconds = 0;  // of a rendezvous
  int messages_under_way = 0;  // of a timeline between hosts at a time, besides those of collectives; 0: all
  bool records = false;        // what each timeline did when
};

struct ProgramOutcome {
  double seconds = 0;
  Traffic traffic;
  double processor_busy_seconds = 0;
  std::vector<double> timeline_seconds, computing_seconds;  // of each timeline: its end, what it computed
  std::vector<std::vector<double>> ends;                    // of the operations of each timeline
  bool complete = false;
  std::vector<std::pair<int, int>> stuck;  // else: timelines, and the operation of each that never ends
  std::vector<Span> spans;
};

ProgramOutcome run_program(const Program& program, Flows& flows);

}  // namespace tasuki::sim
