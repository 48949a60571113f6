// PointToPoint: endpoints that come and go.
#include "p2p/foreign.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "p2p/partitioned.hpp"
#include "p2p/point_to_point.hpp"
#include "runtime/bootstrap.hpp"

namespace tasuki {
namespace {

/// Whether the end of `endpoint` leaves a receive from `source` on `comm` without anybody to send it.
bool waits_for(const Comm& comm, int source, int endpoint) {
  const std::vector<int>& peers = comm.peers().endpoints;
  if (source != kAnySource) return source >= 0 && comm.endpoint(source) == endpoint;
  return std::find(peers.begin(), peers.end(), endpoint) != peers.end();
}

}  // namespace

ProcessName process_name(Process& process, int endpoint) {
  return process.transport->name(endpoint);
}

Code own_address(Process& process, PeerAddress* address) {
  std::string error;
  if (process.transport->address(address, &error)) return kSuccess;
  return process.fail(kErrOther, "other jobs cannot reach this process: %s", error.c_str());
}

Code join_endpoint(Process& process, const PeerAddress& address, int* endpoint) {
  std::string error;
  *endpoint = process.transport->join(address, &error);
  if (*endpoint < 0) return process.fail(kErrOther, "%s", error.c_str());
  process.p2p->peer_joined(*endpoint);
  return kSuccess;
}

void PointToPoint::peer_joined(int) {
  peers.resize(static_cast<std::size_t>(transport.endpoints()));
  if (transport.endpoints_alive() > process.bootstrap.processors_available()) {
    process.progress->set_spin_count(0);
  }
}

/// What was to go to it is dropped: there is nobody to take it. What is to come from it never comes, so this
/// process would wait for ever; where it does wait, the job ends instead.
void PointToPoint::peer_ended(int endpoint, bool finalized) {
  if (transport.endpoints_alive() <= process.bootstrap.processors_available()) {
    process.progress->set_spin_count(process.config.spin_count);
  }
  Peer& gone = peer(endpoint);
  gone.answers.clear();
  while (!gone.messages.empty()) complete(*gone.messages.pop());
  while (!gone.streams.empty()) complete(*gone.streams.pop());
  bool waited_for = false;
  sends.for_each([&](const SendRequest& send) {
    waited_for = waited_for || (send.active && !send.done && send.dest >= 0 && send.endpoint == endpoint);
  });
  receives.for_each([&](const ReceiveRequest& receive) {
    if (!receive.active || receive.done) return;
    const bool matched = receive.queue == nullptr && receive.source != kProcNull;
    waited_for = waited_for || (matched ? receive.endpoint == endpoint
                                        : waits_for(*receive.comm, receive.source, endpoint));
  });
  const auto look = [&](const PartitionedRequest& request) {
    waited_for = waited_for || (request.active && !request.done && request.endpoint == endpoint);
  };
  partitioned->sends.for_each(look);
  partitioned->receives.for_each(look);
  if (!waited_for) return;
  const ProcessName name = transport.name(endpoint);
  if (!finalized) process.bootstrap.leave_to_launcher();  // it may be of this job: spawned
  process.bootstrap.abort(1, "rank " + std::to_string(process.rank) + " waits for rank " +
                                 std::to_string(name.rank) + " of another job, which has " +
                                 (finalized ? "called MPI_Finalize" : "died"));
}

}  // namespace tasuki
