// Partitioned communication: partitions travel alone and as soon as they can, the two ends may cut a message
// differently, pairs are matched once and in order, and what is wrong is refused without harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "p2p/call/api.hpp"
#include "p2p/partitioned/api.hpp"
#include "p2p/partitioned/partitioned.hpp"
#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

Request* psend(Rank& on, const Bytes& data, int partitions, int dest, int tag = 1) {
  Request* request = nullptr;
  const auto count = static_cast<Count>(data.size()) / std::max(partitions, 1);
  EXPECT_EQ(api::psend_init(on.process, data.data(), partitions, count, on.byte, dest, tag, on.world, nullptr,
                            &request),
            0);
  return request;
}

Request* precv(Rank& on, Bytes& data, int partitions, int source, int tag = 1) {
  Request* request = nullptr;
  const auto count = static_cast<Count>(data.size()) / std::max(partitions, 1);
  EXPECT_EQ(api::precv_init(on.process, data.data(), partitions, count, on.byte, source, tag, on.world,
                            nullptr, &request),
            0);
  return request;
}

bool arrived(Rank& on, Request* request, int partition) {
  bool flag = false;
  EXPECT_EQ(api::parrived(on.process, request, partition, &flag), 0);
  return flag;
}

void await(Rank& on, Request* request, int partition) {
  while (!arrived(on, request, partition)) std::this_thread::yield();
}

TEST(Partitioned, EveryPartitionGoesAlone) {
  on_both_networks(2, [](Rank& on) {
    for (const std::size_t size : {0, 8, 100, 3000, 60000}) {
      constexpr int kPartitions = 4;
      Bytes data(size * kPartitions);
      Request* request = on.rank == 0 ? psend(on, data, kPartitions, 1) : precv(on, data, kPartitions, 0);
      for (std::uint32_t lap = 0; lap < 3; ++lap) {
        if (on.rank == 0) std::ranges::copy(pattern(data.size(), lap), data.begin());
        EXPECT_EQ(api::start(on.process, &request), 0);
        on.barrier();
        for (const int partition : {2, 0, 3, 1}) {  // only what is ready arrives, in any order
          if (on.rank == 0) {
            EXPECT_EQ(api::pready(on.process, partition, request), 0);
          } else {
            await(on, request, partition);
            const Bytes whole = pattern(data.size(), lap);
            const auto first = static_cast<std::size_t>(partition) * size;
            EXPECT_TRUE(std::equal(data.begin() + static_cast<std::ptrdiff_t>(first),
                                   data.begin() + static_cast<std::ptrdiff_t>(first + size),
                                   whole.begin() + static_cast<std::ptrdiff_t>(first)));
            EXPECT_EQ(arrived(on, request, 1), partition == 1) << "partition 1 is the last one";
          }
          on.barrier();
        }
        Status status;
        EXPECT_EQ(on.wait(request, &status), 0);
        EXPECT_NE(request, nullptr);
        if (on.rank == 1) {
          EXPECT_EQ(status.bytes, static_cast<Count>(data.size()));
          EXPECT_EQ(status.source, 0);
          EXPECT_EQ(status.tag, 1);
          EXPECT_TRUE(arrived(on, request, 3)) << "inactive";
        }
      }
      EXPECT_EQ(api::request_free(on.process, &request), 0);
    }
  });
}

TEST(Partitioned, TheEndsCutDifferently) {
  on_both_networks(2, [](Rank& on) {
    constexpr int kCuts[][2] = {{1, 6}, {6, 1}, {4, 6}, {6, 4}, {12, 3}, {0, 0}, {0, 3}, {3, 0}};
    for (const std::size_t size : {0, 24, 24000}) {
      for (const auto& [out, in] : kCuts) {
        const bool empty = out == 0 || in == 0;
        Bytes data(empty ? 0 : size);
        Request* request = on.rank == 0 ? psend(on, data, out, 1) : precv(on, data, in, 0);
        for (std::uint32_t lap = 0; lap < 2; ++lap) {
          if (on.rank == 0) std::ranges::copy(pattern(data.size(), lap), data.begin());
          EXPECT_EQ(api::start(on.process, &request), 0);
          for (int partition = out; on.rank == 0 && partition-- > 0;) {
            EXPECT_EQ(api::pready(on.process, partition, request), 0);
          }
          for (int partition = 0; on.rank == 1 && partition < in; ++partition) await(on, request, partition);
          EXPECT_EQ(on.wait(request), 0);
          if (on.rank == 1) {
            EXPECT_EQ(data, pattern(data.size(), lap));
          }
        }
        EXPECT_EQ(api::request_free(on.process, &request), 0);
        on.barrier();
      }
    }
  });
}

