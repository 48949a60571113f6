// Making and ending windows.
//
// Every rank sends the others what it brings, wrong arguments included, so that all fail or none. Memory that
// others can address is mapped. Then each rank says what of that it can reach. Where all ranks are on one
// node, the control memory lies in rank 0's symmetric heap, if all reach it there: that takes no system call.
// Else rank 0 makes a segment for it and the others open that, and again each rank says what it has. A window
// over several nodes has neither.
#include <algorithm>
#include <cstring>
#include <utility>

#include "coll/byte_collectives.hpp"
#include "communicator/comm_create.hpp"
#include "job/launcher.hpp"
#include "link/link.hpp"
#include "memory/symmetric_heap.hpp"
#include "node/node.hpp"
#include "object/objects.hpp"
#include "p2p/remote_job.hpp"
#include "placement/node_map.hpp"
#include "progress/progress.hpp"
#include "rma/access/conflicts.hpp"
#include "rma/access/cooperative.hpp"
#include "rma/api.hpp"
#include "rma/message/messenger.hpp"
#include "rma/message/network_copies.hpp"

namespace tasuki {
namespace rma {
namespace {

/// What a rank brings to the making of a window.
struct Share {
  Count bytes = 0;
  Count disp_unit = 1;
  Context context = 0;           // of the window, if this is rank 0
  std::int32_t error_class = 0;  // of this rank's arguments
  std::int32_t noncontiguous = 0;
  std::int32_t granularity = 0;  // the hint, if this is rank 0
  std::int32_t can_change = 0;   // it can do what a change of the way of accumulates takes
  SymmetricAddress address = 0;  // of its memory; 0: private
  SymmetricAddress control = 0;  // of the control memory, if this is rank 0; 0: it has none for all
  std::uint64_t node = 0;        // where it is
  MemoryKey key = {};            // of its memory, for ranks of other nodes; none: they send messages
};

/// The window under construction.
struct Making {
  Comm& comm;
  const Flavor flavor;
  std::vector<Share> shares;
  std::vector<std::size_t> offsets;  // by rank, in the segment
  std::size_t segment_bytes = 0;
  std::byte* own_memory = nullptr;   // allocated for the window; this object's until the window has it
  std::byte* own_control = nullptr;  // the same of control memory, at rank 0
  std::unique_ptr<NamedPart> named;  // this rank's, until the window has it
  GuardRules rules;
  std::vector<std::byte*> bases;  // by rank: what is mapped here of what the ranks brought
  bool one_node = true;           // the ranks share a machine's memory
  bool is_mapped = false;         // all of that is
  bool in_segment = false;        // the segment holds the memory
  bool control_in_heap = false;   // rank 0's heap holds the control memory, not the segment
  bool needs_messages = false;    // a rank does not have everything mapped, or there are several nodes

