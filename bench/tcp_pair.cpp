// One round trip at a time over TCP between two processes, by sockets alone: the limit of what a message
// between hosts over TCP takes here. Sizes and rows are those of network.cpp. Options, before the sizes:
//
//   --blocking    sleeps in recv(), where it spins else
//   --batches     times are of batches of round trips, as in over_hosts.c, where they are of single ones else
//   --touch       the sender writes a word of each cache line before, the receiver reads one after, in the
//   time
//   --port PORT, and --listen or --connect ADDRESS    one of the two, on a host of its own; else both are
//   here
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kBytesMax = 8 << 20;
constexpr std::size_t kLineBytes = 64;
constexpr int kBatches = 25;
constexpr int kConnectTries = 1000;

struct Options {
  bool blocking = false;
  bool touch = false;
  bool batches = false;
  bool listen = false;
  const char* address = nullptr;  // to connect to
  int port = 0;                   // 0: both ends are here
  std::vector<std::size_t> sizes;
};

volatile char sink;

void write_lines(char* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes) ++memory[at];
}

void read_lines(const char* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes) sink = memory[at];
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Ends the program when the other one has gone.
void check(ssize_t moved) {
  if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) std::exit(1);
}

/// Of recv() and send().
int flags_of(const Options& options) {
  return MSG_NOSIGNAL | (options.blocking ? 0 : MSG_DONTWAIT);
}

void send_all(int socket, char* memory, std::size_t bytes, const Options& options) {
  if (options.touch) write_lines(memory, bytes);
  for (std::size_t sent = 0; sent < bytes;) {
    const ssize_t moved = send(socket, memory + sent, bytes - sent, flags_of(options));
    check(moved);
    sent += moved > 0 ? static_cast<std::size_t>(moved) : 0;
  }
}

void receive_all(int socket, char* memory, std::size_t bytes, const Options& options) {
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t moved = recv(socket, memory + got, bytes - got, flags_of(options));
    check(moved);
    got += moved > 0 ? static_cast<std::size_t>(moved) : 0;
  }
  if (options.touch) read_lines(memory, bytes);
}

/// The mean of each of kBatches parts.
std::vector<double> batches_of(const std::vector<double>& seconds) {
  std::vector<double> means;
  const std::size_t each = seconds.size() / kBatches;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto first = seconds.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(batch) * each);
    means.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(each), 0.0) /
                    static_cast<double>(each));
  }
  return means;
}

void play(int socket, bool first, const Options& options) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> out(kBytesMax, 1), in(kBytesMax, 1);
  for (const std::size_t bytes : options.sizes) {
    std::vector<double> seconds;
    for (int trip = 0; trip < (bytes < 65536 ? 2000 : 200); ++trip) {
      const double begin = now_seconds();
      if (first) send_all(socket, out.data(), bytes, options);
      receive_all(socket, in.data(), bytes, options);
      if (!first) send_all(socket, out.data(), bytes, options);
      seconds.push_back((now_seconds() - begin) / 2);
    }
    if (options.batches) seconds = batches_of(seconds);
    std::sort(seconds.begin(), seconds.end());
    if (first)
      std::printf("{\"bytes\": %zu, \"seconds\": [%.4e, %.4e]}\n", bytes, seconds[0],
                  seconds[seconds.size() / 2]);
  }
}

Options options_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--blocking") {
      options.blocking = true;
    } else if (word == "--touch") {
      options.touch = true;
    } else if (word == "--batches") {
      options.batches = true;
    } else if (word == "--listen") {
      options.listen = true;
    } else if (word == "--connect" && i + 1 < count) {
      options.address = words[++i];
    } else if (word == "--port" && i + 1 < count) {
      options.port = std::atoi(words[++i]);
    } else {
      options.sizes.push_back(std::clamp<std::size_t>(std::strtoull(words[i], nullptr, 10), 1, kBytesMax));
    }
  }
  return options;
}

sockaddr_in place_of(const char* address, int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(address != nullptr ? INADDR_LOOPBACK : INADDR_ANY);
  if (address != nullptr) inet_pton(AF_INET, address, &place.sin_addr);
  return place;
}

int listen_at(sockaddr_in* place) {
  socklen_t length = sizeof *place;
  const int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  auto* const address = reinterpret_cast<sockaddr*>(place);
  if (bind(listener, address, length) == 0 && listen(listener, 1) == 0 &&
      getsockname(listener, address, &length) == 0)
    return listener;
  std::perror("tcp_pair");
  std::exit(1);
}

int connect_to(const sockaddr_in& place) {
  for (int tries = 0; tries < kConnectTries; ++tries) {
    const int caller = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(caller, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return caller;
    close(caller);
    usleep(10'000);  // the other end begins at the same time
  }
  std::perror("tcp_pair: connect");
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  sockaddr_in place = place_of(options.address, options.port);
  if (options.address != nullptr) {
    play(connect_to(place), true, options);
    return 0;
  }
  if (options.listen) {
    play(accept(listen_at(&place), nullptr, nullptr), false, options);
    return 0;
  }
  place = place_of("127.0.0.1", 0);
  const int listener = listen_at(&place);
  const pid_t child = fork();
  if (child == 0) {
    play(connect_to(place), false, options);
    return 0;
  }
  play(accept(listener, nullptr, nullptr), true, options);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
