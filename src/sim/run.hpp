// Runs the schedules of a collective, one for each rank, on a simulated machine.
//
// A transfer begins when both of its sides are ready; where there are short messages that wait for no
// receive, when its send is. It is made of three shares, one after the other: the sender's processor
// (software), the way (latency), and the flow. A rank's processor does one thing at a time: the software of
// its sends, reductions and copies. From one rank to another one transfer is on its way at a time. What is
// between ranks of one host takes no link: it is a copy.
//
// By rounds: as the library's executor does it (coll/run/execution.cpp), a round starts when all of the one
// before is over. By data, as it does with pipelines: each step starts when the steps of its rank are over
// whose data or room it needs (coll/schedule/dependencies.hpp).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "coll/schedule/schedule.hpp"
#include "sim/flow.hpp"

namespace tasuki::sim {

enum class Way : std::uint8_t { kRounds, kData };

struct Costs {
  double software_seconds = 0;          // L_S, of the sender for each transfer
  double hardware_seconds = 0;          // L_H
  double reduced_bytes_per_second = 0;  // T_C; 0: a reduction takes no time
  double copied_bytes_per_second = 0;   // of a copy, and of transfers on a host; 0: no time
};

struct Job {
  std::vector<int> hosts;  // of each rank
  Way way = Way::kRounds;
  Costs costs;
  Count reduced_element_bytes = 1;  // of kSendType and kReceiveType
  double eager_bytes_max = -1;      // sends of up to that wait for no receive
  bool records = false;             // what each rank did when
  /// Writes the schedule of a rank.
  std::function<void(int rank, Schedule& schedule)> write;
};

/// What a rank did, from when to when: its processor, with a send, a reduction or copy, or what the program
/// computes; a transfer, of which it was the sender; or a call that takes what was recorded of it.
struct Span {
  enum class Kind : std::uint8_t { kSend, kCompute, kTransfer, kProgram, kRecorded };
  int rank;
  Kind kind;
  double begin, end;
  int peer;  // of a transfer; of what was recorded, the last rank that came; else -1
};

/// What ranks have that do things on one machine: a processor each, which does one thing at a time, and a
/// record of what they did.
class Processors {
 public:
  Processors(std::size_t ranks, Flows& flows, bool records)
      : flows_(flows), records_(records), free_at_(ranks, flows.now()), busy_(ranks, 0) {}

  /// The processor of a rank takes so long for something, after what it has begun.
  template <class Body>
  void take(int rank, double seconds, Span::Kind kind, Body&& then) {
    double& free_at = free_at_[static_cast<std::size_t>(rank)];
    free_at = std::max(free_at, flows_.now()) + seconds;
    busy_[static_cast<std::size_t>(rank)] += seconds;
    note({rank, kind, free_at - seconds, free_at, -1});
    flows_.at(free_at, std::forward<Body>(then));
  }
  void note(const Span& span) {
    if (records_ && span.end > span.begin) spans_.push_back(span);
  }
  /// Of the one that is busy the longest.
  double busy_seconds() const { return *std::max_element(busy_.begin(), busy_.end()); }
  std::vector<Span>& spans() { return spans_; }

 private:
  Flows& flows_;
  bool records_;
  std::vector<double> free_at_, busy_;
  std::vector<Span> spans_;
};

/// What was sent and received.
struct Traffic {
  double messages = 0;
  double bytes = 0;          // that ranks sent, on all ways
  double network_bytes = 0;  // of these, between hosts
  double received_bytes = 0;
};

/// One run of a job's schedules, whose ranks come when they like; it lives until all of them are over, and
/// that has been told.
class ScheduleRun {
 public:
  /// `processors`: of each rank of the job, its number among `shared`. `over` is called once for each rank.
  ScheduleRun(const Job& job, std::vector<int> processors, Processors& shared, Flows& flows, Traffic& traffic,
              std::function<void(int rank)> over);
  ~ScheduleRun();
  ScheduleRun(const ScheduleRun&) = delete;
  ScheduleRun& operator=(const ScheduleRun&) = delete;

  /// Writes the schedule of a rank, which may start then.
  void prepare(int rank);
  void start(int rank);

 private:
  class Ranks;
  std::unique_ptr<Ranks> ranks_;
};

struct Outcome {
  double seconds = 0;
  Traffic traffic;
  double processor_busy_seconds = 0;  // of the rank that is busy the longest
  bool complete = false;              // all steps of all ranks were done
  std::vector<Span> spans;            // where they are recorded
};

Outcome run(const Job& job, Flows& flows);

}  // namespace tasuki::sim
