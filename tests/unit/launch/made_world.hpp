// For tests of mpiexec's parts: a world that has a job segment, and ranks that are processes only where a
// test makes them some.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/stream/console.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

inline std::unique_ptr<World> made_world(int ranks, int number = 0) {
  auto world = std::make_unique<World>();
  world->number = number;
  world->ranks.resize(static_cast<std::size_t>(ranks));
  std::string error;
  EXPECT_TRUE(world->segment.make(std::vector<int>(static_cast<std::size_t>(ranks), 0), &error)) << error;
  world->segment.header().spawn_number = number;
  return world;
}

/// A rank that has ended, as far as its mpiexec knows.
inline void set_ended(const WorldRank& rank, local::Life life, int wait_status) {
  rank.block().life.store(life);
  rank.block().in_world.store(life == local::Life::kStarted ? 0 : 1);
  rank.rank().ended = true;
  rank.rank().wait_status = wait_status;
}

/// A process in a group of its own, which calls `run` and ends.
template <class Run>
int group_that(Run&& run) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const int pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    close(ready[0]);
    signal(SIGTERM, SIG_DFL);
    run(ready[1]);
    _exit(0);
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_GE(read(ready[0], &byte, 1), 0);  // it has its group, and whatever else it says by closing its end
  close(ready[0]);
  return pid;
}

/// One that waits to be ended.
inline int waiting_group() {
  return group_that([](int ready) {
    close(ready);
    for (;;) pause();
  });
}

/// A console whose output and error go to files.
class Printed {
 public:
  explicit Printed(EventLoop& loop) : console(loop, output_fd_, error_fd_) {}
  ~Printed() {
    close(output_fd_);
    close(error_fd_);
    unlink(output_path_);
    unlink(error_path_);
  }
  std::string output() const { return text_of(output_path_); }
  std::string error() const { return text_of(error_path_); }

 private:
  static std::string text_of(const char* path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  char output_path_[32] = "/tmp/tasuki-output-XXXXXX";
  char error_path_[32] = "/tmp/tasuki-error-XXXXXX";
  const int output_fd_ = mkstemp(output_path_);
  const int error_fd_ = mkstemp(error_path_);

 public:
  Console console;
};

}  // namespace tasuki::launch
