// Intercommunicators: making others of them (MPI 7.6). intercomm_create.cpp makes the first one.
//
// An intercommunicator keeps an intracommunicator of its local group (Comm::local_comm) for what the core
// does among that group: the local phases of collectives, and the exchanges in this file. Both groups learn
// the shares of all processes of both; what follows from these, they decide alike.
#include <algorithm>
#include <utility>
#include <vector>

#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/comm_create.hpp"
#include "object/group.hpp"
#include "p2p/remote_job.hpp"

namespace tasuki {
namespace {

Code exchange_shares(Comm& comm, const SplitShare& mine, InterShares* shares) {
  shares->local.resize(static_cast<std::size_t>(comm.size()));
  shares->remote.resize(static_cast<std::size_t>(comm.remote_group->size()));
  const Code code = allgather_bytes(*comm.local_comm, &mine, shares->local.data(), sizeof mine);
  const Code remote_code = allgather_remote_bytes(comm, &mine, shares->remote.data(), sizeof mine);
  return code != kSuccess ? code : remote_code;
}

Ref<Group> subgroup(Process& process, const Group& group, const std::vector<int>& members) {
  std::vector<int> endpoints;
  endpoints.reserve(members.size());
  for (const int rank : members) endpoints.push_back(group.endpoints[static_cast<std::size_t>(rank)]);
  return Ref<Group>(make_group(process, std::move(endpoints)));
}

/// The first rank whose color differs from that of rank 0, or -1.
int first_that_differs(const std::vector<SplitShare>& shares) {
  const auto differs = [&shares](const SplitShare& share) { return share.color != shares.front().color; };
  const auto found = std::find_if(shares.begin(), shares.end(), differs);
  return found == shares.end() ? -1 : static_cast<int>(found - shares.begin());
}

/// Whether the local group comes first in a merged communicator.
bool is_first(const Comm& comm, bool high, bool remote_high) {
  if (high != remote_high) return !high;
  return process_name(comm.process, comm.group->endpoints.front()) <
         process_name(comm.process, comm.remote_group->endpoints.front());
}

Code refuse_intra(Process& process, const Comm& comm) {
  if (comm.is_inter()) return kSuccess;
  return process.fail(kErrComm, "intercomm is an intracommunicator, expected an intercommunicator");
}

}  // namespace

Comm* make_intercomm(Comm& parent, Context local_offer, Context remote_offer, Ref<Group> local,
                     Ref<Group> remote) {
  Comm* made = make_comm(parent, 0, local);
  made->remote_group = std::move(remote);
  made->local_comm = Ref<Comm>(make_comm(parent, 0, std::move(local)));
  set_inter_contexts(*made, local_offer, remote_offer);
  return made;
}

void set_inter_contexts(Comm& made, Context local_offer, Context remote_offer) {
  made.context = std::min(local_offer, remote_offer);
  made.local_comm->context = std::max(local_offer, remote_offer);
  if (made.context != 0) tell(made, Event::kCommCreated);
}

Comm* make_inter_split(Comm& parent, const InterShares& shares) {
  const SplitShare& mine = shares.local[static_cast<std::size_t>(parent.rank)];
  const std::vector<int> local = members_of(shares.local, mine.color);
  const std::vector<int> remote = members_of(shares.remote, mine.color);
  if (mine.joins == 0 || local.empty() || remote.empty()) return nullptr;
  return make_intercomm(parent, shares.local[static_cast<std::size_t>(local.front())].context,
                        shares.remote[static_cast<std::size_t>(remote.front())].context,
                        subgroup(parent.process, *parent.group, local),
                        subgroup(parent.process, *parent.remote_group, remote));
}

Code create_inter(Comm& comm, Group& group, Comm** newcomm) {
  Process& process = comm.process;
  std::vector<int> ranks;
  const bool valid = translate_group(group, *comm.group, &ranks);
  const bool joins = valid && group.rank != kUndefined;
  const auto fingerprint = static_cast<std::int64_t>(valid ? group_fingerprint(process, group) : 0);
  InterShares shares;
  const SplitShare mine{fingerprint, group.rank, joins ? 1 : 0, make_context(process)};
  if (const Code code = exchange_shares(comm, mine, &shares)) return code;
  *newcomm = nullptr;
  if (!valid) return process.fail(kErrGroup, "group has members that are not in the local group of comm");
  for (const auto* side : {&shares.local, &shares.remote}) {
    const int other = first_that_differs(*side);
    if (other < 0) continue;
    return process.fail(kErrGroup,
                        "group is not the same on rank %d of comm's %s group, expected one group on all its "
                        "members",
                        other, side == &shares.local ? "local" : "remote");
  }
  for (auto* side : {&shares.local, &shares.remote}) {
    for (SplitShare& share : *side) share.color = 0;
  }
  *newcomm = make_inter_split(comm, shares);
  return kSuccess;
}

Code split_inter(Comm& comm, int color, int key, Comm** newcomm) {
  Process& process = comm.process;
  const bool joins = color >= 0;
  InterShares shares;
  const SplitShare mine{color, key, joins ? 1 : 0, make_context(process)};
  if (const Code code = exchange_shares(comm, mine, &shares)) return code;
  *newcomm = nullptr;
  if (!joins && color != kUndefined)
    return process.fail(kErrArg, "color = %d, expected 0 or more or MPI_UNDEFINED", color);
  *newcomm = make_inter_split(comm, shares);
  return kSuccess;
}

namespace api {

Code intercomm_merge(Process& process, Comm* intercomm, bool high, Comm** newintracomm) {
  if (const Code code = refuse_intra(process, *intercomm)) return code;
  InterShares shares;
  const SplitShare mine{high ? 1 : 0, 0, 1, make_context(process)};
  if (const Code code = exchange_shares(*intercomm, mine, &shares)) return code;
  for (const auto* side : {&shares.local, &shares.remote}) {
    const int other = first_that_differs(*side);
    if (other < 0) continue;
    return process.fail(kErrArg, "high is %s on rank %d of the %s group, expected the same as on its rank 0",
                        (*side)[static_cast<std::size_t>(other)].color != 0 ? "true" : "false", other,
                        side == &shares.local ? "local" : "remote");
  }
  const bool first = is_first(*intercomm, high, shares.remote.front().color != 0);
  const Group& ahead = first ? *intercomm->group : *intercomm->remote_group;
  const Group& behind = first ? *intercomm->remote_group : *intercomm->group;
  std::vector<int> endpoints = ahead.endpoints;
  endpoints.insert(endpoints.end(), behind.endpoints.begin(), behind.endpoints.end());
  const Context context = (first ? shares.local : shares.remote).front().context;
  *newintracomm = make_comm(*intercomm, context, Ref<Group>(make_group(process, std::move(endpoints))));
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
