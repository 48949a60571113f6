// The file of --io-times: made, handed to the ranks, and counted at the end.
#include "launch/report/io_times_recording.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/json.hpp"
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

void IoTimesRecording::add(const std::string& lines) {
  if (!begun()) return;
  std::ofstream file(path_, std::ios::app | std::ios::binary);
  file << lines;
}

void IoTimesRecording::set_clock(int node, const std::string& host, const HostClock& clock) {
  clocks_[node] = {host, clock};
}

std::string IoTimesRecording::report() {
  const auto text_of = [](const ClockReading& reading) {
    return reading.known()
               ? format("[%lld,%lld,%lld]", static_cast<long long>(reading.at_ns),
                        static_cast<long long>(reading.ahead_ns), static_cast<long long>(reading.error_ns))
               : std::string("null");
  };
  for (const auto& [node, known] : clocks_) {
    add(format("{\"clock_of_node\":%d,\"host\":%s,\"begin\":%s,\"end\":%s}\n", node,
               json_string(known.host).c_str(), text_of(known.clock.begin).c_str(),
               text_of(known.clock.end).c_str()));
  }
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
