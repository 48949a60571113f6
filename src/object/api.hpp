// The user's calls about objects: groups and communicators (MPI chapter 7), info (chapter 10), attributes
// (7.7), error handlers and error codes (9.3 to 9.5), reduction operations (6.9), and memory (9.2). The rules
// of these signatures are in ARCHITECTURE.md.
//
// A call that fails changes nothing, unless it says otherwise. A collective call in which one rank finds its
// own arguments wrong fails on that rank, takes part in the exchange all the same, and so hangs nobody.
//
// A predefined object that a call hands out (MPI_GROUP_EMPTY, MPI_ERRORS_RETURN) may be freed: its handle
// becomes NULL and nothing else happens. Freeing MPI_COMM_WORLD, MPI_COMM_SELF, MPI_INFO_ENV and predefined
// operations is an error.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"
#include "object/session.hpp"
#include "reduction/op.hpp"

namespace tasuki {
struct Datatype;
struct Request;
}  // namespace tasuki

namespace tasuki::api {

// Groups (MPI 7.3). kErrRank: not in the group, or twice in a list; kErrArg: a range that leads nowhere.
Code group_size(Process& process, Group* group, int* size);
Code group_rank(Process& process, Group* group, int* rank);
Code group_translate_ranks(Process& process, Group* group1, int n, const int* ranks1, Group* group2,
                           int* ranks2);
Code group_compare(Process& process, Group* group1, Group* group2, int* result);
Code group_union(Process& process, Group* group1, Group* group2, Group** newgroup);
Code group_intersection(Process& process, Group* group1, Group* group2, Group** newgroup);
Code group_difference(Process& process, Group* group1, Group* group2, Group** newgroup);
Code group_incl(Process& process, Group* group, int n, const int* ranks, Group** newgroup);
Code group_excl(Process& process, Group* group, int n, const int* ranks, Group** newgroup);
Code group_range_incl(Process& process, Group* group, int n, const int (*ranges)[3], Group** newgroup);
Code group_range_excl(Process& process, Group* group, int n, const int (*ranges)[3], Group** newgroup);
Code group_free(Process& process, Group** group);

// Communicators: queries (MPI 7.4.1, 7.6.1, 7.8).
Code comm_size(Process& process, Comm* comm, int* size);
Code comm_rank(Process& process, Comm* comm, int* rank);
Code comm_compare(Process& process, Comm* comm1, Comm* comm2, int* result);
Code comm_group(Process& process, Comm* comm, Group** group);
Code comm_test_inter(Process& process, Comm* comm, bool* flag);
Code comm_remote_size(Process& process, Comm* comm, int* size);
Code comm_remote_group(Process& process, Comm* comm, Group** group);
/// MPI_COMM_NULL has a name too: `comm` may be null.
Code comm_get_name(Process& process, Comm* comm, std::string* comm_name);
Code comm_set_name(Process& process, Comm* comm, const char* comm_name);
/// Always MPI_COMM_NULL: nothing here was spawned (MPI 11.8.2).
Code comm_get_parent(Process& process, Comm** parent);

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
/// that key are "mpi_shared_memory" and the names in placement/hardware.hpp; those of mpi_pset_name
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

// Communicators: hints (MPI 7.4.4). Unknown keys are ignored.
Code comm_set_info(Process& process, Comm* comm, Info* info);
Code comm_get_info(Process& process, Comm* comm, Info** info_used);

// Attributes (MPI 7.7). kErrKeyval: not a valid key of this kind of object, or one that cannot be set;
// an error code that a callback returned comes back as the call's error class.
Code comm_create_keyval(Process& process, AnyFunction comm_copy_attr_fn, bool duplicate,
                        AnyFunction comm_delete_attr_fn, int* comm_keyval, void* extra_state);
Code comm_free_keyval(Process& process, int* comm_keyval);
Code comm_set_attr(Process& process, Comm* comm, int comm_keyval, void* attribute_val);
Code comm_get_attr(Process& process, Comm* comm, int comm_keyval, void** attribute_val, bool* flag);
Code comm_delete_attr(Process& process, Comm* comm, int comm_keyval);
Code type_create_keyval(Process& process, AnyFunction type_copy_attr_fn, bool duplicate,
                        AnyFunction type_delete_attr_fn, int* type_keyval, void* extra_state);
Code type_free_keyval(Process& process, int* type_keyval);
Code type_set_attr(Process& process, Datatype* datatype, int type_keyval, void* attribute_val);
Code type_get_attr(Process& process, Datatype* datatype, int type_keyval, void** attribute_val, bool* flag);
Code type_delete_attr(Process& process, Datatype* datatype, int type_keyval);
Code win_create_keyval(Process& process, AnyFunction win_copy_attr_fn, bool duplicate,
                       AnyFunction win_delete_attr_fn, int* win_keyval, void* extra_state);
Code win_free_keyval(Process& process, int* win_keyval);

// Info (MPI 10). kErrInfoKey, kErrInfoValue: empty or too long; kErrInfoNokey: not there; kErrArg: n.
Code info_create(Process& process, Info** info);
Code info_create_env(Process& process, int argc, char** argv, Info** info);
Code info_dup(Process& process, Info* info, Info** newinfo);
Code info_free(Process& process, Info** info);
Code info_set(Process& process, Info* info, const char* key, const char* value);
Code info_delete(Process& process, Info* info, const char* key);
/// Gives the whole value, which the binding cuts. *value stays as it is when !*flag.
Code info_get_string(Process& process, Info* info, const char* key, std::string* value, bool* flag);
Code info_get_valuelen(Process& process, Info* info, const char* key, int* valuelen, bool* flag);
Code info_get_nkeys(Process& process, Info* info, int* nkeys);
Code info_get_nthkey(Process& process, Info* info, int n, std::string* key);

// Error handlers (MPI 9.3). `errhandler` of a get is a reference that the user frees.
Code comm_create_errhandler(Process& process, AnyFunction comm_errhandler_fn, Errhandler** errhandler);
Code win_create_errhandler(Process& process, AnyFunction win_errhandler_fn, Errhandler** errhandler);
Code file_create_errhandler(Process& process, AnyFunction file_errhandler_fn, Errhandler** errhandler);
Code session_create_errhandler(Process& process, AnyFunction session_errhandler_fn, Errhandler** errhandler);
Code comm_set_errhandler(Process& process, Comm* comm, Errhandler* errhandler);
Code comm_get_errhandler(Process& process, Comm* comm, Errhandler** errhandler);
Code comm_call_errhandler(Process& process, Comm* comm, int errorcode);
Code session_set_errhandler(Process& process, Session* session, Errhandler* errhandler);
Code session_get_errhandler(Process& process, Session* session, Errhandler** errhandler);
Code session_call_errhandler(Process& process, Session* session, int errorcode);
Code errhandler_free(Process& process, Errhandler** errhandler);

// Error codes and classes (MPI 9.4, 9.5). kErrArg: not a code, or not one that may be changed so.
Code error_class(Process& process, int errorcode, int* errorclass);
Code error_string(Process& process, int errorcode, std::string* string);
Code add_error_class(Process& process, int* errorclass);
Code add_error_code(Process& process, int errorclass, int* errorcode);
Code add_error_string(Process& process, int errorcode, const char* string);
Code remove_error_class(Process& process, int errorclass);
Code remove_error_code(Process& process, int errorcode);
Code remove_error_string(Process& process, int errorcode);

// Reduction operations (MPI 6.9).
Code op_create(Process& process, AnyFunction user_fn, bool commute, Op** op, bool wide);
Code op_free(Process& process, Op** op);
Code op_commutative(Process& process, Op* op, bool* commute);
Code reduce_local(Process& process, const void* inbuf, void* inoutbuf, Count count, Datatype* datatype,
                  Op* op);

/// A new info: the names of placement/hardware.hpp and mpi_shared_memory, each "true" where this process is
/// confined to one instance of it, else "false" (MPI 9.1.3).
Code get_hw_resource_info(Process& process, Info** hw_info);

// Memory (MPI 9.2). The hint mpi_minimum_memory_alignment is honoured.
Code alloc_mem(Process& process, Count size, Info* info, void** baseptr);
Code free_mem(Process& process, void* base);

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
