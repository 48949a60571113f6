// Hosts: the other hosts of a job, as the mpiexec that the user started has them: an agent on each, started
// by ssh, srun or the like.
//
//   connect()  starts all agents at once and waits until each has said what it is
//   start()    sends each its order, and waits until its ranks run
//   follow()   carries values, states and questions to and fro; notices a host that is silent
//   settle()   tells them that the job is over
//
// What agents tell of ranks goes into the world and its segment, where all others look. A host that is lost
// ends the job: its ranks count as ended. One thread. What it is given outlives it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/allocation/host_list.hpp"
#include "launch/allocation/start_command.hpp"
#include "launch/base/event_loop.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/hosts/mirror.hpp"
#include "launch/hosts/orders.hpp"
#include "launch/options/options.hpp"
#include "launch/report/reports.hpp"
#include "launch/start/preparation.hpp"
#include "launch/start/rank_streams.hpp"
#include "launch/stream/console.hpp"

namespace tasuki::launch {

/// What the job is told, in the middle of the event loop.
class HostsUser {
 public:
  virtual void ranks_ended() = 0;
  /// A host is lost while ranks of it ran. `text`: one line.
  virtual void host_lost(const std::string& text) = 0;
  /// Whether the job is to go on, as it does until a signal or a failure ends it.
  virtual bool goes_on() const = 0;

 protected:
  ~HostsUser() = default;
};

class Hosts final : public FarProcesses {
 public:
  Hosts(EventLoop& loop, const Options& options, Console& console, ConsoleStreams& streams, Reports& reports,
        HostsUser& user);
  ~Hosts();

  /// Starts agents on the hosts of the placement but this one. Returns false, and why, when one did not come.
  bool connect(const std::vector<HostSlots>& hosts, const Placement& placement, Refusal* refusal);

  /// Starts the ranks of the world that are not here. REQUIRES: it is prepared.
  bool start(World& world, const Preparation& preparation, Refusal* refusal);
  /// Waits until they run.
  bool wait_until_started(Refusal* refusal);

  /// Carries on what ranks here have put and where they are. REQUIRES for all that follow: connect() has
  /// succeeded.
  void tell_values();
  void follow(std::int64_t now_ns);
  /// This process was stopped, and goes on.
  void note_stop();
  std::int64_t due_ns() const { return due_ns_; }
  bool any() const { return !hosts_.empty(); }

  // FarProcesses
  std::vector<WorldRank> take_ended() override;
  void signal(int signal, bool orphans_too) override;
  void settle() override;
  bool settled() const override;
  bool is_launcher(int pid) const override;

 private:
  class Host;
  class Input;

  void take(Host& from, Frame frame, std::string_view payload);
  void take_started(Host& from, std::string_view payload);
  void take_output(Host& from, bool closed, std::string_view payload);
  void take_ends(Host& from, std::string_view payload);
  void take_leaks(std::string_view payload);
  void lose(Host& host, const std::string& why);
  bool send_installation(Host& host);
  void begin_more();
  void ask_clock(Host& host);
  void take_clock(Host& from, std::string_view payload);
  bool wait(const std::function<bool(const Host&)>& done, double seconds, const char* what, Refusal* refusal);
  void send_to_others(const Host* except, Frame frame, std::string_view payload);
  Rank* rank_of(const Host& host, std::uint32_t number) const;
  StartOrder order_for(World& world, const Preparation& preparation) const;

  EventLoop& loop_;
  const Options& options_;
  Console& console_;
  ConsoleStreams& streams_;
  Reports& reports_;
  HostsUser& user_;
  World* world_ = nullptr;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::unique_ptr<Mirror> mirror_;
  std::unique_ptr<Input> input_;
  std::vector<WorldRank> ended_;
  std::string archive_;  // of this installation, for hosts that have none
  bool held_ = false;
  bool over_ = false;
  std::int64_t due_ns_ = 0;
  std::int64_t values_due_ns_ = 0;
  std::int64_t settle_end_ns_ = 0;  // agents that have not gone by then are left alone
};

}  // namespace tasuki::launch
