// The user's calls that make and end communicators, give them topologies (MPI chapters 7 and 8), and those on
// sessions (MPI 11.3). The rules of these signatures are in bindgen/README.md.
//
// A collective call in which one rank finds its own arguments wrong fails on that rank, takes part in the
// exchange all the same, so no other rank hangs. Freeing MPI_COMM_WORLD and MPI_COMM_SELF is an error.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"
#include "object/session.hpp"

namespace tasuki {
struct Request;
}  // namespace tasuki

namespace tasuki::api {

// Communicators: making and ending (MPI 7.4.2, 7.4.3, 11.10.4). Hints are not inherited (MPI 7.4.2); error
// handlers are.
Code comm_dup(Process& process, Comm* comm, Comm** newcomm);
Code comm_dup_with_info(Process& process, Comm* comm, Info* info, Comm** newcomm);
/// The new communicator may not be used, nor freed, before the request is done.
Code comm_idup(Process& process, Comm* comm, Comm** newcomm, Request** request);
Code comm_idup_with_info(Process& process, Comm* comm, Info* info, Comm** newcomm, Request** request);
/// kErrGroup on every member when the members passed different groups.
Code comm_create(Process& process, Comm* comm, Group* group, Comm** newcomm);
Code comm_create_group(Process& process, Comm* comm, Group* group, int tag, Comm** newcomm);
Code comm_split(Process& process, Comm* comm, int color, int key, Comm** newcomm);
/// Collective over `local_comm` and over the remote one; `peer_comm`, `remote_leader` and `tag` count at the
/// leader. kErrComm on all: the groups have a process in common, or a leader's arguments are wrong.
Code intercomm_create(Process& process, Comm* local_comm, int local_leader, Comm* peer_comm,
                      int remote_leader, int tag, Comm** newintercomm);
/// kErrArg on all: the members of a group passed different `high`. Where both passed the same, the group with
/// the leader that has the smaller number in the job comes first.
Code intercomm_merge(Process& process, Comm* intercomm, bool high, Comm** newintracomm);
/// `info` may be changed: MPI_COMM_TYPE_HW_UNGUIDED sets the key mpi_hw_resource_type in it. The values of
/// that key are "mpi_shared_memory" and the names in node/hardware.hpp; those of mpi_pset_name
/// "mpi://WORLD" and "mpi://SELF".
Code comm_split_type(Process& process, Comm* comm, int split_type, int key, Info* info, Comm** newcomm);
/// A failing attribute callback leaves the communicator alive. Pending operations end normally.
Code comm_free(Process& process, Comm** comm);
/// Like comm_free, but first waits for the operations that are under way on this rank.
Code comm_disconnect(Process& process, Comm** comm);

// Communicators from groups alone (MPI 7.4.2, 7.6.2). Collective over the group, or the two groups; calls
// with other groups or another tag string do not disturb each other. `errhandler` becomes the communicator's
// and hears of the call's errors. An empty group gives MPI_COMM_NULL. kErrGroup: this process is not in it.
Code comm_create_from_group(Process& process, Group* group, const char* stringtag, Info* info,
                            Errhandler* errhandler, Comm** newcomm);
/// `remote_group` (may be null elsewhere) and `remote_leader` count at the local leader.
Code intercomm_create_from_groups(Process& process, Group* local_group, int local_leader, Group* remote_group,
                                  int remote_leader, const char* stringtag, Info* info,
                                  Errhandler* errhandler, Comm** newintercomm);

// Sessions (MPI 11.3). MPI_Session_init and _finalize are the binding's. The process sets are mpi://WORLD,
// mpi://SELF and mpix://SHARED; kErrArg: another name, or n beyond them. Infos are new ones.
Code session_get_info(Process& process, Session* session, Info** info_used);
Code session_get_num_psets(Process& process, Session* session, Info* info, int* npset_names);
Code session_get_nth_pset(Process& process, Session* session, Info* info, int n, std::string* pset_name);
Code session_get_pset_info(Process& process, Session* session, const char* pset_name, Info** info);
Code group_from_session_pset(Process& process, Session* session, const char* pset_name, Group** newgroup);

Code session_set_errhandler(Process& process, Session* session, Errhandler* errhandler);
Code session_get_errhandler(Process& process, Session* session, Errhandler** errhandler);
Code session_call_errhandler(Process& process, Session* session, int errorcode);

// Virtual topologies (MPI 8). kErrTopology: the communicator has none, or one of another kind. The calls that
// make a communicator fail on every rank when one passes wrong arguments, or other ones than the rest. A rank
// that has no place in a grid or graph gets MPI_COMM_NULL.

/// dims: ndims values, 0 where the call is to choose. What it chooses does not ascend, and is "as close to
/// each other as possible" (MPI 8.5.2) in this sense: the difference of the largest and the smallest is
/// least; of those the grid whose surface is least, the sum over all chosen dimensions of the product of the
/// others (21 x 16 x 15, not 20 x 18 x 14); of those the one whose largest is least, then whose second is,
/// and so on.
Code dims_create(Process& process, int nnodes, int ndims, int* dims);
Code topo_test(Process& process, Comm* comm, int* status);

// Grids (MPI 8.5.1, 8.5.5 to 8.5.7). periods and remain_dims are logicals, one for each dimension. ndims = 0
// is a grid of one process.
Code cart_create(Process& process, Comm* comm_old, int ndims, const int* dims, const int* periods,
                 bool reorder, Comm** comm_cart);
Code cartdim_get(Process& process, Comm* comm, int* ndims);
Code cart_get(Process& process, Comm* comm, int maxdims, int* dims, int* periods, int* coords);
/// Coordinates of periodic dimensions are taken modulo their size; others beyond the grid are kErrArg.
Code cart_rank(Process& process, Comm* comm, const int* coords, int* rank);
Code cart_coords(Process& process, Comm* comm, int rank, int maxdims, int* coords);
Code cart_shift(Process& process, Comm* comm, int direction, int disp, int* rank_source, int* rank_dest);
Code cart_sub(Process& process, Comm* comm, const int* remain_dims, Comm** newcomm);
Code cart_map(Process& process, Comm* comm, int ndims, const int* dims, const int* periods, int* newrank);

// Graphs (MPI 8.5.3, 8.5.5, 8.5.8).
Code graph_create(Process& process, Comm* comm_old, int nnodes, const int* indx, const int* edges,
                  bool reorder, Comm** comm_graph);
Code graphdims_get(Process& process, Comm* comm, int* nnodes, int* nedges);
Code graph_get(Process& process, Comm* comm, int maxindex, int maxedges, int* indx, int* edges);
Code graph_neighbors_count(Process& process, Comm* comm, int rank, int* nneighbors);
Code graph_neighbors(Process& process, Comm* comm, int rank, int maxneighbors, int* neighbors);
Code graph_map(Process& process, Comm* comm, int nnodes, const int* indx, const int* edges, int* newrank);

// Distributed graphs (MPI 8.5.4, 8.5.5). Weights: kUnweighted on all ranks or on none; kWeightsEmpty or null
// where there are no edges. Duplicate edges stay, in the order in which they were given: by the rank that
// gave them, then by their place in its arrays. `info` has no hints that are known.
Code dist_graph_create(Process& process, Comm* comm_old, int n, const int* sources, const int* degrees,
                       const int* destinations, const int* weights, Info* info, bool reorder,
                       Comm** comm_dist_graph);
Code dist_graph_create_adjacent(Process& process, Comm* comm_old, int indegree, const int* sources,
                                const int* sourceweights, int outdegree, const int* destinations,
                                const int* destweights, Info* info, bool reorder, Comm** comm_dist_graph);
Code dist_graph_neighbors_count(Process& process, Comm* comm, int* indegree, int* outdegree, bool* weighted);
/// Gives the first ones when the arrays are shorter. Weights of a graph without weights are left alone.
Code dist_graph_neighbors(Process& process, Comm* comm, int maxindegree, int* sources, int* sourceweights,
                          int maxoutdegree, int* destinations, int* destweights);

}  // namespace tasuki::api
