// Where the standard streams of ranks lead that this process starts: to mpiexec's own, or through an agent to
// those of the mpiexec that it serves (hosts/agent.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/options/options.hpp"
#include "launch/start/preparation.hpp"
#include "launch/stream/console.hpp"
#include "launch/stream/output_sink.hpp"
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
  ~ConsoleStreams();

  void take_output(const WorldRank& rank, int stream, int fd) override;
  int open_input(std::vector<int>* to_close) override;
  void input_is_taken() override;

  /// Of a rank on another host, whose text is fed to them. It goes to a file here where the options name one.
  /// Returns false, and why, when that cannot be written.
  bool make_fed(const WorldRank& rank, Refusal* refusal);

  /// A line about files of make_fed() that did not take all; empty: they did.
  std::string file_loss() const;

 private:
  struct File {
    std::string path;
    int fd;
    std::unique_ptr<OutputSink> sink;
  };
  std::string label(const WorldRank& rank) const;
  File* open_file(const std::string& path, const WorldRank& rank, Refusal* refusal);

  EventLoop& loop_;
  const Options& options_;
  Console& console_;
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace tasuki::launch
