// mpiexec's own streams.
#include "launch/start/rank_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "launch/base/format.hpp"
#include "launch/stream/rank_files.hpp"

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

ConsoleStreams::~ConsoleStreams() {
  for (const auto& file : files_) close(file->fd);
}

/// One of this rank's that is open already, or made anew.
ConsoleStreams::File* ConsoleStreams::open_file(const std::string& path, const WorldRank& rank,
                                                Refusal* refusal) {
  if (!files_.empty() && files_.back()->path == path) return files_.back().get();
  const int fd = create_file(path);
  if (fd < 0) {
    *refusal = {format("cannot write '%s' for rank %s: %s", path.c_str(),
                       rank.world->rank_name(rank.number).c_str(), strerror(errno)),
                1};
    return nullptr;
  }
  auto file = std::make_unique<File>(File{path, fd, nullptr});
  file->sink = std::make_unique<OutputSink>(loop_, fd, file->path.c_str());
  files_.push_back(std::move(file));
  return files_.back().get();
}

bool ConsoleStreams::make_fed(const WorldRank& rank, Refusal* refusal) {
  const RankPaths paths = paths_of_rank(options_, rank.world->rank_name(rank.number));
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    const std::string& path = stream == STDOUT_FILENO ? paths.output : paths.error;
    File* const file = path.empty() ? nullptr : open_file(path, rank, refusal);
    if (!path.empty() && file == nullptr) return false;
    std::unique_ptr<RankStream>& fed = stream == STDOUT_FILENO ? rank.rank().output : rank.rank().error;
    OutputSink& console = stream == STDOUT_FILENO ? console_.output() : console_.error();
    fed = file != nullptr ? std::make_unique<RankStream>(loop_, *file->sink, "")
                          : std::make_unique<RankStream>(loop_, console, label(rank));
  }
  return true;
}

std::string ConsoleStreams::file_loss() const {
  for (const auto& file : files_) {
    if (file->sink->broken())
      return format("cannot write '%s': %s", file->path.c_str(), strerror(file->sink->error()));
  }
  return {};
}

}  // namespace tasuki::launch
