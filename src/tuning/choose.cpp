// The comparison of the candidates: see tuning/choose.hpp.
#include "tuning/choose.hpp"

namespace tasuki {
namespace {

struct Offer {
  double ns;
  Count segment_bytes;
};

/// The best that the candidate can do.
Offer best_offer(const Candidate& candidate, const Problem& problem, const Parameters& parameters,
                 Count wanted_segment_bytes) {
  if (candidate.segments.empty()) return {candidate.predicted_ns(problem, parameters, 0), 0};
  if (wanted_segment_bytes > 0)
    return {candidate.predicted_ns(problem, parameters, wanted_segment_bytes), wanted_segment_bytes};
  Offer best{0, 0};
  for (const Count segment_bytes : candidate.segments) {
    const double ns = candidate.predicted_ns(problem, parameters, segment_bytes);
    if (best.segment_bytes == 0 || ns < best.ns) best = {ns, segment_bytes};
  }
  return best;
}

}  // namespace

void Contest::enter(const Candidate& candidate) {
  const int place = entered_++;
  if (!candidate.valid(problem_)) return;
  const Offer offer = best_offer(candidate, problem_, parameters_, wanted_.segment_bytes);
  const bool wanted = candidate.algorithm == wanted_.algorithm;
  const bool first = choice_.place == Selection::kNone;
  if (first || (!choice_.wanted && (wanted || offer.ns < choice_.predicted_ns))) {
    // The algorithm that led so far is the runner-up, unless it is the user's choice that has overtaken a
    // better third.
    if (!first && (choice_.runner_up == Selection::kNone || choice_.predicted_ns < choice_.runner_up_ns)) {
      choice_.runner_up = choice_.algorithm;
      choice_.runner_up_ns = choice_.predicted_ns;
    }
    choice_.place = place;
    choice_.algorithm = candidate.algorithm;
    choice_.segment_bytes = offer.segment_bytes;
    choice_.predicted_ns = offer.ns;
    choice_.wanted = wanted;
  } else if (choice_.runner_up == Selection::kNone || offer.ns < choice_.runner_up_ns) {
    choice_.runner_up = candidate.algorithm;
    choice_.runner_up_ns = offer.ns;
  }
}

}  // namespace tasuki
