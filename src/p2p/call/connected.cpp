// Connected processes of other jobs (MPI 11.10.4), and how MPI_Finalize waits for them.
//
// A process is connected to this one if they share a communicator, or have shared one that was freed and not
// disconnected. Disconnecting a communicator ends the connection with its processes, also where other
// communicators of the same processes were freed before: those are mostly merged ones and copies. Each
// process waits for the processes that it shares or shared a communicator with. That is enough for all
// messages; a process that is connected through a third one is waited for by that one.
//
// The launcher is told of the connected jobs whenever they change: the end of a process that fails is the end
// of all that are connected to it, and of no others.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "base/calls/outside_wait.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "object/comm.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/remote_job.hpp"

namespace tasuki {
namespace {

template <class Each>
void for_each_foreign(const Comm& comm, Each&& each) {
  for (const Group* group : {comm.group.get(), comm.remote_group.get()}) {
    if (group == nullptr) continue;
    for (const int endpoint : group->endpoints) {
      if (endpoint >= comm.process.size) each(endpoint);
    }
  }
}

std::set<int> connected_endpoints(const Process& process) {
  std::set<int> connected = process.p2p->bound;
  for (const ErrorOwner* owner : process.owners) {
    if (owner->kind != Kind::kComm) continue;
    const auto& comm = static_cast<const Comm&>(*owner);
    if (!comm.freed) for_each_foreign(comm, [&](int endpoint) { connected.insert(endpoint); });
  }
  return connected;
}

void tell(Process& process, const std::set<std::uint64_t>& jobs) {
  if (jobs == process.p2p->told) return;
  process.p2p->told = jobs;
  process.launcher.report_connections({process.directory.job_id(), process.rank, {jobs.begin(), jobs.end()}});
}

std::string rank_text(const Process& process, int endpoint) {
  return "rank " + std::to_string(process.link->name(endpoint).rank) + " of another job";
}

void tell_dead(Process& process, const std::set<int>& connected) {
  std::string first;
  int others = -1;
  for (const int endpoint : connected) {
    if (process.link->presence(endpoint) != Presence::kDied) continue;
    if (++others == 0) first = rank_text(process, endpoint);
  }
  if (others < 0) return;
  process.launcher.wait_to_be_ended();  // where it is the same one it ends this job
  const std::string more = others > 0 ? " (and " + std::to_string(others) + " more of other jobs)" : "";
  std::fprintf(stderr, "tasuki: MPI_Finalize: %s%s, to which rank %d is connected, died without calling it\n",
               first.c_str(), more.c_str(), process.rank);
}

}  // namespace

void keep_connected(const Comm& comm) {
  for_each_foreign(comm, [&comm](int endpoint) { comm.process.p2p->bound.insert(endpoint); });
}

void end_connection(const Comm& comm) {
  for_each_foreign(comm, [&comm](int endpoint) { comm.process.p2p->bound.erase(endpoint); });
}

void tell_connections(Process& process) {
  if (process.p2p == nullptr || process.link->endpoints() == process.size) return;
  std::set<std::uint64_t> jobs;
  for (const int endpoint : connected_endpoints(process)) jobs.insert(process.link->name(endpoint).job);
  tell(process, jobs);
}

void finish_with_connected(Process& process) {
  PointToPoint& p2p = *process.p2p;
  Link& link = *process.link;
  const std::set<int> connected = connected_endpoints(process);
  p2p.finishing = true;
  link.say_finishing();
  OutsideWait words(process, "");
  auto waited_for = connected.begin();
  process.progress->wait_until([&] {
    while (waited_for != connected.end() && link.presence(*waited_for) != Presence::kHere) ++waited_for;
    if (waited_for == connected.end()) return true;
    words.text = rank_text(process, *waited_for) +
                 ", to which it is connected and which has not called MPI_Finalize (nor MPI_Comm_disconnect)";
    return false;
  });
  tell_dead(process, connected);
  p2p.bound.clear();
  tell(process, {});
  p2p.finishing = false;
}

}  // namespace tasuki
