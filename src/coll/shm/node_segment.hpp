// Node segment: the shared memory in which the ranks of a communicator on one node meet. Each rank has a
// block of it that it alone writes: flags that say how far the rank is and, behind a flag, the data that it
// shows to the others. Blocking collectives run over it without a message: flag-based ones
// (coll/shm/flag_collectives.hpp) and single-copy ones (coll/shm/single_copy.hpp).
//
// Collectives on a node segment are counted from 1, alike at all members. Each has a *line* of each member's
// block, and the same line again kLines collectives later. A member writes what it shows into its line or,
// where that is too short, into the page that goes with the collective; then it publishes a *phase*, 0 to 15,
// in the line's word. The phases of a collective rise. A member that has seen the phase may read the data
// until it leaves the collective. There are many lines, so that a member which only gives, as the root of a
// broadcast does, can run far ahead; there are few pages, since they are large.
//
// A member that waits spins, polls, yields and sleeps like every wait. Before it may sleep it announces which
// member it waits for; a member that publishes looks at these announcements alone, and wakes only those that
// wait for it. A meeting of all (await_all) needs no such look: a member that finds that all have come wakes
// those that announced that they wait for all members. At least one member does find it, since of all looks
// that go before a sleep the last one sees all.
//
// What a member shows that is more than a page holds it may *keep*: in memory that goes with the page, and is
// written again only when that is. So it need not wait for those that read it.
//
// Ownership: a Comm owns its NodeSegment. A block, and what is kept, lies in its owner's symmetric memory,
// and is given back when all other members have released it, as they do when their communicator goes; until
// then it is in the owner's NodeSegments. Thread safety: a NodeSegment belongs to one rank and one
// communicator, whose collectives are called one after the other; the caller holds the process lock. The
// shared fields are atomic.
//
// Invariants:
//  1. A member writes its line of collective n only when all others have left collective n - kLines, and its
//  page only when they have left n - kPages. If they have not, it waits until half of the lines (pages) are
//  free, so that ranks which share a processor take turns seldom.
//  2. A member that shows a phase of collective n has left collective n - 1.
//  3. Every kLeavesTold collectives a member publishes that it has left. A member that has left collective n
//  - 1 has published at least n - kLeavesTold, which is enough for any member's collective n: no member waits
//  for room of the member that is furthest behind, so none waits for ever.
//  4. No rank touches a block that it has released.
//  5. Member 0 says how far lines travel (LinesWord), from a collective on that no member can have come to
//  yet: each reads it before, so all choose alike.
//  6. A member's word is not trusted: data() and bytes() give what lies in its block, whatever the word says;
//  a
//     member that waits for long checks whether the word can be what it is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "progress/progress.hpp"
#include "reduction/op.hpp"
#include "reduction/op_kernels.hpp"

