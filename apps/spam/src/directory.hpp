// The directory of a run's files.
#pragma once

#include <mpi.h>

#include <string>

namespace spam {

enum class Earlier {
  kRefuse,  // a directory that holds a run already is an error
  kRemove,  // its files are removed
  kKeep     // they stay, but for those of the same names: the run is continued
};

/// Collective; rank 0 acts. Makes it if it is not there. Throws Error on all ranks if it is no directory that
/// can be written to, or holds what is not to be overwritten.
void prepare_directory(MPI_Comm comm, const std::string& directory, Earlier earlier);

}  // namespace spam
