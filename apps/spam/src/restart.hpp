// Restart files, written and read by collective MPI-IO. With the same number of ranks and threads and the
// same input, a run that continues from one gives the same bits as one that was never interrupted: besides
// the particles, in their order, the file holds the owners of the columns and what the columns cost.
//
// A file is written under another name first and then renamed, so there is a whole one at any time. It is
// little-endian: a header of fixed length (magic, version, particles, columns, ranks, step, time, the first
// totals, a checksum of the settings that must not change, and of the whole header), owners, costs, the
// number of particles of each rank, and then records (particles.hpp) by rank and place. Another number of
// ranks can read it, too.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "domain.hpp"
#include "settings.hpp"
#include "totals.hpp"

namespace spam {

struct Progressed {
  std::int64_t step = 0;
  Totals first;                     // at step 0
  std::vector<double> column_cost;  // by column of space
};

/// Collective. Throws Error on all ranks if the file cannot be written whole; the old one is then still
/// there.
void write_restart(MPI_Comm comm, const std::string& file, const Settings& settings, const Domain& domain,
                   const Progressed& progressed);

/// Collective. Sets owners and particles. Throws Error on all ranks, naming the file, if it is none, is cut
/// short, is damaged (checksums), or belongs to other settings (which it names).
Progressed read_restart(MPI_Comm comm, const std::string& file, const Settings& settings, Domain* domain);

}  // namespace spam
