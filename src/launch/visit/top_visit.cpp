// mpiexec --top without a program: a loop of looking, writing, and listening to keys and signals.
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "base/system/clock.hpp"
#include "launch/host/signals.hpp"
#include "launch/host/start_program.hpp"
#include "launch/options/options.hpp"
#include "launch/top/top.hpp"
#include "launch/visit/doctor_visit.hpp"
#include "launch/visit/running_jobs.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kFindNs = 1'000'000'000;  // how often new worlds are looked for

/// Has a terminal give each key at once, and does not show it.
class Keys {
 public:
  Keys() : terminal_(tcgetattr(STDIN_FILENO, &before_) == 0) { listen(); }
  ~Keys() { restore(); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  void listen() const {
    if (!terminal_) return;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  void restore() const {
    if (terminal_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  int fd() const { return terminal_ ? STDIN_FILENO : -1; }

  /// Whether one of the keys that wait to be read ends the display.
  bool want_end() const {
    char keys[64];
    const ssize_t count = ::read(STDIN_FILENO, keys, sizeof keys);
    return count == 0 || std::any_of(keys, keys + std::max<ssize_t>(0, count),
                                     [](char key) { return key == 'q' || key == 'Q'; });
  }

 private:
  termios before_{};
  const bool terminal_;
};

/// Returns false where the reader is gone.
bool put(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return false;
    done += static_cast<std::size_t>(std::max<ssize_t>(0, written));
  }
  return true;
}

class Display {
 public:
  Display(RunningJob job, int signal_fd)
      : job_(std::move(job)),
        worlds_(subjects_of(job_)),
        top_(
            TopScreen::Place::kWhole, STDOUT_FILENO,
            (isatty(STDOUT_FILENO) != 0 ? "q ends this. mpiexec " : "mpiexec ") + described_process(job_.pid),
            0),
        signal_fd_(signal_fd) {}

  /// Until the job or the user ends it. Returns the exit status.
  int run() {
    bool more = true;
    while (more && find_worlds()) {
      const std::int64_t now = clock_ns();
      if (top_.look(worlds_, now)) {
        more = put(top_.picture(worlds_, now) + (top_.on_terminal() ? "" : "\n"));
      }
      more = more && listen(top_.due_ns());
    }
    put(top_.leave());
    if (more) put("mpiexec: the job is over\n");
    return status_;
  }

 private:
  /// Worlds that were spawned, too. Returns false when the job is over.
  bool find_worlds() {
    if (clock_ns() < find_ns_) return true;
    find_ns_ = clock_ns() + kFindNs;
    RunningJob now;
    std::string error;
    if (!find_job(job_.pid, &now, &error)) return false;
    job_ = std::move(now);
    worlds_ = subjects_of(job_);
    return true;
  }

  /// Returns false when the display is to end.
  bool listen(std::int64_t until_ns) {
    pollfd entries[] = {{signal_fd_, POLLIN, 0}, {keys_.fd(), POLLIN, 0}};
    const std::int64_t wait_ns = std::max<std::int64_t>(0, until_ns - clock_ns());
    if (poll(entries, 2, static_cast<int>((wait_ns + 999'999) / 1'000'000)) <= 0) return true;
    if (entries[1].revents != 0 && keys_.want_end()) return false;
    if (entries[0].revents == 0) return true;
    for (int signal = 0; (signal = next_signal(signal_fd_)) != 0;) {
      if (signal == SIGTSTP) {
        put(top_.leave());
        keys_.restore();
        raise(SIGSTOP);
        keys_.listen();
      } else if (signal != SIGCONT && signal != SIGCHLD) {
        status_ = signal == SIGINT ? 0 : 128 + signal;
        return false;
      }
    }
    return true;
  }

  RunningJob job_;
  std::vector<SubjectWorld> worlds_;
  Top top_;
  const Keys keys_;
  const int signal_fd_;
  std::int64_t find_ns_ = 0;
  int status_ = 0;
};

}  // namespace

int visit_top(const Options& options) {
  RunningJob job;
  std::string error;
  if (!find_job(options.job_pid, &job, &error)) {
    std::fprintf(stderr, "mpiexec: %s\n", error.c_str());
    return 1;
  }
  Inherited inherited;
  const int signals = take_over_signals(&inherited);
  if (signals < 0) {
    std::perror("mpiexec: signalfd");
    return 1;
  }
  return Display(std::move(job), signals).run();
}

}  // namespace tasuki::launch
