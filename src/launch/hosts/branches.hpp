// Branches: the agents that this process has started by ssh or the like, and those that these have started in
// their turn: a tree. Its root is the mpiexec that the user started; in the middle are agents. Each of them
// has a Branches, which knows through which of its own agents each host below is reached.
//
//   reach()    starts an agent on a host: from here, or from the host of an agent that is there already
//   send()     brings a frame to agents; to several behind one agent it goes once
//   follow()   says that this process lives, and notices agents of its own that are silent
//
// An agent that is gone takes those behind it along: they end by themselves, since their channel ends or is
// silent. One loss tells of all. A host is known by its number in the job. One thread. What it is given
// outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/hosts/channel.hpp"

namespace tasuki::launch {

/// In place of a host's number: the one that is meant is the one that reads this.
inline constexpr int kThisAgent = -1;

/// Which host's agent starts the agent of the host with that index, in the order of their start; kThisAgent:
/// mpiexec. Each has at most `fan_out` below it, and those of a level share the next one evenly. `fan_out`:
/// 0: mpiexec starts all. Pure.
int parent_in_tree(int index, int fan_out);

/// An agent is gone, or has not come.
struct AgentLoss {
  int host = 0;
  int status = -1;               // of its launcher, as a shell tells it; -1: it has not ended
  std::string why = {};          // empty: the channel has ended
  std::vector<int> behind = {};  // hosts that were reached through it
};
std::string encode(const AgentLoss& loss);
bool decode(std::string_view bytes, AgentLoss* loss);

class BranchesUser {
 public:
  virtual void take_frame_of(int host, Frame frame, std::string_view payload) = 0;
  /// What the launcher of that host's agent has printed on standard error, or the agent.
  virtual void take_words_of(int host, std::string_view text) = 0;
  /// Nothing more comes of these hosts. It may be reached once more.
  virtual void take_loss(const AgentLoss& loss) = 0;

 protected:
  ~BranchesUser() = default;
};

class Branches final : public Launchers {
 public:
  Branches(EventLoop& loop, BranchesUser& user);
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  /// Runs `words` here, or where `via` has an agent; they find `first` on their standard input (here only).
  /// Where that fails, a loss says so, perhaps in this call.
  void reach(int host, int via, const std::vector<std::string>& words, std::string_view first = {});
  /// The same for a kReach of the agent or mpiexec above. Returns false when it cannot be read.
  bool take_reach(std::string_view payload);

  /// To those of the hosts that can be reached.
  void send(const std::vector<int>& hosts, Frame frame, std::string_view payload);
  /// Hands on what has come from above. Returns whether it is for this agent, too: then `frame` and `payload`
  /// tell what.
  bool take_relay(std::string_view envelope, Frame* frame, std::string* payload);

  /// Says that this process lives where it is time, and loses agents of which nothing was heard for
  /// `silence_seconds` (0: never). Returns when it is time again.
  std::int64_t follow(std::int64_t now_ns, double silence_seconds);
  /// What agents are to hold back.
  void hold(Hold what);
  /// This process was stopped: what agents have said meanwhile is still to be read.
  void pardon_silence();

  /// Nothing more is sent to the host or taken of it, nor of those behind it. No loss tells of that.
  void drop(int host);
  /// Ends all channels.
  void close();
  /// Whether no agent is left.
  bool over() const;

  bool is_launcher(int pid) const override;

 private:
  class Branch;
  std::vector<int> behind(const Branch& branch) const;
  void lose(Branch& branch, const std::string& why);
  void remove(Branch& branch);
  void take_frame(Branch& from, Frame frame, std::string_view payload);
  bool leads_to(const Branch& branch, int host) const;

  EventLoop& loop_;
  BranchesUser& user_;
  std::map<int, std::unique_ptr<Branch>> branches_;  // by the hosts of their own agents
  std::map<int, Branch*> to_;                        // which leads to a host
  std::vector<std::unique_ptr<Branch>> gone_;        // one of them may have called us
  Hold held_ = Hold::kNothing;
};

/// A frame to agents further down, or of one of them.
std::string envelope(const std::vector<int>& hosts, Frame frame, std::string_view payload);

}  // namespace tasuki::launch