TEST(Partitioned, AReceiverKnowsOfHalfTheMessage) {
  on_both_networks(2, [](Rank& on) {
    for (const std::size_t size : {0, 8000}) {  // two partitions against four
      Bytes data(size);
      Request* request = on.rank == 0 ? psend(on, data, 2, 1) : precv(on, data, 4, 0);
      EXPECT_EQ(api::start(on.process, &request), 0);
      if (on.rank == 0) {
        EXPECT_EQ(api::pready(on.process, 1, request), 0);
        on.barrier();
        on.barrier();
        EXPECT_EQ(api::pready(on.process, 0, request), 0);
      } else {
        await(on, request, 2);
        await(on, request, 3);
        on.barrier();
        EXPECT_FALSE(arrived(on, request, 0));
        EXPECT_FALSE(arrived(on, request, 1));
        on.barrier();
      }
      EXPECT_EQ(on.wait(request), 0);
      EXPECT_EQ(api::request_free(on.process, &request), 0);
    }
  });
}

TEST(Partitioned, ReadyBeforeAnyReceiverIsThere) {
  on_both_networks(2, [](Rank& on) {
    Bytes data(50000);
    if (on.rank == 0) {
      data = pattern(data.size(), 5);
      Request* request = psend(on, data, 5, 1);
      EXPECT_EQ(api::start(on.process, &request), 0);
      EXPECT_EQ(api::pready_range(on.process, 0, 4, request), 0);
      EXPECT_FALSE(on.test(request));
      on.barrier();
      EXPECT_EQ(on.wait(request), 0);
      EXPECT_EQ(api::request_free(on.process, &request), 0);
    } else {
      on.barrier();
      Request* request = precv(on, data, 5, 0);
      EXPECT_EQ(api::start(on.process, &request), 0);
      EXPECT_EQ(on.wait(request), 0);
      EXPECT_EQ(data, pattern(data.size(), 5));
      EXPECT_EQ(api::request_free(on.process, &request), 0);
    }
  });
}

TEST(Partitioned, PairsMatchInTheOrderOfTheirInitAndByTag) {
  on_both_networks(2, [](Rank& on) {
    constexpr std::size_t kSize = 600;
    const int tags[] = {7, 7, 9, 7};
    std::vector<Bytes> data(4, Bytes(kSize));
    std::vector<Request*> requests(4);
    if (on.rank == 1) on.barrier();  // the offers come first for half of the laps' matches
    for (std::size_t i = 0; i < 4; ++i) {
      if (on.rank == 0) {
        data[i] = pattern(kSize, static_cast<std::uint32_t>(i));
        requests[i] = psend(on, data[i], 3, 1, tags[i]);
      }
    }
    if (on.rank == 0) on.barrier();
    for (const std::size_t i : {2, 0, 1, 3}) {  // another tag may be matched before
      if (on.rank == 1) requests[i] = precv(on, data[i], 3, 0, tags[i]);
    }
    // Ordinary messages of the same tag pass by, and see nothing of it.
    Bytes plain(5);
    if (on.rank == 0) {
      on.send(pattern(5, 99), 1, 7);
    } else {
      EXPECT_EQ(on.recv(plain, 0, kAnyTag), 0);
      EXPECT_EQ(plain, pattern(5, 99));
    }
    for (std::size_t i = 4; i-- > 0;) EXPECT_EQ(api::start(on.process, &requests[i]), 0);
    for (std::size_t i = 4; on.rank == 0 && i-- > 0;) {
      EXPECT_EQ(api::pready_range(on.process, 0, 2, requests[i]), 0);
    }
    EXPECT_EQ(on.waitall(requests), 0);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(data[i], pattern(kSize, static_cast<std::uint32_t>(i))) << i;
      EXPECT_EQ(api::request_free(on.process, &requests[i]), 0);
    }
  });
}

