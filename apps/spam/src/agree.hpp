// Errors that only some ranks meet become all ranks', so that none waits for a rank that gave up.
#pragma once

#include <mpi.h>

#include <string>

namespace spam {

/// Collective. Returns if `trouble` is empty everywhere; else throws Error on every rank, with the text of
/// the lowest rank that has one.
void agree(MPI_Comm comm, const std::string& trouble);

}  // namespace spam
