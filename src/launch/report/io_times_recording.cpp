// The file of --io-times: made, handed to the ranks, and counted at the end.
#include "launch/report/io_times_recording.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "launch/base/format.hpp"
#include "launch/program/rank_environment.hpp"
#include "launch/report/recording_names.hpp"

namespace tasuki::launch {

bool IoTimesRecording::begin(const std::string& file, const std::vector<std::string>& command) {
  file_ = file.empty() ? name_after(command, ".iotimes") : file;
  // Without waiting for the reader of a pipe: the ranks refuse it.
  const int fd = open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
  if (fd < 0) {
    error_ = format("--io-times: cannot write '%s': %s", file_.c_str(), strerror(errno));
    return false;
  }
  close(fd);
  path_ = absolute_path(file_);
  return true;
}

void IoTimesRecording::set_variables(RankEnvironment& environment) const {
  if (begun()) environment.set("TASUKI_IO_TIMES", path_);
}

std::string IoTimesRecording::report() const {
  std::ifstream file(file_);
  long long ranks = 0;
  long long accesses = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("{\"io_times\"")) ++ranks;
    if (line.starts_with("{\"call\"")) ++accesses;
  }
  if (accesses == 0)
    return format("%s: none of %lld ranks ended a collective access to a file", file_.c_str(), ranks);
  return format("%s: %lld collective accesses of %lld rank%s; tasuki io-chart %s", file_.c_str(), accesses,
                ranks, ranks == 1 ? "" : "s", file_.c_str());
}

}  // namespace tasuki::launch