TEST(Partitioned, DerivedTypesAndLists) {
  on_both_networks(2, [](Rank& on) {
    // Every other int; a partition has three of them, four at the receiver.
    Datatype* strided = nullptr;
    EXPECT_EQ(api::type_create_resized(on.process, on.integer, 0, 8, &strided, false), 0);
    EXPECT_EQ(api::type_commit(on.process, &strided), 0);
    std::vector<int> data(24, -1);
    Request* request = nullptr;
    if (on.rank == 0) {
      for (int i = 0; i < 12; ++i) data[static_cast<std::size_t>(2 * i)] = i;
      EXPECT_EQ(api::psend_init(on.process, data.data(), 4, 3, strided, 1, 1, on.world, nullptr, &request),
                0);
      EXPECT_EQ(api::start(on.process, &request), 0);
      const int some[] = {3, 1};
      EXPECT_EQ(api::pready_list(on.process, 2, some, request), 0);
      const int rest[] = {0, 2};
      EXPECT_EQ(api::pready_list(on.process, 0, nullptr, request), 0);
      EXPECT_EQ(api::pready_list(on.process, 2, rest, request), 0);
    } else {
      EXPECT_EQ(api::precv_init(on.process, data.data(), 3, 4, strided, 0, 1, on.world, nullptr, &request),
                0);
      EXPECT_EQ(api::start(on.process, &request), 0);
    }
    EXPECT_EQ(on.wait(request), 0);
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(data[static_cast<std::size_t>(2 * i)], i);
      EXPECT_EQ(data[static_cast<std::size_t>(2 * i + 1)], -1);
    }
    EXPECT_EQ(api::request_free(on.process, &request), 0);
    EXPECT_EQ(api::type_free(on.process, &strided), 0);
  });
}

TEST(Partitioned, WhatTheSenderCannotWriteGoesThroughTheRing) {
  for (const bool reaches : {true, false}) {
    WorldOptions options;
    options.reach_nobody = !reaches;
    options.symmetric_heap = reaches;
    run_ranks(
        2,
        [](Process& process) {
          Rank on(process);
          Bytes data(3 * 70000);
          Request* request = on.rank == 0 ? psend(on, data, 3, 1) : precv(on, data, 5, 0);
          for (std::uint32_t lap = 0; lap < 3; ++lap) {
            if (on.rank == 0) std::ranges::copy(pattern(data.size(), lap), data.begin());
            EXPECT_EQ(api::start(on.process, &request), 0);
            for (const int partition : {1, 2, 0}) {
              if (on.rank == 0) EXPECT_EQ(api::pready(on.process, partition, request), 0);
            }
            EXPECT_EQ(on.wait(request), 0);
            EXPECT_EQ(data, pattern(data.size(), lap));
          }
          EXPECT_EQ(api::request_free(on.process, &request), 0);
        },
        options);
  }
}

TEST(Partitioned, ManyPairsWithOneselfAndFullRings) {
  on_both_networks(3, [](Rank& on) {
    constexpr int kPartitions = 40;
    std::vector<Bytes> in(3, Bytes(kPartitions * 3000)), out(3);
    std::vector<Request*> requests;
    for (int peer = 0; peer < 3; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      out[at] = pattern(in[at].size(), static_cast<std::uint32_t>(on.rank * 3 + peer));
      requests.push_back(psend(on, out[at], kPartitions, peer));
      requests.push_back(precv(on, in[at], kPartitions / 4, peer));
    }
    for (int lap = 0; lap < 3; ++lap) {
      EXPECT_EQ(api::startall(on.process, 6, requests.data()), 0);
      for (int partition = 0; partition < kPartitions; ++partition) {
        for (std::size_t i = 0; i < 6; i += 2) {
          EXPECT_EQ(api::pready(on.process, (partition * 7) % kPartitions, requests[i]), 0);
        }
      }
      EXPECT_EQ(on.waitall(requests), 0);
      for (int peer = 0; peer < 3; ++peer) {
        const auto at = static_cast<std::size_t>(peer);
        EXPECT_EQ(in[at], pattern(in[at].size(), static_cast<std::uint32_t>(peer * 3 + on.rank)));
        std::ranges::fill(in[at], 0);
      }
    }
    for (Request*& request : requests) EXPECT_EQ(api::request_free(on.process, &request), 0);
  });
}

