// Whose child is this program, and by which wire does it join? A pure function of the environment and of
// little more, so that every case can be told, tested and shown (mpiexec --info, TASUKI_EXPLAIN=1).
//
// Environments are inherited: a program that a rank starts has the rank's variables, and is no rank. Our
// mpiexec keeps other launchers' variables from its ranks. So where both are there, the other launcher is the
// nearer one.
#pragma once

#include <string>

#include "job/other_launchers.hpp"

namespace tasuki::wire {

/// What is known of one way's variables besides their values.
struct Lineage {
  bool taken = false;  // a process that this one descends from has the same ones, and has joined
  int launcher = 0;    // the nearest ancestor that does not have them; 0: unknown
  int steps = 0;       // up to it
};

struct WireFacts {
  GetVariable get = nullptr;
  bool pmi_fd_is_open = false;  // PMI_FD is a socket of this process
  int pmi_fd_holder = 0;        // an ancestor that has it still where this process has not; 0: none
  Lineage pmi_fd;
  Lineage pmi_port;
  Lineage pmix;
};

enum class Joining : std::uint8_t { kAlone, kOwnJob, kPmiFd, kPmiPort, kPmix, kRefused };

struct WireChoice {
  Joining joining = Joining::kAlone;
  std::string reason;  // of the choice, after "because"; of kRefused: what was found, expected, to be typed
  bool operator==(const WireChoice& other) const = default;
};

WireChoice choose_wire(const WireFacts& facts);

/// "a rank of another launcher's job, by PMI-1 over PMI_FD".
const char* joining_text(Joining joining);

}  // namespace tasuki::wire
