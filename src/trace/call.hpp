// One call of the program's while it runs, for one ABI. The wrappers (generated/trace/wrappers.cpp,
// wrappers_by_hand.cpp) describe it by Call's methods, and it becomes a Record. Compiled once for each ABI,
// in a namespace of its own (TASUKI_TRACE_ABI).
//
// A Call that another one encloses on the same thread records nothing: MPI libraries call their own
// functions. Look-ups come before begin() and after end(), so they count as the program's time and not as
// MPI's.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "generated/trace/functions.hpp"
#include "generated/trace/tables.hpp"
#include "trace/recorder.hpp"

namespace tasuki::trace::TASUKI_TRACE_ABI {

/// The library's own functions.
struct Real : Functions, Helpers {};
extern Real real;

/// A handle as the key of a table.
template <class Handle>
std::uintptr_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uintptr_t>(static_cast<std::uint32_t>(handle));
  }
}

std::int64_t type_size(MPI_Datatype type);
/// Whether its data do not lie one behind the other.
bool is_scattered(MPI_Datatype type);
/// MPI_Type_free: the handle may become another type's.
void forget_types();

/// Bytes that a call moves, and those of its largest block.
struct Extent {
  std::int64_t bytes = 0;
  std::int64_t block = 0;
  void add(std::int64_t part) {
    bytes += part;
    block = part > block ? part : block;
  }
};

/// `number` blocks of `count` elements each.
template <class Count>
Extent extent(const Count& count, MPI_Datatype type, int number) {
  const std::int64_t block = static_cast<std::int64_t>(count) * type_size(type);
  return {block * number, block};
}

/// The blocks of a "v" form.
template <class Count>
Extent extent(const Count* counts, MPI_Datatype type, int number) {
  Extent sum;
  const std::int64_t size = type_size(type);
  for (int i = 0; i < number; ++i) sum.add(static_cast<std::int64_t>(counts[i]) * size);
  return sum;
}

/// The blocks of a "w" form.
template <class Count>
Extent extent(const Count* counts, const MPI_Datatype* types, int number) {
  Extent sum;
  for (int i = 0; i < number; ++i) sum.add(static_cast<std::int64_t>(counts[i]) * type_size(types[i]));
  return sum;
}

