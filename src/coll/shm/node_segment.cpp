// Making a node segment, waiting on it, and its end.
#include "coll/shm/node_segment.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/system/processor_hints.hpp"
#include "coll/byte_collectives.hpp"
#include "coll/schedule/bound_schedule.hpp"
#include "job/launcher.hpp"
#include "memory/symmetric_heap.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

// Blocks are allocated alike at all members, so their addresses often differ by a multiple of a page; then a
// processor takes a read of one member's line for a read of what it is writing into its own. Each rank's
// block begins some lines later.
constexpr std::size_t kShiftBytes = 3 * 64;
constexpr std::size_t kShifts = 16;
constexpr Count kKeptGranule = 16 * 1024;  // memory to keep things in is had in so many bytes

}  // namespace

std::shared_ptr<NodeSegment> NodeSegment::make(Comm& comm, NodeSegments& segments) {
  segments.give_back();
  std::shared_ptr<NodeSegment> segment(new NodeSegment(comm, segments));
  if (!segment->connect(comm)) return nullptr;
  segments.add(segment.get());
  return segment;
}

NodeSegment::NodeSegment(Comm& comm, NodeSegments& segments)
    : process_(comm.process),
      progress_(*comm.process.progress),
      comm_(comm),
      segments_(&segments),
      rank_(comm.rank),
      size_(comm.size()) {
  for (FlagLimits& limits : limits_) limits.fill(kNeverByFlags);
  take_limits();
  const std::size_t bytes = sizeof(SegmentBlock) + kShifts * kShiftBytes;
  memory_ = process_.symmetric_heap->allocate(bytes, alignof(SegmentBlock));
  if (memory_ == nullptr) return;
  const std::size_t shift = static_cast<std::size_t>(rank_) % kShifts * kShiftBytes;
  std::memset(static_cast<std::byte*>(memory_) + shift, 0, offsetof(SegmentBlock, pages));
  own_ = new (static_cast<std::byte*>(memory_) + shift) SegmentBlock;
}

/// Finds the others' blocks. Returns whether every member can reach every block.
bool NodeSegment::connect(Comm& comm) {
  SymmetricHeap& memory = *process_.symmetric_heap;
  const auto size = static_cast<std::size_t>(size_);
  std::vector<SymmetricAddress> addresses(size);
  const SymmetricAddress own = own_ != nullptr ? memory.locate(own_, sizeof(SegmentBlock)).address : 0;
  if (allgather_bytes(comm, &own, addresses.data(), sizeof own) != 0) return false;
  bool reached = std::find(addresses.begin(), addresses.end(), SymmetricAddress{0}) == addresses.end();
  if (!reached) return false;  // as all know
  all_sleep_with_fence_ = true;
  for (int member = 0; member < size_; ++member) {
    const SymmetricAddress address = addresses[static_cast<std::size_t>(member)];
    const int endpoint = comm.endpoint(member);
    reached = reached && memory.locate(endpoint, address, sizeof(SegmentBlock)).is_shared();
    all_sleep_with_fence_ = all_sleep_with_fence_ && progress_.sleeps_with_fence(endpoint);
    members_.push_back({reinterpret_cast<SegmentBlock*>(address), endpoint});
  }
  std::vector<std::uint8_t> reaches(size);
  const std::uint8_t mine = reached ? 1 : 0;
  if (allgather_bytes(comm, &mine, reaches.data(), 1) != 0) reached = false;
  reached = reached && std::find(reaches.begin(), reaches.end(), 0) == reaches.end();
  if (!reached) members_.clear();
  return reached;
}

NodeSegment::~NodeSegment() {
  if (!members_.empty()) {
    release();
  } else if (memory_ != nullptr) {
    process_.symmetric_heap->deallocate(memory_);
  }
}

void NodeSegment::release() {
  if (released_) return;
  released_ = true;
  for (const Member& member : members_) {
    if (member.block != own_) member.block->released.fetch_add(1, std::memory_order_acq_rel);
  }
  if (segments_ == nullptr) return;
  segments_->remove(this);
  segments_->retire(memory_, own_, kept_, size_ - 1);
}

