// mpiexec's own streams.
#include "launch/start/rank_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <memory>

namespace tasuki::launch {

std::string ConsoleStreams::label(const WorldRank& rank) const {
  return options_.labels ? "[" + rank.world->rank_name(rank.number) + "] " : "";
}

void ConsoleStreams::take_output(const WorldRank& rank, int stream, int fd) {
  OutputSink& sink = stream == STDOUT_FILENO ? console_.output() : console_.error();
  std::unique_ptr<RankStream>& taken = stream == STDOUT_FILENO ? rank.rank().output : rank.rank().error;
  taken = std::make_unique<RankStream>(loop_, fd, sink, label(rank));
}

int ConsoleStreams::open_input(std::vector<int>* to_close) {
  if (isatty(STDIN_FILENO) == 0) return STDIN_FILENO;
  const int fd = console_.terminal().open();
  if (fd >= 0) to_close->push_back(fd);
  return fd;
}

/// A program that writes to our input sees when that rank is gone.
void ConsoleStreams::input_is_taken() {
  if (isatty(STDIN_FILENO) != 0) return;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDIN_FILENO);
  close(null);
}

void ConsoleStreams::make_fed(const WorldRank& rank) {
  rank.rank().output = std::make_unique<RankStream>(loop_, console_.output(), label(rank));
  rank.rank().error = std::make_unique<RankStream>(loop_, console_.error(), label(rank));
}

}  // namespace tasuki::launch