TEST(Partitioned, ThreadsMakePartitionsReady) {
  WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  run_ranks(
      2,
      [](Process& process) {
        Rank on(process);
        constexpr int kThreads = 4;
        constexpr int kEach = 8;
        Bytes data(kThreads * kEach * 700);
        std::unique_lock lock(process.lock);
        Request* request =
            on.rank == 0 ? psend(on, data, kThreads * kEach, 1) : precv(on, data, kThreads * kEach, 0);
        for (std::uint32_t lap = 0; lap < 5; ++lap) {
          const Bytes whole = pattern(data.size(), lap);
          EXPECT_EQ(api::start(process, &request), 0);
          lock.unlock();
          std::vector<std::thread> workers;
          for (int worker = 0; worker < kThreads; ++worker) {
            workers.emplace_back([&, worker] {
              for (int i = 0; i < kEach; ++i) {
                const int partition = i * kThreads + worker;
                const auto first = static_cast<std::ptrdiff_t>(partition) * 700;
                if (on.rank == 0) {
                  std::copy_n(whole.begin() + first, 700, data.begin() + first);
                  const std::lock_guard inside(process.lock);
                  EXPECT_EQ(api::pready(process, partition, request), 0);
                  continue;
                }
                for (bool flag = false; !flag; std::this_thread::yield()) {
                  const std::lock_guard inside(process.lock);
                  EXPECT_EQ(api::parrived(process, request, partition, &flag), 0);
                }
                EXPECT_TRUE(
                    std::equal(data.begin() + first, data.begin() + first + 700, whole.begin() + first));
              }
            });
          }
          lock.lock();
          EXPECT_EQ(on.wait(request), 0);
          lock.unlock();
          for (std::thread& worker : workers) worker.join();
          lock.lock();
        }
        EXPECT_EQ(api::request_free(process, &request), 0);
      },
      options);
}

TEST(Partitioned, WrongUseIsRefusedAndDoesNoHarm) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes out = pattern(40, 1), in(40);
    Request* send = psend(on, out, 4, 0);
    Request* receive = precv(on, in, 4, 0);
    Request* none = nullptr;
    bool flag = false;
    const auto refused = [&](Code code, int error_class) { EXPECT_EQ(error_class_bits(code), error_class); };
    refused(api::pready(process, 0, send), kErrRequest);  // inactive
    EXPECT_TRUE(arrived(on, receive, 0)) << "inactive";
    EXPECT_TRUE(arrived(on, nullptr, 0)) << "null";
    EXPECT_EQ(api::start(process, &send), 0);
    EXPECT_EQ(api::start(process, &receive), 0);
    refused(api::start(process, &send), kErrRequest);
    refused(api::start(process, &receive), kErrRequest);
    for (Request* request : {send, receive}) {
      refused(api::cancel(process, request), kErrRequest);
      refused(api::request_free(process, &request), kErrRequest);
      EXPECT_NE(request, nullptr);
    }
    refused(api::pready(process, 4, send), kErrArg);
    refused(api::pready(process, -1, send), kErrArg);
    refused(api::pready_range(process, 2, 1, send), kErrArg);
    refused(api::pready_range(process, 2, 4, send), kErrArg);
    const int twice[] = {1, 2, 1};
    refused(api::pready_list(process, 3, twice, send), kErrArg);
    const int beyond[] = {1, 9};
    refused(api::pready_list(process, 2, beyond, send), kErrArg);
    refused(api::pready(process, 0, receive), kErrRequest);
    refused(api::parrived(process, send, 0, &flag), kErrRequest);
    refused(api::parrived(process, receive, 4, &flag), kErrArg);
    EXPECT_EQ(api::pready(process, 1, send), 0) << "none of the failing lists made it ready";
    const Code again = api::pready_range(process, 0, 3, send);
    refused(again, kErrArg);
    EXPECT_NE(on.text(again).find("partition 1 is ready already"), std::string::npos) << on.text(again);
    EXPECT_EQ(api::pready(process, 0, send), 0);
    EXPECT_EQ(api::pready_range(process, 2, 3, send), 0);
    EXPECT_EQ(on.wait(send), 0);
    EXPECT_EQ(on.wait(receive), 0);
    EXPECT_EQ(in, out);
    EXPECT_EQ(api::request_free(process, &send), 0);
    EXPECT_EQ(api::request_free(process, &receive), 0);

    refused(api::precv_init(process, in.data(), 4, 10, on.byte, kAnySource, 1, on.world, nullptr, &none),
            kErrRank);
    refused(api::precv_init(process, in.data(), 4, 10, on.byte, 0, kAnyTag, on.world, nullptr, &none),
            kErrTag);
    refused(api::psend_init(process, out.data(), -1, 10, on.byte, 0, 1, on.world, nullptr, &none), kErrArg);
    refused(api::psend_init(process, out.data(), 1 << 30, Count{1} << 33, on.integer, 0, 1, on.world, nullptr,
                            &none),
            kErrCount);
    EXPECT_EQ(none, nullptr);
  });
}

