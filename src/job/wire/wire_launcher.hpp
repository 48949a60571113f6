// WireLauncher: what a rank reports to a launcher that is not ours. That one knows ends alone; the rest is
// told on standard error, and ranks to spawn are started by an mpiexec of ours on this machine.
//
// Thread safety: as Launcher.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "job/launcher.hpp"
#include "job/local/local.hpp"
#include "job/wire/node_memory.hpp"
#include "job/wire/node_watch.hpp"
#include "job/wire/peer_watch.hpp"
#include "job/wire/wire.hpp"

namespace tasuki::wire {

class WireLauncher final : public Launcher {
 public:
  WireLauncher(Wire& wire, PeerWatch& peers, NodeWatch& nodes)
      : Launcher(wire.place().rank, wire.place().size), wire_(wire), peers_(peers), nodes_(nodes) {}

  /// Where this rank says that it may end. `over_wire`: ranks meet over the wire whenever they do. Set before
  /// mark_finalized().
  void set_part(RankPart& part, bool over_wire) {
    part_ = &part;
    over_wire_ = over_wire;
  }

  bool spawn(const SpawnRequest& request, std::string* error) override {
    std::string nothing;
    return own_launcher_.start(error) &&
           local::ask_launcher(own_launcher_.socket(), encode(request), &nothing, error);
  }
  void report_connections(const ConnectionReport& report) override {
    own_launcher_.report_connections(report);
  }
  bool is_gone() override { return own_launcher_.gone(); }
  void join_world() override { in_world_ = true; }
  /// A rank with sessions may come back; from then on its end is noticed again.
  void mark_initialized() override {
    if (part_ != nullptr) part_->finalized.store(0, std::memory_order_release);
    nodes_.say(true);
  }
  void mark_finalized() override;
  void report_leaks(const std::vector<Leak>& leaks) override {
    local::print_leaks(wire_.place().rank, leaks);
  }
  void wait_to_be_ended() override;
  [[noreturn]] void abort(int exit_code, const std::string& message) override;

  /// Whether the launcher knows that this rank may end, and serves it no more.
  bool told() const { return told_.load(std::memory_order_relaxed); }

 private:
  void tell();

  Wire& wire_;
  PeerWatch& peers_;
  NodeWatch& nodes_;
  RankPart* part_ = nullptr;
  bool over_wire_ = false;
  bool in_world_ = false;          // MPI_Init has been called
  bool at_exit_ = false;           // the launcher is told at the end of the process
  int owner_ = 0;                  // that process: its children end without a word
  std::atomic<bool> told_{false};  // relaxed: the thread of NodeWatch asks too
  local::OwnLauncher own_launcher_;
};

}  // namespace tasuki::wire
