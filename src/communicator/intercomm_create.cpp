// MPI_Intercomm_create: two groups that may know nothing of each other meet through their leaders
// (MPI 7.6.2).
//
// First the leaders tell each other the names of their groups' members. Where all belong to one job, a name
// is all that it takes to send. Otherwise each process says where it is reached, the leaders swap these
// addresses too, and each process gets to know all on the other side; both groups agree whether that
// worked. Where some are on different hosts, and not all have a network, these addresses were of no use: all
// open it, and swap addresses again.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/predefined.hpp"
#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/comm_create.hpp"
#include "job/launcher.hpp"
#include "object/objects.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/remote_job.hpp"

namespace tasuki {
namespace {

/// What the leaders tell each other and their groups.
struct Introduction {
  Context offers[2];     // of the own group and of the remote one
  std::int32_t size;     // of the remote group; 0: there is none, the leader's arguments are wrong
  std::int32_t foreign;  // not all processes of the two groups are of one job
};

template <class T>
Count bytes_of(const std::vector<T>& values) {
  return static_cast<Count>(values.size() * sizeof(T));
}

class Meeting {
 public:
  Meeting(Comm& local_comm, int local_leader, Comm* peer_comm, int remote_leader, int tag)
      : local_(local_comm),
        process_(local_comm.process),
        leader_(local_leader),
        peer_(peer_comm),
        remote_leader_(remote_leader),
        tag_(tag) {}

  /// The two groups' contexts and the remote group's endpoints.
  Code run(Introduction* met, std::vector<int>* endpoints) {
    std::vector<ProcessName> names;
    Code own = kSuccess;
    if (leads()) {
      own = check_leader();
      if (own == kSuccess) own = introduce(met, &names);
      if (own != kSuccess) met->size = 0;
    }
    if (const Code code = bcast_bytes(local_, met, sizeof *met, leader_)) return code;
    if (own != kSuccess) return own;
    if (met->size == 0) {
      return process_.fail(
          kErrComm, "the local leader, rank %d of local_comm, could not reach the remote one", leader_);
    }
    check_size(*met, local_.endpoint(leader_));
    if (met->foreign != 0) return meet_foreign(*met, endpoints);
    names.resize(static_cast<std::size_t>(met->size));
    if (const Code code = bcast_bytes(local_, names.data(), bytes_of(names), leader_)) return code;
    for (const ProcessName& name : names) {
      if (name.rank < 0 || name.rank >= process_.size)
        process_.launcher.end_damaged(local_.endpoint(leader_), "the members of a group");
      endpoints->push_back(name.rank);
    }
    return kSuccess;
  }

 private:
  bool leads() const { return local_.rank == leader_; }

  void check_size(const Introduction& met, int endpoint) const {
    constexpr std::int32_t kMembersMax = 1 << 22;
    if (met.size <= 0 || met.size > kMembersMax)
      process_.launcher.end_damaged(endpoint, "the size of a group");
  }

  Code check_leader() {
    if (peer_ == nullptr) {
      return process_.fail(kErrComm,
                           "peer_comm = MPI_COMM_NULL, expected a communicator at the local leader");
    }
    const int peers = peer_->peers().size();
    if (remote_leader_ < 0 || remote_leader_ >= peers)
      return process_.fail(kErrRank, "remote_leader = %d, expected 0..%d", remote_leader_, peers - 1);
    if (tag_ < 0 || tag_ > kTagMax) return process_.fail(kErrTag, "tag = %d, expected 0..%d", tag_, kTagMax);
    const std::vector<int>& locals = local_.group->endpoints;
    if (std::find(locals.begin(), locals.end(), peer_->endpoint(remote_leader_)) != locals.end())
      return process_.fail(kErrRank, "remote_leader = %d, which is in local_comm, expected another process",
                           remote_leader_);
    return kSuccess;
  }

  /// One message of the leaders over and one back.
  Code swap(const void* out, Count out_bytes, void* in, Count in_bytes) {
    Datatype& byte = *predefined_object<Datatype>(*process_.objects, kMpiByte);
    Request* coming = start_receive(in, in_bytes, byte, remote_leader_, tag_, *peer_, Plane::kCreation);
    const Code sent = send_message(out, out_bytes, byte, remote_leader_, tag_, *peer_, Plane::kCreation);
    const Code received = wait_and_release(coming, nullptr);
    return sent != kSuccess ? sent : received;
  }

