// The short way of a blocking receive keeps MPI's order: it takes a message straight out of the ring only
// where no earlier message and no earlier receive has a claim. And the one request that all sends share which
// are over at once behaves as any other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "job/network.hpp"
#include "link/shm/mailbox.hpp"
#include "p2p/ranks.hpp"
#include "p2p/remote_job.hpp"
#include "progress/progress.hpp"

namespace tasuki::test {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 8, 40, 41, 64, 100, 101, 500, 1000, 1001};

TEST(ShortReceive, EverySizeGoesIntoTheBufferWithItsStatus) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    for (const std::size_t size : kSizes) {
      for (const int tag : {3, kAnyTag}) {
        if (on.rank == 0) on.send(pattern(size, 9), 1, 3);
        if (on.rank == 1) {
          Bytes data(size + 5, 0xee);
          Status status;
          ASSERT_EQ(on.recv(data, 0, tag, &status), 0);
          ASSERT_EQ(Bytes(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)), pattern(size, 9));
          ASSERT_EQ(data[size], 0xee);
          ASSERT_TRUE(status.source == 0 && status.tag == 3 && status.bytes == static_cast<Count>(size));
        }
      }
    }
  });
}

// Rank 1's blocking receive would match the first message, but a receive that was posted earlier has it.
TEST(ShortReceive, AnEarlierReceiveComesFirst) {
  for (const int source : {0, kAnySource}) {
    for (const int tag : {4, kAnyTag}) {
      run_ranks(2, [source, tag](Process& process) {
        Rank on(process);
        for (const std::size_t size : kSizes) {
          if (on.rank == 0) {
            on.send(pattern(size, 1), 1, 4);
            on.send(pattern(size, 2), 1, 4);
          } else {
            Bytes first(size), second(size);
            Request* posted = on.irecv(first, source, tag);
            ASSERT_EQ(on.recv(second, 0, 4), 0);
            ASSERT_EQ(on.wait(posted), 0);
            ASSERT_EQ(first, pattern(size, 1));
            ASSERT_EQ(second, pattern(size, 2));
          }
        }
      });
    }
  }
}

// A message that was taken out of the ring for another tag's sake comes before what is in the ring still.
TEST(ShortReceive, AnEarlierMessageComesFirst) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    for (const std::size_t size : kSizes) {
      if (on.rank == 0) {
        on.send(pattern(size, 1), 1, 5);
        on.send(pattern(size, 2), 1, 6);
        on.send(pattern(size, 3), 1, 5);
      } else {
        Bytes data(size);
        ASSERT_EQ(on.recv(data, 0, 6), 0);  // the first message is unexpected now
        ASSERT_EQ(data, pattern(size, 2));
        ASSERT_EQ(on.recv(data, 0, 5), 0);
        ASSERT_EQ(data, pattern(size, 1));
        ASSERT_EQ(on.recv(data, 0, kAnyTag), 0);
        ASSERT_EQ(data, pattern(size, 3));
      }
    }
  });
}

TEST(ShortReceive, TooLargeAMessageIsTruncatedAndTaken) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    if (on.rank == 0) {
      on.send(pattern(64, 1), 1, 0);
      on.send(pattern(8, 2), 1, 0);
    } else {
      Bytes small(10, 0), next(8);
      Status status;
      EXPECT_EQ(error_class_bits(on.recv(small, 0, 0, &status)), kErrTruncate);
      Bytes start = pattern(64, 1);
      start.resize(10);
      EXPECT_EQ(small, start);
      EXPECT_EQ(on.recv(next, 0, 0), 0);
      EXPECT_EQ(next, pattern(8, 2));
    }
  });
}

// As a program with MPI_THREAD_MULTIPLE: the process lock is held and let go of.
TEST(ShortReceive, WorksUnderTheProcessLock) {
  run_ranks(2,
            [](Process& process) {
              Rank on(process);
              std::unique_lock lock(process.lock);
              for (std::uint32_t i = 0; i < 500; ++i) {
                const std::size_t size = kSizes[i % std::size(kSizes)];
                if (on.rank == 0) {
                  on.send(pattern(size, i), 1, 1);
                } else {
                  Bytes data(size);
                  ASSERT_EQ(on.recv(data, 0, 1), 0);
                  ASSERT_EQ(data, pattern(size, i));
                }
              }
            },
            {.thread_level = ThreadLevel::kMultiple});
}

/// While a rank waits a process of another job becomes known to it, and then its message comes.
class Visit final : public ProgressHook {
 public:
  Visit(Rank& on, const PeerAddress& visitor) : on_(on), visitor_(visitor) {}
  bool poll() override {
    if (std::exchange(done_, true)) return false;
    int endpoint = -1;
    EXPECT_EQ(join_endpoint(on_.process, visitor_, &endpoint), 0);
    EXPECT_EQ(on_.send(pattern(8, 5), 0, 7), 0);
    return false;
  }

 private:
  Rank& on_;
  PeerAddress visitor_;
  bool done_ = false;
};

// The table of peers grows then, and moves: what is counted of the message must not go to where it was.
TEST(ShortReceive, AProcessOfAnotherJobMayComeWhileItWaits) {
  WorldOptions options;
  options.job = 11;
  options.config.spin_count = 100'000;  // it looks more than once
  shm::Doorbell bell{};
  std::string error;
  const shm::DoorbellPlace place{static_cast<std::int32_t>(getpid()), -1, 0, 0, &bell};
  const auto visitor = shm::Mailbox::make({22, 0}, std::uint64_t{1} << 20, place, &error);
  ASSERT_NE(visitor, nullptr) << error;
  run_ranks(
      1,
      [&](Process& process) {
        Rank on(process);
        const std::uint64_t before = process.p2p->peer(0).arrived;
        PeerAddress address = visitor->address();
        address.place = place_of(process.directory, process.config);
        Visit visit(on, address);
        process.progress->add(&visit);
        Bytes data(8);
        EXPECT_EQ(on.recv(data, 0, 7), 0);
        process.progress->remove(&visit);
        EXPECT_EQ(data, pattern(8, 5));
        EXPECT_EQ(process.p2p->peers.size(), 2u);
        EXPECT_EQ(process.p2p->peer(0).arrived, before + 1) << "counted in a table that is no more";
      },
      options);
}

TEST(SharedSentRequest, BehavesAsAnyOther) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes data(8);
    std::vector<Request*> requests;
    for (int i = 0; i < 10; ++i) requests.push_back(on.isend(data, 0, i));
    bool flag = false;
    Status status;
    EXPECT_EQ(api::request_get_status(process, requests[0], &flag, &status), 0);
    EXPECT_TRUE(flag && !status.cancelled);
    EXPECT_EQ(api::cancel(process, requests[1]), 0);
    EXPECT_NE(requests[2]->start(), 0);
    EXPECT_EQ(api::request_free(process, &requests[3]), 0);
    EXPECT_EQ(requests[3], nullptr);
    EXPECT_TRUE(on.test(requests[4], &status));
    EXPECT_EQ(requests[4], nullptr);
    EXPECT_FALSE(status.cancelled);
    EXPECT_EQ(on.waitall(requests), 0);
    for (Request* request : requests) EXPECT_EQ(request, nullptr);
    EXPECT_EQ(process.p2p->sent.references, 1) << "each was given back once";
    for (int i = 0; i < 10; ++i) EXPECT_EQ(on.recv(data, 0, i), 0);
  });
}

}  // namespace
}  // namespace tasuki::test
