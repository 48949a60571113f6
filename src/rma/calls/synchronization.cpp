// The synchronization calls (MPI 12.5). Each asks the window's Epoch whether it is legal now, completes what
// has to be complete, meets the other ranks in Control, and reports to the Epoch.
//
// MPI_MODE_NOCHECK of post and start, and the assertions of a fence, only allow to skip work that costs next
// to nothing here; so they change nothing but what is legal afterwards.
#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "object/group.hpp"
#include "progress/progress.hpp"
#include "rma/access/conflicts.hpp"
#include "rma/api.hpp"
#include "rma/message/messenger.hpp"

namespace tasuki {
namespace rma {
namespace {

enum Assertion : int {
  kNoCheck = 1024,
  kNoPrecede = 2048,
  kNoPut = 4096,
  kNoStore = 8192,
  kNoSucceed = 16384,
};
enum LockType : int { kLockExclusive = 301, kLockShared = 302 };

Code refuse(Process& process, const char* wrong) {
  return process.fail(kErrRmaSync, "%s", wrong);
}

Code check_assertion(Process& process, int assertion, int legal, const char* names) {
  if ((assertion & ~legal) == 0) return kSuccess;
  return process.fail(kErrAssert, "assert = %d, expected 0 or a sum of %s", assertion, names);
}

Code check_rank(Process& process, const Win& win, int rank) {
  if (static_cast<unsigned>(rank) < static_cast<unsigned>(win.size())) return kSuccess;
  return process.fail(kErrRank, "rank = %d, expected 0..%d", rank, win.comm->size() - 1);
}

/// The ranks in the window of a group's members.
Code find_ranks(Process& process, const Win& win, const Group& group, std::vector<int>* ranks) {
  if (translate_group(group, *win.comm->group, ranks)) return kSuccess;
  return process.fail(kErrGroup, "group has members that are not in the window's group, expected none");
}

/// Everything that this rank did to mapped memory is visible before what comes next.
void order_memory() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// The same where there is something to order: on x86-64 a fetch is an instruction that orders all by itself.
void order_stores(Win& win) {
#if defined(__x86_64__)
  if (!win.has_stored) return;
  win.has_stored = false;
#endif
  order_memory();
}

/// These return whether they have waited for messages, and so made progress.
bool flush(Win& win, int target) {
  order_stores(win);
  const bool waited = win.messenger && win.messenger->flush(target);
  if (win.conflicts) win.conflicts->completed(target);
  return waited;
}

bool flush_all(Win& win) {
  order_stores(win);
  const bool waited = win.messenger && win.messenger->flush_all();
  if (win.conflicts) win.conflicts->completed_all();
  return waited;
}

/// Completes the accesses to `target` and gives its lock back, which was taken as `held` says.
void end_lock(Win& win, int target, Held held) {
  if (!win.control->is_shared() && held != Held::kUnchecked) {
    order_stores(win);
    return win.control->served()->unlock({target});
  }
  flush(win, target);
  if (held != Held::kUnchecked) win.control->shared()->unlock(target, held == Held::kExclusive);
}

/// The same of all targets, which are held together.
void end_all_locks(Win& win, Held held) {
  if (!win.control->is_shared() && held != Held::kUnchecked) {
    order_stores(win);
    std::vector<int> targets(win.parts.size());
    std::iota(targets.begin(), targets.end(), 0);
    return win.control->served()->unlock(targets);
  }
  flush_all(win);
  if (held == Held::kUnchecked) return;
  for (int target = 0; target < win.size(); ++target) win.control->shared()->unlock(target, false);
}

/// The end of a call that completes operations: what a target refused is reported now.
Code completed(Win& win) {
  return std::exchange(win.pending_error, 0);
}

/// The end of one that programs call in a loop until memory has changed: that must make progress, and give
/// way to the rank that is to change it.
///
/// Where the window needs no messages it is enough to look now and then: the calls of a program do so besides
/// (base/calls/call_board.hpp, is_poll_due). Ranks that share processors look more often, but by far not in
/// each call: most calls complete operations and wait for nothing, and who offers its processor beside a
/// process that computes has it back after milliseconds. A call that has waited for messages has made
/// progress.
Code looked(Win& win, bool waited = false) {
  if (waited) return completed(win);
  constexpr std::uint32_t kSeldom = 1024, kSeldomShared = 64;
  const std::uint32_t seldom = win.process.config.spin_count == 0 ? kSeldomShared : kSeldom;
  if (++win.looks % seldom == 0 || win.messenger) win.process.progress->poll_once();
  return completed(win);
}

Code check_locks(Process& process, const Win& win, int assertion) {
  if (win.hints.no_locks)
    return refuse(process, "the window has the hint no_locks, expected no locks of its ranks");
  return check_assertion(process, assertion, kNoCheck, "MPI_MODE_NOCHECK");
}

bool all_complete(const Win& win) {
  for (const int origin : win.epoch.posted_origins()) {
    if (!win.control->is_complete(origin)) return false;
  }
  return true;
}

void end_exposure(Win& win) {
  for (const int origin : win.epoch.posted_origins()) {
    win.control->consume_complete(origin);
    if (win.conflicts) win.conflicts->origin_completed(origin);
  }
  win.epoch.waited();
  order_memory();
}

}  // namespace
}  // namespace rma

namespace api {

using namespace rma;

Code win_fence(Process& process, int assert, Win* win) {
  constexpr int kLegal = kNoStore | kNoPut | kNoPrecede | kNoSucceed;
  constexpr const char* kNames =
      "MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED";
  if (const Code code = check_assertion(process, assert, kLegal, kNames)) return code;
  if (const char* wrong = win->epoch.may_fence()) return refuse(process, wrong);
  if (win->messenger) win->messenger->flush_all();
  win->control->barrier();  // which orders memory too
  if (win->conflicts) {
    win->conflicts->completed_all();
    win->control->barrier();  // before the accesses of the next epoch
  }
  win->epoch.fenced((assert& kNoSucceed) == 0);
  return completed(*win);
}

Code win_start(Process& process, Group* group, int assert, Win* win) {
  if (const Code code = check_assertion(process, assert, kNoCheck, "MPI_MODE_NOCHECK")) return code;
  if (const char* wrong = win->epoch.may_start()) return refuse(process, wrong);
  std::vector<int> targets;
  if (const Code code = find_ranks(process, *win, *group, &targets)) return code;
  for (const int target : targets) win->control->wait_for_post(target);
  win->epoch.started(std::move(targets));
  return kSuccess;
}

Code win_complete(Process& process, Win* win) {
  if (const char* wrong = win->epoch.may_complete()) return refuse(process, wrong);
  order_memory();
  if (win->messenger) win->messenger->flush(win->epoch.started_targets());
  for (const int target : win->epoch.started_targets()) win->control->complete(target);
  win->epoch.completed();
  return rma::completed(*win);
}

Code win_post(Process& process, Group* group, int assert, Win* win) {
  constexpr const char* kNames = "MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT";
  if (const Code code = check_assertion(process, assert, kNoCheck | kNoStore | kNoPut, kNames)) return code;
  if (const char* wrong = win->epoch.may_post()) return refuse(process, wrong);
  std::vector<int> origins;
  if (const Code code = find_ranks(process, *win, *group, &origins)) return code;
  order_memory();
  for (const int origin : origins) win->control->post(origin);
  win->epoch.posted(std::move(origins));
  return kSuccess;
}

Code win_wait(Process& process, Win* win) {
  if (const char* wrong = win->epoch.may_wait()) return refuse(process, wrong);
  win->control->wait_until_complete(win->epoch.posted_origins());
  end_exposure(*win);
  return kSuccess;
}

Code win_test(Process& process, Win* win, bool* flag) {
  if (const char* wrong = win->epoch.may_wait()) return refuse(process, wrong);
  *flag = all_complete(*win);
  if (!*flag) {
    process.progress->poll_once();
    *flag = all_complete(*win);
  }
  if (*flag) end_exposure(*win);
  return kSuccess;
}

Code win_lock(Process& process, int lock_type, int rank, int assert, Win* win) {
  if (lock_type != kLockExclusive && lock_type != kLockShared)
    return process.fail(kErrLocktype, "lock_type = %d, expected MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED",
                        lock_type);
  if (rank == kProcNull) return kSuccess;
  if (const Code code = check_rank(process, *win, rank)) return code;
  if (const Code code = check_locks(process, *win, assert)) return code;
  if (const char* wrong = win->epoch.may_lock(rank)) return refuse(process, wrong);
  const bool exclusive = lock_type == kLockExclusive;
  const bool unchecked = (assert& kNoCheck) != 0;
  if (!unchecked) win->control->lock(rank, exclusive);
  win->epoch.locked(rank, unchecked ? Held::kUnchecked : exclusive ? Held::kExclusive : Held::kShared);
  return kSuccess;
}

Code win_unlock(Process& process, int rank, Win* win) {
  if (rank == kProcNull) return kSuccess;
  if (const Code code = check_rank(process, *win, rank)) return code;
  if (const char* wrong = win->epoch.may_unlock(rank)) return refuse(process, wrong);
  end_lock(*win, rank, win->epoch.held(rank));
  win->epoch.unlocked(rank);
  return looked(*win);
}

Code win_lock_all(Process& process, int assert, Win* win) {
  if (const Code code = check_locks(process, *win, assert)) return code;
  if (const char* wrong = win->epoch.may_lock_all()) return refuse(process, wrong);
  const bool unchecked = (assert& kNoCheck) != 0;
  for (int target = 0; target < win->size() && !unchecked; ++target) win->control->lock(target, false);
  win->epoch.locked_all(unchecked ? Held::kUnchecked : Held::kShared);
  return kSuccess;
}

Code win_unlock_all(Process& process, Win* win) {
  if (const char* wrong = win->epoch.may_unlock_all()) return refuse(process, wrong);
  end_all_locks(*win, win->epoch.held_all());
  win->epoch.unlocked_all();
  return looked(*win);
}

Code win_flush(Process& process, int rank, Win* win) {
  if (static_cast<unsigned>(rank) >= win->fast_path_ranks || !win->epoch.is_locked_all()) {
    if (rank == kProcNull) return kSuccess;
    if (const Code code = check_rank(process, *win, rank)) return code;
    if (const char* wrong = win->epoch.may_flush(rank)) return refuse(process, wrong);
  }
  const bool waited = rma::flush(*win, rank);
  return looked(*win, waited);
}

Code win_flush_all(Process& process, Win* win) {
  if (const char* wrong = win->epoch.may_flush_all()) return refuse(process, wrong);
  const bool waited = rma::flush_all(*win);
  return looked(*win, waited);
}

Code win_flush_local(Process& process, int rank, Win* win) {
  if (rank == kProcNull) return kSuccess;
  if (const Code code = check_rank(process, *win, rank)) return code;
  if (const char* wrong = win->epoch.may_flush(rank)) return refuse(process, wrong);
  if (win->messenger) win->messenger->flush_local(rank);
  if (win->conflicts) win->conflicts->completed_gets(rank);
  return looked(*win);
}

Code win_flush_local_all(Process& process, Win* win) {
  if (const char* wrong = win->epoch.may_flush_all()) return refuse(process, wrong);
  if (win->messenger) win->messenger->flush_local_all();
  if (win->conflicts) win->conflicts->completed_gets_everywhere();
  return looked(*win);
}

Code win_sync(Process&, Win* win) {
  order_memory();
  return looked(*win);
}

}  // namespace api
}  // namespace tasuki