  /// The leaders' part: their groups' contexts, sizes and names.
  Code introduce(Introduction* remote, std::vector<ProcessName>* names) {
    const Introduction mine{{make_context(process_), 0}, local_.size(), 0};
    if (const Code code = swap(&mine, sizeof mine, remote, sizeof *remote)) return code;
    check_size(*remote, peer_->endpoint(remote_leader_));
    std::swap(remote->offers[0], remote->offers[1]);
    remote->offers[0] = mine.offers[0];
    std::vector<ProcessName> own;
    for (const int endpoint : local_.group->endpoints) own.push_back(process_name(process_, endpoint));
    names->resize(static_cast<std::size_t>(remote->size));
    if (const Code code = swap(own.data(), bytes_of(own), names->data(), bytes_of(*names))) return code;
    const auto elsewhere = [&own](const ProcessName& name) { return name.job != own.front().job; };
    remote->foreign = std::any_of(own.begin(), own.end(), elsewhere) ||
                      std::any_of(names->begin(), names->end(), elsewhere);
    return kSuccess;
  }

  /// The addresses of the members of both groups. `code`: of the own one.
  Code swap_addresses(Reach reach, std::vector<PeerAddress>* own, std::vector<PeerAddress>* remote,
                      Code* code) {
    PeerAddress mine{};
    *code = own_address(process_, reach, &mine);
    if (const Code failed = allgather_bytes(local_, &mine, own->data(), sizeof mine)) return failed;
    if (leads()) {
      if (const Code failed = swap(own->data(), bytes_of(*own), remote->data(), bytes_of(*remote)))
        return failed;
    }
    return bcast_bytes(local_, remote->data(), bytes_of(*remote), leader_);
  }

  Code meet_foreign(const Introduction& met, std::vector<int>* endpoints) {
    std::vector<PeerAddress> own(static_cast<std::size_t>(local_.size()));
    std::vector<PeerAddress> remote(static_cast<std::size_t>(met.size));
    Code code = kSuccess;
    const Reach reach = reach_of_family(process_);
    if (const Code failed = swap_addresses(reach, &own, &remote, &code)) return failed;
    const auto differs = [&own](const PeerAddress& one) { return one.place != own.front().place; };
    const bool apart =
        std::any_of(own.begin(), own.end(), differs) || std::any_of(remote.begin(), remote.end(), differs);
    if (apart) {
      if (const Code failed = swap_addresses(Reach::kHosts, &own, &remote, &code)) return failed;
    }
    endpoints->assign(remote.size(), -1);
    for (std::size_t rank = 0; rank < remote.size() && code == kSuccess; ++rank)
      code = join_endpoint(process_, remote[rank], &(*endpoints)[rank]);
    return agree(code);
  }

  /// Success only if all processes of both groups bring it.
  Code agree(Code mine) {
    const std::int32_t failed = mine != kSuccess ? 1 : 0;
    std::vector<std::int32_t> all(static_cast<std::size_t>(local_.size()));
    if (const Code code = allgather_bytes(local_, &failed, all.data(), sizeof failed)) return code;
    const auto found = std::find(all.begin(), all.end(), 1);
    const std::int32_t here = found != all.end() ? 1 : 0;
    std::int32_t there = 0;
    if (leads()) {
      if (const Code code = swap(&here, sizeof here, &there, sizeof there)) return code;
    }
    if (const Code code = bcast_bytes(local_, &there, sizeof there, leader_)) return code;
    if (mine != kSuccess) return mine;
    if (here != 0) {
      return process_.fail(kErrOther, "rank %d of the local group cannot reach all of the remote group",
                           static_cast<int>(found - all.begin()));
    }
    if (there == 0) return kSuccess;
    return process_.fail(kErrOther, "some process of the remote group cannot reach all of this one");
  }

  Comm& local_;
  Process& process_;
  int leader_;
  Comm* peer_;  // of the leader, else anything
  int remote_leader_;
  int tag_;
};

bool have_common_member(const std::vector<int>& a, const std::vector<int>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

namespace api {

Code intercomm_create(Process& process, Comm* local_comm, int local_leader, Comm* peer_comm,
                      int remote_leader, int tag, Comm** newintercomm) {
  if (local_comm->is_inter())
    return process.fail(kErrComm, "local_comm is an intercommunicator, expected an intracommunicator");
  if (local_leader < 0 || local_leader >= local_comm->size())
    return process.fail(kErrRank, "local_leader = %d, expected 0..%d", local_leader, local_comm->size() - 1);
  Introduction met{{0, 0}, 0, 0};
  std::vector<int> endpoints;
  Meeting meeting(*local_comm, local_leader, peer_comm, remote_leader, tag);
  if (const Code code = meeting.run(&met, &endpoints)) return code;
  if (have_common_member(local_comm->group->endpoints, endpoints))
    return process.fail(kErrComm, "local_comm and the remote group have a process in common, expected none");
  Ref<Group> remote(make_group(process, std::move(endpoints)));
  *newintercomm =
      make_intercomm(*local_comm, met.offers[0], met.offers[1], local_comm->group, std::move(remote));
  tell_connections(process);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
