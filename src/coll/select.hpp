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

#include "base/config.hpp"
#include "coll/registry.hpp"

namespace tasuki {

class Selector {
 public:
  explicit Selector(const Config& config) : config_(config) {}

  /// REQUIRES: `entries` are those of problem.operation; one of them is valid.
  template <class One>
  const Selection& choose(std::span<const One> entries, const Problem& problem) {
    Remembered& remembered = memory_[slot_of(problem)];
    if (remembered.choice.place == Selection::kNone || !(remembered.problem == problem)) {
      remembered.problem = problem;
      remembered.choice = tasuki::choose(entries, problem, parameters_, wanted(problem.operation));
    }
    return remembered.choice;
  }

  const Parameters& parameters() const { return parameters_; }
  void set_parameters(const Parameters& parameters) {
    parameters_ = parameters;
    forget();
  }

  /// What the settings say of an operation.
  Wanted wanted(Operation operation) const;

  /// The settings have changed.
  void forget() { memory_.fill({}); }

 private:
  struct Remembered {
    Problem problem;
    Selection choice;
  };
  static constexpr std::size_t kSlots = 64;
  static std::size_t slot_of(const Problem& problem);

  const Config& config_;
  Parameters parameters_;
  std::array<Remembered, kSlots> memory_{};
};

}  // namespace tasuki
