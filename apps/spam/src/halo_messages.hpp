// The halo by messages, over any distance. The state of stages is the rank's own memory.
#pragma once

#include "ghost_messages.hpp"
#include "halo.hpp"

namespace spam {

class MessageHalo final : public Halo {
 public:
  MessageHalo(MPI_Comm comm, bool with_velocities, bool periodic_x);
  ~MessageHalo() override;

  void plan(const Domain& domain) override;
  StageState stage(int stage) override;
  void start(int stage) override;
  void progress() override;
  void finish(int stage) override;
  ColumnView ghost(int column) const override;
  Sent sent() const override;

 private:
  struct Copy {
    Array<double> x, y, vx, vy;
  };

  MPI_Comm comm_;
  bool periodic_x_;
  const Domain* domain_ = nullptr;  // as planned
  Owners owners_;
  GhostTable ghosts_;
  std::unique_ptr<GhostMessages> messages_;
  Copy copies_[2];  // by the parity of the stage
  int parity_ = 0;  // of the ghosts that can be read
};

}  // namespace spam
