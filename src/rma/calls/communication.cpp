// The communication calls: arguments, epoch and range are checked here, then the operation goes to memory
// that is mapped (access/mapped.hpp), or as a message to the target (message/messenger.hpp).
#include <algorithm>

#include "base/calls/unlocked.hpp"
#include "datatype/type_hash.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"
#include "rma/access/accumulate.hpp"
#include "rma/access/buffers.hpp"
#include "rma/access/conflicts.hpp"
#include "rma/access/cooperative.hpp"
#include "rma/access/fast_path.hpp"
#include "rma/access/mapped.hpp"
#include "rma/access/rma_request.hpp"
#include "rma/api.hpp"
#include "rma/message/messenger.hpp"

namespace tasuki {
namespace rma {
namespace {

__extension__ typedef __int128 Wide;

long long printed(Count value) {
  return value;
}

/// Bytes [low, high) that `count` elements touch, relative to where they lie.
struct Span {
  Wide low = 0;
  Wide high = 0;
};

Span span_of(Count count, const Datatype& type) {
  if (count == 0 || type.size == 0) return {};
  const Wide first = type.true_lb;
  const Wide last = first + Wide{count - 1} * type.extent;
  return {std::min(first, last), std::max(first, last) + type.true_extent};
}

Code check_range(Process& process, const Part& part, int target_rank, Count target_disp, const Span& span) {
  if (target_disp < 0)
    return process.fail(kErrDisp, "target_disp = %lld, expected 0 or more", printed(target_disp));
  if (span.low == span.high) return kSuccess;
  const Wide offset = Wide{target_disp} * part.disp_unit;
  if (offset + span.low >= 0 && offset + span.high <= part.bytes) return kSuccess;
  const auto cut = [](Wide value) {
    return static_cast<long long>(std::clamp<Wide>(value, INT64_MIN, INT64_MAX));
  };
  return process.fail(kErrRmaRange,
                      "target_disp = %lld (of %lld bytes each) reaches bytes %lld..%lld of rank %d's window, "
                      "which has %lld bytes, expected no more; hint: a displacement counts in the target's "
                      "disp_unit",
                      printed(target_disp), printed(part.disp_unit), cut(offset + span.low),
                      cut(offset + span.high - 1), target_rank, printed(part.bytes));
}

/// Of this rank's own part of a dynamic window; another rank checks its own.
Code check_attached(Process& process, const Win& win, const TargetBuffer& remote) {
  if (win.flavor != kDynamic || remote.rank != win.comm->rank) return kSuccess;
  if (is_attached(win, remote.offset, remote.count, *remote.type)) return kSuccess;
  return process.fail(
      kErrRmaRange,
      "target_disp = %lld, where no memory is attached, expected an address within what rank %d has "
      "attached; hint: MPI_Win_attach there, and MPI_Get_address for the displacement",
      printed(remote.offset), remote.rank);
}

Code check_target_rank(Process& process, const Win& win, int target_rank) {
  if (target_rank >= 0 && target_rank < win.comm->size()) return kSuccess;
  return process.fail(kErrRank, "target_rank = %d, expected 0..%d or MPI_PROC_NULL", target_rank,
                      win.comm->size() - 1);
}

/// The target of an operation. An operation with a request is legal in passive target epochs only.
Code find_target(Process& process, Win& win, int target_rank, Count target_disp, Count target_count,
                 Datatype* target_type, bool by_request, TargetBuffer* remote) {
  if (const Code code = check_target_rank(process, win, target_rank)) return code;
  const char* wrong =
      by_request ? win.epoch.may_access_by_request(target_rank) : win.epoch.may_access(target_rank);
  if (wrong != nullptr) return process.fail(kErrRmaSync, "%s", wrong);
  if (const Code code = check_size(process, target_count, *target_type)) return code;
  const Part& part = win.part(target_rank);
  *remote = {target_rank, target_disp, target_count, target_type};
  if (win.flavor == kDynamic) return check_attached(process, win, *remote);
  if (const Code code =
          check_range(process, part, target_rank, target_disp, span_of(target_count, *target_type)))
    return code;
  if (remote->bytes() != 0) remote->offset *= part.disp_unit;  // what is in range does not overflow
  return kSuccess;
}

/// With TASUKI_CHECK=2: both are of the same basic types (MPI 12.3).
Code check_types(Process& process, const OriginBuffer& buffer, const char* name, const TargetBuffer& remote) {
  if (!process.config.checks(kCheckCompare) || buffer.bytes() == 0) [[likely]]
    return kSuccess;
  const BasicTypes here = basic_types(*buffer.type->signature, buffer.count);
  const BasicTypes there = basic_types(*remote.type->signature, remote.count);
  if (here.packed || there.packed || here.hash.hash == there.hash.hash) return kSuccess;
  const auto text = [](const BasicTypes& types) {
    return basic_types_text(types.hash.hash, types.mixed ? std::uint16_t{0} : types.only);
  };
  return process.fail(kErrType, "%s is of %s and the target of %s, expected the same basic types", name,
                      text(here).c_str(), text(there).c_str());
}

Code check_equal(Process& process, const OriginBuffer& buffer, const char* name, const TargetBuffer& remote) {
  if (const Code code = check_size(process, buffer.count, *buffer.type)) return code;
  if (buffer.bytes() == remote.bytes()) return check_types(process, buffer, name, remote);
  return process.fail(kErrTruncate, "%s has %lld bytes of data and the target %lld, expected as many", name,
                      printed(buffer.bytes()), printed(remote.bytes()));
}

std::byte* address_of(Win& win, const TargetBuffer& remote) {
  if (win.flavor == kDynamic) return reinterpret_cast<std::byte*>(remote.offset);
  return win.part(remote.rank).base + remote.offset;
}

void note_access(Win& win) {
  win.epoch.accessed();
  win.has_stored = true;  // perhaps
}

/// What an operation gives that is over, where the user wants a request of it.
Code finished(Win& win, Request** request) {
  if (request != nullptr) *request = retain(&win.process.p2p->sent);
  return kSuccess;
}

/// Runs `operate(RmaRequest*)`, which sends messages, with a request for the user where he wants one.
template <class Operate>
Code with_request(Win& win, Request** request, Operate&& operate) {
  if (request == nullptr) {
    operate(nullptr);
    return kSuccess;
  }
  auto* made = new RmaRequest(win);
  made->begin_part();
  operate(made);
  made->end_part();
  *request = made;
  return kSuccess;
}

OriginBuffer origin_buffer(const void* address, Count count, Datatype* type) {
  return {static_cast<std::byte*>(const_cast<void*>(address)), count, type};
}

Code put_or_get(Process& process, bool is_put, const OriginBuffer& origin, int target_rank, Count target_disp,
                Count target_count, Datatype* target_type, Win& win, Request** request) {
  if (target_rank == kProcNull) return finished(win, request);
  TargetBuffer remote;
  if (const Code code = find_target(process, win, target_rank, target_disp, target_count, target_type,
                                    request != nullptr, &remote))
    return code;
  if (const Code code = check_equal(process, origin, "the origin", remote)) return code;
  if (win.conflicts != nullptr) {
    const OpenAccess access{.kind = is_put ? AccessKind::kPut : AccessKind::kGet};
    if (const Code code =
            win.conflicts->begin(process, access, remote, &origin, is_put || request == nullptr))
      return code;
  }
  note_access(win);
  if (remote.bytes() == 0) return finished(win, request);
  if (!win.is_mapped(target_rank)) {
    return with_request(win, request, [&](RmaRequest* made) {
      is_put ? win.messenger->put(origin, remote, made) : win.messenger->get(origin, remote, made);
    });
  }
  std::byte* const place = address_of(win, remote);
  if (!copy_cooperatively(win, is_put, origin, place, remote)) {
    const Progress::Release released(*process.progress, remote.bytes());
    is_put ? put_mapped(origin, place, remote) : get_mapped(origin, place, remote);
  }
  return finished(win, request);
}

/// A rank is alone with the elements where it holds the target's lock exclusively, and none of its threads
/// combines without the process lock; and where it only reads them and the hint says that the others do no
/// other operation meanwhile.
ElementGuard guard_of(Win& win, int target, std::uint16_t op) {
  if (win.epoch.held(target) == Held::kExclusive && win.combining_unlocked == 0) return {};
  if (op == kMpiNoOp && win.hints.accumulate_ops == "same_op") return {};
  return win.element_guard(target);
}

/// Whether so many bytes are combined without the process lock. Then `guard` is one that threads can meet at,
/// and they do until Win::combining_unlocked says that this one is through.
bool combines_unlocked(Win& win, const Combination& how, const TargetBuffer& remote, ElementGuard* guard) {
  if (!win.process.locking || remote.bytes() < Unlocked::kBytesMin || !win.control->is_shared()) return false;
  ++win.combining_unlocked;
  ElementGuard among_threads = win.element_guard(remote.rank);
  if (!how.has_padding()) among_threads.demand_locks();
  if (!how.has_padding() && !among_threads.admits_threads()) {
    --win.combining_unlocked;
    return false;
  }
  *guard = among_threads;
  return true;
}

/// Accumulate, or get_accumulate where `result` is given.
Code combine_at_target(Process& process, const OriginBuffer& origin, const OriginBuffer* result,
                       int target_rank, Count target_disp, Count target_count, Datatype* target_type,
                       const Op& op, Win& win, Request** request) {
  if (target_rank == kProcNull) return finished(win, request);
  TargetBuffer remote;
  if (const Code code = find_target(process, win, target_rank, target_disp, target_count, target_type,
                                    request != nullptr, &remote))
    return code;
  const bool reads_origin = op.predefined != kMpiNoOp;
  if (result != nullptr) {
    if (const Code code = check_equal(process, *result, "the result", remote)) return code;
  }
  if (reads_origin) {
    if (const Code code = check_equal(process, origin, "the origin", remote)) return code;
  }
  Combination how;
  if (remote.bytes() != 0) {
    if (const Code code = make_combination(process, op, *target_type, result != nullptr, &how)) return code;
    if (target_type->predefined != 0) {
      win.combination = how;
      win.combination_type = target_type;
    }
    if (win.conflicts != nullptr) {
      const OpenAccess access{.kind = AccessKind::kAccumulate,
                              .element_bytes = static_cast<std::uint8_t>(how.element_bytes()),
                              .op = how.op};
      const bool enters = result == nullptr || request == nullptr;
      if (const Code code = win.conflicts->begin(process, access, remote, nullptr, enters)) return code;
    }
  }
  note_access(win);
  if (remote.bytes() == 0) return finished(win, request);
  const OriginBuffer* from = reads_origin ? &origin : nullptr;
  if (!win.combines_here(target_rank)) {
    return with_request(
        win, request, [&](RmaRequest* made) { win.messenger->accumulate(how, from, result, remote, made); });
  }
  std::byte* const place = address_of(win, remote);
  ElementGuard guard = guard_of(win, target_rank, op.predefined);
  const bool is_unlocked = combines_unlocked(win, how, remote, &guard);
  if (from == nullptr || result != nullptr ||
      !combine_cooperatively(win, how, origin, guard, place, remote)) {
    const Progress::Release released(*process.progress, is_unlocked ? remote.bytes() : 0);
    combine_mapped(how, from, result, {place, remote.count, remote.type, guard});
  }
  win.combining_unlocked -= is_unlocked;
  return finished(win, request);
}

/// Combines `count` elements of the window's last combination at `place`, which lies in shared memory.
void combine_last(Win& win, int target, std::byte* place, Count count, const void* origin, void* result) {
  const Combination& how = win.combination;
  const ElementGuard guard = guard_of(win, target, how.op);
  const auto* in = static_cast<const std::byte*>(origin);
  auto* old = static_cast<std::byte*>(result);
  if (count == 1 && !how.has_padding()) {
    if (combine_one(how, guard, place, in, old)) return;
  } else {
    combine_array(how, guard, place, count, in, old);
  }
  win.has_stored = true;
}

/// The fast path of accumulates: few elements of a predefined type, with the operation of the last one.
/// Returns false, having done nothing, where it is another case.
bool combine_at_once(const void* origin, void* result, Count count, const Datatype& type, int target_rank,
                     Count target_disp, const Op& op, Win& win) {
  if (!is_last_combination(win, op, &type) || count <= 0 || count > kFastPathBytesMax ||
      !win.control->is_shared())
    return false;
  std::byte* const place = fast_path_place(win, target_rank, target_disp, count * type.extent);
  if (place == nullptr) return false;
  if (count == 1 && op.predefined == kMpiSum &&
      fetch_word(win.combination, guard_of(win, target_rank, kMpiSum), place,
                 static_cast<const std::byte*>(origin), static_cast<std::byte*>(result)))
    return true;
  combine_last(win, target_rank, place, count, origin, result);
  return true;
}

/// The fast paths of put and get. They return false, having done nothing, where it is another case.
inline bool put_at_once(const void* origin, Count origin_count, const Datatype* origin_type, int target_rank,
                        Count target_disp, Count target_count, const Datatype* target_type, Win& win) {
  if (!is_fast_path_target(win, target_rank)) return false;
  const Count bytes = fast_path_bytes(origin_count, *origin_type, target_count, *target_type);
  std::byte* const place = bytes > 0 ? fast_path_place(win, target_rank, target_disp, bytes) : nullptr;
  if (place == nullptr) return false;
  fast_path_copy(place, static_cast<const std::byte*>(origin), bytes);
  win.has_stored = true;
  return true;
}

inline bool get_at_once(void* origin, Count origin_count, const Datatype* origin_type, int target_rank,
                        Count target_disp, Count target_count, const Datatype* target_type, Win& win) {
  if (!is_fast_path_target(win, target_rank)) return false;
  const Count bytes = fast_path_bytes(origin_count, *origin_type, target_count, *target_type);
  const std::byte* const place = bytes > 0 ? fast_path_place(win, target_rank, target_disp, bytes) : nullptr;
  if (place == nullptr) return false;
  fast_path_copy(static_cast<std::byte*>(origin), place, bytes);
  return true;
}

/// Whether an operation with a request is legal, as far as it takes a fast path.
bool is_open_by_request(const Win& win, int target_rank) {
  return is_fast_path_target(win, target_rank) && win.epoch.is_open_by_request(target_rank);
}

Code check_predefined(Process& process, const Datatype& datatype) {
  if (basic_info(datatype) != nullptr) return kSuccess;
  return process.fail(kErrType, "datatype is a derived datatype, expected a predefined one");
}

}  // namespace
}  // namespace rma

namespace api {

using namespace rma;

Code put(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
         int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Win* win) {
  if (put_at_once(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                  target_datatype, *win)) [[likely]]
    return kSuccess;
  return put_or_get(process, true, origin_buffer(origin_addr, origin_count, origin_datatype), target_rank,
                    target_disp, target_count, target_datatype, *win, nullptr);
}

Code get(Process& process, void* origin_addr, Count origin_count, Datatype* origin_datatype, int target_rank,
         Count target_disp, Count target_count, Datatype* target_datatype, Win* win) {
  if (get_at_once(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                  target_datatype, *win)) [[likely]]
    return kSuccess;
  return put_or_get(process, false, origin_buffer(origin_addr, origin_count, origin_datatype), target_rank,
                    target_disp, target_count, target_datatype, *win, nullptr);
}

Code rput(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
          int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Win* win,
          Request** request) {
  if (is_open_by_request(*win, target_rank) &&
      put_at_once(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                  target_datatype, *win))
    return finished(*win, request);
  return put_or_get(process, true, origin_buffer(origin_addr, origin_count, origin_datatype), target_rank,
                    target_disp, target_count, target_datatype, *win, request);
}

Code rget(Process& process, void* origin_addr, Count origin_count, Datatype* origin_datatype, int target_rank,
          Count target_disp, Count target_count, Datatype* target_datatype, Win* win, Request** request) {
  if (is_open_by_request(*win, target_rank) &&
      get_at_once(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                  target_datatype, *win))
    return finished(*win, request);
  return put_or_get(process, false, origin_buffer(origin_addr, origin_count, origin_datatype), target_rank,
                    target_disp, target_count, target_datatype, *win, request);
}

Code accumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Op* op,
                Win* win) {
  if (is_fast_path_target(*win, target_rank) && origin_datatype == target_datatype &&
      origin_count == target_count && op->predefined != kMpiNoOp &&
      combine_at_once(origin_addr, nullptr, target_count, *target_datatype, target_rank, target_disp, *op,
                      *win))
    return kSuccess;
  return combine_at_target(process, origin_buffer(origin_addr, origin_count, origin_datatype), nullptr,
                           target_rank, target_disp, target_count, target_datatype, *op, *win, nullptr);
}

Code raccumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                 int target_rank, Count target_disp, Count target_count, Datatype* target_datatype, Op* op,
                 Win* win, Request** request) {
  if (is_fast_path_target(*win, target_rank) && origin_datatype == target_datatype &&
      origin_count == target_count && op->predefined != kMpiNoOp && is_open_by_request(*win, target_rank) &&
      combine_at_once(origin_addr, nullptr, target_count, *target_datatype, target_rank, target_disp, *op,
                      *win))
    return finished(*win, request);
  return combine_at_target(process, origin_buffer(origin_addr, origin_count, origin_datatype), nullptr,
                           target_rank, target_disp, target_count, target_datatype, *op, *win, request);
}

