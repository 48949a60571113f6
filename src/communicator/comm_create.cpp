// Making communicators (MPI 7.4.2).
//
// Each call needs one exchange among the members. In it every process offers a context of its own; the new
// communicator takes the one of its first member. A process that finds its own arguments wrong takes part in
// the exchange, so that the others get their answer.
#include "communicator/comm_create.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "object/group.hpp"
#include "object/objects.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/remote_job.hpp"

namespace tasuki {
namespace {

Code refuse_inter(Process& process, const Comm& comm) {
  if (!comm.is_inter()) return kSuccess;
  return process.fail(kErrComm, "comm is an intercommunicator, expected an intracommunicator");
}

/// What a process brings to comm_create and comm_create_group.
struct GroupShare {
  Context context;
  std::uint64_t fingerprint;  // 0: its group is not valid
};

Code refuse_different_groups(Process& process, int rank) {
  return process.fail(
      kErrGroup, "group is not the same on rank %d of comm, expected one group on all its members", rank);
}

/// Copies what a duplicate takes from its original but for the context (MPI 7.4.2).
Code make_duplicate(Process& process, Comm& comm, const Info* info, Comm** newcomm) {
  Comm* made = comm.is_inter() ? make_intercomm(comm, 0, 0, comm.group, comm.remote_group)
                               : make_comm(comm, 0, comm.group);
  made->topology = comm.topology;
  take_hints(*made, info);
  *newcomm = made;
  const Code code = copy_attributes(process, &comm, comm.attributes, &made->attributes);
  if (code != kSuccess) delete_attributes(process, made, &made->attributes);
  return code;
}

/// Gives `made`, a duplicate of `comm`, its context. The exchange keeps `made` alive until it is over.
Request* start_exchange_of_contexts(Comm& comm, Comm& made) {
  const Context offer = comm.rank == 0 ? make_context(comm.process) : 0;
  const Ref<Comm> alive = Ref<Comm>::share(&made);
  if (!comm.is_inter()) {
    made.context = offer;
    return start_bcast_bytes(comm, &made.context, sizeof made.context, 0,
                             [alive] { tell(*alive, Event::kCommCreated); });
  }
  auto offers = std::make_shared<std::array<Context, 2>>();
  offers->front() = offer;
  return start_exchange_of_leaders(comm, offers->data(), sizeof offer, [alive, offers] {
    set_inter_contexts(*alive, offers->front(), offers->back());
  });
}

Code start_duplicate(Process& process, Comm* comm, Info* info, Comm** newcomm, Request** request) {
  Comm* made = nullptr;
  const Code code = make_duplicate(process, *comm, info, &made);
  Request* exchange = start_exchange_of_contexts(*comm, *made);
  if (code != kSuccess) {
    release(exchange);
    release(made);
    return code;
  }
  *newcomm = made;
  *request = exchange;
  return kSuccess;
}

/// One way of agreeing among the members of a group, from the first one down a binomial tree. Ranks are those
/// of the group; `ranks` are theirs in `comm`.
Code pass_down(Comm& comm, const std::vector<int>& ranks, int rank, int tag, GroupShare* share) {
  Process& process = comm.process;
  Datatype& byte = *predefined_object<Datatype>(*process.objects, kMpiByte);
  const int size = static_cast<int>(ranks.size());
  const auto rank_of = [&ranks](int member) { return ranks[static_cast<std::size_t>(member)]; };
  int distance = 1;  // to the parent, which differs from this rank in its lowest set bit
  while (distance < size && (rank & distance) == 0) distance <<= 1;
  if (rank != 0) {
    const Code code = receive_message(share, sizeof *share, byte, rank_of(rank - distance), tag, comm,
                                      Plane::kCreation, nullptr);
    if (code != kSuccess) return code;
  }
  while ((distance >>= 1) > 0) {
    if (rank + distance >= size) continue;
    const Code code =
        send_message(share, sizeof *share, byte, rank_of(rank + distance), tag, comm, Plane::kCreation);
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

}  // namespace

std::uint64_t group_fingerprint(Process& process, const Group& group) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(group.size());
  for (const int endpoint : group.endpoints) {
    const ProcessName name = process_name(process, endpoint);
    hash = std::rotl(hash ^ static_cast<std::uint64_t>(name.rank), 23) * 0xd6e8feb86659fd93u;
    hash ^= (hash ^ name.job) >> 31;
  }
  return hash | 1;
}

Comm* make_comm(Comm& parent, Context context, Ref<Group> group) {
  Comm* made = new Comm(parent.process);
  made->context = context;
  made->rank = group->rank;
  made->group = std::move(group);
  made->errhandler = parent.errhandler;
  made->session = parent.session;
  if (context != 0) tell(*made, Event::kCommCreated);
  return made;
}

std::vector<int> members_of(const std::vector<SplitShare>& shares, std::int64_t color) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    if (shares[rank].joins != 0 && shares[rank].color == color) members.push_back(static_cast<int>(rank));
  }
  const auto place = [&shares](int rank) {
    return std::pair(shares[static_cast<std::size_t>(rank)].key, rank);
  };
  std::sort(members.begin(), members.end(), [&](int a, int b) { return place(a) < place(b); });
  return members;
}

