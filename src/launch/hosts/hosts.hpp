// Hosts: the other hosts of a job, as the mpiexec that the user started has them: an agent on each, started
// by ssh, srun or the like, from here or, where there are many, in a tree (branches.hpp). An agent that its
// place in the tree cannot start is started from here.
//
//   connect()      starts the agents that the first world needs, and waits until each has said what it is
//   start_first()  sends each its order; wait_until_started() waits until its ranks run
//   start()        the same for ranks that are spawned, without waiting; an agent that is missing is started
//   follow()       carries values, states and questions to and fro; notices a host that is silent
//   settle()       tells them that the job is over
//
// What agents tell of ranks goes into their world and its segment, where all others look. A host that is lost
// ends the job, where it had ranks: these count as ended. One thread. What it is given outlives it.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launch/allocation/host_list.hpp"
#include "launch/allocation/start_command.hpp"
#include "launch/base/event_loop.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/hosts/branches.hpp"
#include "launch/hosts/mirror.hpp"
#include "launch/hosts/orders.hpp"
#include "launch/hosts/place_ranks.hpp"
#include "launch/options/options.hpp"
#include "launch/report/reports.hpp"
#include "launch/start/preparation.hpp"
#include "launch/start/rank_streams.hpp"
#include "launch/start/spawn_service.hpp"
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
  /// A rank elsewhere asks for ranks, or for a name. Returns false when `request` is none of these.
  virtual bool asked(const std::string& request, const Reply& reply) = 0;

 protected:
  ~HostsUser() = default;
};

class Hosts final : public FarProcesses, public BranchesUser {
 public:
  Hosts(EventLoop& loop, const Options& options, const Family& family, Worlds& worlds, Console& console,
        ConsoleStreams& streams, Reports& reports, HostsUser& user);
  ~Hosts();

  /// Starts agents on the hosts of the placement but this one. Returns false, and why, when one did not come.
  bool connect(const Placement& placement, Refusal* refusal);
  /// Starts the ranks of the first world that are not here. REQUIRES: it is prepared, and connect() has
  /// succeeded.
  bool start_first(World& world, const Preparation& preparation, Refusal* refusal);
  /// Waits until they run.
  bool wait_until_started(Refusal* refusal);

  /// Told once, in the middle of the event loop: null when all ranks of the world run, else why not.
  using Done = std::function<void(const Refusal* why_not)>;
  /// Starts those that are here. Returns false, and why, when it cannot.
  using BeginHere = std::function<bool(Refusal* refusal)>;
  /// Starts the ranks of a world, once all its hosts have come. REQUIRES: it is prepared.
  void start(World& world, const Preparation& preparation, BeginHere begin_here, Done done);

  /// Sends the signal to what runs of the world elsewhere, and forgets it. Nothing is told of it any more.
  void end_world(const World& world, int signal);

  /// Carries on what ranks here have put and where they are.
  void tell_values();
  void follow(std::int64_t now_ns);
  /// This process was stopped, and goes on.
  void note_stop();
  std::int64_t due_ns() const { return due_ns_; }
  bool any() const { return !hosts_.empty(); }
  /// Its children that lead to other hosts.
  const Launchers& launchers() const { return branches_; }

  // FarProcesses
  std::vector<WorldRank> take_ended() override;
  void signal(int signal, bool orphans_too) override;
  void signal_world(const World& world, int signal) override;
  void settle() override;
  bool settled() const override;

  // BranchesUser
  void take_frame_of(int host, Frame frame, std::string_view payload) override;
  void take_words_of(int host, std::string_view text) override;
  void take_loss(const AgentLoss& loss) override;

 private:
  struct Host;
  class Input;
  /// What is elsewhere of a world.
  struct Part {
    World* world = nullptr;
    std::unique_ptr<Mirror> mirror;
    StartOrder order;
    std::vector<int> hosts;   // its hosts but this one
    std::set<int> unordered;  // those that have no order yet
    std::set<int> awaited;    // whose ranks do not run yet
    std::int64_t deadline_ns = 0;
    Refusal refusal{"", 0};
    BeginHere begin_here;
    Done done;  // null: it has been told
  };

  Part& add_part(World& world, const Preparation& preparation);
  Part* part_of(std::uint32_t world) const;
  Host& host_of(int number);
  Host* find(int number) const;
  void begin(Host& host, int via);
  bool is_ready(Host& host, Refusal* refusal);
  bool have_come(const Part& part, Refusal* refusal);
  void agree(Part& part);
  void send_orders(Part& part);
  void follow_starts(std::int64_t now_ns);
  bool find_trouble(const Part& part, std::int64_t now_ns, Refusal* refusal) const;
  void take(Host& from, Frame frame, std::string_view payload);
  void take_started(Host& from, std::string_view payload);
  void take_output(Host& from, bool closed, std::string_view payload);
  void take_ends(Host& from, std::string_view payload);
  void take_leaks(std::string_view payload);
  bool begin_again(Host& host, const AgentLoss& loss);
  void lose(Host& host, const AgentLoss& loss);
  bool end_ranks_of(const Host& host);
  std::string launcher_of(const Host& host) const;
  std::string names_behind(const AgentLoss& loss) const;
  std::string end_of(const Host& host, const AgentLoss& loss) const;
  bool send_installation(Host& host, int status);
  void begin_more();
  void ask_clock(Host& host);
  void take_clock(Host& from, std::string_view payload);
  bool wait(const std::function<bool(const Host&)>& done, double seconds, const char* what, Refusal* refusal);
  void send(const Host& host, Frame frame, std::string_view payload = {});
  void send_to_world(const Part& part, const Host* except, Frame frame, std::string_view payload);
  Rank* rank_of(const Host& host, std::uint32_t world, std::uint32_t number) const;
  void answer(Host& from, std::string_view payload);
  StartOrder order_for(World& world, const Preparation& preparation) const;

  EventLoop& loop_;
  const Options& options_;
  const Family& family_;
  Worlds& worlds_;
  Console& console_;
  ConsoleStreams& streams_;
  Reports& reports_;
  HostsUser& user_;
  Branches branches_;
  std::vector<std::unique_ptr<Host>> hosts_;  // in the order of their start, by which the tree is made
  std::vector<std::unique_ptr<Part>> parts_;
  std::unique_ptr<Input> input_;
  std::vector<WorldRank> ended_;
  std::string archive_;  // of this installation, for hosts that have none
  bool over_ = false;
  std::int64_t due_ns_ = 0;
  std::int64_t values_due_ns_ = 0;
  std::int64_t settle_end_ns_ = 0;  // agents that have not gone by then are left alone
};

}  // namespace tasuki::launch
