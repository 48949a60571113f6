// mpiexec's socket, whatever comes over it: what is no request is refused with a reason, a client that is not
// understood harms only itself, and mpiexec waits for none.
#include "launch/start/spawn_service.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "job/local/local.hpp"

namespace tasuki::launch {
namespace {

class Counting final : public SpawnHandler {
 public:
  void spawn(const SpawnRequest& request, Reply reply) override {
    ++asked;
    for (const SpawnProgram& program : request.programs) {
      EXPECT_GE(program.ranks, 0);
      EXPECT_FALSE(program.command.empty());
    }
    if (later) {
      kept = std::move(reply);
    } else {
      reply({"not here", {}});
    }
  }
  void ask_about_name(const NameRequest& request, const Reply& reply) override {
    reply({{}, "port of " + request.service});
  }
  void take_connections(const ConnectionReport& report, const Reply& reply) override {
    connected = report.connected;
    reply({});
  }
  void owner_gone(bool in_order) override {
    ++gone;
    gone_in_order = in_order;
  }
  void take_leaks(const LeakReport&) override { ++leaks; }
  bool later = false;
  Reply kept;
  std::vector<std::uint64_t> connected;
  int leaks = 0;
  int asked = 0;
  int gone = 0;
  bool gone_in_order = false;
};

class Service : public testing::Test {
 protected:
  void SetUp() override {
    name_ = service_.listen();
    ASSERT_FALSE(name_.empty());
  }
  int connected() {
    const int fd = local::connect_to_launcher(name_.c_str());
    EXPECT_GE(fd, 0) << strerror(errno);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
  }
  void turn() {
    for (int i = 0; i < 4; ++i) loop_.run_once(0);
  }
  /// Of a request that is one, on a connection of its own.
  std::string answer() {
    const int fd = connected();
    EXPECT_TRUE(write_message(fd, request()));
    turn();
    std::string message;
    SpawnAnswer read;
    EXPECT_TRUE(read_message(fd, &message) && decode(message, &read));
    close(fd);
    turn();
    return read.error;
  }
  static std::string request() {
    SpawnRequest request;
    request.parent_port = "tasuki:1.2.3";
    request.programs.push_back({3, {"./program", "one word", ""}, "/some/where", "", "", "node2:2"});
    return encode(request);
  }
  static void put(int fd, const std::string& bytes) {
    EXPECT_GE(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT), -1);
  }

  EventLoop loop_;
  Counting handler_;
  SpawnService service_{loop_, handler_};
  std::string name_;
};

TEST_F(Service, AnswersARequest) {
  EXPECT_EQ(answer(), "not here");
  EXPECT_EQ(handler_.asked, 1);
}

TEST_F(Service, AnswersLater) {
  handler_.later = true;
  const int patient = connected();
  EXPECT_TRUE(write_message(patient, request()));
  turn();
  char byte;
  EXPECT_EQ(recv(patient, &byte, 1, MSG_DONTWAIT), -1) << "nothing yet";
  handler_.kept({"after all", {}});
  std::string message;
  SpawnAnswer read;
  EXPECT_TRUE(read_message(patient, &message) && decode(message, &read));
  EXPECT_EQ(read.error, "after all");
  EXPECT_TRUE(write_message(patient, request()));
  turn();
  close(patient);
  turn();
  const int another = connected();  // the service looks for connections that are closed
  turn();
  handler_.kept({"too late", {}});
  handler_.kept = nullptr;
  close(another);
}

TEST_F(Service, AnswersAboutNames) {
  const int fd = connected();
  EXPECT_TRUE(write_message(fd, encode(NameRequest{NameRequest::Verb::kLookUp, "ocean", {}})));
  turn();
  std::string message;
  SpawnAnswer read;
  EXPECT_TRUE(read_message(fd, &message) && decode(message, &read));
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.text, "port of ocean");
  close(fd);
}

TEST_F(Service, TakesReportsOfConnections) {
  const int fd = connected();
  EXPECT_TRUE(write_message(fd, encode(ConnectionReport{1, 2, {3, 4}})));
  turn();
  std::string message;
  SpawnAnswer read;
  EXPECT_TRUE(read_message(fd, &message) && decode(message, &read));
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(handler_.connected, (std::vector<std::uint64_t>{3, 4}));
  close(fd);
}

TEST_F(Service, SurvivesNoise) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const int fd = connected();
    std::string bytes(random() % 3000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (round % 2 == 0 && bytes.size() >= 4) {  // a length that fits
      const auto length = static_cast<std::uint32_t>(bytes.size() - 4);
      std::memcpy(bytes.data(), &length, sizeof length);
    }
    put(fd, bytes);
    turn();
    close(fd);
  }
  EXPECT_EQ(answer(), "not here");
}

