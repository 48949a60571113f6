// MPI_Comm_split_type (MPI 7.4.2): communicators of ranks that share memory or another piece of hardware, or
// belong to a process set.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/comm_create.hpp"
#include "communicator/sessions.hpp"
#include "node/hardware.hpp"
#include "p2p/remote_job.hpp"
#include "placement/node_map.hpp"

namespace tasuki {
namespace {

/// The split types, in the core's numbers.
enum SplitType : int {
  kTypeShared = 221,
  kTypeHwUnguided = 222,
  kTypeHwGuided = 223,
  kTypeResourceGuided = 224,
};

constexpr const char* kResourceKey = "mpi_hw_resource_type";
constexpr const char* kSetKey = "mpi_pset_name";
constexpr std::string_view kSharedMemory = "mpi_shared_memory";

/// What a rank asks for, and where it is.
struct PlaceShare {
  SplitShare split;
  std::uint64_t machine;
  HardwarePlace place;
  std::int32_t unguided;  // 1: the level is to be chosen from the places of all
};

/// Joins the ranks of one node, by a number of 63 bits.
void join_machine(PlaceShare* share) {
  share->split.joins = 1;
  share->split.color = static_cast<std::int64_t>(share->machine >> 1);
}

/// The ranks that run in the same instance of `level`; a rank that is not confined to one does not join.
void join_level(PlaceShare* share, int level) {
  const std::int32_t instance = share->place[static_cast<std::size_t>(level)];
  if (instance < 0) return;
  join_machine(share);
  share->split.color ^= static_cast<std::int64_t>(instance + 1) << 40 ^ (level + 1);
}

/// By the resource or process set that the hint names; an unknown name makes no communicator.
void join_by_hints(PlaceShare* share, const Comm& comm, const Info* info, bool sets) {
  if (const std::string* resource = find_info(info, kResourceKey)) {
    if (*resource == kSharedMemory) return join_machine(share);
    const int level = hardware_level(*resource);
    if (level >= 0) join_level(share, level);
    return;
  }
  const std::string* set = sets ? find_info(info, kSetKey) : nullptr;
  if (set == nullptr) return;
  // Of several jobs that have met, each is a world of its own; a context is unique.
  const ProcessName own = process_name(comm.process, comm.process.rank);
  std::int64_t color = -1;
  if (is_set_name(*set, "mpi://WORLD")) color = static_cast<std::int64_t>(own.job >> 1);
  if (is_set_name(*set, "mpi://SELF")) color = static_cast<std::int64_t>(share->split.context >> 1);
  if (color >= 0) share->split = {color, share->split.key, 1, share->split.context};
}

/// The largest level that divides the ranks that ask for an unguided split, or -1: not all of them are in one
/// instance of it, and some are in one at all.
int dividing_level(const std::vector<PlaceShare>& shares) {
  for (int level = 0; level < kHardwareLevels; ++level) {
    const auto instance_of = [level](const PlaceShare& share) {
      const std::int32_t instance = share.place[static_cast<std::size_t>(level)];
      return std::pair(instance < 0 ? 0 : share.machine, instance);
    };
    const PlaceShare* first = nullptr;
    bool divides = false;
    bool confined = false;
    for (const PlaceShare& share : shares) {
      if (share.unguided == 0) continue;
      if (first == nullptr) first = &share;
      divides = divides || instance_of(share) != instance_of(*first);
      confined = confined || instance_of(share).second >= 0;
    }
    if (divides && confined) return level;
  }
  return -1;
}

/// Finishes the shares of the ranks that left the level open. Returns the level, or -1.
int join_unguided(std::vector<PlaceShare>* shares) {
  const int level = dividing_level(*shares);
  if (level < 0) return -1;
  for (PlaceShare& share : *shares) {
    if (share.unguided != 0) join_level(&share, level);
  }
  return level;
}

/// Brings together what all ask for: the local group's first, an intercommunicator's remote group behind it.
Code exchange_places(Comm& comm, const PlaceShare& mine, std::vector<PlaceShare>* shares) {
  const auto local_size = static_cast<std::size_t>(comm.size());
  shares->resize(local_size + (comm.is_inter() ? comm.remote_group->endpoints.size() : 0));
  if (!comm.is_inter()) return allgather_bytes(comm, &mine, shares->data(), sizeof mine);
  const Code code = allgather_bytes(*comm.local_comm, &mine, shares->data(), sizeof mine);
  const Code remote_code = allgather_remote_bytes(comm, &mine, shares->data() + local_size, sizeof mine);
  return code != kSuccess ? code : remote_code;
}

Comm* make_split_by_place(Comm& comm, const std::vector<PlaceShare>& shares) {
  std::vector<SplitShare> local, remote;
  for (const PlaceShare& share : shares) {
    const bool is_local = local.size() < static_cast<std::size_t>(comm.size());
    (is_local ? local : remote).push_back(share.split);
  }
  return comm.is_inter() ? make_inter_split(comm, {local, remote}) : make_split(comm, local);
}

}  // namespace

namespace api {

Code comm_split_type(Process& process, Comm* comm, int split_type, int key, Info* info, Comm** newcomm) {
  PlaceShare mine{{0, key, 0, make_context(process)}, node_number(process), {}, 0};
  if (split_type != kUndefined && split_type != kTypeShared) mine.place = hardware_place();
  const bool known =
      split_type == kUndefined || (split_type >= kTypeShared && split_type <= kTypeResourceGuided);
  if (split_type == kTypeShared) join_machine(&mine);
  if (split_type == kTypeHwGuided) join_by_hints(&mine, *comm, info, false);
  if (split_type == kTypeResourceGuided) join_by_hints(&mine, *comm, info, true);
  if (split_type == kTypeHwUnguided) mine.unguided = 1;

  std::vector<PlaceShare> shares;
  if (const Code code = exchange_places(*comm, mine, &shares)) return code;
  *newcomm = nullptr;
  if (!known)
    return process.fail(kErrArg,
                        "split_type = %d, expected MPI_COMM_TYPE_SHARED, HW_UNGUIDED, HW_GUIDED, "
                        "RESOURCE_GUIDED or MPI_UNDEFINED",
                        split_type);
  const int level = join_unguided(&shares);
  *newcomm = make_split_by_place(*comm, shares);
  if (*newcomm != nullptr && mine.unguided != 0 && info != nullptr && info->predefined == 0)
    set_info(info, kResourceKey, std::string(hardware_name(static_cast<HardwareLevel>(level))));
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
