// Connections: bytes in, requests out, answers back.
#include "launch/start/spawn_service.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/system/random_number.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {

class SpawnService::Connection final : public Ready,
                                       public std::enable_shared_from_this<SpawnService::Connection> {
 public:
  Connection(SpawnService& service, int fd) : service_(service), fd_(fd) {
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    service_.loop_.add_readable(fd_, this);
  }
  ~Connection() { close_socket(); }

  bool open() const { return fd_ >= 0; }

  void ready() override {
    const auto keep = shared_from_this();
    const bool over = read_all();
    while (open() && take_message()) {  // what was said before the end counts: the farewell may come with it
    }
    if (over && open()) end();
  }

 private:
  /// Takes in what has come. Returns whether nothing more will.
  bool read_all() {
    char bytes[16 * 1024];
    for (;;) {
      const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
      if (count <= 0) return true;
      bytes_.append(bytes, static_cast<std::size_t>(count));
    }
  }

  /// Handles one whole message, if there is one.
  bool take_message() {
    std::uint32_t length = 0;
    if (bytes_.size() < sizeof length) return false;
    std::memcpy(&length, bytes_.data(), sizeof length);
    if (length > kMessageBytesMax) {
      end();
      return false;
    }
    if (bytes_.size() - sizeof length < length) return false;
    const std::string message = bytes_.substr(sizeof length, length);
    bytes_.erase(0, sizeof length + length);
    if (message == farewell()) {
      farewell_said_ = true;
      return true;
    }
    if (message == values_put()) {
      service_.handler_.take_values();
      return true;
    }
    LeakReport report;
    if (decode(message, &report)) {
      service_.handler_.take_leaks(report);
      answer({});
    } else if (!ask(service_.handler_, message, [self = weak_from_this()](const SpawnAnswer& given) {
                 if (const auto connection = self.lock()) connection->answer(given);
               })) {
      answer({"mpiexec got a request of another version", {}});
    }
    return open();
  }

  /// It is short, so there is room, unless it goes to a process that asks and asks and never reads: mpiexec
  /// does not wait for that.
  void answer(const SpawnAnswer& answer) {
    if (open() && !write_message(fd_, encode(answer))) end();
  }

  void end() {
    close_socket();
    if (service_.owner_ != this) return;
    service_.owner_ = nullptr;
    service_.handler_.owner_gone(farewell_said_);
  }

  void close_socket() {
    if (fd_ < 0) return;
    service_.loop_.remove(fd_);
    close(fd_);
    fd_ = -1;
  }

  SpawnService& service_;
  int fd_;
  bool farewell_said_ = false;
  std::string bytes_;
};

bool ask(SpawnHandler& handler, const std::string& message, const Reply& reply) {
  SpawnRequest request;
  NameRequest name;
  ConnectionReport connections;
  if (decode(message, &request)) {
    handler.spawn(request, reply);
  } else if (decode(message, &connections)) {
    handler.take_connections(connections, reply);
  } else if (decode(message, &name)) {
    handler.ask_about_name(name, reply);
  } else {
    return false;
  }
  return true;
}

SpawnService::SpawnService(EventLoop& loop, SpawnHandler& handler) : loop_(loop), handler_(handler) {}

SpawnService::~SpawnService() {
  connections_.clear();
  if (listener_ >= 0) {
    loop_.remove(listener_);
    close(listener_);
  }
}

std::string SpawnService::listen() {
  const std::string name = format("tasuki-mpiexec-%d-%llx", static_cast<int>(getpid()),
                                  static_cast<unsigned long long>(random_number()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // the first byte is 0: an abstract name
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return {};
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), bytes) != 0 || ::listen(listener_, 64) != 0 ||
      !loop_.add_readable(listener_, this)) {
    close(listener_);
    listener_ = -1;
    return {};
  }
  return name;
}

void SpawnService::serve_owner(int fd) {
  connections_.push_back(std::make_shared<Connection>(*this, fd));
  owner_ = connections_.back().get();
}

void SpawnService::ready() {
  std::erase_if(connections_, [](const auto& connection) { return !connection->open(); });
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0) return;
    ucred peer{};
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.uid != geteuid()) {
      close(fd);  // another user's business is none of this job's
      continue;
    }
    connections_.push_back(std::make_shared<Connection>(*this, fd));
  }
}

}  // namespace tasuki::launch
