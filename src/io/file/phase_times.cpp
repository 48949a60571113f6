// The counts of collective accesses and of their phases: see phase_times.hpp.
#include "io/file/phase_times.hpp"

#include <cstdio>
#include <string>

#include "io/file/file.hpp"
#include "io/file/phase_spans.hpp"
#include "job/directory.hpp"

namespace tasuki {

PhasePlace begin_collective(File& file) {
  ++file.process.counters.files.collective_accesses;
  return {.file = file.comm->context, .call = file.collective_accesses++};
}

void note_phase(Process& process, const PhasePlace& place, Phase phase, std::int64_t begin_ns, Count bytes) {
  FileCounts& counts = process.counters.files;
  PhaseSum& sum = phase == Phase::kRead    ? counts.read
                  : phase == Phase::kWrite ? counts.write
                                           : counts.exchange;
  const std::int64_t end_ns = clock_ns();
  sum.add(end_ns - begin_ns, bytes);
  if (PhaseSpans* spans = process.files->spans.get()) spans->add(place, phase, begin_ns, end_ns, bytes);
}

void end_collective(File& file, const PhasePlace& place, Function call, std::int64_t begin_ns,
                    const CollectiveOutcome& outcome) {
  Process& process = file.process;
  if (outcome.two_phase) {
    ++process.counters.files.two_phase_accesses;
    process.counters.files.cycles += static_cast<std::uint64_t>(outcome.cycles);
  }
  if (PhaseSpans* spans = process.files->spans.get())
    spans->add_access(place, file.name, call, outcome, begin_ns, clock_ns());
}

void keep_phase_spans(Process& process) {
  const std::string& path = process.config.io_times_file;
  if (path.empty()) return;
  const Directory& directory = process.directory;
  std::string error;
  process.files->spans = PhaseSpans::open(path,
                                          {.job = directory.job_id(),
                                           .rank = process.rank,
                                           .ranks = process.size,
                                           .node = directory.node(process.rank),
                                           .nodes = directory.nodes()},
                                          &error);
  if (process.files->spans == nullptr && process.rank == 0)
    std::fprintf(stderr, "tasuki: %s; no phase times are kept\n", error.c_str());
}

void write_phase_spans(Process& process) {
  if (process.files->spans != nullptr) process.files->spans->write();
}

}  // namespace tasuki
