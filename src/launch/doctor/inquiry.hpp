// Inquiry: asks ranks for their reports and waits, without blocking, for those that can give one.
//
// A rank that waits in MPI answers within 50 ms and its turn on a processor; one that computes does not
// answer at all, and which it is cannot be known beforehand: its line says only whether it is in a call. So
// a rank outside of calls has a short time, a rank in a call a longer time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/calls/call_board.hpp"

namespace tasuki::launch {

class Inquiry {
 public:
  /// How long ranks are waited for: those outside of calls, and those in one.
  struct Patience {
    std::int64_t outside_ns = 150'000'000;
    std::int64_t inside_ns = 1'000'000'000;
  };

  /// Asks; null: a rank that cannot answer.
  Inquiry(const std::vector<CallBoard*>& boards, std::int64_t now_ns, Patience patience);

  /// Whether all have answered that are still waited for.
  bool over(std::int64_t now_ns);

  /// The number of the question to this rank; a report that answers it, or a later one, is new. 0: not asked.
  std::uint64_t number(std::size_t rank) const { return asked_[rank].number; }

  /// Whether this rank has given a report since it was asked.
  bool answered(std::size_t rank) const { return asked_[rank].board != nullptr && asked_[rank].answered; }

 private:
  struct Asked {
    CallBoard* board = nullptr;
    std::uint64_t number = 0;
    std::uint64_t version = 0;  // of the last report that was looked at
    bool answered = false;
  };
  void look(Asked* asked) const;

  std::vector<Asked> asked_;
  std::int64_t begun_ns_;
  Patience patience_;
};

}  // namespace tasuki::launch
