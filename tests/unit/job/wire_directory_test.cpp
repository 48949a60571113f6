// A Directory over PMI-1: the ranks are threads, and a thread is their launcher. What was put before a fence
// is found after it, however little a value of the launcher may hold; and whatever a launcher does, there is
// a sentence and no wait.
#include "job/wire/wire_directory.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "job/wire/pmi1_wire.hpp"

namespace tasuki::wire {
namespace {

/// Serves as launchers of PMI-1 do, until all ranks have closed their sockets.
class PmiServer {
 public:
  PmiServer(int size, int value_bytes) : value_bytes_(value_bytes) {
    for (int rank = 0; rank < size; ++rank) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      ranks_.push_back(ends[0]);
      sockets_.push_back({ends[1], POLLIN, 0});
      received_.emplace_back();
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~PmiServer() { thread_.join(); }

  int descriptor_of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  int finalized() const { return finalized_; }

 private:
  void serve() {
    for (std::size_t open = sockets_.size(); open > 0;) {
      poll(sockets_.data(), sockets_.size(), -1);
      for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
        if (sockets_[rank].fd < 0 || sockets_[rank].revents == 0) continue;
        char bytes[512];
        const ssize_t count = read(sockets_[rank].fd, bytes, sizeof bytes);
        if (count <= 0) {
          close(sockets_[rank].fd);
          sockets_[rank].fd = -1;
          --open;
          continue;
        }
        std::string& text = received_[rank];
        text.append(bytes, static_cast<std::size_t>(count));
        for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
          answer(rank, parse_pmi1(text.substr(0, end)));
      }
    }
  }

  void say(std::size_t rank, const std::string& line) {
    // In two parts: a line need not come at once.
    const std::string text = line + "\n";
    const std::size_t half = text.size() / 2;
    EXPECT_EQ(write(sockets_[rank].fd, text.data(), half), static_cast<ssize_t>(half));
    std::this_thread::yield();
    EXPECT_GT(write(sockets_[rank].fd, text.data() + half, text.size() - half), 0);
  }

