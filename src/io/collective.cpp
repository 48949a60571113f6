// Collective access: see collective.hpp.
#include "io/collective.hpp"

#include <vector>

#include "coll/coll.hpp"

namespace tasuki {

Code place_in_order(Access* access, Code code) {
  File& file = access->file;
  Comm& comm = *file.comm;
  const Offset mine = code == kSuccess ? access->etypes() : 0;
  std::vector<Offset> all(static_cast<std::size_t>(comm.size()));
  if (const Code failed = allgather_bytes(comm, &mine, all.data(), sizeof mine)) return failed;
  Offset before = 0;
  Offset total = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank) before = total;
    total += all[static_cast<std::size_t>(rank)];
  }
  Offset begin = 0;
  if (comm.rank == 0) begin = file.shared->advance(total);
  if (const Code failed = bcast_bytes(comm, &begin, sizeof begin, 0)) return failed;
  access->offset = begin + before;
  return code;
}

Code transfer_collectively(const Access& access, Status* status) {
  return transfer(access, status);
}

}  // namespace tasuki
