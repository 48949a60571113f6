// Where the standard streams of ranks lead that this process starts: to mpiexec's own, or through an agent to
// those of the mpiexec that it serves (hosts/agent.hpp).
#pragma once

#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/options/options.hpp"
#include "launch/stream/console.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class RankStreams {
 public:
  /// Reads from `fd`, a pipe's end that does not block, what the rank writes to its standard output (1) or
  /// error (2), from now on.
  virtual void take_output(const WorldRank& rank, int stream, int fd) = 0;

  /// A descriptor that is the rank's standard input, -1: none. One that is to be closed once the rank runs
  /// goes into `to_close`, too. REQUIRES: the options say that this rank reads it.
  virtual int open_input(std::vector<int>* to_close) = 0;

  /// The rank that reads it runs.
  virtual void input_is_taken() {}

 protected:
  ~RankStreams() = default;
};

/// mpiexec's own. What it is given outlives it.
class ConsoleStreams final : public RankStreams {
 public:
  ConsoleStreams(EventLoop& loop, const Options& options, Console& console)
      : loop_(loop), options_(options), console_(console) {}

  void take_output(const WorldRank& rank, int stream, int fd) override;
  int open_input(std::vector<int>* to_close) override;
  void input_is_taken() override;

  /// Of a rank on another host, whose text is fed to them.
  void make_fed(const WorldRank& rank);

 private:
  std::string label(const WorldRank& rank) const;

  EventLoop& loop_;
  const Options& options_;
  Console& console_;
};

}  // namespace tasuki::launch