  void answer(std::size_t rank, Pmi1Message message) {
    const std::string command = message["cmd"];
    if (command == "initack") {
      const std::string size = std::to_string(sockets_.size());
      EXPECT_EQ(message["pmiid"], std::to_string(rank));
      say(rank, "cmd=initack rc=0\ncmd=set size=" + size + "\ncmd=set rank=" + std::to_string(rank) +
                    "\ncmd=set debug=0");
    } else if (command == "init") {
      say(rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    } else if (command == "get_maxes") {
      say(rank, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=" + std::to_string(value_bytes_ + 1));
    } else if (command == "get_my_kvsname") {
      say(rank, "cmd=my_kvsname kvsname=kvs_1");
    } else if (command == "get_universe_size") {
      say(rank, "cmd=universe_size size=-1");
    } else if (command == "get_appnum") {
      say(rank, "cmd=appnum appnum=3");
    } else if (command == "put") {
      EXPECT_LE(message["key"].size(), 63u);
      EXPECT_LE(message["value"].size(), static_cast<std::size_t>(value_bytes_));
      EXPECT_TRUE(values_.emplace(message["key"], message["value"]).second) << message["key"];
      say(rank, "cmd=put_result rc=0 msg=success");
    } else if (command == "get") {
      EXPECT_EQ(inside_.count(rank), 0u) << "a question amid a fence, which not all launchers answer";
      const auto found = values_.find(message["key"]);
      say(rank, found != values_.end() ? "cmd=get_result rc=0 value=" + found->second
                                       : "cmd=get_result rc=1 msg=key_not_found");
    } else if (command == "barrier_in") {
      inside_.insert(rank);
      if (++entered_ % sockets_.size() != 0) return;
      inside_.clear();
      for (std::size_t other = 0; other < sockets_.size(); ++other) say(other, "cmd=barrier_out rc=0");
    } else if (command == "finalize") {
      ++finalized_;
      say(rank, "cmd=finalize_ack rc=0");
    } else {
      ADD_FAILURE() << command;
    }
  }

  const int value_bytes_;
  std::vector<int> ranks_;
  std::vector<pollfd> sockets_;
  std::vector<std::string> received_;
  std::map<std::string, std::string> values_;
  std::size_t entered_ = 0;
  std::set<std::size_t> inside_;  // ranks that have entered a fence which is open
  std::atomic<int> finalized_{0};
  std::thread thread_;
};

std::string value_of(int rank, int round) {
  return std::string(static_cast<std::size_t>(rank * 90 % 400 + round), static_cast<char>(round)) +
         std::to_string(rank);
}

void put_and_get(Directory& directory, int rounds) {
  std::string error;
  for (int round = 0; round < rounds; ++round) {
    const std::string key = "key" + std::to_string(round);
    if (round % 3 != 1) {
      ASSERT_TRUE(directory.put(key, value_of(directory.rank(), round), &error)) << error;
    }
    ASSERT_TRUE(
        directory.put(std::string(kKeyBytesMax - 1, 'k') + static_cast<char>('a' + round), "", &error));
    directory.enter_fence();
    std::string early;  // is found as soon as the fence is over, whoever finds that out
    while (round % 3 == 2 && !directory.get((directory.rank() + 1) % directory.size(), key, &early))
      std::this_thread::yield();
    ASSERT_TRUE(directory.wait_at_fence(&error)) << error;
    for (int i = 0; i < directory.size(); ++i) {
      const int other = (directory.rank() + i) % directory.size();
      std::string value;
      EXPECT_EQ(directory.get(other, key, &value), round % 3 != 1);
      if (round % 3 != 1) EXPECT_EQ(value, value_of(other, round));
      EXPECT_FALSE(directory.get(other, "nothing", &value));
    }
  }
}

class WireDirectoryOf : public testing::TestWithParam<std::tuple<int, int, bool>> {};

TEST_P(WireDirectoryOf, WhatWasPutBeforeAFenceIsFoundAfterIt) {
  const auto [size, value_bytes, by_port] = GetParam();
  PmiServer server(size, value_bytes);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank, size = size, by_port = by_port] {
      const Place told = by_port ? Place{} : Place{.rank = rank, .size = size};
      std::string error;
      const std::unique_ptr<Wire> wire =
          make_pmi1_wire(server.descriptor_of(rank), told, by_port ? std::to_string(rank) : "", &error);
      ASSERT_NE(wire, nullptr) << error;
      EXPECT_EQ(wire->place().rank, rank);
      WireDirectory directory(*wire);
      EXPECT_EQ(directory.size(), size);
      EXPECT_EQ(directory.application_number(), 3);
      EXPECT_EQ(directory.universe_size(), 0);  // the launcher does not say
      put_and_get(directory, 12);
      wire->finalize();
      close(server.descriptor_of(rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.finalized(), size);
}

INSTANTIATE_TEST_SUITE_P(Ranks, WireDirectoryOf,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8), testing::Values(63, 1023),
                                          testing::Bool()));

// --- launchers that do not do what is expected ---------------------------------------------------------

struct Ends {
  Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0); }
  ~Ends() {
    close(fds[0]);
    close(fds[1]);
  }
  void say(const std::string& text) { EXPECT_GT(write(fds[1], text.data(), text.size()), 0); }
  int fds[2];
};

constexpr char kHello[] =
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
    "cmd=my_kvsname kvsname=kvs_1\n"
    "cmd=universe_size size=8\n"
    "cmd=appnum appnum=0\n";

std::string greeting_error(const std::string& said, const Place& told, bool closes) {
  Ends ends;
  ends.say(said);
  if (closes) shutdown(ends.fds[1], SHUT_WR);
  std::string error;
  EXPECT_EQ(make_pmi1_wire(ends.fds[0], told, "", &error), nullptr);
  return error;
}

TEST(Pmi1Wire, AGreetingThatFailsIsToldInWords) {
  const Place told{.rank = 0, .size = 2};
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(greeting_error("HTTP/1.1 400 Bad Request\n", told, true), "\"HTTP/1.1 400 Bad Request\"");
  has(greeting_error("cmd=respo", told, true), "the launcher has closed its PMI-1 (descriptor ");
  has(greeting_error("cmd=response_to_init rc=-1\n", told, true), "does not speak version 1");
  has(greeting_error(std::string(100'000, 'x'), told, true), "sends no lines");
  has(greeting_error("cmd=response_to_init rc=0\ncmd=maxes keylen_max=8 vallen_max=16\n", told, true),
      "takes keys of 7 bytes and values of 15, expected at least");
  has(greeting_error(kHello, Place{.rank = 2, .size = 2}, true), "makes this process rank 2 of 2");
}

TEST(Pmi1Wire, ALauncherThatGoesBreaksTheFenceInWords) {
  Ends ends;
  ends.say(kHello);
  std::string error;
  const std::unique_ptr<Wire> wire = make_pmi1_wire(ends.fds[0], Place{.rank = 0, .size = 2}, "", &error);
  ASSERT_NE(wire, nullptr) << error;
  WireDirectory directory(*wire);
  EXPECT_EQ(directory.universe_size(), 8);
  ends.say("cmd=put_result rc=0\n");
  directory.enter_fence();
  EXPECT_EQ(directory.look_at_fence(&error), Directory::Fence::kOpen);
  shutdown(ends.fds[1], SHUT_WR);
  EXPECT_FALSE(directory.wait_at_fence(&error));
  EXPECT_NE(error.find("the launcher has closed its PMI-1"), std::string::npos) << error;
  std::string value;
  EXPECT_FALSE(directory.get(1, "key", &value));
}

TEST(Pmi1Wire, ARankThatHasEndedBreaksTheFenceUnlessItHadCome) {
  Ends ends;
  ends.say(kHello);
  std::string error;
  const std::unique_ptr<Wire> wire = make_pmi1_wire(ends.fds[0], Place{.rank = 0, .size = 2}, "", &error);
  ASSERT_NE(wire, nullptr) << error;
  WireDirectory directory(*wire);
  int looks = 0;
  directory.set_ended([&] {
    if (++looks == 3) ends.say("cmd=barrier_out rc=0\n");
    return looks < 3 ? -1 : 1;
  });
  ends.say("cmd=put_result rc=0\n");
  directory.enter_fence();
  EXPECT_TRUE(directory.wait_at_fence(&error)) << error;
  ends.say("cmd=put_result rc=0\n");
  directory.enter_fence();
  EXPECT_FALSE(directory.wait_at_fence(&error));
  EXPECT_EQ(error, "rank 1 has ended, and all ranks of the job are to come");
}

}  // namespace
}  // namespace tasuki::wire