TEST_F(Service, SurvivesRequestsWithFlippedBits) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string message = request();
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
      message[random() % message.size()] ^= static_cast<char>(1 << random() % 8);
    const int fd = connected();
    const auto length = static_cast<std::uint32_t>(random() % 8 != 0 ? message.size() : random());
    put(fd, std::string(reinterpret_cast<const char*>(&length), sizeof length) + message);
    turn();
    close(fd);
  }
  EXPECT_EQ(answer(), "not here");
  EXPECT_GT(handler_.asked, 1) << "some were requests still";
}

TEST_F(Service, DropsWhoClaimsTooMuchAndKeepsWhoIsSlow) {
  const int greedy = connected();
  const std::uint32_t length = kMessageBytesMax + 1;
  put(greedy, std::string(reinterpret_cast<const char*>(&length), sizeof length));
  const int slow = connected();
  const std::string whole = request();
  const auto right = static_cast<std::uint32_t>(whole.size());
  put(slow, std::string(reinterpret_cast<const char*>(&right), sizeof right) + whole.substr(0, 10));
  turn();
  char byte;
  EXPECT_EQ(recv(greedy, &byte, 1, MSG_DONTWAIT), 0) << "closed";
  EXPECT_EQ(answer(), "not here");
  put(slow, whole.substr(10));
  turn();
  EXPECT_EQ(handler_.asked, 2);
  close(greedy);
  close(slow);
}

TEST_F(Service, WaitsForNobodyWhoNeverListens) {
  const int fd = connected();
  const std::string bad(4, 'x');
  const std::uint32_t length = 4;
  const std::string one = std::string(reinterpret_cast<const char*>(&length), sizeof length) + bad;
  std::string many;
  for (int i = 0; i < 1000; ++i) many += one;
  for (int i = 0; i < 200; ++i) {  // many more answers than a socket holds
    put(fd, many);
    turn();
  }
  EXPECT_EQ(answer(), "not here");
  close(fd);
}

TEST_F(Service, AnOwnerThatDiesOrSaysNoiseIsGone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  service_.serve_owner(ends[0]);
  const std::uint32_t length = UINT32_MAX;
  put(ends[1], std::string(reinterpret_cast<const char*>(&length), sizeof length));
  turn();
  EXPECT_EQ(handler_.gone, 1);
  EXPECT_FALSE(handler_.gone_in_order);
  close(ends[1]);
}

TEST_F(Service, AFarewellCountsThatComesTogetherWithTheEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  service_.serve_owner(ends[0]);
  ASSERT_TRUE(write_message(ends[1], farewell()));
  close(ends[1]);
  turn();
  EXPECT_EQ(handler_.gone, 1);
  EXPECT_TRUE(handler_.gone_in_order);
}

/// Becomes another user for good.
void become_nobody() {
  if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
}

TEST_F(Service, IsClosedToOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user: nothing was tried from outside";
  const pid_t child = fork();
  if (child == 0) {
    become_nobody();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data(), name_.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    std::string message;
    const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&address), bytes) == 0;
    const bool answered = connected && write_message(fd, request()) && read_message(fd, &message);
    _exit(answered ? 2 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) loop_.run_once(10);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(handler_.asked, 0);
  EXPECT_EQ(answer(), "not here");
}

TEST(Socket, OfAnotherUserIsNotTalkedTo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user: nothing was tried from outside";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string name = "tasuki-mpiexec-test-" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {  // takes the name, as it could that of an mpiexec which has died
    become_nobody();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool listens = bind(fd, reinterpret_cast<sockaddr*>(&address), bytes) == 0 && listen(fd, 4) == 0;
    if (write(ends[1], listens ? "y" : "n", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  errno = 0;
  EXPECT_EQ(local::connect_to_launcher(name.c_str()), -1);
  EXPECT_EQ(errno, EACCES);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(Service, HugeCountsTakeNoMemory) {
  std::string message = request();
  // The number of programs follows the magic number, the port and the spawner's number.
  const std::size_t place = 4 + 4 + std::string("tasuki:1.2.3").size() + 8;
  for (const std::uint32_t count : {UINT32_MAX, 1u << 30, 1u << 24, 1u << 20, 1000u}) {
    std::memcpy(message.data() + place, &count, sizeof count);
    SpawnRequest read;
    EXPECT_FALSE(decode(message, &read));
    EXPECT_LT(read.programs.capacity(), 1000u);
  }
}

}  // namespace
}  // namespace tasuki::launch