class Call {
 public:
  explicit Call(Function function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool active() const { return active_; }

  // Before: on what, with whom, how much.
  void on_communicator(MPI_Comm comm);
  void on_window(MPI_Win win);
  void on_file(MPI_File file);
  void forget_communicator(MPI_Comm comm);
  void forget_window(MPI_Win win);
  void forget_file(MPI_File file);

  template <class Count>
  void send(Count count, MPI_Datatype type, int dest, int tag) {
    if (active_) note_send(static_cast<std::int64_t>(count) * type_size(type), type, dest, tag);
  }
  void send_parts(int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag) {
    send(count * partitions, type, dest, tag);
  }
  template <class Count>
  void receive(Count count, MPI_Datatype type, int source, int tag) {
    if (active_) note_receive(static_cast<std::int64_t>(count) * type_size(type), type, source, tag);
  }
  void receive_parts(int partitions, MPI_Count count, MPI_Datatype type, int source, int tag) {
    receive(count * partitions, type, source, tag);
  }
  template <class Count>
  void receive_matched(Count count, MPI_Datatype type) {
    receive(count, type, MPI_ANY_SOURCE, MPI_ANY_TAG);
  }
  void probe(int source, int tag) {
    if (active_) note_receive(0, MPI_BYTE, source, tag);
  }
  template <class Count>
  void bcast(Count count, MPI_Datatype type, int root) {
    if (!active_) return;
    note_root(root);
    const Extent one = extent(count, type, 1);
    note(is_root_ ? one : Extent{0, one.block}, is_root_ ? Extent{0, one.block} : one);
  }
  template <class Count>
  void reduce(Count count, MPI_Datatype type, int root) {
    if (!active_) return;
    note_root(root);
    const Extent one = extent(count, type, 1);
    note(one, is_root_ ? one : Extent{});
  }
  template <class Count>
  void allreduce(Count count, MPI_Datatype type) {
    if (active_) note(extent(count, type, 1), extent(count, type, 1));
  }
  template <class Count, class Counts>
  void gather(const void* send, Count sendcount, MPI_Datatype sendtype, Counts recvcounts,
              MPI_Datatype recvtype, int root) {
    if (!active_) return;
    note_root(root);
    const Extent in = is_root_ ? extent(recvcounts, recvtype, members()) : Extent{};
    note(send == MPI_IN_PLACE ? Extent{0, in.block} : extent(sendcount, sendtype, 1), in);
  }
  template <class Counts, class Count>
  void scatter(Counts sendcounts, MPI_Datatype sendtype, const void* receive, Count recvcount,
               MPI_Datatype recvtype, int root) {
    if (!active_) return;
    note_root(root);
    const Extent out = is_root_ ? extent(sendcounts, sendtype, members()) : Extent{};
    note(out, receive == MPI_IN_PLACE ? Extent{0, out.block} : extent(recvcount, recvtype, 1));
  }
  template <class Count, class Counts>
  void allgather(const void* send, Count sendcount, MPI_Datatype sendtype, Counts recvcounts,
                 MPI_Datatype recvtype) {
    if (!active_) return;
    const Extent in = extent(recvcounts, recvtype, members());
    note(send == MPI_IN_PLACE ? Extent{in.block, in.block} : extent(sendcount, sendtype, 1), in);
  }
  template <class SendCounts, class SendType, class ReceiveCounts, class ReceiveType>
  void alltoall(const void* send, SendCounts sendcounts, SendType sendtype, ReceiveCounts recvcounts,
                ReceiveType recvtype) {
    if (!active_) return;
    const Extent in = extent(recvcounts, recvtype, members());
    note(send == MPI_IN_PLACE ? in : extent(sendcounts, sendtype, members()), in);
  }
  template <class Counts>
  void reduce_scatter(Counts recvcounts, MPI_Datatype type) {
    if (!active_) return;
    const Extent whole = extent(recvcounts, type, members());
    note({whole.bytes, whole.bytes}, {own_count(recvcounts) * type_size(type), 0});
  }
  template <class Count>
  void reduce_scatter_block(Count count, MPI_Datatype type) {
    if (active_) note(extent(count, type, members()), extent(count, type, 1));
  }
  template <class Count, class Counts>
  void neighbor_allgather(Count sendcount, MPI_Datatype sendtype, Counts recvcounts, MPI_Datatype recvtype) {
    if (!active_) return;
    ask_neighbours();
    note(extent(sendcount, sendtype, destinations_), extent(recvcounts, recvtype, sources_));
  }
  template <class SendCounts, class SendType, class ReceiveCounts, class ReceiveType>
  void neighbor_alltoall(SendCounts sendcounts, SendType sendtype, ReceiveCounts recvcounts,
                         ReceiveType recvtype) {
    if (!active_) return;
    ask_neighbours();
    note(extent(sendcounts, sendtype, destinations_), extent(recvcounts, recvtype, sources_));
  }
  template <class Count>
  void put(Count count, MPI_Datatype type, int rank) {
    if (active_) note_target(rank, static_cast<std::int64_t>(count) * type_size(type), 0);
  }
  template <class Count>
  void fetch(Count count, MPI_Datatype type, int rank) {
    if (active_) note_target(rank, 0, static_cast<std::int64_t>(count) * type_size(type));
  }
  void exchange(MPI_Datatype type, int rank) {
    if (active_) note_target(rank, type_size(type), type_size(type));
  }
  void target(int rank) {
    if (active_) note_target(rank, 0, 0);
  }
  template <class Count>
  void fill(Count count, MPI_Datatype type) {
    if (active_) note({}, extent(count, type, 1));
  }
  template <class Count>
  void drain(Count count, MPI_Datatype type) {
    if (active_) note(extent(count, type, 1), {});
  }

  /// The program's status, or `own` where it wants none.
  MPI_Status* status_or(MPI_Status* status, MPI_Status* own) const {
    return active_ && status == MPI_STATUS_IGNORE ? own : status;
  }

  void collective() { collective_ = true; }

  void begin() {
    if (active_) record_.begin = recorder_.ticks();
  }
  /// Returns `code`.
  int end(int code);

  // After: what came of it.
  void received(const MPI_Status* status);
  void unanswered() { record_.flags |= kUnanswered; }
  void made(int code, const MPI_Request* request, bool persistent = false);
  void made_communicator(int code, const MPI_Comm* comm);
  void made_window(int code, const MPI_Win* win);
  void made_file(int code, const MPI_File* file);
  /// `handle` was started; REQUIRES: it did not fail.
  void started(std::uintptr_t handle);
  /// The request that `handle` was is complete; `status` may be null. Whether it is still there is `left`.
  void completed(std::uintptr_t handle, const MPI_Status* status, bool left);
  void freed(std::uintptr_t handle);

 private:
  void note(const Extent& out, const Extent& in);
  void note_send(std::int64_t bytes, MPI_Datatype type, int dest, int tag);
  void note_receive(std::int64_t bytes, MPI_Datatype type, int source, int tag);
  void note_type(std::int64_t bytes, MPI_Datatype type);
  void ask_library();
  void note_root(int root);
  void note_target(int rank, std::int64_t out, std::int64_t in);
  void ask_neighbours();
  std::int32_t world_rank(int rank) const;
  int members() const { return group_ != nullptr ? static_cast<int>(group_->peers->ranks().size()) : 0; }
  template <class Count>
  std::int64_t own_count(const Count* counts) const {
    return group_ != nullptr && group_->rank < members() ? static_cast<std::int64_t>(counts[group_->rank])
                                                         : 0;
  }

  Recorder& recorder_;
  bool active_;
  bool receives_ = false;
  bool collective_ = false;
  bool much_ = false;   // it begins a message whose way matters
  bool moved_ = false;  // such a message may have moved in it
  bool is_root_ = false;
  int sources_ = 0;  // neighbours that send to this rank, and those it sends to
  int destinations_ = 0;
  MPI_Comm comm_ = MPI_COMM_NULL;
  Group* group_ = nullptr;
  const void* site_ = nullptr;
  const PythonPlace* python_ = nullptr;
  Record record_;
  std::vector<Done> done_;
  std::vector<std::int64_t> started_;
};

/// The group of what a handle stands for, entered where it is new; null for a null handle.
Group* group_of(MPI_Comm comm);
Group* group_of_window(MPI_Win win);
Group* group_of_file(MPI_File file);

/// How many neighbours send to this rank of a topology, and how many it sends to.
void count_neighbours(MPI_Comm comm, int* sources, int* destinations);

/// Opens the part once MPI_Init has returned, or once a session has made a communicator.
void open_part();
void open_part_of_session();
/// Before MPI_Finalize.
void forget_world();

}  // namespace tasuki::trace::TASUKI_TRACE_ABI
