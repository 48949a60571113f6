// The user's calls about objects: groups, questions about communicators (MPI chapter 7), info (chapter 10),
// attributes (7.7), error handlers and error codes (9.3 to 9.5). The rules of these signatures are in
// bindgen/README.md.
//
// A call that fails changes nothing, unless it says otherwise. A collective call in which one rank finds its
// own arguments wrong fails on that rank, takes part in the exchange all the same, so no other rank hangs.
//
// A predefined object that a call hands out (MPI_GROUP_EMPTY, MPI_ERRORS_RETURN) may be freed: its handle
// becomes NULL and nothing else happens. Freeing MPI_INFO_ENV is an error.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"

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

}  // namespace tasuki::api
