// Completion calls: what each of them waits for, which statuses it gives, and what becomes of the handles.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

constexpr int kCount = 6;

/// Rank 1 posts kCount receives with tags 0..5 and one null handle behind them; rank 0 sends when told to.
struct Fixture {
  explicit Fixture(Rank& on) : data(kCount, Bytes(4)), requests(kCount + 1, nullptr) {
    for (int i = 0; i < kCount; ++i)
      requests[static_cast<std::size_t>(i)] = on.irecv(data[static_cast<std::size_t>(i)], 0, i);
  }
  std::vector<Bytes> data;
  std::vector<Request*> requests;
};

/// Rank 0's part: sends the tags that rank 1 asks for, until it asks for a negative one.
void serve(Rank& on) {
  for (;;) {
    int tag = -1;
    api::recv(on.process, &tag, 1, on.integer, 1, 99, on.world, nullptr);
    if (tag < 0) return;
    on.send(pattern(4, static_cast<std::uint32_t>(tag)), 1, tag);
  }
}

void ask(Rank& on, int tag) {
  api::send(on.process, &tag, 1, on.integer, 0, 99, on.world);
}

void on_the_receiver(const std::function<void(Rank&)>& body) {
  on_both_networks(2, [&](Rank& on) {
    if (on.rank == 0) return serve(on);
    body(on);
    ask(on, -1);
  });
}

// What comes next from there most likely finds its receive then; kept, it would be copied once more.
TEST(Wait, EndsWithTheMessageThatItWaitsFor) {
  std::atomic<bool> sent = false;
  run_ranks(2, [&](Process& process) {
    Rank on(process);
    const Bytes first = pattern(900, 1), second = pattern(900, 2);
    if (on.rank == 0) {
      on.send(first, 1, 5);
      on.send(second, 1, 5);
      sent = true;
      return;
    }
    while (!sent) std::this_thread::yield();
    const std::uint64_t before = on.process.counters.unexpected_arrivals;
    Bytes got(900);
    EXPECT_EQ(on.recv(got, 0, 5), 0);
    EXPECT_EQ(got, first);
    EXPECT_EQ(on.process.counters.unexpected_arrivals, before);
    EXPECT_EQ(on.recv(got, 0, 5), 0);
    EXPECT_EQ(got, second);
  });
}

TEST(Wait, AnyGivesTheOneThatIsOver) {
  on_the_receiver([](Rank& on) {
    Fixture all(on);
    for (const int tag : {3, 0, 5, 1, 2, 4}) {
      ask(on, tag);
      int index = -1;
      Status status;
      EXPECT_EQ(api::waitany(on.process, kCount + 1, all.requests.data(), &index, &status), 0);
      EXPECT_EQ(index, tag);
      EXPECT_EQ(status.tag, tag);
      EXPECT_EQ(all.requests[static_cast<std::size_t>(tag)], nullptr);
      EXPECT_EQ(all.data[static_cast<std::size_t>(tag)], pattern(4, static_cast<std::uint32_t>(tag)));
    }
    int index = 0;
    Status status{.source = 5, .tag = 5, .bytes = 5};
    EXPECT_EQ(api::waitany(on.process, kCount + 1, all.requests.data(), &index, &status), 0);
    EXPECT_EQ(index, kUndefined);
    EXPECT_EQ(status.source, kAnySource);
    EXPECT_EQ(status.tag, kAnyTag);
    EXPECT_EQ(status.bytes, 0);
    bool flag = false;
    EXPECT_EQ(api::testany(on.process, kCount + 1, all.requests.data(), &index, &flag, &status), 0);
    EXPECT_TRUE(flag);
    EXPECT_EQ(index, kUndefined);
  });
}

