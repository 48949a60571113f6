// Which algorithm a collective takes, and with which segments: the valid one that is predicted to be the
// fastest, or the one that the user wants, where it is valid.
//
// Pure, and a function only of what all ranks know alike, so that all choose the same.
#pragma once

#include <cstddef>
#include <span>

#include "base/types.hpp"
#include "tuning/parameters.hpp"
#include "tuning/problem.hpp"

namespace tasuki {

/// One algorithm of an operation, as the selection sees it.
struct Candidate {
  int algorithm;  // its number in base/variables/algorithm_table.hpp
  bool (*valid)(const Problem& problem);
  /// `segment_bytes` is one of `segments`, or what the user wants; 0 where the algorithm knows no segments.
  double (*predicted_ns)(const Problem& problem, const Parameters& parameters, Count segment_bytes);
  std::span<const Count> segments = {};  // those worth trying; none: the algorithm cuts nothing
};

/// What the user wants.
struct Wanted {
  int algorithm = -1;       // its number; -1: the cheapest
  Count segment_bytes = 0;  // 0: the cheapest
};

struct Selection {
  static constexpr int kNone = -1;
  int place = kNone;        // among the candidates; kNone: none is valid
  int algorithm = kNone;    // its number
  Count segment_bytes = 0;  // 0: the algorithm knows none
  double predicted_ns = 0;
  bool wanted = false;    // it is the user's choice
  int runner_up = kNone;  // the number of the next best algorithm; kNone: no other is valid
  double runner_up_ns = 0;
};

/// The comparison, one candidate after the other. Of equals the first wins.
class Contest {
 public:
  Contest(const Problem& problem, const Parameters& parameters, const Wanted& wanted)
      : problem_(problem), parameters_(parameters), wanted_(wanted) {}

  void enter(const Candidate& candidate);
  const Selection& choice() const { return choice_; }

 private:
  const Problem& problem_;
  const Parameters& parameters_;
  const Wanted& wanted_;
  Selection choice_;
  int entered_ = 0;
};

/// `Entry` is a Candidate, with whatever its user adds.
template <class Entry>
Selection choose(std::span<const Entry> entries, const Problem& problem, const Parameters& parameters,
                 const Wanted& wanted) {
  Contest contest(problem, parameters, wanted);
  for (const Entry& entry : entries) contest.enter(entry);
  return contest.choice();
}

}  // namespace tasuki
