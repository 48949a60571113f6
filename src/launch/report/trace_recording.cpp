// A part is a trace of one rank, so the whole is their blocks, one part after the other, behind one head.
#include "launch/report/trace_recording.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "launch/base/format.hpp"
#include "launch/base/spawn_attributes.hpp"
#include "launch/program/rank_environment.hpp"
#include "launch/report/recording_names.hpp"

namespace tasuki::launch {
namespace {

// docs/trace.md: a file's head is its magic and version, a block's its kind, its payload's size and a
// checksum.
constexpr std::size_t kFileHeadBytes = 12;
constexpr std::size_t kBlockHeadBytes = 16;

/// Reads a varint at `*at` of what was read of a payload, and moves on; 0 behind its end.
std::uint64_t read_varint(const std::string& text, std::size_t* at) {
  std::uint64_t value = 0;
  for (int shift = 0; *at < text.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(text[(*at)++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

bool read_all(int fd, std::string* text, std::size_t bytes) {
  text->resize(bytes);
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t part = read(fd, text->data() + got, bytes - got);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    got += static_cast<std::size_t>(part);
  }
  return true;
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t part = write(fd, text.data() + written, text.size() - written);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return false;
    written += static_cast<std::size_t>(part);
  }
  return true;
}

/// docs/trace.md: kind, size, checksum.
std::string block_head(const char* kind, std::string payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  payload.resize((payload.size() + 7) / 8 * 8, '\0');
  std::uint64_t sum = size;
  for (std::size_t number = 0; number < payload.size() / 8; ++number) {
    std::uint64_t word = 0;
    std::memcpy(&word, payload.data() + number * 8, sizeof word);
    sum += word * (2 * number + 1);
  }
  std::string head(kind, 4);
  head.append(reinterpret_cast<const char*>(&size), sizeof size);
  head.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return head;
}

/// Runs a program, and returns what it writes to its standard output and error.
std::string output_of(std::vector<std::string> command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return format("cannot make a pipe: %s", strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  const SpawnAttributes attributes(SpawnAttributes::Group::kCallers);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, arguments[0], &actions, attributes.get(), arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char piece[4096];
  while (error == 0) {
    const ssize_t got = read(ends[0], piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (error != 0) return format("cannot run '%s': %s", command[0].c_str(), strerror(error));
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string in_bytes(long long bytes) {
  if (bytes < 10'000) return format("%lld bytes", bytes);
  const double value = static_cast<double>(bytes);
  return bytes < 10'000'000 ? format("%.1f kB", value / 1e3) : format("%.1f MB", value / 1e6);
}

}  // namespace

struct TraceRecording::Part {
  int world = 0;
  int rank = 0;
  std::string name;

  bool operator<(const Part& other) const {
    return world != other.world ? world < other.world : rank < other.rank;
  }
};

std::string TraceRecording::cannot(const char* what, const std::string& path) {
  error_ = format("--trace: cannot %s '%s': %s", what, path.c_str(), strerror(errno));
  return error_;
}

bool TraceRecording::begin(const std::string& file, const std::vector<std::string>& command) {
  library_ = installed_trace();
  if (library_.empty() || library_.find_first_of(": ") != std::string::npos) {
    error_ = library_.empty() ? std::string("--trace: libtasuki_trace.so is not in this installation")
                              : format("--trace: cannot preload '%s', whose name has a blank or a colon",
                                       library_.c_str());
    return false;
  }
  file_ = file.empty() ? name_after(command, ".trace") : file;
  std::string folder = absolute_path(file_) + ".parts-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    cannot("make a folder beside", file_);
    return false;
  }
  folder_ = folder;
  return true;
}

void TraceRecording::set_variables(RankEnvironment& environment, int world,
                                   const std::string& rank_name) const {
  if (!begun()) return;
  environment.set("TASUKI_TRACE_PART", folder_ + "/" + rank_name);
  environment.set("TASUKI_TRACE_WORLD", std::to_string(world));
}

void TraceRecording::add(int host, const std::string& rank_name, const std::string& bytes) {
  if (!begun() || rank_name.empty() || rank_name[0] == '.' ||
      rank_name.find_first_not_of("0123456789.") != std::string::npos)
    return;
  host_of_part_.emplace(rank_name, host);
  std::ofstream part(folder_ + "/" + rank_name, std::ios::app | std::ios::binary);
  part << bytes;
}

/// How the clock of the rank's host has gone, against that of rank 0, from which its offset was measured when
/// the rank began (docs/trace.md).
std::string TraceRecording::clock_lines(const std::string& rank_name) const {
  const auto clock_of = [this](const std::string& name) {
    const auto host = host_of_part_.find(name);
    const auto found = host != host_of_part_.end() ? clocks_.find(host->second) : clocks_.end();
    return found != clocks_.end() ? found->second : HostClock{{0, 0, 0}, {0, 0, 0}};  // mpiexec's own
  };
  const HostClock own = clock_of(rank_name);
  const HostClock first = clock_of("0");
  const bool known = own.begin.known() && own.end.known() && first.begin.known() && first.end.known();
  const std::int64_t over_ns = std::max(own.end.at_ns - own.begin.at_ns, first.end.at_ns - first.begin.at_ns);
  if (!known || over_ns <= 0) return {};
  const std::int64_t drift_ns =
      (own.end.ahead_ns - own.begin.ahead_ns) - (first.end.ahead_ns - first.begin.ahead_ns);
  const std::int64_t error_ns =
      own.begin.error_ns + own.end.error_ns + first.begin.error_ns + first.end.error_ns;
  return format("clock_drift_ns=%lld\nclock_drift_error_ns=%lld\nclock_drift_over_ns=%lld\n",
                static_cast<long long>(drift_ns), static_cast<long long>(error_ns),
                static_cast<long long>(over_ns));
}

/// Copies a part's whole blocks; what a dying rank left unfinished is left out.
bool TraceRecording::copy(const Part& part, int to) {
  const std::string path = folder_ + "/" + part.name;
  const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string head, payload;
  if (from < 0 || !read_all(from, &head, kFileHeadBytes)) {
    if (from < 0) cannot("read", path);
    if (from >= 0) close(from);
    return from >= 0;  // it died before it had written anything
  }
  bool written = true;
  while (written && read_all(from, &head, kBlockHeadBytes)) {
    std::uint32_t size = 0;
    std::memcpy(&size, head.data() + 4, sizeof size);
    struct stat info {};
    const off_t here = lseek(from, 0, SEEK_CUR);
    if (fstat(from, &info) != 0 || size > info.st_size - here || !read_all(from, &payload, size)) break;
    if (head.starts_with("DATA")) {
      std::size_t at = 0;
      read_varint(payload, &at);  // the records
      read_varint(payload, &at);  // the requests before them
      calls_ += static_cast<long long>(read_varint(payload, &at));
      sent_bytes_ += static_cast<long long>(read_varint(payload, &at));
    }
    if (head.starts_with("HEAD")) {
      const std::string lines = clock_lines(part.name);
      if (!lines.empty()) head = block_head("HEAD", payload += lines);
    }
    file_bytes_ += static_cast<long long>(kBlockHeadBytes + payload.size());
    written = write_all(to, head) && write_all(to, payload);
  }
  close(from);
  return written;
}

std::string TraceRecording::merge() {
  std::vector<Part> parts;
  DIR* const directory = opendir(folder_.c_str());
  if (directory == nullptr) return cannot("read", folder_);
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    Part part{.name = entry->d_name};
    const std::size_t point = part.name.find('.');
    if (point != std::string::npos) part.world = std::atoi(part.name.c_str());
    part.rank = std::atoi(part.name.c_str() + (point != std::string::npos ? point + 1 : 0));
    parts.push_back(part);
  }
  closedir(directory);
  std::sort(parts.begin(), parts.end());
  if (parts.empty()) {
    rmdir(folder_.c_str());
    return "--trace: no rank called MPI_Init, or none through a library that can be recorded: no trace";
  }
  const std::string draft = folder_ + "/.whole";
  const int to = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (to < 0) return cannot("make", draft);
  std::string head("TSKTRACE");
  head += std::string("\2\0\0\0", 4);
  bool written = write_all(to, head);
  for (const Part& part : parts) written = written && copy(part, to);
  if (close(to) != 0) written = false;
  if (!written) return error_.empty() ? cannot("write", draft) : error_;
  if (rename(draft.c_str(), file_.c_str()) != 0) return cannot("write", file_);
  for (const Part& part : parts) unlink((folder_ + "/" + part.name).c_str());
  rmdir(folder_.c_str());
  return format("%s: %lld calls of %zu rank%s, %s sent; %s", file_.c_str(), calls_, parts.size(),
                parts.size() == 1 ? "" : "s", in_bytes(sent_bytes_).c_str(), in_bytes(file_bytes_).c_str());
}

std::string TraceRecording::explain() const {
  const std::string command = installed_command("tasuki");
  if (command.empty()) return "mpiexec: --explain: the command tasuki is not in this installation";
  return output_of({command, "explain", absolute_path(file_)});
}

}  // namespace tasuki::launch
