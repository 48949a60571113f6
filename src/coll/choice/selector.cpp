// The memory of choices: see coll/choice/selector.hpp.
#include "coll/choice/selector.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>

#include "base/variables/collective_operations.hpp"
#include "p2p/explain.hpp"

namespace tasuki {

namespace {

/// "12.3 us".
struct TimeText {
  explicit TimeText(double ns) {
    if (ns < 1e6) {
      std::snprintf(text, sizeof text, "%.4g us", ns / 1e3);
    } else {
      std::snprintf(text, sizeof text, "%.4g ms", ns / 1e6);
    }
  }
  char text[32];
};

/// Of a selection that is told: its number of ranks and so on, as the line differs by.
auto case_of(const Problem& problem, const Selection& selection) {
  const int octave = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(problem.bytes)));
  return SelectionExplainer::Case{problem.size,
                                  problem.nodes,
                                  octave,
                                  problem.blocking ? 1 : 0,
                                  static_cast<int>(problem.repeatable),
                                  selection.algorithm};
}

}  // namespace

void SelectionExplainer::chosen(const Problem& problem, const Selection& selection) {
  const Case one = case_of(problem, selection);
  if (cases_.size() == kCasesMax || std::find(cases_.begin(), cases_.end(), one) != cases_.end()) return;
  cases_.push_back(one);
  char segments[64] = "";
  if (selection.segment_bytes > 0) {
    std::snprintf(segments, sizeof segments, " in segments of %s", BytesText(selection.segment_bytes).text);
  }
  char runner_up[128] = "no other is possible";
  if (selection.runner_up != Selection::kNone) {
    std::snprintf(runner_up, sizeof runner_up, "runner-up %s, %s",
                  algorithm_table()[static_cast<std::size_t>(selection.runner_up)].name,
                  TimeText(selection.runner_up_ns).text);
  }
  char nodes[32] = "";
  if (problem.nodes > 1) std::snprintf(nodes, sizeof nodes, " on %d nodes", problem.nodes);
  std::fprintf(stderr, "tasuki: rank %d: %s%s of %lld bytes among %d ranks%s%s: %s%s%s, predicted %s; %s\n",
               rank_, problem.blocking ? "" : "nonblocking ", operation_row(problem.operation).name,
               static_cast<long long>(problem.bytes), problem.size, nodes,
               problem.repeatable == Repeatable::kExact   ? ", exact"
               : problem.repeatable == Repeatable::kOrder ? ", in one order"
                                                          : "",
               algorithm_table()[static_cast<std::size_t>(selection.algorithm)].name, segments,
               selection.wanted ? " (wanted)" : "", TimeText(selection.predicted_ns).text, runner_up);
  if (cases_.size() == kCasesMax)
    std::fprintf(stderr, "tasuki: rank %d: more cases of collectives are not reported\n", rank_);
}

void Selector::forget() {
  memory_.fill({});
  parts_.fill({});
  const std::int64_t explain = process_.config.explain;
  const bool wanted = explain == kExplainAll || (explain != kExplainNothing && process_.rank == 0);
  if (wanted && !explainer_) {
    explainer_ = std::make_unique<SelectionExplainer>(process_.rank);
  } else if (!wanted) {
    explainer_.reset();
  }
}

std::size_t Selector::slot_of(const Problem& problem) {
  constexpr int kSlotBits = 6;
  static_assert(kSlots == 1U << kSlotBits);
  const auto mixed =
      (static_cast<std::uint64_t>(problem.bytes) << 4 ^ static_cast<std::uint64_t>(problem.size) << 40 ^
       static_cast<std::uint64_t>(problem.operation)) *
      0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(mixed >> (64 - kSlotBits));
}

Wanted Selector::wanted(const Problem& problem) const {
  const Operation operation = problem.operation;
  const std::int64_t place = process_.config.*operation_row(operation).algorithm;
  Wanted wanted{.segment_bytes = process_.config.segment_bytes};
  if (place > 0) {
    wanted.algorithm = first_algorithm_of(operation) + static_cast<int>(place) - 1;
  } else if (const MeasuredChoice* measured = measured_for(problem, measured_); measured != nullptr) {
    wanted.algorithm = measured->algorithm;
    if (wanted.segment_bytes == 0) wanted.segment_bytes = measured->segment_bytes;
  }
  return wanted;
}

}  // namespace tasuki
