// NodeWatch: rings of watches that live in one process. The end of one is told by its neighbours, unless it
// has said that it may end; strangers are closed, and change nothing.
#include "job/wire/node_watch.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/system/process_state.hpp"

namespace tasuki::wire {
namespace {

constexpr char kAddress[] = "127.0.0.1";

/// What the watches have said.
class Sentences {
 public:
  void add(const std::string& sentence) {
    const std::lock_guard guard(mutex_);
    all_.push_back(sentence);
    more_.notify_all();
  }
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock guard(mutex_);
    more_.wait(guard, [&] { return all_.size() >= count; });
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> all_;
};

struct Watches {
  explicit Watches(int count) {
    std::string error;
    for (int rank = 0; rank < count; ++rank) {
      watches.push_back(std::make_unique<NodeWatch>(
          [this, rank](const std::string& what) { said.add(std::to_string(rank) + ": " + what); }));
      ports.push_back(watches.back()->listen(kAddress, &error));
      EXPECT_GT(ports.back(), 0) << error;
    }
  }
  NodeWatch::Neighbour neighbour(int rank) const {
    const auto count = static_cast<int>(watches.size());
    rank = (rank + count) % count;
    return {rank, kAddress, ports[static_cast<std::size_t>(rank)], "rank " + std::to_string(rank)};
  }
  bool start(int rank, const std::vector<PeerWatch::Peer>& own, std::string* error) {
    NodeWatch::Ring ring;
    ring.rank = rank;
    ring.text = "rank " + std::to_string(rank);
    ring.next = neighbour(rank + 1);
    ring.previous = neighbour(rank - 1);
    ring.secret = "0123456789abcdef0123456789abcdef";
    return watches[static_cast<std::size_t>(rank)]->start(ring, own, error);
  }
  void start_all() {
    std::string error;
    for (int rank = 0; rank < static_cast<int>(watches.size()); ++rank)
      EXPECT_TRUE(start(rank, {}, &error)) << error;
  }

  Sentences said;
  std::vector<std::unique_ptr<NodeWatch>> watches;
  std::vector<int> ports;
};

/// A connection to a watch, with these bytes.
int call(int port, const std::string& text) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, kAddress, &to.sin_addr);
  const int caller = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(caller, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  EXPECT_EQ(send(caller, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  return caller;
}

TEST(NodeWatch, AnEndIsToldByANeighbour) {
  Watches ring(3);
  ring.start_all();
  ring.watches[1].reset();
  const std::string sentence = ring.said.wait_for(1)[0];
  EXPECT_TRUE(sentence == "0: rank 1 has ended without MPI_Finalize" ||
              sentence == "2: rank 1 has ended without MPI_Finalize")
      << sentence;
}

TEST(NodeWatch, OneThatHasSaidSoMayEnd) {
  std::vector<std::unique_ptr<Watches>> rings;
  for (int round = 0; round < 20; ++round) {  // whether or not its neighbours have heard of it before
    rings.push_back(std::make_unique<Watches>(4));
    rings.back()->start_all();
    if (round % 2 == 1) usleep(2000);
    rings.back()->watches[1]->say(false);
    rings.back()->watches[1].reset();
  }
  Watches& last = *rings.back();
  last.watches[3]->say(false);
  last.watches[3]->say(true);
  last.watches[3].reset();
  EXPECT_EQ(last.said.wait_for(1)[0].substr(1), ": rank 3 has ended without MPI_Finalize");
  rings.pop_back();
  for (const auto& ring : rings) EXPECT_TRUE(ring->said.wait_for(0).empty()) << ring->said.wait_for(0)[0];
}

TEST(NodeWatch, AnEndIsToldOnceThisRankUsesMpiAgain) {
  Watches ring(2);
  ring.start_all();
  ring.watches[0]->say(false);
  ring.watches[1].reset();
  ring.watches[0]->say(true);
  EXPECT_EQ(ring.said.wait_for(1)[0], "0: rank 1 has ended without MPI_Finalize");
}

TEST(NodeWatch, StrangersAreClosed) {
  Watches ring(2);
  std::string error;
  ASSERT_TRUE(ring.start(0, {}, &error)) << error;
  std::vector<int> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(call(ring.ports[0], "0123456789abcdef"));
  const int loud = call(ring.ports[0], "GET / HTTP/1.1\r\n\r\n");
  char byte;
  EXPECT_LE(recv(loud, &byte, 1, 0), 0);
  ASSERT_TRUE(ring.start(1, {}, &error)) << error;
  for (const int socket : silent) {
    EXPECT_LE(recv(socket, &byte, 1, 0), 0);  // rank 1 has come
    close(socket);
  }
  close(loud);
  ring.watches[1].reset();
  EXPECT_EQ(ring.said.wait_for(1)[0], "0: rank 1 has ended without MPI_Finalize");
}

TEST(NodeWatch, OneThatCannotBeReachedIsNamed) {
  Watches ring(2);
  NodeWatch::Ring far;
  far.text = "rank 0";
  far.next = {1, "255.255.255.255", 9, "rank 1 on node2"};  // where no stream goes
  far.connect_seconds = 1;
  std::string error;
  EXPECT_FALSE(ring.watches[0]->start(far, {}, &error));
  EXPECT_EQ(error.substr(0, 52), "rank 0 cannot connect to port 9 of rank 1 on node2: ") << error;
}

TEST(NodeWatch, AProcessOfTheOwnNodeIsWatched) {
  Watches ring(2);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  std::atomic<std::uint32_t> finalized{0};
  std::string error;
  const PeerWatch::Peer peer{7, {child, state_of_process(child).start_ticks, own_numbering()}, &finalized};
  ASSERT_TRUE(ring.start(0, {peer}, &error)) << error;
  kill(child, SIGKILL);
  EXPECT_EQ(ring.said.wait_for(1)[0],
            "0: rank 7 (process " + std::to_string(child) + ") has ended without MPI_Finalize");
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace tasuki::wire
