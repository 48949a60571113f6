// Stage: what the ranks of a communicator that share memory meet on: for each of them a block of global
// memory that it alone writes, with flags that say how far it is and, behind a flag, what it has to show.
// Blocking collectives go over the stage without a message (coll/quick.hpp, and the shared steps of
// coll/schedule.hpp).
//
// Collectives on a stage are counted from 1, alike at all members. The one with number n uses cell n % kCells
// of each block. What a member wants to show it writes into its cell's data and then publishes a *phase*, 0
// to 15, in the cell's word; phases of a collective rise. Whoever has seen the phase may read the data until
// it leaves the collective.
//
// A member that waits spins, polls, yields and sleeps like every wait. Before it may sleep it announces whom
// it waits for; who publishes looks at that alone, and wakes it only then. A meeting of all (await_all) needs
// no such look: whoever finds that all have come wakes those that announced that they wait for everybody. One
// of them does find it, since of all looks that go before a sleep the last one sees everybody.
//
// Ownership: a Comm owns its Stage. A block lies in its owner's global memory, and is given back when all
// other members have released it, as they do when their communicator goes; until then it is in a list of the
// owner's Collectives.
// Thread safety: a Stage belongs to one rank and one communicator, whose collectives are called one after the
// other; the caller holds the process lock. The shared fields are atomic.
//
// Invariants:
//  1. A member writes its cell of collective n only when all others have left collective n - kCells.
//  2. A member that shows a phase of collective n has left collective n - 1.
//  3. Every kLeavesTold collectives a member tells that it has left. Whoever has left collective n - 1 has
//  told at least n - kLeavesTold, and n - kCells is enough for any member's collective n: nobody waits for
//  ever.
//  4. Nobody touches a block that it has released.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/op.hpp"
#include "object/op_kernels.hpp"
#include "runtime/progress.hpp"

namespace tasuki {

class GlobalMemory;

inline constexpr std::uint64_t kCells = 8;
inline constexpr std::uint64_t kLeavesTold = 4;
static_assert(kLeavesTold <= kCells);
inline constexpr Count kInlineBytes = 4096;  // what a cell holds, 8 bytes of padding for alignment aside
inline constexpr unsigned kPhases = 16;

/// One collective of one member. The data begins in the line of the flag, so that 56 bytes travel with it.
/// Cells are 65 lines apart: flags of the same member do not meet in one set of a cache.
struct alignas(64) Cell {
  std::atomic<std::uint64_t> word;  // writer: owner; number, phase, bytes: see CellWord. Publishes the data
  std::byte data[65 * 64 - 8];      // writer: owner, before it publishes
};
static_assert(sizeof(Cell) == 65 * 64 && sizeof(Cell::data) >= kInlineBytes + 8);

/// The word of a cell: which collective and phase, and how many bytes its owner shows.
struct CellWord {
  static constexpr int kBytesBits = 16;
  static constexpr std::uint64_t stamp(std::uint64_t number, unsigned phase) {
    return number * kPhases + phase;
  }
  static constexpr std::uint64_t make(std::uint64_t number, unsigned phase, Count bytes) {
    return stamp(number, phase) << kBytesBits | static_cast<std::uint64_t>(bytes);
  }
  static constexpr std::uint64_t stamp_of(std::uint64_t word) { return word >> kBytesBits; }
  static constexpr Count bytes_of(std::uint64_t word) {
    return static_cast<Count>(word & ((1U << kBytesBits) - 1));
  }
};

/// What a member has on the stage. All zero at first.
struct StageBlock {
  Cell cells[kCells];
  alignas(
      64) std::atomic<std::uint64_t> left;  // writer: owner; the last collective that it told to have left
  alignas(64) std::atomic<std::uint32_t> awaited;  // writer: owner; seq_cst; whom it may sleep for, see below
  alignas(64) std::atomic<std::uint32_t> released;  // writers: the other members, each once
};

/// The collectives that run straight over the cells where they are small: coll/quick.hpp.
enum class QuickOperation : std::uint8_t {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kAllgather,
  kAlltoall,
  kGather,
  kScatter,
  kReduceScatter,
  kScan,
  kExscan,
};
inline constexpr std::size_t kQuickOperations = 11;
inline constexpr Count kNeverQuick = -1;
/// Up to how many bytes shown by a member each of them is quick, at most kInlineBytes; or kNeverQuick.
using QuickLimits = std::array<Count, kQuickOperations>;

/// Values of StageBlock::awaited: a member's rank, or one of these.
inline constexpr std::uint32_t kAwaitsNobody = 0;
inline constexpr std::uint32_t kAwaitsEverybody = UINT32_MAX;
constexpr std::uint32_t awaits(int member) {
  return static_cast<std::uint32_t>(member) + 1;
}

class Stage {
 public:
  /// The stage of `comm`, an intracommunicator of two or more; null when its ranks do not share memory, at
  /// all of them then. Collective.
  static std::shared_ptr<Stage> make(Comm& comm);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Comm& comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Alike at all members; no collective is quick until they are set.
  void set_quick_limits(const QuickLimits& limits) { quick_bytes_max_ = limits; }
  bool is_quick(QuickOperation operation, Count bytes) const {
    return bytes <= quick_bytes_max_[static_cast<std::size_t>(operation)];
  }

