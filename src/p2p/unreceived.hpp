// Messages that came to this rank and that nobody received, for what TASUKI_CHECK=3 tells at the end.
#pragma once

#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"

namespace tasuki {

struct Comm;

struct LeftMessage {
  Context context = 0;  // of its communicator; 0: it has been freed, and
  std::string comm;     // was called so
  int source = 0;       // in the communicator
  int tag = 0;
  Count bytes = 0;
};

/// Takes in what has come and returns what no receive has taken. That is all that the peers have sent.
/// REQUIRES: all ranks have met since they sent it, as in MPI_Finalize.
std::vector<LeftMessage> left_messages(Process& process);

/// Keeps what left_messages() is to tell of a communicator whose messages go with it.
void remember_left_messages(Comm& comm);

}  // namespace tasuki
