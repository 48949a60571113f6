// The steps that all calls that make a communicator share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// A new communicator of these processes, with `parent`'s error handler. The caller owns the reference.
Comm* make_comm(Comm& parent, Context context, Ref<Group> group);

/// A process's share in the exchange that splits a communicator.
struct SplitShare {
  std::int64_t color;
  std::int32_t key;
  std::int32_t joins;  // 0: asks for MPI_COMM_NULL
  Context context;     // that the new communicator takes if this process is its first member
};

/// The ranks of those that join with that color, in the order of (key, rank). `shares` are by rank.
std::vector<int> members_of(const std::vector<SplitShare>& shares, std::int64_t color);

/// The communicator of those whose color is this process's, in the order of (key, rank in `parent`), or null
/// if it does not join. `shares` are by rank in `parent`.
Comm* make_split(Comm& parent, const std::vector<SplitShare>& shares);

/// A new intercommunicator between two groups that have no process in common. The offers are contexts that no
/// other communicator has, one made by each group. The smaller one is the intercommunicator's; the other one
/// serves either group for its local communicator: disjoint groups cannot mix them up.
Comm* make_intercomm(Comm& parent, Context local_offer, Context remote_offer, Ref<Group> local,
                     Ref<Group> remote);

/// Gives `made`, whose contexts are open yet, those that follow from the offers.
void set_inter_contexts(Comm& made, Context local_offer, Context remote_offer);

/// What all processes of both groups of an intercommunicator bring to a call that splits it, by rank.
struct InterShares {
  std::vector<SplitShare> local;
  std::vector<SplitShare> remote;
};

/// The intercommunicator of those with this process's color, each side in the order of (key, rank), or null:
/// this process does not join, or the color has no rank on one of the two sides.
Comm* make_inter_split(Comm& parent, const InterShares& shares);

/// MPI_Comm_create and MPI_Comm_split on an intercommunicator.
Code create_inter(Comm& comm, Group& group, Comm** newcomm);
Code split_inter(Comm& comm, int color, int key, Comm** newcomm);

/// A number that two groups share only if they have the same members in the same order (but for chance),
/// whichever process asks. Never 0.
std::uint64_t group_fingerprint(Process& process, const Group& group);

}  // namespace tasuki