  explicit Making(Comm& its_comm, Flavor its_flavor) : comm(its_comm), flavor(its_flavor) {}
  ~Making() {
    named.reset();
    if (own_memory != nullptr) comm.process.symmetric_heap->deallocate(own_memory);
    if (own_control != nullptr) comm.process.symmetric_heap->deallocate(own_control);
  }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
};

Code check_arguments(Process& process, Count size, Count disp_unit, bool base_missing) {
  if (size < 0)
    return process.fail(kErrSize, "size = %lld, expected 0 or more", static_cast<long long>(size));
  if (disp_unit <= 0)
    return process.fail(kErrDisp, "disp_unit = %lld, expected 1 or more", static_cast<long long>(disp_unit));
  if (base_missing)
    return process.fail(kErrBuffer, "base = NULL, expected the address of %lld bytes",
                        static_cast<long long>(size));
  return kSuccess;
}

/// The exchange of shares. `own` is the error of this rank's arguments.
Code exchange_shares(Making& making, Share share, Code own) {
  Comm& comm = making.comm;
  Process& process = comm.process;
  share.error_class = error_class_bits(own);
  share.node = node_number(process);
  share.can_change = allow_barriers_of_others() ? 1 : 0;
  if (comm.rank == 0) share.context = make_context(process);
  making.shares.resize(static_cast<std::size_t>(comm.size()));
  if (const Code code = allgather_bytes(comm, &share, making.shares.data(), sizeof share)) return code;
  if (own != kSuccess) return own;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const int wrong = making.shares[static_cast<std::size_t>(rank)].error_class;
    if (wrong != 0) return process.fail(wrong, "rank %d of comm passed wrong arguments", rank);
    const Share& its = making.shares[static_cast<std::size_t>(rank)];
    if (its.bytes < 0 || its.disp_unit <= 0)
      process.launcher.end_damaged(comm.endpoint(rank), "the size of its part of a window");
  }
  for (const Share& its : making.shares) making.one_node = making.one_node && its.node == share.node;
  if (making.flavor == kShared && !making.one_node)
    return process.fail(kErrRmaShared,
                        "the ranks of comm are on different nodes, expected a communicator whose ranks share "
                        "memory, as MPI_Comm_split_type makes them for MPI_COMM_TYPE_SHARED");
  return kSuccess;
}

/// Maps what the others brought, as far as that can be. `own` is what this rank brought.
void map_parts(Making& making, std::byte* own) {
  Comm& comm = making.comm;
  making.is_mapped = making.flavor != kDynamic || comm.size() == 1;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Share& its = making.shares[static_cast<std::size_t>(rank)];
    const bool reached = rank != comm.rank && its.address != 0 &&
                         comm.process.symmetric_heap
                             ->locate(comm.endpoint(rank), its.address, static_cast<std::size_t>(its.bytes))
                             .is_shared();
    making.bases.push_back(rank == comm.rank ? own
                           : reached         ? reinterpret_cast<std::byte*>(its.address)
                                             : nullptr);
    if (rank != comm.rank && its.bytes != 0 && !reached) making.is_mapped = false;
  }
}

bool finds_conflicts(const Comm& comm) {
  return comm.process.config.check >= 3;
}

/// Behind SharedControl.
std::size_t conflicts_offset(const Comm& comm) {
  return round_to_pages(SharedControl::bytes_needed(comm.size()));
}

/// Of SharedControl, and the tables of conflicts where there are some.
std::size_t control_bytes(const Comm& comm) {
  if (!finds_conflicts(comm)) return SharedControl::bytes_needed(comm.size());
  return conflicts_offset(comm) + Conflicts::bytes_needed(comm.size());
}

/// Rank 0 offers control memory in its symmetric heap. Where that takes much, the pages of a segment, which
/// are zero of themselves, are the better place.
void offer_control(Making& making, Share* share) {
  constexpr std::size_t kBytesMax = 256 * 1024;
  constexpr std::size_t kAlignment = 64;
  Comm& comm = making.comm;
  const std::size_t bytes = control_bytes(comm);
  if (comm.rank != 0 || making.flavor == kShared || bytes > kBytesMax) return;
  SymmetricHeap& heap = *comm.process.symmetric_heap;
  making.own_control = static_cast<std::byte*>(heap.allocate_symmetric(bytes, kAlignment));
  if (making.own_control == nullptr) return;
  std::memset(making.own_control, 0, bytes);
  share->control = heap.locate(making.own_control, bytes).address;
}

/// The rules of accumulates, out of what all know.
void agree_on_rules(Making& making) {
  const bool can_change = std::all_of(making.shares.begin(), making.shares.end(),
                                      [](const Share& share) { return share.can_change != 0; });
  making.rules = guard_rules(making.shares.front().granularity, can_change);
}

bool reaches_control(const Making& making) {
  Comm& comm = making.comm;
  const SymmetricAddress control = making.shares.front().control;
  return control != 0 &&
         (comm.rank == 0 ||
          comm.process.symmetric_heap->locate(comm.endpoint(0), control, control_bytes(comm)).is_shared());
}

/// Memory that the library allocates lies in the ranks' symmetric heaps where all can reach it there; so
/// messages from and to it are copied once. Otherwise it lies in the segment; or, where the ranks are on
/// several nodes, each rank's is its own.
Code choose_place(Making& making) {
  enum : std::int32_t { kHasMemory = 1, kReachesParts = 2, kReachesControl = 4 };
  Comm& comm = making.comm;
  making.in_segment = making.flavor == kShared;
  making.needs_messages = !making.one_node;
  if (making.in_segment || (!making.one_node && making.flavor != kAllocate)) return kSuccess;
  const std::int32_t mine = (making.own_memory != nullptr ? kHasMemory : 0) |
                            (making.is_mapped ? kReachesParts : 0) |
                            (reaches_control(making) ? kReachesControl : 0);
  if (comm.rank == 0 && making.own_control != nullptr)
    SharedControl::begin(making.own_control, comm.size(), making.rules.first);  // before any rank uses it
  std::vector<std::int32_t> answers(static_cast<std::size_t>(comm.size()));
  if (const Code code = allgather_bytes(comm, &mine, answers.data(), sizeof mine)) return code;
  const auto all = [&answers](std::int32_t bits) {
    return std::all_of(answers.begin(), answers.end(),
                       [bits](std::int32_t answer) { return (answer & bits) == bits; });
  };
  if (making.flavor == kAllocate) {
    if (!making.one_node && !all(kHasMemory))
      return comm.process.fail(kErrNoMem, "a rank of comm cannot have its part of the window");
    making.in_segment = making.one_node && !all(kHasMemory | kReachesParts);
  }
  making.control_in_heap = making.one_node && !making.in_segment && all(kReachesControl);
  making.needs_messages = !making.one_node || !all(kReachesParts);
  return kSuccess;
}

/// Where each rank's part lies in the segment, behind SharedControl. Parts that need not follow each other
/// begin with a page, so that each lies near its owner. Returns false when they are too large for any
/// machine.
bool lay_out(Making& making) {
  std::size_t end = round_to_pages(control_bytes(making.comm));
  if (making.in_segment) {
    const bool contiguous = making.flavor == kShared && making.shares.front().noncontiguous == 0;
    for (const Share& share : making.shares) {
      making.offsets.push_back(end);
      if (__builtin_add_overflow(end, static_cast<std::size_t>(share.bytes), &end) || end > SIZE_MAX / 4)
        return false;
      if (!contiguous) end = round_to_pages(end);
    }
  }
  making.segment_bytes = end;
  return true;
}

/// Makes or opens the segment. Returns false, with the reason in `error`, unless all ranks have it.
bool share_segment(Making& making, std::unique_ptr<SharedSegment>* segment, std::string* error) {
  Comm& comm = making.comm;
  const bool fits = lay_out(making);  // the same everywhere
  if (!fits) {
    *error = "the parts of all ranks together are more than any machine has";
    return false;
  }
  SegmentAddress address;
  if (comm.rank == 0) {
    *segment = SharedSegment::create(making.segment_bytes, error);
    if (*segment) {
      address = (*segment)->address();
      SharedControl::begin((*segment)->base(), comm.size(), making.rules.first);
    }
  }
  if (bcast_bytes(comm, &address, sizeof address, 0) != kSuccess) return false;
  if (comm.rank != 0 && address.bytes == making.segment_bytes) *segment = SharedSegment::open(address, error);
  enum : std::int32_t { kNothing, kSegment, kSegmentAndParts };
  const std::int32_t mine = !*segment                               ? kNothing
                            : making.is_mapped || making.in_segment ? kSegmentAndParts
                                                                    : kSegment;
  std::vector<std::int32_t> all(static_cast<std::size_t>(comm.size()));
  if (allgather_bytes(comm, &mine, all.data(), sizeof mine) != kSuccess) return false;
  if (comm.rank == 0 && *segment) (*segment)->stop_sharing();
  making.needs_messages = std::find(all.begin(), all.end(), kSegment) != all.end();
  const auto missing = std::find(all.begin(), all.end(), kNothing);
  if (missing == all.end()) return true;
  if (mine != 0 || error->empty())
    *error = "rank " + std::to_string(missing - all.begin()) + " of comm cannot have the window's memory";
  return false;
}

void set_attributes(Win& win) {
  const Part& own = win.part(win.rank());
  win.size_attribute = static_cast<Aint>(own.bytes);
  win.unit_attribute = static_cast<int>(own.disp_unit);
  win.flavor_attribute = win.flavor;
}

/// Puts and gets to parts that have a key need no message. The keys are for ranks of other nodes.
void use_network(Making& making, Win& win) {
  if (making.one_node) return;
  const std::uint64_t node = making.shares[static_cast<std::size_t>(win.rank())].node;
  std::vector<MemoryKey> keys;
  for (const Share& its : making.shares) keys.push_back(its.node != node ? its.key : MemoryKey{});
  win.messenger->use_network(std::make_unique<NetworkCopies>(win, keys, std::move(making.named)));
}

/// The window, out of what was agreed on.
Win* finish_window(Making& making, std::unique_ptr<SharedSegment> segment, const Info* info) {
  Comm& comm = making.comm;
  auto* made = new Win(Ref<Comm>(make_comm(comm, making.shares.front().context, comm.group)), making.flavor);
  take_hints(&made->hints, info);
  if (making.needs_messages) made->messenger = std::make_unique<Messenger>(*made);
  std::byte* memory = segment ? segment->base() : nullptr;
  if (making.control_in_heap) {
    memory = reinterpret_cast<std::byte*>(making.shares.front().control);
    made->own_control = std::exchange(making.own_control, nullptr);
  }
  made->segment = std::move(segment);
  if (memory != nullptr) {
    made->control.emplace(memory, *made->comm, making.rules);
    made->control->shared()->set_help(help_origin, made);
    if (finds_conflicts(comm))
      made->conflicts = std::make_unique<Conflicts>(memory + conflicts_offset(comm), comm.rank, comm.size(),
                                                    comm.process.node.lock_user());
  } else {
    made->control.emplace(*made->comm, *made, *made->messenger);
  }
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    Part& part = made->part(rank);
    part.bytes = making.shares[index].bytes;
    part.disp_unit = making.shares[index].disp_unit;
    part.base = making.in_segment ? memory + making.offsets[index] : making.bases[index];
  }
  if (comm.process.checks == nullptr && !made->conflicts)
    made->fast_path_ranks = static_cast<unsigned>(comm.size());
  if (!making.in_segment) made->own_memory = std::exchange(making.own_memory, nullptr);
  use_network(making, *made);
  set_attributes(*made);
  return made;
}