TEST(Wait, TestanyIsFalseUntilOneIsOver) {
  on_the_receiver([](Rank& on) {
    Fixture all(on);
    int index = 7;
    bool flag = true;
    EXPECT_EQ(api::testany(on.process, kCount, all.requests.data(), &index, &flag, nullptr), 0);
    EXPECT_FALSE(flag);
    EXPECT_EQ(index, kUndefined);
    for (int tag = 0; tag < kCount; ++tag) {
      ask(on, tag);
      do {
        EXPECT_EQ(api::testany(on.process, kCount, all.requests.data(), &index, &flag, nullptr), 0);
      } while (!flag);
      EXPECT_EQ(index, tag);
    }
  });
}

TEST(Wait, SomeGivesAllThatAreOver) {
  on_the_receiver([](Rank& on) {
    Fixture all(on);
    std::vector<int> indices(kCount + 1);
    std::vector<Status> statuses(kCount + 1);
    Count outcount = -1;
    EXPECT_EQ(api::testsome(on.process, kCount + 1, all.requests.data(), &outcount, indices.data(),
                            statuses.data()),
              0);
    EXPECT_EQ(outcount, 0);
    std::vector<bool> seen(kCount, false);
    for (const int tag : {2, 4, 1}) ask(on, tag);
    for (int found = 0; found < 3; found += static_cast<int>(outcount)) {
      EXPECT_EQ(api::waitsome(on.process, kCount + 1, all.requests.data(), &outcount, indices.data(),
                              statuses.data()),
                0);
      ASSERT_GT(outcount, 0);
      for (Count i = 0; i < outcount; ++i) {
        const auto index = static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]);
        EXPECT_FALSE(seen[index]);
        seen[index] = true;
        EXPECT_EQ(statuses[static_cast<std::size_t>(i)].tag, static_cast<int>(index));
        EXPECT_EQ(all.requests[index], nullptr);
      }
    }
    EXPECT_EQ(seen, (std::vector<bool>{false, true, true, false, true, false}));
    for (const int tag : {0, 3, 5}) ask(on, tag);
    EXPECT_EQ(on.waitall(all.requests), 0);
    EXPECT_EQ(api::waitsome(on.process, kCount + 1, all.requests.data(), &outcount, indices.data(), nullptr),
              0);
    EXPECT_EQ(outcount, kUndefined);
    EXPECT_EQ(api::testsome(on.process, kCount + 1, all.requests.data(), &outcount, indices.data(), nullptr),
              0);
    EXPECT_EQ(outcount, kUndefined);
  });
}

TEST(Wait, TestallTouchesNothingUntilAllAreOver) {
  on_the_receiver([](Rank& on) {
    Fixture all(on);
    std::vector<Status> statuses(kCount + 1);
    bool flag = true;
    for (int tag = 0; tag < kCount; ++tag) {
      EXPECT_EQ(api::testall(on.process, kCount + 1, all.requests.data(), &flag, statuses.data()), 0);
      EXPECT_FALSE(flag);
      for (int i = 0; i < kCount; ++i) EXPECT_NE(all.requests[static_cast<std::size_t>(i)], nullptr);
      ask(on, tag);
    }
    do {
      EXPECT_EQ(api::testall(on.process, kCount + 1, all.requests.data(), &flag, statuses.data()), 0);
    } while (!flag);
    for (int i = 0; i < kCount; ++i) {
      EXPECT_EQ(all.requests[static_cast<std::size_t>(i)], nullptr);
      EXPECT_EQ(statuses[static_cast<std::size_t>(i)].tag, i);
    }
    EXPECT_EQ(statuses[kCount].source, kAnySource) << "a null handle has the empty status";
  });
}

TEST(Wait, OfNullAndOfNothing) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Request* none = nullptr;
    Status status{.source = 3, .tag = 3, .bytes = 3};
    EXPECT_EQ(on.wait(none, &status), 0);
    EXPECT_EQ(status.source, kAnySource);
    EXPECT_TRUE(on.test(none, &status));
    EXPECT_EQ(api::waitall(process, 0, nullptr, nullptr), 0);
    bool flag = false;
    EXPECT_EQ(api::testall(process, 0, nullptr, &flag, nullptr), 0);
    EXPECT_TRUE(flag);
    EXPECT_EQ(api::request_get_status(process, nullptr, &flag, &status), 0);
    EXPECT_TRUE(flag);
  });
}

