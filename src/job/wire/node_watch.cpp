// A thread that sleeps in poll(). What the neighbours say are single characters.
#include "job/wire/node_watch.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tasuki::wire {
namespace {

constexpr char kMayEnd = 'f';
constexpr char kInUse = 'i';
constexpr char kBeat = 'b';
constexpr int kBeatMs = 1000;
constexpr std::size_t kCallersMax = 8;
constexpr int kLauncherTimeMs = 1000;  // launchers see most ends too, and their words go before these

struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

bool make_address(const std::string& text, int port, Address* address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(text.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
  std::memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
  address->bytes = found->ai_addrlen;
  freeaddrinfo(found);
  return true;
}

int make_socket(const Address& address) {
  return socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// The ports that libfabric is told to take, where there is a firewall; else any.
std::pair<int, int> port_range() {
  const char* const low = std::getenv("FI_TCP_PORT_LOW_RANGE");
  const char* const high = std::getenv("FI_TCP_PORT_HIGH_RANGE");
  const int first = low != nullptr ? std::atoi(low) : 0;
  const int last = high != nullptr ? std::atoi(high) : 0;
  return first > 0 && last >= first && last < 65536 ? std::pair{first, last} : std::pair{0, 0};
}

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

/// The system ends the connection when a beat and what it sends again of it are not acknowledged for so long;
/// the other side's system does that, so a rank may compute, or be stopped.
void end_when_silent(int socket, std::int64_t silence_seconds) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(std::max<std::int64_t>(1, silence_seconds - 1)) * 1000 - kBeatMs / 10);
}

void close_and_forget(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

}  // namespace

NodeWatch::~NodeWatch() {
  if (watching_) {
    eventfd_write(stop_, 1);
    pthread_join(thread_, nullptr);
  }
  for (int* descriptor : {&listener_, &stop_, &next_.socket, &previous_.socket}) close_and_forget(descriptor);
  for (Own& own : own_) close_and_forget(&own.descriptor);
  for (Caller& caller : callers_) close_and_forget(&caller.socket);
}

int NodeWatch::listen(const std::string& address, std::string* error) {
  const auto [first, last] = port_range();
  for (int port = first; port <= last; ++port) {
    Address own;
    if (!make_address(address, port, &own)) break;
    listener_ = make_socket(own);
    set_option(listener_, SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_in told{};  // whose port lies where that of version 6 does
    Address all;
    all.bytes = sizeof all.storage;
    if (listener_ >= 0 && bind(listener_, reinterpret_cast<sockaddr*>(&own.storage), own.bytes) == 0 &&
        ::listen(listener_, kCallersMax) == 0 &&
        getsockname(listener_, reinterpret_cast<sockaddr*>(&all.storage), &all.bytes) == 0) {
      std::memcpy(&told, &all.storage, sizeof told);
      return ntohs(told.sin_port);
    }
    *error = std::strerror(errno);
    close_and_forget(&listener_);
  }
  *error = "cannot listen at " + address + " for the other hosts: " + *error;
  return -1;
}

std::string NodeWatch::hello() const {
  return ring_.secret + " " + std::to_string(ring_.rank) + "\n";
}

/// Connects to the next rank. One that refuses has ended: the launcher, or a message for it, tells why.
bool NodeWatch::call(std::string* error) {
  Address to;
  int reason = EINVAL;
  if (make_address(ring_.next.address, ring_.next.port, &to)) {
    next_.socket = make_socket(to);
    reason = connect(next_.socket, reinterpret_cast<sockaddr*>(&to.storage), to.bytes) == 0 ? 0 : errno;
    if (reason == EINPROGRESS) {
      pollfd one{next_.socket, POLLOUT, 0};
      socklen_t bytes = sizeof reason;
      const int limit_ms = static_cast<int>(ring_.connect_seconds * 1000);
      int come = 0;
      while ((come = poll(&one, 1, limit_ms)) < 0 && errno == EINTR) {
      }
      reason = ETIMEDOUT;
      if (come == 1) getsockopt(next_.socket, SOL_SOCKET, SO_ERROR, &reason, &bytes);
    }
  }
  if (reason == 0) {
    const std::string text = hello();
    end_when_silent(next_.socket, ring_.silence_seconds);
    if (send(next_.socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()))
      return true;
    reason = errno;
  }
  close_and_forget(&next_.socket);
  if (reason == ECONNREFUSED || reason == ECONNRESET || reason == EPIPE) return true;
  *error = ring_.text + " cannot connect to port " + std::to_string(ring_.next.port) + " of " +
           ring_.next.text + ": " + std::strerror(reason) +
           "; look whether a firewall stands between the two, and whether TASUKI_NET_INTERFACE has to name "
           "another interface";
  return false;
}

bool NodeWatch::start(Ring ring, const std::vector<PeerWatch::Peer>& own, std::string* error) {
  ring_ = std::move(ring);
  next_.to = &ring_.next;
  previous_.to = &ring_.previous;
  if (!call(error)) return false;
  for (const PeerWatch::Peer& peer : own) {
    const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, peer.process.pid, 0));
    if (descriptor >= 0) own_.push_back({descriptor, peer});
  }
  stop_ = eventfd(0, EFD_CLOEXEC);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's handlers run in threads of its own
  const auto run = [](void* of) -> void* {
    static_cast<NodeWatch*>(of)->watch();
    return nullptr;
  };
  const int reason = pthread_create(&thread_, nullptr, run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  watching_ = reason == 0;
  if (!watching_)
    *error = std::string("cannot start the thread that watches the other hosts: ") + std::strerror(reason);
  return watching_;
}

/// REQUIRES: the mutex is held, or this is the thread.
void NodeWatch::tell(char word) {
  for (const Line* line : {&next_, &previous_}) {
    if (line->socket >= 0) send(line->socket, &word, 1, MSG_NOSIGNAL);
  }
}

void NodeWatch::say(bool in_use) {
  std::string lost;
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(in_use_, in_use) == in_use) return;
    tell(in_use ? kInUse : kMayEnd);
    if (in_use) lost = std::exchange(lost_, {});
  }
  if (!lost.empty()) end_(lost);
}

