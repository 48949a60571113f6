// The columns of other ranks that border on this rank's, as they are at each stage of a step.
//
// At every stage of Runge-Kutta a rank needs where the particles of the bordering columns are (and, with
// viscosity, how fast). plan() finds once a step which ranks border on each other and how many particles each
// cell has. Then, at each stage: the stage's state is written to stage(s); start(s) sends the border columns,
// one message to each neighbouring rank, however many borders there are with it; a rank that waits calls
// progress() now and then; after finish(s) the ghosts can be read until start(s + 1).
//
// One thread calls (the one that initialised MPI). A column that borders on several owned ones comes once.
#pragma once

#include <mpi.h>

#include <memory>

#include "domain.hpp"
#include "settings.hpp"

namespace spam {

inline constexpr int kStages = 4;

/// The particles' state at a stage, in the order of Domain::particles.
struct StageState {
  double *x = nullptr, *y = nullptr, *vx = nullptr, *vy = nullptr;
};

/// A column of cells as force loops see it.
struct ColumnView {
  const double *x = nullptr, *y = nullptr, *vx = nullptr, *vy = nullptr;  // of its first particle
  const int* row_begin = nullptr;  // rows + 1 numbers, from that one on
};

class Halo {
 public:
  virtual ~Halo() = default;

  /// After each sort, with a domain that stays as it is until the next. Where owners have changed, collective
  /// over all ranks. Throws RankError if particles came from farther off than a column.
  virtual void plan(const Domain& domain) = 0;

  /// Where the state of a stage is to be written: one entry for each particle of the domain. What lies there
  /// stays until stage(s + 2) is written. Valid after plan().
  virtual StageState stage(int stage) = 0;

  virtual void start(int stage) = 0;
  virtual void progress() = 0;
  virtual void finish(int stage) = 0;

  /// A column that another rank owns and that borders on one of ours. Valid from finish() on.
  virtual ColumnView ghost(int column) const = 0;

  /// Messages and bytes that this rank has sent so far.
  struct Sent {
    std::int64_t messages = 0, bytes = 0;
  };
  virtual Sent sent() const = 0;
};

/// `with_velocities`: ghosts have them, too.
std::unique_ptr<Halo> make_halo(HaloKind kind, MPI_Comm comm, bool with_velocities, bool periodic_x);
/// What the settings ask for.
std::unique_ptr<Halo> make_halo(const Settings& settings, MPI_Comm comm);

}  // namespace spam
