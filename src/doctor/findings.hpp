// The parts of diagnose(): each looks for one family of findings in one world and appends what it finds.
#pragma once

#include <string>
#include <vector>

#include "doctor/waits.hpp"

namespace tasuki::doctor {

/// What the parts work on: a world and its graph.
struct Case {
  int world = 0;  // index in the snapshot
  const Graph* graph = nullptr;
  std::int64_t at_ns = 0;
  std::vector<Finding>* findings = nullptr;

  const RankState& state(int rank) const { return graph->state(rank); }
  bool certain(int rank) const { return graph->certain[static_cast<std::size_t>(rank)] != 0; }
  bool stuck(int rank) const { return graph->stuck[static_cast<std::size_t>(rank)] != 0; }
  bool waits(int rank) const { return graph->waits[static_cast<std::size_t>(rank)].waits; }

  /// Appends a finding about `ranks`, ascending.
  Finding& add(const char* id, const std::vector<int>& ranks, std::string headline,
               std::string hint = {}) const;
};

/// Lines of one finding beyond which the rest is counted, not listed.
inline constexpr std::size_t kLinesMax = 8;
/// Appends `line`, or counts it.
class Lines {
 public:
  explicit Lines(Finding* finding) : finding_(*finding) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (left_out_ > 0) finding_.text.push_back(format("and %zu more like that", left_out_));
  }
  void add(std::string line) {
    if (finding_.text.size() <= kLinesMax) {
      finding_.text.push_back(std::move(line));
    } else {
      ++left_out_;
    }
  }

 private:
  Finding& finding_;
  std::size_t left_out_ = 0;
};

// In this order: the later ones leave out what an earlier one has reported.
void find_ends(const Case& the);             // died, left MPI_Finalize or MPI_Init out, stopped
void find_packets(const Case& the);          // between hosts, on their way
void find_collectives(const Case& the);      // different ones, other arguments, a rank missing
void find_mismatches(const Case& the);       // a message has come, with another tag or elsewhere
void find_cycles(const Case& the);           // ranks that wait for one another
void find_unmatched_sends(const Case& the);  // senders that wait for a receive which does not come
void find_gone(const Case& the);             // waits for a rank that has ended
void find_others(const Case& the);           // ranks that are waited for and do something else

}  // namespace tasuki::doctor
