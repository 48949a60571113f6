// Numbers of each rank are gathered at rank 0, which writes them as JSON.
#include "summary.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "agree.hpp"
#include "text_file.hpp"
#include "words.hpp"

namespace spam {
namespace {

using Json = nlohmann::ordered_json;

/// Of each rank, at rank 0.
std::vector<double> gather(MPI_Comm comm, const Domain& domain, double own) {
  std::vector<double> all(domain.rank() == 0 ? static_cast<std::size_t>(domain.ranks()) : 0);
  MPI_Gather(&own, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, comm);
  return all;
}

/// The same with several numbers of each, as many everywhere.
std::vector<std::vector<double>> gather_lists(MPI_Comm comm, const Domain& domain, std::vector<double> own,
                                              int length) {
  own.resize(static_cast<std::size_t>(length));
  std::vector<std::vector<double>> all(static_cast<std::size_t>(domain.ranks()), own);
  std::vector<double> flat(all.size() * own.size());
  MPI_Gather(own.data(), length, MPI_DOUBLE, flat.data(), length, MPI_DOUBLE, 0, comm);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(rank * own.size()), own.size(), all[rank].begin());
  return all;
}

Json json_of(const Totals& totals) {
  return {{"particles", totals.particles},   {"kinetic", totals.kinetic},
          {"potential", totals.potential},   {"heat", totals.heat},
          {"momentum_x", totals.momentum_x}, {"momentum_y", totals.momentum_y}};
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text;
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find('\n'));
}

Json what_ran(const Settings& settings, const Domain& domain) {
  const Parallel& parallel = settings.parallel;
  return {{"format", "spam-run-1"},
          {"input", settings.file},
          {"library", library_version()},
          {"ranks", domain.ranks()},
          {"threads", domain.threads()},
          {"engine", word_of(parallel.engine)},
          {"mapping", parallel.mapping},
          {"remap_interval", parallel.remap_interval},
          {"halo", word_of(parallel.halo)},
          {"schedule", word_of(parallel.schedule)},
          {"chunks_per_thread", parallel.chunks_per_thread},
          {"update", word_of(parallel.update)},
          {"sorting", word_of(parallel.sorting)},
          {"particles", settings.initial.particles},
          {"columns", domain.grid().columns},
          {"rows", domain.grid().rows}};
}

/// Null where a rank has no counts.
Json json_of(MPI_Comm comm, const Domain& domain, const std::optional<CacheCounts>& own) {
  const CacheCounts counts = own.value_or(CacheCounts{});
  Json cache{{"source", CacheCounters::source()},
             {"references", gather(comm, domain, counts.references)},
             {"misses", gather(comm, domain, counts.misses)},
             {"lost", gather(comm, domain, counts.lost)},
             {"transactions", gather(comm, domain, counts.transactions)}};
  int counted = own.has_value() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &counted, 1, MPI_INT, MPI_MIN, comm);
  return counted == 1 ? cache : Json();
}

}  // namespace

void write_summary(MPI_Comm comm, const Settings& settings, const Domain& domain, const Phases& phases,
                   const RunRecord& record) {
  const double steps = static_cast<double>(std::max<std::int64_t>(1, record.steps));
  Json run = what_ran(settings, domain);
  run["steps"] = record.steps;
  double seconds = phases.seconds(Phase::kForce) + phases.seconds(Phase::kSorting) +
                   phases.seconds(Phase::kExchange) + phases.seconds(Phase::kMove);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  run["seconds"] = seconds;
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    run["phases"][kPhaseNames[phase]] = gather(comm, domain, phases.seconds(static_cast<Phase>(phase)));
  run["pairs"] = gather(comm, domain, record.pairs / steps);
  run["candidates"] = gather(comm, domain, record.candidates / steps);
  std::vector<double> by_thread = record.pairs_by_thread;
  for (double& pairs : by_thread) pairs /= steps;
  run["pairs_by_thread"] = gather_lists(comm, domain, std::move(by_thread), domain.threads());
  run["particles_by_rank"] = gather(comm, domain, domain.particles.size());
  run["messages"] = gather(comm, domain, static_cast<double>(record.sent.messages) / steps);
  run["message_bytes"] = gather(comm, domain, static_cast<double>(record.sent.bytes) / steps);
  run["cache"] = json_of(comm, domain, record.cache);
  run["first"] = json_of(record.first);
  run["last"] = json_of(record.last);
  std::string trouble;
  if (domain.rank() == 0) trouble = write_text(settings.output.directory + "/run.json", run.dump(1) + "\n");
  agree(comm, trouble);
}

}  // namespace spam
