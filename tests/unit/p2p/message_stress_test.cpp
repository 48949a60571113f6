// Everything at once, at random, with small FIFOs: modes, sizes, wildcards, probes, strides, several
// outstanding messages per pair, threads. Every message carries its own checksum.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

struct Stamp {
  std::uint32_t sender, number, bytes, seed;
};

std::size_t random_size(std::mt19937& random) {
  switch (random() % 8) {
    case 0:
    case 1:
    case 2:
      return random() % 60;
    case 3:
    case 4:
      return random() % 1200;
    case 5:
    case 6:
      return random() % 9000;
    default:
      return random() % 70000;
  }
}

Bytes stamped(std::uint32_t sender, std::uint32_t number, std::mt19937& random) {
  const std::size_t size = sizeof(Stamp) + random_size(random);
  const Stamp stamp{sender, number, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(random())};
  Bytes data = pattern(size, stamp.seed);
  std::memcpy(data.data(), &stamp, sizeof stamp);
  return data;
}

/// Whether `data` is what it says it is, from `source`.
void check(const Bytes& data, const Status& status) {
  Stamp stamp;
  ASSERT_GE(status.bytes, static_cast<Count>(sizeof stamp));
  std::memcpy(&stamp, data.data(), sizeof stamp);
  ASSERT_EQ(stamp.sender, static_cast<std::uint32_t>(status.source));
  ASSERT_EQ(stamp.bytes, static_cast<std::uint32_t>(status.bytes));
  const Bytes expected = pattern(stamp.bytes, stamp.seed);
  ASSERT_EQ(
      std::memcmp(data.data() + sizeof stamp, expected.data() + sizeof stamp, stamp.bytes - sizeof stamp), 0)
      << "message " << stamp.number << " of " << stamp.sender;
}

constexpr int kMessagesPerPair = 60;
constexpr std::size_t kMessageBytesMax = 80000;

/// Receives one message from anybody, in one of several ways.
void receive_one(Rank& on, std::mt19937& random) {
  Bytes data(kMessageBytesMax);
  Status status;
  if (random() % 3 == 0) {
    Message* message = nullptr;
    api::mprobe(on.process, kAnySource, kAnyTag, on.world, &message, &status);
    data.resize(static_cast<std::size_t>(status.bytes));
    ASSERT_EQ(api::mrecv(on.process, data.data(), status.bytes, on.byte, &message, &status), 0);
  } else if (random() % 2 == 0) {
    api::probe(on.process, kAnySource, kAnyTag, on.world, &status);
    ASSERT_EQ(on.recv(data, status.source, status.tag, &status), 0);
  } else {
    Request* request = on.irecv(data, kAnySource, kAnyTag);
    while (!on.test(request, &status)) {
    }
  }
  check(data, status);
}

void exchange_at_random(Rank& on, unsigned seed) {
  std::mt19937 random(seed * 100 + static_cast<unsigned>(on.rank));
  api::buffer_attach(on.process, kBufferAutomatic, 0);
  int to_send = kMessagesPerPair * on.size, to_receive = to_send;
  std::vector<int> left(static_cast<std::size_t>(on.size), kMessagesPerPair);
  std::vector<Bytes> data(static_cast<std::size_t>(to_send));
  std::vector<Request*> requests;
  while (to_send > 0 || to_receive > 0) {
    if (to_send > 0 && (to_receive == 0 || random() % 2 == 0)) {
      int dest = static_cast<int>(random() % static_cast<unsigned>(on.size));
      while (left[static_cast<std::size_t>(dest)] == 0) dest = (dest + 1) % on.size;
      --left[static_cast<std::size_t>(dest)];
      Bytes& one = data[static_cast<std::size_t>(--to_send)];
      one = stamped(static_cast<std::uint32_t>(on.rank), static_cast<std::uint32_t>(to_send), random);
      const int tag = static_cast<int>(random() % 5);
      const auto way = random() % 4;
      if (way == 0) {
        requests.push_back(on.issend(one, dest, tag));
      } else if (way == 1) {
        ASSERT_EQ(
            api::bsend(on.process, one.data(), static_cast<Count>(one.size()), on.byte, dest, tag, on.world),
            0);
      } else {
        requests.push_back(on.isend(one, dest, tag));
      }
    } else if (to_receive > 0) {
      bool flag = false;
      api::iprobe(on.process, kAnySource, kAnyTag, on.world, &flag, nullptr);
      if (!flag && to_send > 0) continue;
      receive_one(on, random);
      --to_receive;
    }
  }
  EXPECT_EQ(on.waitall(requests), 0);
  void* address = nullptr;
  Count size = 0;
  EXPECT_EQ(api::buffer_detach(on.process, &address, &size), 0);
}

TEST(MessageStress, EverythingAtRandom) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    on_both_networks(4, [seed](Rank& on) { exchange_at_random(on, seed); });
  }
}

TEST(MessageStress, ThreadsOfOneRankShareItsProcess) {
  WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  run_ranks(
      2,
      [](Process& process) {
        constexpr int kThreads = 3;
        constexpr int kLaps = 150;
        std::vector<std::thread> threads;
        for (int tag = 0; tag < kThreads; ++tag) {
          threads.emplace_back([&process, tag] {
            const std::unique_lock lock(process.mutex);  // the binding holds it during each call
            Rank on(process);
            std::mt19937 random(static_cast<unsigned>(tag));
            for (int lap = 0; lap < kLaps; ++lap) {
              const std::size_t size = random_size(random);
              const auto seed = static_cast<std::uint32_t>(tag * 1000 + lap);
              Bytes got(size);
              if (on.rank == 0) {
                ASSERT_EQ(on.send(pattern(size, seed), 1, tag), 0);
                ASSERT_EQ(on.recv(got, 1, tag), 0);
              } else {
                ASSERT_EQ(on.recv(got, 0, tag), 0);
                ASSERT_EQ(on.send(got, 0, tag), 0);
              }
              ASSERT_EQ(got, pattern(size, seed));
            }
          });
        }
        for (std::thread& thread : threads) thread.join();
      },
      options);
}

TEST(MessageStress, AMessageOfMoreThanTwoGibibytes) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "takes half a minute under the thread sanitizer, and has no threads of interest";
#endif
  // The same mebibyte over and over: an element of extent 0.
  WorldOptions options;
  options.config.ring_bytes = 4 << 20;
  run_ranks(
      2,
      [](Process& process) {
        Rank on(process);
        constexpr Count kBlock = 1 << 20, kCount = 2100;
        Datatype* block = nullptr;
        Datatype* again = nullptr;
        ASSERT_EQ(api::type_contiguous(process, kBlock, on.byte, &block, false), 0);
        ASSERT_EQ(api::type_create_resized(process, block, 0, 0, &again, false), 0);
        ASSERT_EQ(api::type_commit(process, &again), 0);
        Bytes data = on.rank == 0 ? pattern(kBlock, 6) : Bytes(kBlock);
        if (on.rank == 0) {
          EXPECT_EQ(api::send(process, data.data(), kCount, again, 1, 0, on.world), 0);
        } else {
          Status status;
          EXPECT_EQ(api::recv(process, data.data(), kCount, again, 0, 0, on.world, &status), 0);
          EXPECT_EQ(status.bytes, kBlock * kCount);
          EXPECT_GT(status.bytes, Count{1} << 31);
          EXPECT_EQ(data, pattern(kBlock, 6));
        }
        api::type_free(process, &block);
        api::type_free(process, &again);
      },
      options);
}

}  // namespace
}  // namespace tasuki::test
