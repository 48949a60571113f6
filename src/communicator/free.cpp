// The end of a communicator for its user: MPI_Comm_free and MPI_Comm_disconnect (MPI 7.4.3, 11.10.4).
#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "object/objects.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/remote_job.hpp"
#include "p2p/waiting_call.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

Code refuse_predefined(Process& process, const Comm& comm) {
  if (comm.predefined == 0) return kSuccess;
  return process.fail(kErrComm, "comm = %s, which cannot be freed, expected one that the program made",
                      comm.predefined == kMpiCommWorld ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
}

bool is_of_comm(const Request& request, const void* comm) {
  return request.comm.get() == comm;
}

Code let_go(Process& process, Comm** comm, bool disconnect) {
  if (const Code code = refuse_predefined(process, **comm)) return code;
  if (const Code code = delete_attributes(process, *comm, &(*comm)->attributes)) return code;
  if (process.p2p != nullptr) disconnect ? end_connection(**comm) : keep_connected(**comm);
  if (*comm == process.objects->parent) process.objects->parent = nullptr;
  (*comm)->freed = true;
  release(*comm);
  *comm = nullptr;
  return kSuccess;
}

}  // namespace

namespace api {

Code comm_free(Process& process, Comm** comm) {
  return let_go(process, comm, false);
}

Code comm_disconnect(Process& process, Comm** comm) {
  if (const Code code = refuse_predefined(process, **comm)) return code;
  {
    const WaitingCall waiting(*process.p2p, is_of_comm, *comm);
    process.progress->wait_until(
        [comm] { return !has_open_operations(**comm) && !has_open_collectives(**comm); });
  }
  const Code code = let_go(process, comm, true);
  tell_connections(process);
  return code;
}

}  // namespace api
}  // namespace tasuki
