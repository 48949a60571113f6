// One-sided communication: the user's calls (MPI chapter 12, and what belongs to windows in 7.7, 7.8, 9.3),
// by bindgen/README.md's rules. The binding has checked handles, counts, null buffers and committed types;
// types and buffers that are not significant (MPI_PROC_NULL, MPI_NO_OP) may be null.
//
// Errors: kErrRank: a target that is not in the window's group; kErrDisp: a negative displacement or no
// positive unit; kErrRmaRange: beyond the target's part of the window; kErrRmaSync: not legal in the epochs
// that are open; kErrTruncate: the two sides do not have the same size; kErrAssert: unknown bits;
// kErrLocktype; kErrRmaFlavor; kErrRmaAttach; kErrSize. A call that fails has done nothing. What a target of
// a dynamic window refuses is reported by the next synchronization.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"
#include "reduction/op.hpp"
#include "rma/window.hpp"

namespace tasuki::api {

// Making and ending windows (12.2). Collective: when one rank's arguments are wrong, all fail.
Code win_create(Process& process, void* base, Count size, Count disp_unit, Info* info, Comm* comm, Win** win);
Code win_allocate(Process& process, Count size, Count disp_unit, Info* info, Comm* comm, void** baseptr,
                  Win** win);
Code win_allocate_shared(Process& process, Count size, Count disp_unit, Info* info, Comm* comm,
                         void** baseptr, Win** win);
Code win_create_dynamic(Process& process, Info* info, Comm* comm, Win** win);
/// Memory of windows from MPI_Win_allocate is shared too; of others a rank can ask for its own only, and gets
/// size 0 for the rest.
Code win_shared_query(Process& process, Win* win, int rank, Count* size, Count* disp_unit, void** baseptr);
Code win_attach(Process& process, Win* win, void* base, Count size);
Code win_detach(Process& process, Win* win, const void* base);
Code win_free(Process& process, Win** win);

// What is known about a window (12.2.6, 12.2.7, 7.7, 7.8, 9.3).
Code win_get_group(Process& process, Win* win, Group** group);
Code win_set_attr(Process& process, Win* win, int win_keyval, void* attribute_val);
Code win_get_attr(Process& process, Win* win, int win_keyval, void** attribute_val, bool* flag);
Code win_delete_attr(Process& process, Win* win, int win_keyval);
Code win_set_name(Process& process, Win* win, const char* win_name);
Code win_get_name(Process& process, Win* win, std::string* win_name);
Code win_set_info(Process& process, Win* win, Info* info);
Code win_get_info(Process& process, Win* win, Info** info_used);
Code win_set_errhandler(Process& process, Win* win, Errhandler* errhandler);
Code win_get_errhandler(Process& process, Win* win, Errhandler** errhandler);
Code win_call_errhandler(Process& process, Win* win, int errorcode);

// Communication (12.3).
Code put(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
         int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Win* win);
Code get(Process& process, void* origin_addr, Count origin_count, Datatype* origin_datatype, int target_rank,
         Count target_disp, Count target_count, Datatype* target_datatype, Win* win);
Code accumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Op* op,
                Win* win);
Code get_accumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                    void* result_addr, Count result_count, Datatype* result_datatype, int target_rank,
                    Count target_disp, Count target_count, Datatype* target_datatype, Op* op, Win* win);
Code fetch_and_op(Process& process, const void* origin_addr, void* result_addr, Datatype* datatype,
                  int target_rank, Count target_disp, Op* op, Win* win);
Code compare_and_swap(Process& process, const void* origin_addr, const void* compare_addr, void* result_addr,
                      Datatype* datatype, int target_rank, Count target_disp, Win* win);
Code rput(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
          int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Win* win,
          Request** request);
Code rget(Process& process, void* origin_addr, Count origin_count, Datatype* origin_datatype, int target_rank,
          Count target_disp, Count target_count, Datatype* target_datatype, Win* win, Request** request);
Code raccumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                 int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Op* op,
                 Win* win, Request** request);
Code rget_accumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                     void* result_addr, Count result_count, Datatype* result_datatype, int target_rank,
                     Count target_disp, Count target_count, Datatype* target_datatype, Op* op, Win* win,
                     Request** request);

// Synchronization (12.5).
Code win_fence(Process& process, int assert, Win* win);
Code win_start(Process& process, Group* group, int assert, Win* win);
Code win_complete(Process& process, Win* win);
Code win_post(Process& process, Group* group, int assert, Win* win);
Code win_wait(Process& process, Win* win);
Code win_test(Process& process, Win* win, bool* flag);
// Locking, unlocking and flushing MPI_PROC_NULL does nothing, as do operations on it.
Code win_lock(Process& process, int lock_type, int rank, int assert, Win* win);
Code win_lock_all(Process& process, int assert, Win* win);
Code win_unlock(Process& process, int rank, Win* win);
Code win_unlock_all(Process& process, Win* win);
Code win_flush(Process& process, int rank, Win* win);
Code win_flush_all(Process& process, Win* win);
Code win_flush_local(Process& process, int rank, Win* win);
Code win_flush_local_all(Process& process, Win* win);
Code win_sync(Process& process, Win* win);

}  // namespace tasuki::api