/// Collective; `base` is this rank's memory, unless the segment will hold it.
Code make_window(Making& making, Share share, void* base, const Info* info, Code own, Win** win) {
  Comm& comm = making.comm;
  Process& process = comm.process;
  if (comm.is_inter())
    return process.fail(kErrComm, "comm is an intercommunicator, expected an intracommunicator");
  if (base != nullptr)
    share.address = process.symmetric_heap->locate(base, static_cast<std::size_t>(share.bytes)).address;
  Hints hints;
  take_hints(&hints, info);
  share.granularity = std::stoi(hints.accumulate_granularity);
  making.named = std::make_unique<NamedPart>(comm, base, share.bytes);
  share.key = making.named->key();
  offer_control(making, &share);
  if (const Code code = exchange_shares(making, share, own)) return code;
  map_parts(making, static_cast<std::byte*>(base));
  agree_on_rules(making);
  if (const Code code = choose_place(making)) return code;
  std::unique_ptr<SharedSegment> segment;
  std::string error;
  if (making.one_node && !making.control_in_heap && !share_segment(making, &segment, &error))
    return process.fail(kErrNoMem, "%s", error.c_str());
  Win* made = finish_window(making, std::move(segment), info);
  if (made->messenger) made->control->barrier();  // no message for the window comes before all ranks have it
  *win = made;
  return kSuccess;
}