TEST(Wait, GetStatusLeavesTheRequest) {
  on_the_receiver([](Rank& on) {
    Fixture all(on);
    bool flag = true;
    Status status;
    EXPECT_EQ(api::request_get_status(on.process, all.requests[0], &flag, &status), 0);
    EXPECT_FALSE(flag);
    ask(on, 0);
    do {
      EXPECT_EQ(api::request_get_status(on.process, all.requests[0], &flag, &status), 0);
    } while (!flag);
    EXPECT_EQ(status.tag, 0);
    EXPECT_EQ(status.bytes, 4);
    int index = -1;
    EXPECT_EQ(api::request_get_status_any(on.process, kCount, all.requests.data(), &index, &flag, &status),
              0);
    EXPECT_TRUE(flag);
    EXPECT_EQ(index, 0);
    Count outcount = 0;
    std::vector<int> indices(kCount);
    EXPECT_EQ(api::request_get_status_some(on.process, kCount, all.requests.data(), &outcount, indices.data(),
                                           &status),
              0);
    EXPECT_EQ(outcount, 1);
    EXPECT_EQ(indices[0], 0);
    EXPECT_EQ(api::request_get_status_all(on.process, kCount, all.requests.data(), &flag, nullptr), 0);
    EXPECT_FALSE(flag);
    for (int tag = 1; tag < kCount; ++tag) ask(on, tag);
    std::vector<Status> statuses(kCount);
    do {
      EXPECT_EQ(api::request_get_status_all(on.process, kCount, all.requests.data(), &flag, statuses.data()),
                0);
    } while (!flag);
    for (int i = 0; i < kCount; ++i) {
      EXPECT_NE(all.requests[static_cast<std::size_t>(i)], nullptr);
      EXPECT_EQ(statuses[static_cast<std::size_t>(i)].tag, i);
    }
    EXPECT_EQ(on.waitall(all.requests), 0);
  });
}

TEST(Wait, AFreedRequestStillDelivers) {
  on_both_networks(2, [](Rank& on) {
    Bytes data = on.rank == 0 ? pattern(100000, 8) : Bytes(100000);
    Bytes last(1);
    if (on.rank == 0) {
      Request* request = on.isend(data, 1, 1);
      EXPECT_EQ(api::request_free(on.process, &request), 0);
      EXPECT_EQ(request, nullptr);
      on.recv(last, 1, 2);
    } else {
      Request* request = on.irecv(data, 0, 1);
      EXPECT_EQ(api::request_free(on.process, &request), 0);
      EXPECT_EQ(request, nullptr);
      while (has_open_operations(*on.world)) {
        bool flag = false;
        api::iprobe(on.process, 0, 77, on.world, &flag, nullptr);
      }
      EXPECT_EQ(data, pattern(100000, 8));
      on.send(last, 0, 2);
    }
  });
}

TEST(Wait, ThousandsOfRequestsInOneCall) {
  on_both_networks(2, [](Rank& on) {
    constexpr int kMany = 20000;
    std::vector<int> values(kMany, -1);
    std::vector<Request*> requests(kMany);
    for (int i = 0; i < kMany; ++i) {
      auto& request = requests[static_cast<std::size_t>(i)];
      int& value = values[static_cast<std::size_t>(i)];
      if (on.rank == 0) {
        value = i;
        api::isend(on.process, &value, 1, on.integer, 1, 0, on.world, &request);
      } else {
        api::irecv(on.process, &value, 1, on.integer, 0, 0, on.world, &request);
      }
    }
    EXPECT_EQ(on.waitall(requests), 0);
    for (int i = 0; i < kMany; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i);
  });
}

}  // namespace
}  // namespace tasuki::test
