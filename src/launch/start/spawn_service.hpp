// SpawnService: where ranks ask mpiexec to start more (MPI 11.8), over Unix sockets; see
// job/spawn_request.hpp for what they say. At their end they say there too what they left behind
// (job/leak_report.hpp).
//
// A job's ranks connect, ask and close. A program that runs alone and starts an mpiexec for its spawns keeps
// one connection, the owner's, as long as it lives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "job/leak_report.hpp"
#include "job/spawn_request.hpp"
#include "launch/base/event_loop.hpp"

namespace tasuki::launch {

class SpawnHandler {
 public:
  /// Starts what is asked for. Returns why not; empty: it runs.
  virtual std::string spawn(const SpawnRequest& request) = 0;

  /// What a rank left behind when it ended MPI.
  virtual void take_leaks(const LeakReport& report) = 0;

  /// A rank of a job on several hosts has put values and entered a fence.
  virtual void take_values() {}

  /// The owner is gone. `in_order`: it said so before.
  virtual void owner_gone(bool in_order) = 0;

 protected:
  ~SpawnHandler() = default;
};

class SpawnService final : public Ready {
 public:
  SpawnService(EventLoop& loop, SpawnHandler& handler);
  ~SpawnService();
  SpawnService(const SpawnService&) = delete;
  SpawnService& operator=(const SpawnService&) = delete;

  /// Listens at an abstract socket that only this user's processes may use. Without it no rank can spawn.
  /// Returns its name; empty when there is none.
  std::string listen();

  /// Serves the owner's connection, from now on this object's.
  void serve_owner(int fd);
  bool has_owner() const { return owner_ != nullptr; }

  void ready() override;  // a process connects

 private:
  class Connection;

  EventLoop& loop_;
  SpawnHandler& handler_;
  int listener_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  Connection* owner_ = nullptr;
};

}  // namespace tasuki::launch
