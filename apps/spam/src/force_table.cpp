// The first stage of a run, step by step as run.cpp does it, and its forces gathered.
#include "force_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "agree.hpp"
#include "domain.hpp"
#include "exchange.hpp"
#include "force.hpp"
#include "halo.hpp"
#include "initial.hpp"
#include "integrate.hpp"
#include "mapping.hpp"
#include "text_file.hpp"

namespace spam {
namespace {

struct Row {
  std::int64_t id;
  double x, y, fx, fy, density;
};

/// Of all ranks, at rank 0.
std::vector<Row> gather_rows(MPI_Comm comm, const Domain& domain, const std::vector<Row>& own) {
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(domain.ranks())), begins(counts.size());
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm);
  for (std::size_t i = 1; i < counts.size(); ++i) begins[i] = begins[i - 1] + counts[i - 1];
  std::vector<Row> all(static_cast<std::size_t>(begins.back() + counts.back()));
  MPI_Datatype row;
  MPI_Type_contiguous(static_cast<int>(sizeof(Row)), MPI_BYTE, &row);
  MPI_Type_commit(&row);
  MPI_Gatherv(own.data(), count, row, all.data(), counts.data(), begins.data(), row, 0, comm);
  MPI_Type_free(&row);
  return all;
}

std::string table_of(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& one, const Row& other) { return one.id < other.id; });
  std::string text = "id,x,y,fx,fy,density\n";
  for (const Row& row : rows)
    fmt::format_to(std::back_inserter(text), "{},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}\n", row.id, row.x,
                   row.y, row.fx, row.fy, row.density);
  return text;
}

}  // namespace

void write_force_table(MPI_Comm comm, const Settings& settings, const std::string& file) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  Domain domain(grid_of(settings), rank, ranks, settings.parallel.threads);
  const std::vector<double> even(static_cast<std::size_t>(domain.grid().columns), 1.0);
  domain.set_owners(parse_mapping(settings.parallel.mapping)(ranks, even));
  make_initial_state(settings, &domain);
  domain.sort(expected_costs(comm, domain));

  const auto halo = make_halo(settings, comm);
  const auto engine = make_engine(settings);
  Forces forces;
  halo->plan(domain);
  engine->reset_counts(domain);
  engine->prepare(domain, *halo);
  const StageState state = halo->stage(0);
  Integrator(settings.integration.time_step, settings.material.mass).begin_step(domain, state);
  halo->start(0);
  engine->inner(domain, state, true, &forces, [&] { halo->progress(); });
  halo->finish(0);
  engine->prepare_border(domain, *halo);
  engine->border(domain, state, *halo, true, &forces);

  std::vector<Row> own;
  for (std::size_t i = 0; i < domain.particles.id.size(); ++i)
    own.push_back({domain.particles.id[i], domain.particles.x[i], domain.particles.y[i], forces.fx[i],
                   forces.fy[i], forces.density[i]});
  const std::vector<Row> all = gather_rows(comm, domain, own);
  agree(comm, rank == 0 ? write_text(file, table_of(all)) : "");
}

}  // namespace spam
