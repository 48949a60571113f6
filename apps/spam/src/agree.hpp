// Errors that only some ranks meet become everybody's, so that nobody waits for a rank that gave up.
#pragma once

#include <mpi.h>

#include <string>

namespace spam {

/// Collective. Returns if `trouble` is empty everywhere; else throws Error on every rank, with the text of
/// the lowest rank that has one.
void agree(MPI_Comm comm, const std::string& trouble);

}  // namespace spam
