// The choice of a collective's algorithm, made (tuning/choose.hpp) and remembered: a cost formula for each
// candidate is too much for a collective of a microsecond.
//
// Thread safety: the caller holds the process lock.
//
// Invariant: what is remembered is what choose() would say again; forget() when the parameters or the
// settings have changed. So it never matters which collectives came before, and all ranks choose the same.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "coll/choice/registry.hpp"
#include "tuning/table.hpp"

namespace tasuki {

/// Says on standard error which algorithms are chosen, one line for each case that differs in operation,
/// algorithm, ranks, nodes or size (as a power of two): TASUKI_EXPLAIN.
class SelectionExplainer {
 public:
  static constexpr std::size_t kCasesMax = 256;
  using Case = std::array<int, 6>;  // what a line differs by

  explicit SelectionExplainer(int rank) : rank_(rank) {}
  void chosen(const Problem& problem, const Selection& selection);

 private:
  int rank_;
  std::vector<Case> cases_;
};

class Selector {
 public:
  explicit Selector(const Process& process) : process_(process) { forget(); }

  const Selection& choose(const Problem& problem) {
    Remembered& remembered = memory_[slot_of(problem)];
    if (remembered.choice.place == Selection::kNone || !(remembered.problem == problem)) {
      remembered.problem = problem;
      remembered.choice =
          tasuki::choose(candidates_of(problem.operation), problem, parameters_for(problem), wanted(problem));
      if (explainer_) explainer_->chosen(problem, remembered.choice);
    }
    return remembered.choice;
  }

  /// The same for a part of a hierarchical collective, for which the settings say nothing: the cheapest.
  const Selection& choose_part(const Problem& problem) {
    Remembered& remembered = parts_[slot_of(problem)];
    if (remembered.choice.place == Selection::kNone || !(remembered.problem == problem)) {
      remembered.problem = problem;
      remembered.choice =
          tasuki::choose(candidates_of(problem.operation), problem, parameters_for(problem), {});
    }
    return remembered.choice;
  }

  const Parameters& parameters() const { return parameters_; }
  /// What all ranks have alike: where they are of several jobs, what is built in.
  const Parameters& parameters_for(const Problem& problem) const {
    if (problem.several_jobs) return kBuiltIn;
    return problem.near_lines ? near_parameters_ : parameters_;
  }
  /// `near_parameters`: of ranks whose lines are known to travel near.
  void set_table(Table table, const Parameters& near_parameters) {
    parameters_ = table.parameters;
    near_parameters_ = near_parameters;
    measured_ = std::move(table.choices);
    forget();
  }

  /// What the settings say of an operation, else what was measured.
  Wanted wanted(const Problem& problem) const;

  /// Whether the user wants to know what is chosen; explain() says so, where it is a new case.
  bool explains() const { return explainer_ != nullptr; }
  void explain(const Problem& problem, const Selection& selection) {
    if (explainer_) explainer_->chosen(problem, selection);
  }

  /// The settings have changed.
  void forget();

 private:
  struct Remembered {
    Problem problem;
    Selection choice;
  };
  static constexpr Parameters kBuiltIn{};
  static constexpr std::size_t kSlots = 64;
  static std::size_t slot_of(const Problem& problem);

  const Process& process_;
  Parameters parameters_, near_parameters_;
  std::vector<MeasuredChoice> measured_;
  std::array<Remembered, kSlots> memory_{}, parts_{};
  std::unique_ptr<SelectionExplainer> explainer_;  // null where the user does not want to know
};

}  // namespace tasuki
