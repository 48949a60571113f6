// Explainer: TASUKI_EXPLAIN. Writes to standard error which way messages take and why, one line for each case
// that differs in direction, way, reason, size (as a power of two), distance, or in whether the send or the
// receive came first.
//
// A process has one only with TASUKI_EXPLAIN. It does not report messages that take the short path.
//
// Thread safety: the process lock guards it.
//
// Invariant: at most kCasesMax lines are written, and as much is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "base/variables/counters.hpp"

namespace tasuki {

struct Process;

class Explainer {
 public:
  static constexpr std::size_t kCasesMax = 256;

  explicit Explainer(const Process& process) : process_(process) {}

  /// Where one way ends and the next begins.
  void start() const;

  /// A message leaves for `endpoint`, or comes from there. `why` is constant text.
  void sent(Way way, Count bytes, int endpoint, const char* why);
  void received(Way way, Count bytes, int endpoint, const char* why, bool message_first);
  /// That rank's cache lines have been found to travel far, or not to: the last one took `ns`.
  void lines(int endpoint, bool are_far, std::int64_t ns, Count stream_bytes_min) const;

 private:
  bool is_new(std::uint64_t one);
  /// Whether that rank shares no memory with this one.
  bool is_far(int endpoint) const;
  void start_far() const;
  /// In words, where the choice depends on it; else empty.
  const char* distance_of(Way way, int endpoint);
  void say(Way way, Count bytes, int endpoint, const char* direction, const char* why, const char* first,
           const char* where);

  const Process& process_;
  std::vector<std::uint64_t> cases_;
};

/// "64 KiB", "1.5 MiB", "100 B".
struct BytesText {
  explicit BytesText(Count bytes);
  char text[32];
};

}  // namespace tasuki