TEST(Partitioned, SizesThatDifferAreAnErrorOfTheReceiver) {
  on_both_networks(2, [](Rank& on) {
    for (const auto& [out, in] :
         {std::pair<std::size_t, std::size_t>{900, 300}, {300, 900}, {30, 0}, {0, 30}}) {
      Bytes data(on.rank == 0 ? out : in);
      Request* request = on.rank == 0 ? psend(on, data, 3, 1) : precv(on, data, 3, 0);
      EXPECT_EQ(api::start(on.process, &request), 0);
      if (on.rank == 0) {
        EXPECT_EQ(api::pready_range(on.process, 0, 2, request), 0);
        EXPECT_EQ(on.wait(request), 0);
      } else {
        EXPECT_EQ(error_class_bits(on.wait(request)), out > in ? kErrTruncate : kErrCount);
      }
      EXPECT_EQ(api::request_free(on.process, &request), 0);
    }
    on.barrier();
  });
}

TEST(Partitioned, ProcNullAndRequestsThatNobodyMatches) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes data(8);
    Request* send = psend(on, data, 2, kProcNull);
    Request* receive = precv(on, data, 2, kProcNull);
    for (int lap = 0; lap < 2; ++lap) {
      EXPECT_EQ(api::start(process, &send), 0);
      EXPECT_EQ(api::start(process, &receive), 0);
      EXPECT_EQ(api::pready_range(process, 0, 1, send), 0);
      EXPECT_TRUE(arrived(on, receive, 1));
      Status status;
      EXPECT_EQ(on.wait(send), 0);
      EXPECT_EQ(on.wait(receive, &status), 0);
      EXPECT_EQ(status.source, kProcNull);
    }
    EXPECT_EQ(api::request_free(process, &send), 0);
    EXPECT_EQ(api::request_free(process, &receive), 0);
    Comm* comm = nullptr;
    EXPECT_EQ(api::comm_dup(process, on.world, &comm), 0);
    EXPECT_EQ(api::psend_init(process, data.data(), 2, 4, on.byte, 0, 1, comm, nullptr, &send), 0);
    EXPECT_EQ(api::precv_init(process, data.data(), 2, 4, on.byte, 0, 2, comm, nullptr, &receive), 0);
    EXPECT_EQ(api::request_free(process, &send), 0);
    EXPECT_EQ(api::request_free(process, &receive), 0);
    EXPECT_EQ(api::comm_free(process, &comm), 0);
  });
}

/// One pair that works, whatever there was before it.
void expect_a_pair_works(Rank& on, std::uint32_t seed) {
  Bytes data(300);
  Request* request = on.rank == 0 ? psend(on, data, 3, 1) : precv(on, data, 3, 0);
  if (on.rank == 0) std::ranges::copy(pattern(data.size(), seed), data.begin());
  EXPECT_EQ(api::start(on.process, &request), 0);
  if (on.rank == 0) EXPECT_EQ(api::pready_range(on.process, 0, 2, request), 0);
  EXPECT_EQ(on.wait(request), 0);
  EXPECT_EQ(data, pattern(data.size(), seed));
  EXPECT_EQ(api::request_free(on.process, &request), 0);
}

