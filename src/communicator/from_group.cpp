// Communicators from groups alone (MPI 7.4.2, 7.6.2): no communicator is there to agree on a context over.
//
// So the members meet in a context that each of them works out for itself: a hash of the tag string and of
// the group's members, in order. There the usual calls run on a communicator that lives as long as they do.
// Creations with the same tag string and group follow each other, as the standard has it, and their messages
// arrive in order; what is early for the next one stays in the queue (Comm::recurring). Creations that differ
// in tag or group do not see each other. A hash of 62 bits is taken for unique, as contexts are between jobs.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/comm_create.hpp"
#include "object/errhandler.hpp"
#include "object/session.hpp"
#include "p2p/remote_job.hpp"

namespace tasuki {
namespace {

/// What the members of a group meet for: two meetings of one call must not be mixed up.
enum class Purpose : std::uint64_t { kIntra = 1, kInterLocal = 2, kInterLeaders = 3 };

Context meeting_context(Process& process, Purpose purpose, const char* stringtag, const Group& group) {
  std::uint64_t hash = group_fingerprint(process, group) ^ static_cast<std::uint64_t>(purpose) << 40;
  for (const char* at = stringtag; *at != '\0'; ++at) {
    hash = std::rotl(hash ^ static_cast<unsigned char>(*at), 23) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 31;
  }
  return hash & ~Context{3};  // the plane's bits
}

/// The communicator of a meeting.
Ref<Comm> meet(Process& process, Purpose purpose, const char* stringtag, Ref<Group> group,
               Errhandler* errhandler) {
  Comm* comm = new Comm(process);
  comm->context = meeting_context(process, purpose, stringtag, *group);
  comm->rank = group->rank;
  comm->recurring = true;
  comm->session = group->session;
  comm->errhandler = Ref<Errhandler>::share(errhandler);
  comm->group = std::move(group);
  return Ref<Comm>(comm);
}

/// A group that is a meeting's own: the user's may be MPI_GROUP_EMPTY or be freed.
Ref<Group> copy_of(Process& process, const Group& group) {
  Group* copy = make_group(process, group.endpoints);
  copy->session = group.session;
  return Ref<Group>(copy);
}

Code check(Process& process, const Group& group, const char* name, const Errhandler& errhandler) {
  if (const Code code = check_errhandler(process, errhandler, Kind::kComm)) return code;
  if (group.rank == kUndefined)
    return process.fail(kErrGroup, "this process is not in %s, expected a group that it is in", name);
  return kSuccess;
}

/// The group of the two leaders, in an order on which they agree, and the remote one's rank in it.
Ref<Group> leaders(Process& process, int own, int remote, int* remote_rank) {
  const ProcessName own_name = process_name(process, own);
  const ProcessName remote_name = process_name(process, remote);
  const bool first = std::pair(own_name.job, own_name.rank) < std::pair(remote_name.job, remote_name.rank);
  *remote_rank = first ? 1 : 0;
  return Ref<Group>(
      make_group(process, first ? std::vector<int>{own, remote} : std::vector<int>{remote, own}));
}

}  // namespace

namespace api {

Code comm_create_from_group(Process& process, Group* group, const char* stringtag, Info* info,
                            Errhandler* errhandler, Comm** newcomm) {
  *newcomm = nullptr;
  if (group->size() == 0) return kSuccess;
  if (const Code code = check(process, *group, "group", *errhandler)) return code;
  const Ref<Comm> meeting = meet(process, Purpose::kIntra, stringtag, copy_of(process, *group), errhandler);
  Context context = meeting->rank == 0 ? make_context(process) : 0;
  if (const Code code = bcast_bytes(*meeting, &context, sizeof context, 0)) return code;
  *newcomm = make_comm(*meeting, context, meeting->group);
  take_hints(**newcomm, info);
  return kSuccess;
}

Code intercomm_create_from_groups(Process& process, Group* local_group, int local_leader, Group* remote_group,
                                  int remote_leader, const char* stringtag, Info* info,
                                  Errhandler* errhandler, Comm** newintercomm) {
  *newintercomm = nullptr;
  if (local_group->size() == 0) return kSuccess;
  if (const Code code = check(process, *local_group, "local_group", *errhandler)) return code;
  if (local_leader < 0 || local_leader >= local_group->size())
    return process.fail(kErrRank, "local_leader = %d, expected 0..%d", local_leader, local_group->size() - 1);
  const Ref<Comm> local =
      meet(process, Purpose::kInterLocal, stringtag, copy_of(process, *local_group), errhandler);
  // The remote group counts at the leader alone. Where it is empty there is nothing to connect to.
  bool has_nobody = local->rank == local_leader && remote_group != nullptr && remote_group->size() == 0;
  if (const Code code = bcast_bytes(*local, &has_nobody, sizeof has_nobody, local_leader)) return code;
  if (has_nobody) return kSuccess;
  Ref<Comm>
      peers;  // stays null where the leader's arguments are wrong: then the whole local group hears of it
  int remote_rank = 0;
  const bool valid = remote_group != nullptr && remote_leader >= 0 && remote_leader < remote_group->size();
  if (local->rank == local_leader && valid) {
    const int own = local->endpoint(local_leader);
    const int remote = remote_group->endpoints[static_cast<std::size_t>(remote_leader)];
    peers = meet(process, Purpose::kInterLeaders, stringtag, leaders(process, own, remote, &remote_rank),
                 errhandler);
  }
  Code code = intercomm_create(process, local.get(), local_leader, peers.get(), remote_rank, 0, newintercomm);
  if (local->rank == local_leader && !valid) {
    code =
        remote_group == nullptr
            ? process.fail(kErrGroup, "remote_group = MPI_GROUP_NULL, expected a group at the local leader")
            : process.fail(kErrRank, "remote_leader = %d, expected 0..%d", remote_leader,
                           remote_group->size() - 1);
  }
  if (code == kSuccess) take_hints(**newintercomm, info);
  return code;
}

}  // namespace api
}  // namespace tasuki
