// Border columns as messages: one to each partner at each stage, however many borders there are with it.
//
// The message of stage 0 is (counts, particles): of each column shown, in turn, where its rows begin (rows +
// 1 ints), all of it padded to a cache line; then the column's x, y and, if wanted, vx, vy, each in one
// piece. The messages of the other stages are the particles alone, as many as in stage 0.
//
// Invariants:
//   1. Stage s goes out of and into the buffers of parity s % 2. Ghosts of stage s are read in place until
//      start(s + 1), so the receive of stage s + 1 can be posted while they are read; it is posted by
//      finish(s), and a partner's message finds it there.
//   2. The counts stay at the beginning of the incoming buffer of parity 0, since stage 2 comes behind
//      them. So rows can be read at all stages.
//   3. Which message of stage 0 comes is known, but not how long it is: it is looked for (MPI_Improbe) and
//      received where there is room for it. No buffer shrinks, so soon none is allocated.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "aligned.hpp"
#include "borders.hpp"
#include "domain.hpp"

namespace spam {

class GhostMessages {
 public:
  /// `comm` is used while the object lives, and has no other messages of these tags (0 … kStages - 1).
  GhostMessages(MPI_Comm comm, bool with_velocities) : comm_(comm), with_velocities_(with_velocities) {}
  ~GhostMessages();
  GhostMessages(const GhostMessages&) = delete;
  GhostMessages& operator=(const GhostMessages&) = delete;

  /// REQUIRES: no stage is open; the partners set the same.
  void set_partners(const std::vector<Border>& partners);

  void start(int stage, const Domain& domain, const StageState& state);
  void progress();
  /// Fills the views of the partners' columns (at stage 0: of both parities).
  void finish(int stage, const Grid& grid, GhostTable* ghosts);

  /// Particles in the partners' columns; from finish(0) on.
  std::int64_t ghost_particles() const { return ghost_particles_; }
  const Halo::Sent& sent() const { return sent_; }

 private:
  struct Partner {
    Border border;
    Array<std::byte> outgoing[2], incoming[2];
    std::size_t incoming_particles_bytes = 0;
    bool came = false;  // the message of stage 0 was found, and is being received
  };

  void pack(int stage, const Domain& domain, const StageState& state, Partner* partner);
  bool look_for_first(std::size_t number, bool wait);
  void receive_first(std::size_t number, MPI_Message* message, const MPI_Status& status);
  void read_counts(const Grid& grid, Partner* partner, GhostTable* ghosts);
  void post_receives(int stage, const Grid& grid);
  int arrays() const { return with_velocities_ ? 4 : 2; }

  MPI_Comm comm_;
  bool with_velocities_;
  std::vector<Partner> partners_;
  std::vector<MPI_Request> receives_, sends_[2];  // by partner
  bool complete_ = true;                          // of the open stage, all that is to come
  std::int64_t ghost_particles_ = 0;
  Halo::Sent sent_;
  int open_ = -1;  // the stage that was started last
};

}  // namespace spam
