// SourceLookup: the source lines behind addresses in the ranks' programs, and the stacks of ranks that say
// nothing.
//
// A small program of its own, tasuki-source-lines (src/source_lines/), reads debug information with libdw: it
// may be absent, take too long or crash over a broken file, and mpiexec goes on without it. One run of it
// serves all ranks: an address becomes a place in a file here, and each place is asked for once.
//
// One thread. A lookup either takes part in the event loop (start, then ask done() when woken and at
// deadline_ns()), or is waited for (find_source_lines).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/calls/mapped_files.hpp"
#include "launch/base/event_loop.hpp"

namespace tasuki::launch {

/// What is to be known of one rank.
struct SourceQuery {
  int pid = 0;                           // 0: it has ended
  std::vector<MappedFile> files;         // published_files(); of a process that lives the system knows more
  std::vector<std::uint64_t> addresses;  // that calls return to; 0: none, which is answered by an empty line
  bool wants_stack = false;  // of its first thread, which is stopped for a moment; where that is permitted
};

struct SourceLine {
  std::string function;  // empty: unknown
  std::string file;      // the source's whole path; empty: unknown
  int line = 0;          // 0: unknown
  std::string module;    // the path of the program or library; empty: unknown

  bool known() const { return !module.empty(); }
};

struct SourceAnswer {
  std::vector<SourceLine> lines;  // as many as there were addresses
  std::vector<SourceLine> stack;  // inner frames first; empty: it was not to be had
};

/// "ring.c:42"; without debug information "solve() in ring", or "ring"; empty where nothing is known.
std::string short_text(const SourceLine& line);

inline constexpr int kSourceLimitMs = 2000;

class SourceLookup final : public Ready {
 public:
  /// `loop`: null where the caller waits instead. `program`: another one than that of our installation.
  explicit SourceLookup(EventLoop* loop, const std::string& program = {});
  ~SourceLookup();
  SourceLookup(const SourceLookup&) = delete;
  SourceLookup& operator=(const SourceLookup&) = delete;

  /// Begins to look; where nothing can be found out it is done at once.
  void start(const std::vector<SourceQuery>& queries, int limit_ms = kSourceLimitMs);

  /// Whether the answers are there, or the time is over: what has come by then counts.
  bool done();
  std::int64_t deadline_ns() const { return deadline_ns_; }

  /// As many as there were queries. REQUIRES: done().
  std::vector<SourceAnswer> answers() const;

  void ready() override;

 private:
  friend std::vector<SourceAnswer> find_source_lines(const std::vector<SourceQuery>&, int,
                                                     const std::string&);

  /// Which of the program's answers belongs where.
  struct Wanted {
    std::vector<int> lines;            // for each address the number of its question; -1: none
    std::vector<std::string> modules;  // for each address
    int stack = -1;                    // the number of its question
  };

  void ask(const std::vector<SourceQuery>& queries, std::string* questions);
  void run_program(const std::string& questions);
  void end_program();

  EventLoop* const loop_;
  const std::string program_;
  std::vector<Wanted> wanted_;
  std::string said_;  // by the program, so far
  std::int64_t deadline_ns_ = 0;
  int pid_ = -1;
  int fd_ = -1;  // where it answers
};

/// The same, waited for.
std::vector<SourceAnswer> find_source_lines(const std::vector<SourceQuery>& queries,
                                            int limit_ms = kSourceLimitMs, const std::string& program = {});

}  // namespace tasuki::launch
