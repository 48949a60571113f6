// SpawnService: where ranks ask mpiexec to start more (MPI 11.8), and for names, over Unix sockets; see
// job/spawn_request.hpp for what they say. At their end they say there too what they left behind
// (job/leak_report.hpp). An answer may come later: hosts have to be reached for it.
//
// A job's ranks connect, ask and close. A program that runs alone and starts an mpiexec for its spawns keeps
// one connection, the owner's, as long as it lives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "job/leak_report.hpp"
#include "job/spawn_request.hpp"
#include "launch/base/event_loop.hpp"

namespace tasuki::launch {

/// Takes the answer to a request, now or later, once. Where the one that asked is gone, it does nothing.
using Reply = std::function<void(const SpawnAnswer& answer)>;

class SpawnHandler {
 public:
  /// Starts what is asked for.
  virtual void spawn(const SpawnRequest& request, Reply reply) = 0;

  virtual void ask_about_name(const NameRequest& /*request*/, const Reply& reply) {
    reply({"names are not kept here", {}});
  }

  /// A rank says which jobs it is connected to.
  virtual void take_connections(const ConnectionReport& report, const Reply& reply) = 0;

  /// What a rank left behind when it ended MPI.
  virtual void take_leaks(const LeakReport& report) = 0;

  /// A rank of a job on several hosts has put values and entered a fence.
  virtual void take_values() {}

  /// The owner is gone. `in_order`: it said so before.
  virtual void owner_gone(bool in_order) = 0;

 protected:
  ~SpawnHandler() = default;
};

/// Hands an encoded request to the handler. Returns false when it is none.
bool ask(SpawnHandler& handler, const std::string& message, const Reply& reply);

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
  std::vector<std::shared_ptr<Connection>> connections_;
  Connection* owner_ = nullptr;
};

}  // namespace tasuki::launch