namespace tasuki {

class SymmetricHeap;
class NodeSegments;

inline constexpr std::uint64_t kLines = 64;
inline constexpr std::uint64_t kPages = 8;
inline constexpr std::uint64_t kLeavesTold = 4;
static_assert(kLeavesTold <= kPages / 2);
inline constexpr Count kInlineBytes = 4096;  // what a page holds
inline constexpr unsigned kPhases = 16;
/// From so many on, what a member shows to others alone is written past its caches, where the table of the
/// processor streams at all: nearly a page, since all pages are more than a first-level cache then. On an
/// EPYC (family 25, model 17) a broadcast of 4 KiB takes 0.31 us so instead of 0.47, and 0.35 instead of 1.84
/// where lines travel far; one of 3.5 KiB would take 0.44 so, and takes 0.31.
inline constexpr Count kStreamedShownBytesMin = 3840;

/// What the algorithms keep of one collective is at most so much, padding aside; so on a node segment it is
/// kPages times that.
inline constexpr Count kKeptBytesMax = 128 * 1024;
struct KeptMemory {
  void* at = nullptr;
  Count bytes = 0;
};
using KeptMemories = std::array<KeptMemory, kPages>;

/// The flag of one collective of one member, and what of its data travels with it.
struct alignas(64) FlagLine {
  std::atomic<std::uint64_t> word;  // writer: owner; number, phase, bytes: see LineWord. Publishes the data
  std::byte data[56];               // writer: owner, before it publishes
};
inline constexpr Count kLineBytes = sizeof(FlagLine::data);

/// Data that is longer than a line. Pages are 65 lines apart: they do not begin in one set of a cache.
struct alignas(64) SegmentPage {
  std::byte data[65 * 64];  // writer: owner, before it publishes
};
static_assert(sizeof(SegmentPage) >= kInlineBytes);

/// The word of a line: which collective and phase, how many bytes its owner shows, and where they are.
struct LineWord {
  static constexpr int kBytesBits = 16;
  static constexpr std::uint64_t kInPage = 1U << 15;  // else in the line
  static constexpr std::uint64_t stamp(std::uint64_t number, unsigned phase) {
    return number * kPhases + phase;
  }
  static constexpr std::uint64_t make(std::uint64_t number, unsigned phase, std::uint64_t place,
                                      Count bytes) {
    return stamp(number, phase) << kBytesBits | place | static_cast<std::uint64_t>(bytes);
  }
  static constexpr std::uint64_t stamp_of(std::uint64_t word) { return word >> kBytesBits; }
  static constexpr Count bytes_of(std::uint64_t word) { return static_cast<Count>(word & (kInPage - 1)); }
};
static_assert(kInlineBytes < Count{LineWord::kInPage});

/// Whether lines were found to travel near between the members, and from which collective on that counts. It
/// is kAhead collectives later: no member is more than kLines ahead of another one.
struct LinesWord {
  static constexpr std::uint64_t kAhead = 2 * kLines;
  static_assert(kAhead % kLeavesTold == 0);
  static constexpr std::uint64_t make(std::uint64_t from, bool near) { return from << 1 | (near ? 1 : 0); }
  static constexpr std::uint64_t from_of(std::uint64_t word) { return word >> 1; }
  static constexpr bool is_near(std::uint64_t word) { return (word & 1) != 0; }
};

/// A member's part of the node segment. All zero at first, but for the pages.
struct SegmentBlock {
  FlagLine lines[kLines];
  alignas(64)
      std::atomic<std::uint64_t> left;  // writer: owner; the last collective that it published to have left
  alignas(64) std::atomic<std::uint32_t> awaited;  // writer: owner; seq_cst; what it may sleep for, see below
  std::atomic<std::uint64_t> lines_word;           // writer: owner, member 0; LinesWord; release
  alignas(64) std::atomic<std::uint32_t> released;  // writers: the other members, each once
  SegmentPage pages[kPages];
};

/// The line of collective `number`. Lines of collectives that follow one another are not neighbours: a
/// processor that waits for one fetches its neighbour too, and would take it from the member that writes it
/// next.
constexpr std::uint64_t line_of(std::uint64_t number) {
  return number % (kLines / 2) * 2 + number / (kLines / 2) % 2;
}

/// The collectives that run straight over the lines where they are small: coll/shm/flag_collectives.hpp.
enum class FlagOperation : std::uint8_t {
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
  kGatherv,
  kScatterv,
};
inline constexpr std::size_t kFlagOperations = 13;
inline constexpr Count kNeverByFlags = -1;
/// Up to how many bytes shown by a member each of them is flag-based, at most kInlineBytes; or kNeverByFlags.
using FlagLimits = std::array<Count, kFlagOperations>;

/// Values of StageBlock::awaited: a member's rank, or one of these.
inline constexpr std::uint32_t kAwaitsNobody = 0;
inline constexpr std::uint32_t kAwaitsEverybody = UINT32_MAX;
constexpr std::uint32_t awaits(int member) {
  return static_cast<std::uint32_t>(member) + 1;
}

class NodeSegment {
 public:
  /// The node segment of `comm`, an intracommunicator of two or more; null when its ranks do not share
  /// memory, at all of them then. Collective.
  static std::shared_ptr<NodeSegment> make(Comm& comm, NodeSegments& segments);
  ~NodeSegment();
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;

  Comm& comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Of the collective that was entered last.
  std::uint64_t number() const { return number_; }
  /// Whether cache lines were found to travel near between the members (protocol/line_pace.hpp): in the next
  /// collective, alike at all.
  bool near_lines() const { return LinesWord::is_near(lines_); }
  /// What this rank shows to the others.
  SegmentBlock& own_block() { return *own_; }

  /// Tells the user that a collective runs over the flags, of which a member shows so many bytes.
  using Explain = std::function<void(FlagOperation, Count bytes, Repeatable)>;

