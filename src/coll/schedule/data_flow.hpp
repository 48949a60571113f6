// How far a rank is in a schedule whose steps follow data: which step may start next. Pure.
//
// Steps start as soon as what they wait for is over (coll/schedule/dependencies.hpp), in the order of the
// schedule where several may. A rank does not run ahead without bounds: steps of the oldest round that is not
// over may always start, those of the next kRoundsAhead while fewer than kMessagesMax messages are under way.
// So it goes on wherever it would by rounds.
//
// Ownership: it refers to the schedule that it was prepared for, and keeps its memory for the next one.
// Thread safety: none; one object for one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/schedule/dependencies.hpp"
#include "coll/schedule/schedule.hpp"

namespace tasuki {

class DataFlow {
 public:
  static constexpr std::size_t kRoundsAhead = 8;
  static constexpr std::size_t kMessagesMax = 64;

  /// Looks for the dependencies, which takes longer than all else here. REQUIRES: as Dependencies::find().
  void prepare(const Schedule& schedule, const ShapeOf& shape_of);

  /// From the first step of the schedule that it was prepared for, as often as that is run.
  void begin();

  /// The next step to start, in `step`, while so many messages are under way. Returns whether there is one;
  /// then it counts as started.
  bool next(std::size_t messages_under_way, std::uint32_t* step);

  /// A step that was started is over.
  void over(std::uint32_t step);

  bool is_over() const { return oldest_ == open_.size(); }

  /// How often it was prepared.
  std::uint64_t preparations() const { return preparations_; }

 private:
  void wait_less(std::uint32_t step);
  void look_for_oldest();
  std::size_t end_of_round(std::size_t round) const;

  const Schedule* schedule_ = nullptr;
  std::uint64_t preparations_ = 0;
  Dependencies dependencies_;
  std::vector<std::uint32_t> all_waits_;        // by step: for how many it waits, to end or to start
  std::vector<std::uint32_t> waits_;            // by step: for how many of them yet
  std::vector<std::uint32_t> rounds_;           // by step
  std::vector<std::uint32_t> open_;             // by round: steps that are not over
  std::vector<std::uint32_t> ready_;            // may start, but for the bounds: a heap, the first on top
  std::size_t oldest_ = 0;                      // round that is not over
  std::size_t oldest_end_ = 0, ahead_end_ = 0;  // one past the last step: of it, and of those that may start
};

}  // namespace tasuki