/// REQUIRES: all that was sent has arrived.
void expect_nothing_left(Rank& on) {
  Partitioned& engine = *on.process.p2p->partitioned;
  const auto expect_empty = [](const char* what, auto& pool) {
    int left = 0;
    pool.for_each([&left](const auto&) { ++left; });
    EXPECT_EQ(left, 0) << what;
  };
  expect_empty("sends", engine.sends);
  expect_empty("receives", engine.receives);
  expect_empty("places", engine.places);
  engine.matching.for_each([](const MatchQueue& queue) { EXPECT_EQ(queue.arrived.first, nullptr); });
  EXPECT_TRUE(engine.ended.empty());
}

TEST(Partitioned, PairsThatAreFreedUnstartedLeaveNothing) {
  // Initialises and frees the send (S, s) and the receive (R, r) in every order.
  for (const std::string order : {"SsRr", "SRsr", "SRrs", "RSsr", "RSrs", "RrSs"}) {
    on_both_networks(2, [&](Rank& on) {
      Bytes data(300);
      for (std::uint32_t lap = 0; lap < 20; ++lap) {
        Request* request = nullptr;
        for (const char step : order) {
          if (on.rank == 0 && step == 'S') request = psend(on, data, 3, 1);
          if (on.rank == 1 && step == 'R') request = precv(on, data, 3, 0);
          if (step == (on.rank == 0 ? 's' : 'r')) EXPECT_EQ(api::request_free(on.process, &request), 0);
          if (lap % 2 == 0) on.barrier();
        }
        if (lap % 3 == 0) expect_a_pair_works(on, lap);
      }
      expect_a_pair_works(on, 99);
      on.barrier();
      expect_nothing_left(on);
    });
  }
}

TEST(Partitioned, AFreedCommunicatorKeepsNothingForFreedReceives) {
  on_both_networks(2, [](Rank& on) {
    Bytes data(8);
    Comm* comm = nullptr;
    for (int lap = 0; lap < 3; ++lap) {
      EXPECT_EQ(api::comm_dup(on.process, on.world, &comm), 0);
      const Context context = comm->context;
      if (on.rank == 0) on.barrier();  // the receiver is done with the communicator before any offer comes
      Request* requests[2];
      for (int tag = 0; tag < 2; ++tag) {
        on.rank == 0
            ? api::psend_init(on.process, data.data(), 2, 4, on.byte, 1, tag, comm, nullptr, &requests[tag])
            : api::precv_init(on.process, data.data(), 2, 4, on.byte, 0, tag, comm, nullptr, &requests[tag]);
      }
      for (Request*& request : requests) EXPECT_EQ(api::request_free(on.process, &request), 0);
      EXPECT_EQ(api::comm_free(on.process, &comm), 0);
      if (on.rank == 1) on.barrier();
      on.barrier();
      EXPECT_EQ(on.process.p2p->partitioned->matching.find(context), nullptr);
    }
    expect_nothing_left(on);
  });
}

TEST(Partitioned, ARequestIsFreedOnceItsCycleIsOver) {
  for (const bool awaited : {true, false}) {  // or known to be over by MPI_Request_get_status alone
    on_both_networks(2, [&](Rank& on) {
      for (std::uint32_t lap = 0; lap < 6; ++lap) {
        Bytes data(300);
        Request* request = on.rank == 0 ? psend(on, data, 3, 1) : precv(on, data, 3, 0);
        if (on.rank == 0) std::ranges::copy(pattern(data.size(), lap), data.begin());
        EXPECT_EQ(api::start(on.process, &request), 0);
        if (on.rank == 0) EXPECT_EQ(api::pready_range(on.process, 0, 2, request), 0);
        if (awaited) EXPECT_EQ(on.wait(request), 0);
        for (bool flag = false; !flag; std::this_thread::yield()) {
          EXPECT_EQ(api::request_get_status(on.process, request, &flag, nullptr), 0);
        }
        EXPECT_EQ(data, pattern(data.size(), lap));
        if (lap % 3 == on.rank) on.barrier();  // one end first, or both at once
        EXPECT_EQ(api::request_free(on.process, &request), 0);
        if (lap % 3 == 1 - on.rank) on.barrier();
      }
      on.barrier();
      expect_nothing_left(on);
    });
  }
}

}  // namespace
}  // namespace tasuki::test