  /// Alike at all members; no collective is flag-based until they are set. Where the user wants explanations,
  /// no collective is within the limits that every call looks at, so that other users pay nothing for them.
  /// `near_limits`: while near_lines(). `streams`: long pages are written past the caches, at any distance.
  void set_flag_limits(const FlagLimits& limits, const FlagLimits& near_limits, bool streams,
                       Explain explain) {
    limits_ = {limits, near_limits};
    streamed_bytes_min_ = streams ? kStreamedShownBytesMin : kInlineBytes + 1;
    explain_ = std::move(explain);
    explained_ = {};
    take_limits();
  }
  bool takes_flags(FlagOperation operation, Count bytes) {
    return takes_flags(operation, bytes, [] { return Repeatable::kNo; });
  }
  /// `repeatable()`: of an operation that reduces.
  template <class Asked>
  bool takes_flags(FlagOperation operation, Count bytes, const Asked& repeatable) {
    if (bytes <= flag_bytes_max_[static_cast<std::size_t>(operation)]) [[likely]]
      return true;
    return explain_ != nullptr && takes_flags_and_explains(operation, bytes, repeatable());
  }

  /// Whether some of these collectives are flag-based.
  bool may_take_flags(FlagOperation operation) const {
    return explained_bytes_max_[static_cast<std::size_t>(operation)] != kNeverByFlags;
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
  void enter() {
    ++number_;
    line_ = line_of(number_);
  }

  /// Room for this member's data in this collective, for writing: `bytes`, up to kInlineBytes. It is aligned
  /// to 8 bytes, and to 64 where it is longer than kLineBytes. Waits until all others have left the
  /// collective that used it before. What a second call in a collective gives is what counts.
  std::byte* room(Count bytes) {
    const bool in_line = bytes <= kLineBytes;
    const std::uint64_t depth = in_line ? kLines : kPages;
    if (number_ > least_left_ + depth) [[unlikely]]
      wait_for_room(depth);
    place_ = in_line ? 0 : LineWord::kInPage;
    return in_line ? own_->lines[line_].data : own_->pages[number_ % kPages].data;
  }

  /// Whether what this member shows is to be written past the caches (base/copy.hpp): what is nearly a page,
  /// since all pages together are more than a first-level cache then.
  bool is_streamed(Count bytes) const { return bytes >= streamed_bytes_min_; }

  /// Memory of this member's that the others can reach, for what it shows in this collective: no rank writes
  /// it before all have left. Waits as room() does for a page. Null when there is none.
  std::byte* keep(Count bytes);

  /// Shows `phase` to all, and wakes those that wait for this member. REQUIRES: room() was called in this
  /// collective; `phase` rises within it.
  void publish(unsigned phase, Count bytes) {
    show(phase, bytes);
    wake_waiters();
  }

  /// The same where all members await_all() this phase: that wakes.
  void show(unsigned phase, Count bytes) {
    store(own_->lines[line_].word, LineWord::make(number_, phase, place_, bytes));
  }

  /// Whether `member` has come to `phase` of this collective; it may be further.
  bool has_come(int member, unsigned phase) const {
    return LineWord::stamp_of(line(member).word.load(std::memory_order_seq_cst)) >=
           LineWord::stamp(number_, phase);
  }

  /// What a member that has_come() shows, where it has it in its room().
  const std::byte* data(int member) const {
    const FlagLine& shown = line(member);
    if ((shown.word.load(std::memory_order_relaxed) & LineWord::kInPage) == 0) return shown.data;
    return members_[static_cast<std::size_t>(member)].block->pages[number_ % kPages].data;
  }
  Count bytes(int member) const {
    return LineWord::bytes_of(line(member).word.load(std::memory_order_relaxed));
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
    check_line(member);
    announce(awaits(member));
    return has_come(member, phase);
  }
  void stop_waiting() {
    if (announced_ == kAwaitsNobody) return;
    announced_ = kAwaitsNobody;
    own_->awaited.store(kAwaitsNobody, std::memory_order_relaxed);
  }

  /// Adds the endpoints of those that a wait under way is for, once it has announced them: before it sleeps.
  void add_missing(std::vector<int>* endpoints) const;

  /// Ends this collective: this member reads no data of it any more.
  void leave() {
    if (number_ % kLeavesTold == 0) tell_left();
  }

  /// Lets go of the other members' blocks. No collective follows.
  void release();
  /// The process ends, and its memory with it.
  void forget_segments() { segments_ = nullptr; }

 private:
  struct Member {
    SegmentBlock* block;
    int endpoint;
  };

  NodeSegment(Comm& comm, NodeSegments& segments);
  bool connect(Comm& comm);

  const FlagLine& line(int member) const {
    return members_[static_cast<std::size_t>(member)].block->lines[line_];
  }
  /// The last collective that `member` published to have left.
  std::uint64_t left(int member) const {
    return members_[static_cast<std::size_t>(member)].block->left.load(std::memory_order_seq_cst);
  }
  std::uint64_t find_least_left() const;
  /// A store that a member which is about to sleep does not miss: see Progress::sleeps_with_fence().
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
    if (rank_ == 0) tell_lines();
    store(own_->left, number_);
    wake_waiters();
    const std::uint64_t word = members_[0].block->lines_word.load(std::memory_order_acquire);
    if (word != lines_) [[unlikely]]
      take_lines(word);
  }
  /// Of a member for which this rank waits without end: ends the job where its line cannot be what it is.
  [[gnu::cold]] void check_line(int member) const;
  [[gnu::cold]] void check_left(int member) const;
  void tell_lines();
  [[gnu::cold]] void take_lines(std::uint64_t word);
  void take_limits();
  [[gnu::cold]] bool takes_flags_and_explains(FlagOperation operation, Count bytes, Repeatable repeatable);
  void find_kernel(const Op& op, const Datatype& datatype);
  template <class Done>
  bool wait(Done&& done, Progress::Patience& patience);
  [[gnu::noinline]] void wait_for_room(std::uint64_t depth);
  [[gnu::noinline]] void wait_for(int member, unsigned phase);
  [[gnu::noinline]] void wait_for_all(unsigned phase);

