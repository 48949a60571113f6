// Wire: what a rank has of a launcher that is not ours: its place in the job, values that the ranks give one
// another, a fence, and the end. A WireDirectory makes a Directory of it.
//
// Implemented by: pmi1_wire.cpp (PMI-1: the launchers Hydra and gforker of MPICH, Intel MPI's, Flux, srun
// --mpi=pmi2), pmix_wire.cpp (PMIx: Open MPI's mpirun, PRRTE, srun --mpi=pmix), and the unit tests.
//
// Thread safety: one thread at a time; abort() may be called from any.
//
// Invariants:
//  1. No call waits longer than kWireTimeoutSeconds for the launcher: it fails with one line in `error`.
//  2. A key of a rank is put once, before a fence that its readers have seen end.
#pragma once

#include <cstddef>
#include <string>

#include "job/directory.hpp"

namespace tasuki::wire {

inline constexpr int kWireTimeoutSeconds = 60;

struct Place {
  int rank = -1;
  int size = 0;
  int local = -1;        // ranks on this machine; -1: unknown
  int application = -1;  // of an MPMD job; -1: unknown
  int universe = -1;     // ranks that could run; -1: unknown
};

class Wire {
 public:
  virtual ~Wire() = default;

  virtual const Place& place() const = 0;

  /// The launcher's protocol and how it is reached, for what is said to users: "PMI-1 (descriptor 9)".
  virtual std::string name() const = 0;

  /// What one value may have, at least 63.
  virtual std::size_t value_bytes_max() const = 0;

  /// `key` and `value` are of letters, digits and "%+-./:_,".
  virtual bool put(const std::string& key, const std::string& value, std::string* error) = 0;
  virtual bool get(int rank, const std::string& key, std::string* value, std::string* error) = 0;

  /// As Directory's.
  virtual bool enter_fence(std::string* error) = 0;
  virtual Directory::Fence look_at_fence(std::string* error) = 0;

  /// Asks the launcher to end the job; this process goes on.
  virtual void abort(int exit_code) = 0;

  /// This rank may end without ending the job. Nothing else follows.
  virtual void finalize() = 0;
};

}  // namespace tasuki::wire