Code get_accumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                    void* result_addr, Count result_count, Datatype* result_datatype, int target_rank,
                    Count target_disp, Count target_count, Datatype* target_datatype, Op* op, Win* win) {
  if (is_fast_path_target(*win, target_rank) && origin_datatype == target_datatype &&
      origin_count == target_count && result_datatype == target_datatype && result_count == target_count &&
      combine_at_once(origin_addr, result_addr, target_count, *target_datatype, target_rank, target_disp, *op,
                      *win))
    return kSuccess;
  const OriginBuffer result = origin_buffer(result_addr, result_count, result_datatype);
  return combine_at_target(process, origin_buffer(origin_addr, origin_count, origin_datatype), &result,
                           target_rank, target_disp, target_count, target_datatype, *op, *win, nullptr);
}

Code rget_accumulate(Process& process, const void* origin_addr, Count origin_count, Datatype* origin_datatype,
                     void* result_addr, Count result_count, Datatype* result_datatype, int target_rank,
                     Count target_disp, Count target_count, Datatype* target_datatype, Op* op, Win* win,
                     Request** request) {
  const OriginBuffer result = origin_buffer(result_addr, result_count, result_datatype);
  return combine_at_target(process, origin_buffer(origin_addr, origin_count, origin_datatype), &result,
                           target_rank, target_disp, target_count, target_datatype, *op, *win, request);
}

