// mpiexec (and mpirun): starts the ranks of an MPI job on this machine and looks after them.
//
// main parses the command line and hands over to Job; see options.hpp for what can be asked for and job.hpp
// for what happens then.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "job/spawn_request.hpp"
#include "launch/host/signals.hpp"
#include "launch/hosts/agent.hpp"
#include "launch/job/job.hpp"
#include "launch/options/options.hpp"
#include "launch/report/library_info.hpp"
#include "launch/visit/doctor_visit.hpp"

namespace {

constexpr int kBadUsage = 2;

/// Descriptors 0 to 2 must exist, or our own files would take their numbers.
void open_standard_descriptors() {
  for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR)) {
    if (fd > STDERR_FILENO) {
      close(fd);
      return;
    }
  }
}

bool read_file(const std::string& path, std::string* text) {
  std::ifstream file(path);
  text->assign(std::istreambuf_iterator<char>(file), {});
  return file.good() || file.eof();
}

/// Leaves the process that was started, whose end its parent waits for, and says that all is well.
bool become_server(int socket) {
  const pid_t pid = fork();
  if (pid > 0) _exit(0);
  return pid == 0 && fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 &&
         tasuki::write_message(socket, tasuki::farewell());
}

/// One line of all options that change nothing.
void say_foreign(const std::vector<std::string>& options) {
  std::string list;
  for (const std::string& option : options) list += (list.empty() ? "" : ", ") + option;
  if (!list.empty())
    std::fprintf(
        stderr,
        "mpiexec: %s: parameters of Open MPI change nothing here; mpiexec --info lists what can be set\n",
        list.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tasuki::launch;
  open_standard_descriptors();
  Options options;
  std::string error;
  if (!parse_options({argv + 1, argv + argc}, &options, &error)) {
    std::fprintf(stderr, "mpiexec: %s\n", error.c_str());
    return kBadUsage;
  }
  const char* limit = std::getenv("MPIEXEC_TIMEOUT");
  if (limit != nullptr && options.timeout_seconds == 0 && !parse_seconds(limit, &options.timeout_seconds)) {
    std::fprintf(stderr, "mpiexec: MPIEXEC_TIMEOUT = \"%s\", expected a number of seconds above 0\n", limit);
    return kBadUsage;
  }
  if (!take_nodes(std::getenv("TASUKI_NODES"), &options, &error) ||
      !take_doctor(std::getenv("TASUKI_DOCTOR"), std::getenv("TASUKI_STALL_SECONDS"),
                   std::getenv("TASUKI_END_ON_DEADLOCK"), &options, &error)) {
    std::fprintf(stderr, "mpiexec: %s\n", error.c_str());
    return kBadUsage;
  }
  if (!take_allocation(getenv, read_file, &options, &error)) {
    std::fprintf(stderr, "mpiexec: %s; --host localhost starts the ranks on this machine\n", error.c_str());
    return kBadUsage;
  }
  if (!take_host_silence(std::getenv("TASUKI_HOST_SILENCE_SECONDS"), &options, &error) ||
      !take_launcher_tree(std::getenv("TASUKI_LAUNCHER_TREE"), &options, &error)) {
    std::fprintf(stderr, "mpiexec: %s\n", error.c_str());
    return kBadUsage;
  }
  if (options.help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (options.version) {
    std::printf("mpiexec (Tasuki) %s%s\n", TASUKI_VERSION,
                *TASUKI_COMMIT != '\0' ? ", commit " TASUKI_COMMIT : "");
    return 0;
  }
  if (options.info != InfoForm::kNone) {
    std::string text;
    if (!info_text(options.info, environ, options.info_command, isatty(STDOUT_FILENO) != 0, &text, &error)) {
      std::fprintf(stderr, "mpiexec: %s\n", error.c_str());
      return kBadUsage;
    }
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  say_foreign(options.foreign);
  if (options.visits()) return options.top ? visit_top(options) : visit(options);
  if (options.spawn_socket >= 0 && !become_server(options.spawn_socket)) return 1;
  Inherited inherited;
  const int signals = take_over_signals(&inherited);
  if (signals < 0) {
    std::perror("mpiexec: signalfd");
    return 1;
  }
  if (options.agent) return Agent(inherited, signals).run();
  Job job(options, inherited, signals);
  return job.run();
}