Code allocate(Process& process, Flavor flavor, Count size, Count disp_unit, const Info* info, Comm& comm,
              void** baseptr, Win** win) {
  Making making(comm, flavor);
  const std::string* hint = find_info(info, "alloc_shared_noncontig");
  const Share share{
      .bytes = size, .disp_unit = disp_unit, .noncontiguous = hint != nullptr && *hint == "true" ? 1 : 0};
  const Code own = check_arguments(process, size, disp_unit, false);
  if (flavor == kAllocate && own == kSuccess) {
    // One byte at least, so that all ranks have some.
    making.own_memory = static_cast<std::byte*>(
        process.symmetric_heap->allocate(static_cast<std::size_t>(std::max<Count>(1, size)), page_bytes()));
  }
  if (const Code code = make_window(making, share, making.own_memory, info, own, win)) return code;
  *baseptr = (*win)->part(comm.rank).base;
  return kSuccess;
}

/// The index of the first region that overlaps [base, base + bytes), or -1.
std::ptrdiff_t find_overlap(const std::vector<Region>& attached, const std::byte* base, Count bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  for (std::size_t i = 0; i < attached.size(); ++i) {
    if (begin < attached[i].end() && attached[i].begin() < begin + static_cast<std::uintptr_t>(bytes))
      return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

Code check_dynamic(Process& process, const Win& win) {
  if (win.flavor == kDynamic) return kSuccess;
  return process.fail(kErrRmaFlavor, "win was not made by MPI_Win_create_dynamic");
}

}  // namespace
}  // namespace rma

