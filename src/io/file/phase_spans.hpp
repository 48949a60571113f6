// PhaseSpans: keeps when each phase of a rank's collective accesses began and ended, where the user wants to
// see it (TASUKI_IO_TIMES, mpiexec --io-times), and appends it to a file of the whole job, as lines of JSON
// that docs/io.md describes and `tasuki io-chart` draws.
//
// Each rank appends whole lines by one system call, so ranks need not agree on anything, and what is in the
// file can be read whenever the job ends. Written is what has ended: at MPI_File_close and MPI_Finalize, and
// between two accesses when the last time is a second ago or much has come together.
//
// Ownership: a Process's Files owns it; it owns the descriptor. Thread safety: the process lock.
//
// Invariants:
//  1. At most kSpansMax spans are kept. Those beyond are counted, and the file says how many they were.
//  2. Nothing here fails an access: what cannot be written is reported once, in one line, and then no
//     more is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/calls/function.hpp"
#include "io/file/phase_times.hpp"

namespace tasuki {

class PhaseSpans {
 public:
  static constexpr std::size_t kSpansMax = 65'536;

  /// The writer: numbers of the rank in its world, and of its node.
  struct Writer {
    std::uint64_t job = 0;
    int rank = 0;
    int ranks = 1;
    int node = 0;
    int nodes = 1;
  };

  /// Opens the file, makes it if need be, and writes the rank's line. Null, and one line in `error`, when
  /// that cannot be done.
  static std::unique_ptr<PhaseSpans> open(const std::string& path, const Writer& writer, std::string* error);
  /// Writes what is left.
  ~PhaseSpans();
  PhaseSpans(const PhaseSpans&) = delete;
  PhaseSpans& operator=(const PhaseSpans&) = delete;

  void add(const PhasePlace& place, Phase phase, std::int64_t begin_ns, std::int64_t end_ns, Count bytes);
  /// The end of an access, by a call of `function` to the file of that name; its phases have been added.
  void add_access(const PhasePlace& place, const std::string& name, Function function,
                  const CollectiveOutcome& outcome, std::int64_t begin_ns, std::int64_t end_ns);

  /// Appends to the file all accesses that have ended.
  void write();

 private:
  struct Span {
    PhasePlace place;
    Phase phase;
    std::int64_t begin_ns;
    std::int64_t end_ns;
    Count bytes;
  };
  struct CollectiveAccess {
    PhasePlace place;
    std::string name;
    Function function;
    CollectiveOutcome outcome;
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };

  PhaseSpans(int fd, std::string path, const Writer& writer);
  std::string rank_line() const;
  std::string take_lines();
  std::string line_of(const CollectiveAccess& access, std::span<const Span> spans) const;
  bool append(const std::string& text);

  int fd_;  // -1: it could not be written
  const std::string path_;
  const Writer writer_;
  std::vector<Span> spans_;
  std::vector<CollectiveAccess> accesses_;
  std::uint64_t left_out_ = 0;  // spans, since the last time it was written
  std::int64_t written_ns_ = 0;
};

}  // namespace tasuki
