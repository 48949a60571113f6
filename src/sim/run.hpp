// Runs the schedules of a collective, one for each rank, on a simulated machine.
//
// A transfer is made of three shares, one after the other: the sender's processor (software), the way
// (latency), and the flow. A rank's processor does one thing at a time: the software of its sends, reductions
// and copies. From one rank to another one transfer is on its way at a time. What is between ranks of one
// host takes no link: it is a copy.
//
// By rounds: as the library's executor does it (coll/run/execution.cpp), a round starts when all of the one
// before is over. By data, as it does with pipelines: each step starts when the steps of its rank are over
// whose data or room it needs (coll/schedule/dependencies.hpp).
#pragma once

#include <functional>
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
  int ranks = 1;
  int ranks_per_host = 1;
  Way way = Way::kRounds;
  Costs costs;
  Count reduced_element_bytes = 1;  // of kSendType and kReceiveType
  bool records = false;             // what each rank did when
  /// Writes the schedule of a rank.
  std::function<void(int rank, Schedule& schedule)> write;
};

/// What a rank did, from when to when: its processor, with a send or a reduction or copy; or a transfer, of
/// which it was the sender.
struct Span {
  enum class Kind : std::uint8_t { kSend, kCompute, kTransfer };
  int rank;
  Kind kind;
  double begin, end;
  int peer;  // of a transfer
};

struct Outcome {
  double seconds = 0;
  double messages = 0;
  double bytes = 0;          // that ranks sent, on all ways
  double network_bytes = 0;  // of these, between hosts
  double received_bytes = 0;
  double processor_busy_seconds = 0;  // of the rank that is busy the longest
  bool complete = false;              // all steps of all ranks were done
  std::vector<Span> spans;            // where they are recorded
};

Outcome run(const Job& job, Flows& flows);

}  // namespace tasuki::sim