Win::Win(Ref<Comm> own_comm, rma::Flavor its_flavor)
    : ErrorOwner(Kind::kWin),
      process(own_comm->process),
      comm(std::move(own_comm)),
      flavor(its_flavor),
      parts(static_cast<std::size_t>(comm->size())),
      epoch(comm->size()) {
  // Windows inherit no error handler (MPI 9.3).
  errhandler = Ref<Errhandler>::share(predefined_object<Errhandler>(*process.objects, kMpiErrorsAreFatal));
  enlist(process, this);
}

Win::~Win() {
  delist(process, *this);
  messenger.reset();  // the network lets go of the memory before that is given back
  if (own_memory != nullptr) {
    // It may be much, which the system takes long to take back.
    const Progress::Release released(*process.progress,
                                     process.progress->is_polling() ? 0 : Unlocked::kBytesMin);
    process.symmetric_heap->deallocate(own_memory);
  }
  // Of a window that was not freed other ranks may still look at it: then it stays.
  if (own_control != nullptr && is_left) process.symmetric_heap->deallocate(own_control);
}

std::string Win::description() const {
  return "window " + (name.empty() ? std::string("without a name") : name) + ", rank " +
         std::to_string(comm->rank);
}

namespace api {

using namespace rma;

Code win_create(Process& process, void* base, Count size, Count disp_unit, Info* info, Comm* comm,
                Win** win) {
  Making making(*comm, rma::kCreate);
  const Code own = check_arguments(process, size, disp_unit, base == nullptr && size > 0);
  return make_window(making, {.bytes = size, .disp_unit = disp_unit}, base, info, own, win);
}

Code win_allocate(Process& process, Count size, Count disp_unit, Info* info, Comm* comm, void** baseptr,
                  Win** win) {
  return allocate(process, rma::kAllocate, size, disp_unit, info, *comm, baseptr, win);
}

Code win_allocate_shared(Process& process, Count size, Count disp_unit, Info* info, Comm* comm,
                         void** baseptr, Win** win) {
  return allocate(process, rma::kShared, size, disp_unit, info, *comm, baseptr, win);
}

Code win_create_dynamic(Process&, Info* info, Comm* comm, Win** win) {
  Making making(*comm, rma::kDynamic);
  return make_window(making, {}, nullptr, info, kSuccess, win);
}

Code win_shared_query(Process& process, Win* win, int rank, Count* size, Count* disp_unit, void** baseptr) {
  if (win->flavor == kDynamic)
    return process.fail(kErrRmaFlavor,
                        "win was made by MPI_Win_create_dynamic, expected a window with memory");
  if (rank != kProcNull && (rank < 0 || rank >= win->size()))
    return process.fail(kErrRank, "rank = %d, expected 0..%d or MPI_PROC_NULL", rank, win->size() - 1);
  if (rank == kProcNull) {
    // The lowest rank that offers memory (MPI 12.2.3); the first one where none does.
    const auto found = std::find_if(win->parts.begin(), win->parts.end(),
                                    [](const rma::Part& part) { return part.bytes > 0; });
    rank = found != win->parts.end() ? static_cast<int>(found - win->parts.begin()) : 0;
  }
  const rma::Part& part = win->part(rank);
  const bool mapped = win->is_mapped(rank);
  *size = mapped ? part.bytes : 0;
  *disp_unit = part.disp_unit;
  *baseptr = mapped && part.bytes > 0 ? part.base : nullptr;
  return kSuccess;
}

Code win_attach(Process& process, Win* win, void* base, Count size) {
  if (const Code code = check_dynamic(process, *win)) return code;
  if (size < 0)
    return process.fail(kErrSize, "size = %lld, expected 0 or more", static_cast<long long>(size));
  if (base == nullptr && size > 0)
    return process.fail(kErrBuffer, "base = NULL, expected the address of %lld bytes",
                        static_cast<long long>(size));
  auto* memory = static_cast<std::byte*>(base);
  const std::ptrdiff_t other = find_overlap(win->attached, memory, size);
  if (other >= 0)
    return process.fail(kErrRmaAttach, "base = %p with %lld bytes overlaps the %lld bytes attached at %p",
                        base, static_cast<long long>(size),
                        static_cast<long long>(win->attached[static_cast<std::size_t>(other)].bytes),
                        static_cast<void*>(win->attached[static_cast<std::size_t>(other)].base));
  const Region region{memory, size};
  const auto place = std::upper_bound(
      win->attached.begin(), win->attached.end(), region, [](const Region& one, const Region& next) {
        return std::pair(one.begin(), one.end()) < std::pair(next.begin(), next.end());
      });
  win->attached.insert(place, region);
  return kSuccess;
}

Code win_detach(Process& process, Win* win, const void* base) {
  if (const Code code = check_dynamic(process, *win)) return code;
  const auto found = std::find_if(win->attached.begin(), win->attached.end(),
                                  [base](const Region& region) { return region.base == base; });
  if (found == win->attached.end())
    return process.fail(kErrRmaAttach, "base = %p, expected the start of memory that is attached", base);
  win->attached.erase(found);
  return kSuccess;
}

Code win_free(Process& process, Win** win) {
  Win& one = **win;
  if (const char* wrong = one.epoch.may_free()) return process.fail(kErrRmaSync, "%s", wrong);
  if (one.messenger) one.messenger->flush_all();
  if (const Code code = std::exchange(one.pending_error, 0)) return code;
  if (const Code code = delete_attributes(process, &one, &one.attributes)) return code;
  one.control->barrier();  // no rank accesses its memory any more
  if (one.control->is_shared() && !one.segment) one.control->shared()->leave();
  one.is_left = true;
  release(*win);
  *win = nullptr;
  tell_connections(process);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
