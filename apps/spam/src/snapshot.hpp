// Snapshots: one HDF5 file for each, in the VTKHDF form that ParaView opens (points with id, velocity,
// density, pressure and heat), which h5py and pandas read as plain arrays.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "domain.hpp"
#include "force.hpp"
#include "settings.hpp"

namespace spam {

/// Collective; rank 0 writes, ordered by id. `forces` are those of the domain's state, with density.
/// DIRECTORY/snapshot-STEP.vtkhdf; throws Error on all ranks if it cannot be written.
void write_snapshot(MPI_Comm comm, const Settings& settings, const Domain& domain, const Forces& forces,
                    std::int64_t step);

}  // namespace spam