  Process& process_;
  Progress& progress_;
  Comm& comm_;
  NodeSegments* segments_;  // null once these are gone
  int rank_;
  int size_;
  bool all_sleep_with_fence_ = false;
  std::uint64_t number_ = 0;      // of the collective under way, or of the last one
  std::uint64_t line_ = 0;        // its line
  std::uint64_t place_ = 0;       // of the data: LineWord::kInPage or 0
  std::uint64_t least_left_ = 0;  // all others have left this one; there may be more
  SegmentBlock* own_ = nullptr;
  Count streamed_bytes_min_ = kInlineBytes + 1;
  std::uint64_t lines_ = 0;           // LinesWord, which counts
  std::array<FlagLimits, 2> limits_;  // far, near
  FlagLimits flag_bytes_max_;
  FlagLimits explained_bytes_max_;
  Explain explain_;  // null: the user wants none
  // By Repeatable: a bit for each power of two of bytes shown.
  std::array<std::array<std::uint32_t, kFlagOperations>, 3> explained_{};
  std::vector<Member> members_;  // by rank
  std::uint32_t announced_ = kAwaitsNobody;
  unsigned announced_phase_ = 0;  // of all members
  void* memory_ = nullptr;        // that the own block lies in
  KeptMemories kept_;
  std::uint16_t kernel_op_ = 0;  // of `kernel_`, with the next: numbers of predefined objects
  std::uint16_t kernel_type_ = 0;
  ReductionKernel kernel_ = nullptr;
  std::unique_ptr<std::byte[]> scratch_;
  Count scratch_bytes_ = 0;
  bool released_ = false;
};

/// Where a communicator keeps its node segment: null before the first blocking collective, and where there is
/// none.
inline constexpr Slot<NodeSegment> kNodeSegmentSlot{SlotNumber::kNodeSegment};

/// The node segments of a process, and the blocks of those that are gone: part of Collectives.
class NodeSegments {
 public:
  explicit NodeSegments(SymmetricHeap& memory) : memory_(memory) {}
  ~NodeSegments();
  NodeSegments(const NodeSegments&) = delete;
  NodeSegments& operator=(const NodeSegments&) = delete;

  void add(NodeSegment* segment) { live_.push_back(segment); }
  void remove(NodeSegment* segment);

  template <class Visit>
  void for_each(Visit&& visit) {
    for (NodeSegment* segment : live_) visit(*segment);
  }

  /// `block`, in `memory`, and what is kept with it are released by their owner; `others` will.
  void retire(void* memory, SegmentBlock* block, const KeptMemories& kept, int others) {
    retired_.push_back({memory, block, kept, others});
  }

  /// Gives back the memory of the blocks that all have released.
  void give_back();

  /// No collective follows on any of them.
  void release_all();

  void add_missing(std::vector<int>* endpoints) const {
    for (const NodeSegment* segment : live_) segment->add_missing(endpoints);
  }

  std::size_t live() const { return live_.size(); }
  std::size_t retired() const { return retired_.size(); }

 private:
  struct Retired {
    void* memory;
    SegmentBlock* block;
    KeptMemories kept;
    int others;
  };
  SymmetricHeap& memory_;
  std::vector<NodeSegment*> live_;
  std::vector<Retired> retired_;
};

}  // namespace tasuki
