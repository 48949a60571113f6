// PointToPoint: endpoints that come and go.
#include "p2p/remote_job.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "job/launcher.hpp"
#include "job/network.hpp"
#include "job/starter.hpp"
#include "link/waiter.hpp"
#include "node/node.hpp"
#include "p2p/partitioned/partitioned.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

/// Whether what a receive from `source` on `comm` takes may come from `endpoint`.
bool may_come_from(const Comm& comm, int source, int endpoint) {
  const std::vector<int>& peers = comm.peers().endpoints;
  if (source != kAnySource) return source >= 0 && comm.endpoint(source) == endpoint;
  return std::find(peers.begin(), peers.end(), endpoint) != peers.end();
}

/// Whether the program knows nothing of this message: a part of a collective, or of making a communicator.
bool is_librarys_own(const Request& request) {
  const Context context = request.request_type == RequestType::kSend
                              ? static_cast<const SendRequest&>(request).envelope.context
                              : static_cast<const ReceiveRequest&>(request).context;
  return (context & 3) != static_cast<Context>(Plane::kPointToPoint);
}

}  // namespace

ProcessName process_name(Process& process, int endpoint) {
  return process.link->name(endpoint);
}

namespace {

/// Opens the network, unless that has been done or tried. Returns why there is none, or nothing.
const std::string& open_network(Process& process) {
  PointToPoint& p2p = *process.p2p;
  if (process.link->has_network() || !p2p.network_trouble.empty()) return p2p.network_trouble;
  if (process.starter.add_network(process.config, &process.link, &p2p.network_trouble)) {
    p2p.network_trouble.clear();
    p2p.link = process.link.get();
    p2p.bulk_bytes_max = p2p.link->bulk_bytes_max();
    process.waiter->use(*process.link);
  } else if (process.config.explain) {
    std::fprintf(stderr, "tasuki: rank %d: no network to other jobs on other hosts: %s\n", process.rank,
                 p2p.network_trouble.c_str());
  }
  return p2p.network_trouble;
}

}  // namespace

Reach reach_of_family(const Process& process) {
  const bool hosts = process.directory.spans_hosts() || process.config.network == kNetworkFabric;
  return hosts ? Reach::kHosts : Reach::kMachine;
}

bool is_elsewhere(const Process& process, const PeerAddress& address) {
  return address.name.job != process.directory.job_id() &&
         address.place != place_of(process.directory, process.config);
}

Code own_address(Process& process, Reach reach, PeerAddress* address) {
  std::string error;
  if (reach == Reach::kHosts) open_network(process);
  const bool reached = process.link->address(address, &error);
  address->place = place_of(process.directory, process.config);
  if (reached) return kSuccess;
  return process.fail(kErrOther, "other jobs cannot reach this process: %s", error.c_str());
}

Code join_endpoint(Process& process, const PeerAddress& address, int* endpoint) {
  std::string error;
  if (is_elsewhere(process, address)) error = open_network(process);
  if (!error.empty())
    return process.fail(kErrOther, "rank %d of another job is on another host, and there is no network: %s",
                        address.name.rank, error.c_str());
  *endpoint = process.link->join(address, &error);
  if (*endpoint < 0) return process.fail(kErrOther, "%s", error.c_str());
  process.p2p->peer_joined(*endpoint);
  return kSuccess;
}

void PointToPoint::peer_joined(int) {
  peers.grow(static_cast<std::size_t>(link->endpoints()));
  if (link->endpoints_alive() > process.node.processors_available()) {
    process.progress->set_spin_count(0);
  }
}

/// What was to go to it is dropped: no process is there to take it. What is to come from it never comes, so
/// this process would wait for ever; where it does wait, the job ends instead.
void PointToPoint::peer_ended(int endpoint, bool finalized) {
  if (link->endpoints_alive() <= process.node.processors_available()) {
    process.progress->set_spin_count(process.config.spin_count);
  }
  Peer& gone = peer(endpoint);
  if (gone.waiting != nullptr) gone.waiting->answers.clear();
  while (!gone.messages.empty()) complete(*gone.messages.pop());
  while (!gone.streams.empty()) complete(*gone.streams.pop());
  if (finalized ? waits_in_vain(endpoint) : has_open_with(endpoint)) end_forsaken(endpoint, finalized);
}

void PointToPoint::peer_finishing(int endpoint) {
  if (waits_in_vain(endpoint)) end_forsaken(endpoint, true);
}

void PointToPoint::end_forsaken(int endpoint, bool finalized) {
  if (finishing) return;  // so does this one: no call waits for what is still open
  const ProcessName name = link->name(endpoint);
  const std::string why = finalized ? "" : link->trouble(endpoint);
  if (!finalized) process.launcher.wait_to_be_ended();  // it may be of this job: spawned
  process.launcher.abort(1, "rank " + std::to_string(process.rank) + " waits for rank " +
                                std::to_string(name.rank) + " of another job, which has " +
                                (finalized ? "called MPI_Finalize" : "died") +
                                (why.empty() ? "" : ": " + why));
}

