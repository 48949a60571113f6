// Messages that came to this rank and were never received: TASUKI_CHECK=3 reports them at the end.
#pragma once

#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"

namespace tasuki {

struct Comm;

struct UnreceivedMessage {
  Context context = 0;  // of its communicator; 0: it has been freed, and
  std::string comm;     // was called so
  int source = 0;       // in the communicator
  int tag = 0;
  Count bytes = 0;
};

/// Takes in what has arrived and returns the messages that no receive has taken, of all that the peers have
/// sent. REQUIRES: all ranks have met since they sent it, as in MPI_Finalize.
std::vector<UnreceivedMessage> unreceived_messages(Process& process);

/// `comm` ends, and its messages with it: keeps what unreceived_messages() is to report.
void remember_unreceived(Comm& comm);

}  // namespace tasuki
