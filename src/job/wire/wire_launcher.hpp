// WireLauncher: what a rank reports to a launcher that is not ours. That one knows ends alone; the rest is
// told on standard error, and ranks to spawn are started by an mpiexec of ours on this machine.
//
// Thread safety: as Launcher.
#pragma once

#include <string>
#include <vector>

#include "job/launcher.hpp"
#include "job/local/local.hpp"
#include "job/wire/node_memory.hpp"
#include "job/wire/peer_watch.hpp"
#include "job/wire/wire.hpp"

namespace tasuki::wire {

class WireLauncher final : public Launcher {
 public:
  WireLauncher(Wire& wire, PeerWatch& peers)
      : Launcher(wire.place().rank, wire.place().size), wire_(wire), peers_(peers) {}

  /// Where this rank says that it may end. Set before mark_finalized().
  void set_part(RankPart& part) { part_ = &part; }

  bool spawn(const SpawnRequest& request, std::string* error) override {
    return own_launcher_.start(error) && local::ask_launcher(own_launcher_.socket(), request, error);
  }
  bool is_gone() override { return own_launcher_.gone(); }
  /// A rank with sessions may come back; from then on its end is noticed again.
  void mark_initialized() override {
    if (part_ != nullptr) part_->finalized.store(0, std::memory_order_release);
  }
  void mark_finalized() override;
  void report_leaks(const std::vector<Leak>& leaks) override {
    local::print_leaks(wire_.place().rank, leaks);
  }
  void wait_to_be_ended() override;
  [[noreturn]] void abort(int exit_code, const std::string& message) override;

 private:
  Wire& wire_;
  PeerWatch& peers_;
  RankPart* part_ = nullptr;
  bool told_ = false;  // the launcher knows that this rank may end
  local::OwnLauncher own_launcher_;
};

}  // namespace tasuki::wire