  /// The loop for a predefined operation on a predefined datatype; null where there is none.
  ReductionKernel kernel(const Op& op, const Datatype& datatype) {
    if (op.predefined != kernel_op_ || datatype.predefined != kernel_type_) [[unlikely]]
      find_kernel(op, datatype);
    return kernel_;
  }

  /// This rank's own memory for `count` elements: where a buffer of them begins. Null when there is none.
  /// What it gave before goes.
  std::byte* scratch(Count count, const Datatype& datatype);

  /// Begins the next collective. All members do, in the same order.
  void enter() { ++number_; }

  /// This member's data in this collective, for writing. Waits until all others have left the collective that
  /// used it before.
  std::byte* room() {
    if (number_ > least_left_ + kCells) [[unlikely]]
      wait_for_room();
    return own_cell().data;
  }

  /// Shows `phase` to all, and wakes who waits for this member. REQUIRES: room() was called in this
  /// collective; `phase` rises within it.
  void publish(unsigned phase, Count bytes) {
    show(phase, bytes);
    wake_waiters();
  }

  /// The same where all members await_all() this phase: that wakes.
  void show(unsigned phase, Count bytes) { store(own_cell().word, CellWord::make(number_, phase, bytes)); }

  /// Whether `member` has come to `phase` of this collective; it may be further.
  bool has_come(int member, unsigned phase) const {
    return CellWord::stamp_of(cell(member).word.load(std::memory_order_seq_cst)) >=
           CellWord::stamp(number_, phase);
  }

  /// What a member that has_come() shows.
  const std::byte* data(int member) const { return cell(member).data; }
  Count bytes(int member) const {
    return CellWord::bytes_of(cell(member).word.load(std::memory_order_relaxed));
  }

  /// Returns once `member`, which publishes it, has come to `phase`.
  void await(int member, unsigned phase) {
    if (!has_come(member, phase)) wait_for(member, phase);
  }

  /// Returns once all have come to `phase`. REQUIRES: all members call it for this phase, after show().
  void await_all(unsigned phase) {
    for (int member = 0; member < size_; ++member) {
      if (!has_come(member, phase)) {
        wait_for_all(phase);
        break;
      }
    }
    wake_sleepers();
    least_left_ = number_ - 1;
  }

  /// For a condition of Progress::wait_until: has_come(); where it is false this rank has announced that it
  /// waits for `member`, which will wake it. After the last such look: stop_waiting().
  bool has_come_or_wait(int member, unsigned phase) {
    if (has_come(member, phase)) return true;
    announce(awaits(member));
    return has_come(member, phase);
  }
  void stop_waiting() {
    if (announced_ == kAwaitsNobody) return;
    announced_ = kAwaitsNobody;
    own_->awaited.store(kAwaitsNobody, std::memory_order_relaxed);
  }

  /// Ends this collective: this member reads nobody's data of it any more.
  void leave() {
    if (number_ % kLeavesTold == 0) tell_left();
  }

  /// Lets go of the other members' blocks. No collective follows.
  void release();

 private:
  struct Member {
    StageBlock* block;
    int endpoint;
  };

  explicit Stage(Comm& comm);
  bool connect(Comm& comm);