// --- the thread ----------------------------------------------------------------------------------------

void NodeWatch::watch() {
  std::vector<int> ready;
  while (wait(&ready)) {
    for (const int descriptor : ready) {
      if (descriptor == listener_) {
        take_caller();
        continue;
      }
      for (Line* line : {&next_, &previous_}) {
        if (descriptor != line->socket) continue;
        hear(line);
      }
      for (Own& own : own_) {
        if (descriptor != own.descriptor) continue;
        close_and_forget(&own.descriptor);
        if (own.peer.finalized->load(std::memory_order_acquire) == 0) {
          end_unless_finished("rank " + std::to_string(own.peer.rank) + " (process " +
                                  std::to_string(own.peer.process.pid) + ") has ended without MPI_Finalize",
                              kLauncherTimeMs);
        }
      }
      for (Caller& caller : callers_) {
        if (descriptor == caller.socket) hear(&caller);
      }
    }
    std::erase_if(callers_, [](const Caller& caller) { return caller.socket < 0; });
  }
}

/// Which descriptors have something to be read; the listening one last, since its callers may get the numbers
/// of descriptors that the others close. Meanwhile beats go to the neighbours. Returns false at the end.
bool NodeWatch::wait(std::vector<int>* ready) {
  std::vector<pollfd> all{{stop_, POLLIN, 0}};
  for (const Caller& caller : callers_) all.push_back({caller.socket, POLLIN, 0});
  for (const Own& own : own_) all.push_back({own.descriptor, POLLIN, 0});
  for (const Line* line : {&next_, &previous_}) all.push_back({line->socket, POLLIN, 0});
  all.push_back({listener_, POLLIN, 0});
  ready->clear();
  const int count = poll(all.data(), all.size(), kBeatMs);
  if (count < 0) return errno == EINTR;
  if (count == 0) tell(kBeat);
  for (const pollfd& one : all) {
    if (one.revents != 0) ready->push_back(one.fd);
  }
  return all.front().revents == 0;
}

void NodeWatch::take_caller() {
  const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return;
  if (callers_.size() == kCallersMax) {
    close(callers_.front().socket);
    callers_.erase(callers_.begin());
  }
  callers_.push_back({socket, {}});
}

/// Is it the rank before this one?
void NodeWatch::hear(Caller* caller) {
  const std::string expected = ring_.secret + " " + std::to_string(ring_.previous.rank) + "\n";
  char bytes[64];
  const std::size_t missing = std::min(sizeof bytes, expected.size() - caller->said.size());
  const ssize_t count = recv(caller->socket, bytes, missing, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) caller->said.append(bytes, static_cast<std::size_t>(count));
  if (count <= 0 || !expected.starts_with(caller->said)) return close_and_forget(&caller->socket);
  if (caller->said != expected) return;
  end_when_silent(caller->socket, ring_.silence_seconds);
  const std::lock_guard guard(mutex_);
  previous_.socket = std::exchange(caller->socket, -1);
  close_and_forget(&listener_);
  for (Caller& other : callers_) close_and_forget(&other.socket);
  previous_.heard = true;
  send(previous_.socket, in_use_ ? &kInUse : &kMayEnd, 1, MSG_NOSIGNAL);
}

void NodeWatch::hear(Line* line) {
  char words[64];
  const ssize_t count = recv(line->socket, words, sizeof words, 0);
  const int reason = count < 0 ? errno : 0;
  if (reason == EAGAIN || reason == EINTR) return;
  line->heard = line->heard || count > 0;
  for (ssize_t i = 0; i < count; ++i) {
    if (words[i] != kBeat) line->in_use = words[i] == kInUse;
  }
  if (count > 0) return;
  {
    const std::lock_guard guard(mutex_);
    close_and_forget(&line->socket);
  }
  // One that has never said a word may have finalised MPI before it took this rank's call.
  if (!line->in_use || !line->heard) return;
  const bool silent = reason == ETIMEDOUT || reason == EHOSTUNREACH || reason == ENETUNREACH;
  if (silent) {
    end_unless_finished("for " + std::to_string(ring_.silence_seconds) +
                            " s nothing was heard of the host of " + line->to->text +
                            ": it does not run, or is out of reach",
                        0);
  } else {
    end_unless_finished(line->to->text + " has ended without MPI_Finalize", kLauncherTimeMs);
  }
}

/// Ends the job, unless the launcher does so within that time, or this rank is done by then.
void NodeWatch::end_unless_finished(const std::string& sentence, int wait_ms) {
  pollfd stop{stop_, POLLIN, 0};
  if (wait_ms > 0 && poll(&stop, 1, wait_ms) > 0) return;
  {
    const std::lock_guard guard(mutex_);
    if (!in_use_) lost_ = sentence;
    if (!in_use_) return;
  }
  end_(sentence);
}

}  // namespace tasuki::wire