std::byte* NodeSegment::keep(Count bytes) {
  if (number_ > least_left_ + kPages) wait_for_room(kPages);
  KeptMemory& kept = kept_[number_ % kPages];
  if (bytes > kept.bytes) {
    // All have left the collective that used it before.
    SymmetricHeap& memory = *process_.symmetric_heap;
    if (kept.at != nullptr) memory.deallocate(kept.at);
    const Count rounded = (bytes + kKeptGranule - 1) / kKeptGranule * kKeptGranule;
    kept.at = memory.allocate_symmetric(static_cast<std::size_t>(rounded), kScratchAlignment);
    kept.bytes = kept.at != nullptr ? rounded : 0;
  }
  return static_cast<std::byte*>(kept.at);
}

void NodeSegment::find_kernel(const Op& op, const Datatype& datatype) {
  kernel_op_ = op.predefined;
  kernel_type_ = datatype.predefined;
  // Objects without numbers cannot be recognised.
  const bool can_be_told = kernel_op_ != 0 && kernel_type_ != 0;
  kernel_ = can_be_told ? find_reduction_kernel(op, datatype) : nullptr;
}

std::byte* NodeSegment::scratch(Count count, const Datatype& datatype) {
  Schedule layout;
  const Place begin = layout.scratch_elements(count, shape_of(datatype));
  const Count bytes = layout.scratch_bytes + kScratchAlignment;
  if (bytes > scratch_bytes_) {
    scratch_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
    scratch_bytes_ = scratch_ ? bytes : 0;
  }
  if (!scratch_) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(scratch_.get());
  const auto aligned = (address + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  return reinterpret_cast<std::byte*>(aligned) + begin.offset;
}

/// Waits for `done` without an announcement, until it is time to sleep: then `wait_until` has to go on with
/// `patience`. With a processor for each rank it looks often, in pauses that leave the line to its writer,
/// and makes progress in between; with fewer, every look is taken from the rank that is waited for, so each
/// goes with an offer of the processor.
template <class Done>
bool NodeSegment::wait(Done&& done, Progress::Patience& patience) {
  if (progress_.may_spin()) {
    const std::uint32_t checks_per_poll = progress_.checks_per_poll();
    std::uint32_t checks = 0;
    do {
      for (std::uint32_t check = 0; check < checks_per_poll; ++check) {
        if (done()) return true;
        relax_processor();
      }
      checks += checks_per_poll;
    } while (progress_.spins_on(checks));
  }
  return progress_.wait_awake(done, patience);
}

/// A line holds a word of this collective, or of one that had the line before. So most words that were
/// overwritten, and would keep this rank waiting for ever, differ from one that is still to come.
void NodeSegment::check_line(int member) const {
  const std::uint64_t number =
      LineWord::stamp_of(line(member).word.load(std::memory_order_relaxed)) / kPhases;
  if (number == 0 || (number <= number_ && (number_ - number) % kLines == 0)) return;
  process_.launcher.end_damaged(members_[static_cast<std::size_t>(member)].endpoint,
                                "the flag of a collective operation");
}

/// No member is further ahead than there are lines.
void NodeSegment::check_left(int member) const {
  if (left(member) <= number_ + kLines) return;
  process_.launcher.end_damaged(members_[static_cast<std::size_t>(member)].endpoint,
                                "the number of collective operations that are over");
}

void NodeSegment::wait_for(int member, unsigned phase) {
  Progress::Patience patience;
  if (wait([&] { return has_come(member, phase); }, patience)) return;
  progress_.wait_until([&] { return has_come_or_wait(member, phase); }, patience);
  stop_waiting();
}

void NodeSegment::wait_for_all(unsigned phase) {
  int member = 0;
  const auto all_have_come = [&] {
    while (member < size_ && has_come(member, phase)) ++member;
    return member == size_;
  };
  Progress::Patience patience;
  if (wait(all_have_come, patience)) return;
  announced_phase_ = phase;
  announce(kAwaitsEverybody);
  const auto all_have_come_or_sleeps = [&] {
    if (member < size_) check_line(member);
    return all_have_come();
  };
  progress_.wait_until(all_have_come_or_sleeps, patience);
  stop_waiting();
}

void NodeSegment::add_missing(std::vector<int>* endpoints) const {
  for (int member = 0; member < size_; ++member) {
    const bool is_missing =
        announced_ == kAwaitsEverybody ? !has_come(member, announced_phase_) : announced_ == awaits(member);
    if (is_missing) endpoints->push_back(members_[static_cast<std::size_t>(member)].endpoint);
  }
}

/// All but this member's own, which it need not wait for.
std::uint64_t NodeSegment::find_least_left() const {
  std::uint64_t least = number_ - 1;
  for (int member = 0; member < size_; ++member) {
    if (member != rank_) least = std::min(least, left(member));
  }
  return least;
}

void NodeSegment::wait_for_room(std::uint64_t depth) {
  least_left_ = find_least_left();
  if (number_ <= least_left_ + depth) return;
  const std::uint64_t needed = number_ - depth / 2;
  for (int member = 0; member < size_; ++member) {
    if (member == rank_) continue;
    const auto has_left = [&] { return left(member) >= needed; };
    const auto has_left_or_wait = [&] {
      check_left(member);
      if (has_left()) return true;
      announce(awaits(member));
      return has_left();
    };
    Progress::Patience patience;
    if (wait(has_left, patience)) continue;
    progress_.wait_until(has_left_or_wait, patience);
    stop_waiting();
  }
  least_left_ = find_least_left();
}

/// Of member 0: what it knows counts from a collective on to which nobody has come. What counted before has
/// to be everybody's already.
void NodeSegment::tell_lines() {
  const std::uint64_t told = own_->lines_word.load(std::memory_order_relaxed);
  if (number_ % kLines != 0 || number_ < LinesWord::from_of(told) + LinesWord::kAhead) return;
  LargeMessages& large = *process_.p2p->large;
  bool near = false, far = false;
  for (const Member& member : members_) {
    const Lines lines = large.lines_between(member.endpoint);
    near = near || lines == Lines::kNear;
    far = far || lines == Lines::kFar;
  }
  const bool are_near = near && !far;
  if (are_near == LinesWord::is_near(told)) return;
  own_->lines_word.store(LinesWord::make(number_ + LinesWord::kAhead + 1, are_near),
                         std::memory_order_release);
}

void NodeSegment::take_lines(std::uint64_t word) {
  if (number_ + 1 < LinesWord::from_of(word)) return;
  lines_ = word;
  take_limits();
}

void NodeSegment::take_limits() {
  explained_bytes_max_ = limits_[near_lines() ? 1 : 0];
  flag_bytes_max_ = explained_bytes_max_;
  if (explain_) flag_bytes_max_.fill(kNeverByFlags);
}

bool NodeSegment::takes_flags_and_explains(FlagOperation operation, Count bytes, Repeatable repeatable) {
  const auto index = static_cast<std::size_t>(operation);
  if (bytes > explained_bytes_max_[index]) return false;
  const std::uint32_t octave = 1U << std::bit_width(static_cast<std::uint64_t>(bytes));
  std::uint32_t& explained = explained_[static_cast<std::size_t>(repeatable)][index];
  if ((explained & octave) == 0) explain_(operation, bytes, repeatable);
  explained |= octave;
  return true;
}

NodeSegments::~NodeSegments() {
  give_back();
  for (NodeSegment* segment : live_) segment->forget_segments();
}

void NodeSegments::remove(NodeSegment* segment) {
  live_.erase(std::remove(live_.begin(), live_.end(), segment), live_.end());
}

void NodeSegments::give_back() {
  const auto gone = [&](const Retired& retired) {
    if (retired.block->released.load(std::memory_order_acquire) != static_cast<std::uint32_t>(retired.others))
      return false;
    memory_.deallocate(retired.memory);
    for (const KeptMemory& kept : retired.kept) {
      if (kept.at != nullptr) memory_.deallocate(kept.at);
    }
    return true;
  };
  retired_.erase(std::remove_if(retired_.begin(), retired_.end(), gone), retired_.end());
}

void NodeSegments::release_all() {
  while (!live_.empty()) live_.back()->release();
}

}  // namespace tasuki