  Cell& own_cell() const { return own_->cells[number_ % kCells]; }
  const Cell& cell(int member) const {
    return members_[static_cast<std::size_t>(member)].block->cells[number_ % kCells];
  }
  /// A store that a member who is about to sleep does not miss: see Progress::sleeps_with_fence().
  template <class T>
  void store(std::atomic<T>& field, T value) const {
    if (all_sleep_with_fence_) [[likely]] {
      field.store(value, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // the looks at `awaited` stay behind it
    } else {
      field.store(value, std::memory_order_seq_cst);
    }
  }
  void announce(std::uint32_t whom) {
    if (announced_ == whom) return;
    announced_ = whom;
    own_->awaited.store(whom, std::memory_order_seq_cst);
    progress_.look_again();
  }
  void wake_waiters() { wake_those_that_await(awaits(rank_)); }
  void wake_sleepers() { wake_those_that_await(kAwaitsEverybody); }
  void wake_those_that_await(std::uint32_t whom) {
    for (const Member& member : members_) {
      if (member.block->awaited.load(std::memory_order_seq_cst) == whom) [[unlikely]]
        progress_.wake_peer(member.endpoint);
    }
  }
  void tell_left() {
    store(own_->left, number_);
    wake_waiters();
  }
  void find_kernel(const Op& op, const Datatype& datatype);
  template <class Done>
  bool wait(Done&& done, Progress::Waiter& waiter);
  [[gnu::noinline]] void wait_for_room();
  [[gnu::noinline]] void wait_for(int member, unsigned phase);
  [[gnu::noinline]] void wait_for_all(unsigned phase);

  Process& process_;
  Progress& progress_;
  Comm& comm_;
  int rank_;
  int size_;
  bool all_sleep_with_fence_ = false;
  std::uint64_t number_ = 0;      // of the collective under way, or of the last one
  std::uint64_t least_left_ = 0;  // all others have left this one; there may be more
  StageBlock* own_ = nullptr;
  QuickLimits quick_bytes_max_;
  std::vector<Member> members_;  // by rank
  std::uint32_t announced_ = kAwaitsNobody;
  void* memory_ = nullptr;       // that the own block lies in
  std::uint16_t kernel_op_ = 0;  // of `kernel_`, with the next: numbers of predefined objects
  std::uint16_t kernel_type_ = 0;
  ReductionKernel kernel_ = nullptr;
  std::unique_ptr<std::byte[]> scratch_;
  Count scratch_bytes_ = 0;
  bool released_ = false;
};

/// Sets the limits of comm.stage, by the choice among all algorithms: coll/quick.cpp.
void set_quick_limits(Comm& comm);

/// The first call of stage_of().
[[gnu::cold, gnu::noinline]] Stage* try_to_make_stage(Comm& comm);

/// The stage of `comm`, made by the first call; null where there is none. Collective in that sense: to be
/// asked by a blocking collective alone.
inline Stage* stage_of(Comm& comm) {
  if (comm.stage_tried) [[likely]]
    return comm.stage.get();
  return try_to_make_stage(comm);
}

/// The stages of a process, and the blocks of those that are gone: part of Collectives.
class Stages {
 public:
  explicit Stages(GlobalMemory& memory) : memory_(memory) {}
  ~Stages() { give_back(); }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  void add(Stage* stage) { live_.push_back(stage); }
  void remove(Stage* stage);

  /// The settings of collectives have changed, alike at all ranks: other ones may be quick.
  void set_all_quick_limits() {
    for (const Stage* stage : live_) set_quick_limits(stage->comm());
  }

  /// `block`, in `memory`, is released by its owner; `others` will.
  void retire(void* memory, StageBlock* block, int others) { retired_.push_back({memory, block, others}); }

  /// Gives back the memory of the blocks that all have released.
  void give_back();

  /// No collective follows on any of them.
  void release_all();

  std::size_t live() const { return live_.size(); }
  std::size_t retired() const { return retired_.size(); }

 private:
  struct Retired {
    void* memory;
    StageBlock* block;
    int others;
  };
  GlobalMemory& memory_;
  std::vector<Stage*> live_;
  std::vector<Retired> retired_;
};

}  // namespace tasuki
