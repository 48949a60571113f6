// Snapshots (snapshot.hpp): all particles come to rank 0, which writes them.
//
// A file is an unstructured grid of VTKHDF 1.0
// (https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format), which ParaView reads from 5.10 on, in
// one piece: each particle is a point with a cell of its own, a vertex.
#include "snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "agree.hpp"
#include "error.hpp"
#include "hdf5_image.hpp"
#include "text_file.hpp"

namespace spam {
namespace {

/// A particle as it comes to rank 0.
struct Observed {
  std::int64_t id;
  double x, y, vx, vy, heat, density;
};

std::vector<Observed> observed_by(const Particles& particles, const Forces& forces) {
  std::vector<Observed> observed(static_cast<std::size_t>(particles.size()));
  for (std::size_t i = 0; i < observed.size(); ++i)
    observed[i] = {particles.id[i], particles.x[i],    particles.y[i],   particles.vx[i],
                   particles.vy[i], particles.heat[i], forces.density[i]};
  return observed;
}

/// All particles by id on rank 0, none elsewhere. Collective.
std::vector<Observed> gather(MPI_Comm comm, const Domain& domain, const std::vector<Observed>& own) {
  MPI_Datatype type;
  MPI_Type_contiguous(sizeof(Observed), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  const auto ranks = static_cast<std::size_t>(domain.ranks());
  std::vector<int> counts(ranks), first(ranks);
  const int count = static_cast<int>(own.size());
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm);
  std::exclusive_scan(counts.begin(), counts.end(), first.begin(), 0);
  std::vector<Observed> all(
      static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::size_t{0})));
  MPI_Gatherv(own.data(), count, type, all.data(), counts.data(), first.data(), type, 0, comm);
  MPI_Type_free(&type);
  std::sort(all.begin(), all.end(), [](const Observed& a, const Observed& b) { return a.id < b.id; });
  return all;
}

/// A field of all particles, as an array of its own.
template <class Value>
auto each(const std::vector<Observed>& all, Value value) {
  std::vector<decltype(value(all.front()))> values(all.size());
  std::transform(all.begin(), all.end(), values.begin(), value);
  return values;
}

/// Three components for each particle, the third of them 0.
std::vector<double> vectors(const std::vector<Observed>& all, double Observed::*x, double Observed::*y) {
  std::vector<double> values;
  values.reserve(3 * all.size());
  for (const Observed& particle : all) values.insert(values.end(), {particle.*x, particle.*y, 0.0});
  return values;
}

void write_points(const std::vector<Observed>& all, Hdf5Image* file) {
  constexpr std::uint8_t kVertex = 1;  // VTK_VERTEX
  const auto count = static_cast<std::int64_t>(all.size());
  std::vector<std::int64_t> numbers(all.size() + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  file->write("VTKHDF/Offsets", numbers);
  numbers.pop_back();
  file->write("VTKHDF/Connectivity", numbers);
  file->write("VTKHDF/Types", std::vector<std::uint8_t>(all.size(), kVertex));
  file->write("VTKHDF/Points", vectors(all, &Observed::x, &Observed::y), 3);
  for (const char* name : {"VTKHDF/NumberOfPoints", "VTKHDF/NumberOfCells", "VTKHDF/NumberOfConnectivityIds"})
    file->write(name, std::vector<std::int64_t>{count});
}

std::string bytes_of_file(const Settings& settings, const std::vector<Observed>& all, std::int64_t step) {
  Hdf5Image file;
  file.make_group("VTKHDF");
  file.write_attribute("VTKHDF", "Version", {1, 0});
  file.write_attribute("VTKHDF", "Type", "UnstructuredGrid");
  write_points(all, &file);
  file.make_group("VTKHDF/PointData");
  file.write("VTKHDF/PointData/id", each(all, [](const Observed& one) { return one.id; }));
  file.write("VTKHDF/PointData/velocity", vectors(all, &Observed::vx, &Observed::vy), 3);
  file.write("VTKHDF/PointData/density", each(all, [](const Observed& one) { return one.density; }));
  const double stiffness = settings.material.beta / 60 / 2;
  file.write("VTKHDF/PointData/pressure",
             each(all, [&](const Observed& one) { return stiffness * one.density * one.density; }));
  file.write("VTKHDF/PointData/heat", each(all, [](const Observed& one) { return one.heat; }));
  file.make_group("VTKHDF/FieldData");
  file.write("VTKHDF/FieldData/step", std::vector<std::int64_t>{step});
  file.write("VTKHDF/FieldData/time",
             std::vector<double>{static_cast<double>(step) * settings.integration.time_step});
  file.write("VTKHDF/FieldData/space", std::vector<double>{settings.space.width, settings.space.height});
  file.write("VTKHDF/FieldData/mass", std::vector<double>{settings.material.mass});
  return file.bytes();
}

}  // namespace

void write_snapshot(MPI_Comm comm, const Settings& settings, const Domain& domain, const Forces& forces,
                    std::int64_t step) {
  const std::vector<Observed> all = gather(comm, domain, observed_by(domain.particles, forces));
  std::string trouble;
  if (domain.rank() == 0) {
    try {
      trouble = write_text(fmt::format("{}/snapshot-{}.vtkhdf", settings.output.directory, step),
                           bytes_of_file(settings, all, step));
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  agree(comm, trouble);
}

}  // namespace spam