Comm* make_split(Comm& parent, const std::vector<SplitShare>& shares) {
  const SplitShare& mine = shares[static_cast<std::size_t>(parent.rank)];
  if (mine.joins == 0) return nullptr;
  const std::vector<int> members = members_of(shares, mine.color);
  std::vector<int> endpoints;
  endpoints.reserve(members.size());
  for (const int rank : members) endpoints.push_back(parent.endpoint(rank));
  const Context context = shares[static_cast<std::size_t>(members.front())].context;
  return make_comm(parent, context, Ref<Group>(make_group(parent.process, std::move(endpoints))));
}

namespace api {

Code comm_dup(Process& process, Comm* comm, Comm** newcomm) {
  return comm_dup_with_info(process, comm, nullptr, newcomm);
}

Code comm_dup_with_info(Process& process, Comm* comm, Info* info, Comm** newcomm) {
  Request* exchange = nullptr;
  if (const Code code = start_duplicate(process, comm, info, newcomm, &exchange)) return code;
  if (const Code code = wait_and_release(exchange, nullptr)) {
    release(std::exchange(*newcomm, nullptr));
    return code;
  }
  return kSuccess;
}

Code comm_idup(Process& process, Comm* comm, Comm** newcomm, Request** request) {
  return start_duplicate(process, comm, nullptr, newcomm, request);
}

Code comm_idup_with_info(Process& process, Comm* comm, Info* info, Comm** newcomm, Request** request) {
  return start_duplicate(process, comm, info, newcomm, request);
}

Code comm_create(Process& process, Comm* comm, Group* group, Comm** newcomm) {
  if (comm->is_inter()) return create_inter(*comm, *group, newcomm);
  std::vector<int> ranks;
  const bool valid = translate_group(*group, *comm->group, &ranks);
  GroupShare mine{make_context(process), valid ? group_fingerprint(process, *group) : 0};
  std::vector<GroupShare> shares(static_cast<std::size_t>(comm->size()));
  if (const Code code = allgather_bytes(*comm, &mine, shares.data(), sizeof mine)) return code;
  *newcomm = nullptr;
  if (!valid) return process.fail(kErrGroup, "group has members that are not in comm");
  if (group->rank == kUndefined) return kSuccess;
  for (const int rank : ranks) {
    if (shares[static_cast<std::size_t>(rank)].fingerprint != mine.fingerprint)
      return refuse_different_groups(process, rank);
  }
  const Context context = shares[static_cast<std::size_t>(ranks.front())].context;
  *newcomm = make_comm(*comm, context, Ref<Group>(make_group(process, group->endpoints)));
  return kSuccess;
}

Code comm_create_group(Process& process, Comm* comm, Group* group, int tag, Comm** newcomm) {
  if (const Code code = refuse_inter(process, *comm)) return code;
  if (tag < 0 || tag > kTagMax) return process.fail(kErrTag, "tag = %d, expected 0..%d", tag, kTagMax);
  std::vector<int> ranks;
  if (!translate_group(*group, *comm->group, &ranks))
    return process.fail(kErrGroup, "group has members that are not in comm");
  *newcomm = nullptr;
  if (group->rank == kUndefined) return kSuccess;
  const std::uint64_t fingerprint = group_fingerprint(process, *group);
  GroupShare share{group->rank == 0 ? make_context(process) : 0, fingerprint};
  if (const Code code = pass_down(*comm, ranks, group->rank, tag, &share)) return code;
  if (share.fingerprint != fingerprint) return refuse_different_groups(process, ranks.front());
  *newcomm = make_comm(*comm, share.context, Ref<Group>(make_group(process, group->endpoints)));
  return kSuccess;
}

Code comm_split(Process& process, Comm* comm, int color, int key, Comm** newcomm) {
  if (comm->is_inter()) return split_inter(*comm, color, key, newcomm);
  const bool joins = color >= 0;
  const SplitShare mine{color, key, joins ? 1 : 0, make_context(process)};
  std::vector<SplitShare> shares(static_cast<std::size_t>(comm->size()));
  if (const Code code = allgather_bytes(*comm, &mine, shares.data(), sizeof mine)) return code;
  *newcomm = nullptr;
  if (!joins && color != kUndefined)
    return process.fail(kErrArg, "color = %d, expected 0 or more or MPI_UNDEFINED", color);
  *newcomm = make_split(*comm, shares);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