/// Whether anything is open that the death of `endpoint` may have left without its other end.
bool PointToPoint::has_open_with(int endpoint) {
  bool found = false;
  sends.for_each([&](const SendRequest& send) {
    found = found || (send.active && !send.done && send.dest >= 0 && send.endpoint == endpoint);
  });
  receives.for_each([&](const ReceiveRequest& receive) {
    if (!receive.active || receive.done) return;
    const bool matched = receive.queue == nullptr && receive.source != kProcNull;
    found = found ||
            (matched ? receive.endpoint == endpoint : may_come_from(*receive.comm, receive.source, endpoint));
  });
  const auto look = [&](const PartitionedRequest& request) {
    found = found || (request.active && !request.done && request.endpoint == endpoint);
  };
  partitioned->sends.for_each(look);
  partitioned->receives.for_each(look);
  return found;
}

/// Whether a call waits for `endpoint`, which sends and receives nothing more of its own accord. What is open
/// beside that may be cancelled yet. What is matched goes on: the other end has waited for its part.
bool PointToPoint::waits_in_vain(int endpoint) {
  bool found = false;
  const auto is_waited_for = [this](const Request& request) {
    return (request.comm && is_librarys_own(request)) || is_needed(request);
  };
  sends.for_each([&](const SendRequest& send) {
    const bool open = send.active && !send.done && send.dest >= 0 && send.endpoint == endpoint;
    found = found || (open && is_waited_for(send));
  });
  receives.for_each([&](const ReceiveRequest& receive) {
    if (found || !receive.active || receive.done || receive.queue == nullptr) return;
    found = may_come_from(*receive.comm, receive.source, endpoint) &&
            is_forsaken(*receive.comm, receive.source) && is_waited_for(receive);
  });
  const auto look = [&](const PartitionedRequest& request) {
    found = found || (request.active && !request.done && request.endpoint == endpoint && is_needed(request));
  };
  partitioned->sends.for_each(look);
  partitioned->receives.for_each(look);
  return found;
}

/// Whether a request of the program's stays open for ever unless it is cancelled.
bool PointToPoint::is_vain(const Request& request) const {
  switch (request.request_type) {
    case RequestType::kReceive: {
      const auto& receive = static_cast<const ReceiveRequest&>(request);
      return !receive.done && receive.queue != nullptr && is_forsaken(*receive.comm, receive.source);
    }
    case RequestType::kSend: {
      const auto& send = static_cast<const SendRequest&>(request);
      return !send.done && send.dest >= 0 && link->is_silent(send.endpoint);
    }
    case RequestType::kSendReceive: {
      const auto& pair = static_cast<const SendReceiveRequest&>(request);
      return is_vain(*pair.send) || is_vain(*pair.receive);
    }
    default:
      return false;
  }
}

/// Whether a wait for any one of several requests has one that may still end it, or none that is active.
bool PointToPoint::may_end(const Awaiting& wait) const {
  bool any_active = false;
  for (Count i = 0; i < wait.count; ++i) {
    const Request* request = wait.requests[i];
    if (request == nullptr || !request->active) continue;
    if (!is_vain(*request)) return true;
    any_active = true;
  }
  return !any_active;
}

bool PointToPoint::is_needed(const Request& request) const {
  for (const Awaiting* wait = awaiting; wait != nullptr; wait = wait->next) {
    if (wait->how == Awaits::kAll && wait->selects(request)) return true;
    if (wait->how != Awaits::kAll && wait->count > 1 && may_end(*wait)) continue;
    const auto is_it = [&request](const Request* awaited) {
      if (awaited == nullptr || awaited == &request) return awaited != nullptr;
      if (awaited->request_type == RequestType::kFlush)
        return static_cast<const FlushRequest&>(*awaited).waits_for(request);
      if (awaited->request_type != RequestType::kSendReceive) return false;
      const auto& pair = static_cast<const SendReceiveRequest&>(*awaited);
      return pair.send.get() == &request || pair.receive.get() == &request;
    };
    if (std::any_of(wait->requests, wait->requests + wait->count, is_it)) return true;
  }
  return false;
}

bool PointToPoint::is_forsaken(const Comm& comm, int source) const {
  if (link->endpoints() == process.size) return false;
  const auto is_silent = [this](int endpoint) { return link->is_silent(endpoint); };
  if (source >= 0) return is_silent(comm.endpoint(source));
  const std::vector<int>& others = comm.peers().endpoints;
  return source == kAnySource && !others.empty() && std::all_of(others.begin(), others.end(), is_silent);
}

void PointToPoint::end_if_forsaken(const Comm& comm, int source) {
  if (!is_forsaken(comm, source)) return;
  const int endpoint = comm.endpoint(std::max(source, 0));
  end_forsaken(endpoint, link->presence(endpoint) != Presence::kDied);
}

}  // namespace tasuki
