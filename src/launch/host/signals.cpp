// signalfd, and keeping book of what was changed.
#include "launch/host/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace tasuki::launch {
namespace {

void change(Inherited* inherited, int signal, void (*handling)(int)) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handling;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, &before) != 0) return;
  inherited->signals.push_back(signal);
  inherited->actions.push_back(before);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

int take_over_signals(Inherited* inherited) {
  getrlimit(RLIMIT_NOFILE, &inherited->files);
  for (const int signal : {SIGPIPE, SIGTTIN, SIGTTOU, SIGXFSZ}) change(inherited, signal, SIG_IGN);
  change(inherited, SIGCHLD, SIG_DFL);  // where it is ignored the kernel would not say how ranks ended
  sigset_t answered;
  sigemptyset(&answered);
  sigaddset(&answered, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2}) {
    if (!is_ignored(signal)) sigaddset(&answered, signal);
  }
  sigprocmask(SIG_BLOCK, &answered, &inherited->mask);
  return signalfd(-1, &answered, SFD_CLOEXEC | SFD_NONBLOCK);
}

int next_signal(int signal_fd) {
  signalfd_siginfo info{};
  return read(signal_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)
             ? static_cast<int>(info.ssi_signo)
             : 0;
}

}  // namespace tasuki::launch
