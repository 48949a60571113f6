// One round trip at a time over TCP between two processes of this machine, by sockets alone and without
// sleeping: the limit of what a message between hosts over TCP takes here. Arguments and rows are those of
// network.cpp.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kBytesMax = 8 << 20;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Ends the program when the other one has gone.
void check(ssize_t moved) {
  if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) std::exit(1);
}

void send_all(int socket, const char* memory, std::size_t bytes) {
  for (std::size_t sent = 0; sent < bytes;) {
    const ssize_t moved = send(socket, memory + sent, bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    check(moved);
    sent += moved > 0 ? static_cast<std::size_t>(moved) : 0;
  }
}

void receive_all(int socket, char* memory, std::size_t bytes) {
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t moved = recv(socket, memory + got, bytes - got, MSG_DONTWAIT);
    check(moved);
    got += moved > 0 ? static_cast<std::size_t>(moved) : 0;
  }
}

void play(int socket, bool first, const std::vector<std::size_t>& sizes) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> memory(kBytesMax, 1);
  for (const std::size_t bytes : sizes) {
    std::vector<double> seconds;
    for (int trip = 0; trip < (bytes < 65536 ? 2000 : 200); ++trip) {
      const double begin = now_seconds();
      if (first) send_all(socket, memory.data(), bytes);
      receive_all(socket, memory.data(), bytes);
      if (!first) send_all(socket, memory.data(), bytes);
      seconds.push_back((now_seconds() - begin) / 2);
    }
    std::sort(seconds.begin(), seconds.end());
    if (first)
      std::printf("{\"bytes\": %zu, \"seconds\": [%.4e, %.4e]}\n", bytes, seconds[0],
                  seconds[seconds.size() / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i)
    sizes.push_back(std::clamp<std::size_t>(std::strtoull(argv[i], nullptr, 10), 1, kBytesMax));
  sockaddr_in address{};
  socklen_t length = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, place, length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, place, &length) != 0) {
    std::perror("tcp_pair");
    return 1;
  }
  const pid_t child = fork();
  if (child == 0) {
    const int caller = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(caller, place, length) != 0) return 1;
    play(caller, false, sizes);
    return 0;
  }
  play(accept(listener, nullptr, nullptr), true, sizes);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