Code fetch_and_op(Process& process, const void* origin_addr, void* result_addr, Datatype* datatype,
                  int target_rank, Count target_disp, Op* op, Win* win) {
  if (is_fast_path_target(*win, target_rank) && is_last_combination(*win, *op, datatype)) [[likely]] {
    std::byte* const place = fast_path_place(*win, target_rank, target_disp, datatype->size);
    if (place != nullptr &&
        fetch_word(win->combination, win->element_guard(target_rank), place,
                   static_cast<const std::byte*>(origin_addr), static_cast<std::byte*>(result_addr)))
      return kSuccess;
    if (place != nullptr && win->control->is_shared()) {
      combine_last(*win, target_rank, place, 1, origin_addr, result_addr);
      return kSuccess;
    }
  }
  if (target_rank == kProcNull) return kSuccess;
  if (const Code code = check_predefined(process, *datatype)) return code;
  const OriginBuffer result = origin_buffer(result_addr, 1, datatype);
  return combine_at_target(process, origin_buffer(origin_addr, 1, datatype), &result, target_rank,
                           target_disp, 1, datatype, *op, *win, nullptr);
}

Code compare_and_swap(Process& process, const void* origin_addr, const void* compare_addr, void* result_addr,
                      Datatype* datatype, int target_rank, Count target_disp, Win* win) {
  const auto* origin = static_cast<const std::byte*>(origin_addr);
  const auto* compare = static_cast<const std::byte*>(compare_addr);
  auto* result = static_cast<std::byte*>(result_addr);
  if (is_fast_path_target(*win, target_rank) && win->swap_type == datatype && win->control->is_shared())
      [[likely]] {
    std::byte* const place = fast_path_place(*win, target_rank, target_disp, datatype->size);
    if (place != nullptr) {
      rma::compare_and_swap(*basic_info(datatype->predefined), win->element_guard(target_rank), place,
                            compare, origin, result);
      win->has_stored = true;
      return kSuccess;
    }
  }
  if (target_rank == kProcNull) return kSuccess;
  const BasicInfo* type = basic_info(*datatype);
  if (type == nullptr || !can_compare_and_swap(*type))
    return process.fail(kErrType,
                        "datatype = %s, expected an integer, logical, multi-language type or MPI_BYTE",
                        type != nullptr ? type->name : "a derived datatype");
  if (datatype->predefined != 0) win->swap_type = datatype;
  TargetBuffer remote;
  if (const Code code = find_target(process, *win, target_rank, target_disp, 1, datatype, false, &remote))
    return code;
  if (win->conflicts != nullptr) {
    const OpenAccess access{.kind = AccessKind::kCompareAndSwap,
                            .element_bytes = static_cast<std::uint8_t>(datatype->size)};
    if (const Code code = win->conflicts->begin(process, access, remote, nullptr, true)) return code;
  }
  note_access(*win);
  if (win->combines_here(target_rank)) {
    rma::compare_and_swap(*type, win->element_guard(target_rank), address_of(*win, remote), compare, origin,
                          result);
  } else {
    win->messenger->compare_and_swap(*type, origin, compare, result, remote);
  }
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
