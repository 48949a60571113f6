// Large messages take the way that the two buffers allow, and whether the send or the receive came first;
// each way can be switched off, and the bytes are right on all of them, dense or not.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/system/processor_hints.hpp"
#include "p2p/large_support.hpp"
#include "protocol/pair_page.hpp"

namespace tasuki::test {
namespace {

void run_pair(const std::function<void(Rank&)>& body, const WorldOptions& options = {}) {
  run_ranks(
      2,
      [&](Process& process) {
        Rank rank(process);
        body(rank);
      },
      options);
}

constexpr std::size_t kElements[] = {100, 20, 400, 300, 1};  // by Lie: of a message of 100 kB or so
std::size_t elements_of(Lie lie, std::size_t bytes) {
  return bytes / element_bytes(lie);
}

/// One message from rank 0 to rank 1 in 60000 bytes, which all lies can hold.
constexpr std::size_t kBytes = 60000;

void exchange(Rank& on, Types& types, Lie from, Lie to, bool receive_first) {
  Bytes go;
  const Bytes data = pattern(kBytes, static_cast<std::uint32_t>(from) * 4 + static_cast<std::uint32_t>(to));
  Request* request = nullptr;
  if (on.rank == 0) {
    Buffer buffer(from, elements_of(from, kBytes));
    buffer.put(data);
    if (receive_first) on.recv(go, 1, 9);
    ASSERT_EQ(api::isend(on.process, buffer.memory.data(), static_cast<Count>(buffer.count), types[from], 1,
                         5, on.world, &request),
              0);
    if (!receive_first) on.send(go, 1, 9);
    ASSERT_EQ(on.wait(request), 0);
    return;
  }
  Buffer buffer(to, elements_of(to, kBytes));
  if (!receive_first) on.recv(go, 0, 9);
  ASSERT_EQ(api::irecv(on.process, buffer.memory.data(), static_cast<Count>(buffer.count), types[to], 0, 5,
                       on.world, &request),
            0);
  if (receive_first) on.send(go, 0, 9);
  Status status;
  ASSERT_EQ(on.wait(request, &status), 0);
  ASSERT_EQ(status.bytes, static_cast<Count>(kBytes));
  ASSERT_EQ(buffer.get(kBytes), data);
  ASSERT_TRUE(buffer.untouched_beside(kBytes));
}

/// What is expected of a message that comes first, and of one that comes second.
Way expected_way(Lie from, Lie to, bool receive_first) {
  const bool from_regular = from != Lie::kIrregular, to_regular = to != Lie::kIrregular;
  const bool is_listed = from == Lie::kListed || to == Lie::kListed;
  if (receive_first && to_regular && to != Lie::kListed && (from_regular || to == Lie::kDense))
    return Way::kSenderWrite;
  if (from_regular && to_regular) return is_listed ? Way::kGet : Way::kCooperative;
  if (from == Lie::kDense) return Way::kGet;
  if (to == Lie::kDense) return Way::kPut;
  return Way::kTwoCopy;
}

TEST(Large, EachPairOfLayoutsTakesItsWay) {
  static_assert(std::size(kElements) == kLies.size());
  for (const Network network : {Network::kSharedMemory, Network::kInproc}) {
    WorldOptions options;
    options.network = network;
    run_pair(
        [](Rank& on) {
          Types types(on);
          for (const bool receive_first : {false, true}) {
            for (const Lie from : kLies) {
              for (const Lie to : kLies) {
                const Way way = expected_way(from, to, receive_first);
                const auto before = on.rank == 0 ? sent(on, way) : received(on, way);
                exchange(on, types, from, to, receive_first);
                const auto after = on.rank == 0 ? sent(on, way) : received(on, way);
                EXPECT_EQ(after, before + 1) << "rank " << on.rank << ", from " << static_cast<int>(from)
                                             << " to " << static_cast<int>(to) << ", receive first "
                                             << receive_first << ", expected " << way_name(way);
              }
            }
          }
        },
        options);
  }
}

struct Case {
  bool advertised_receives, get, cooperative, put, global;
  Way way;  // of a dense message whose receive came first
};

TEST(Large, EachWayCanBeSwitchedOff) {
  const Case cases[] = {
      {true, true, true, true, true, Way::kSenderWrite}, {false, true, true, true, true, Way::kCooperative},
      {false, true, false, true, true, Way::kGet},       {false, false, true, true, true, Way::kPut},
      {false, false, false, false, true, Way::kTwoCopy}, {true, true, true, true, false, Way::kTwoCopy},
  };
  for (const Case& one : cases) {
    WorldOptions options;
    options.symmetric_heap = one.global;
    options.config.advertised_receives = one.advertised_receives;
    options.config.get = one.get;
    options.config.cooperative = one.cooperative;
    options.config.put = one.put;
    run_pair(
        [&](Rank& on) {
          Types types(on);
          exchange(on, types, Lie::kDense, Lie::kDense, true);
          EXPECT_EQ(on.rank == 0 ? sent(on, one.way) : received(on, one.way), 1u) << way_name(one.way);
          for (const Lie from : kLies) {
            for (const Lie to : kLies) exchange(on, types, from, to, from == Lie::kBlocks);
          }
        },
        options);
  }
}

TEST(Large, WhatNobodyCanMapGoesThroughTheRing) {
  for (const bool get : {true, false}) {
    WorldOptions options;
    options.reach_nobody = true;
    options.config.get = get;
    run_pair(
        [](Rank& on) {
          Types types(on);
          std::uint64_t messages = 0;
          for (const bool receive_first : {false, true}) {
            for (const Lie from : kLies) {
              for (const Lie to : kLies) exchange(on, types, from, to, receive_first);
              messages += std::size(kLies);
            }
          }
          // The receiver, which does not know what its sender can map, may have offered its buffer for a put.
          if (on.rank == 0) {
            EXPECT_EQ(sent(on, Way::kTwoCopy), messages);
          } else {
            EXPECT_EQ(received(on, Way::kTwoCopy) + received(on, Way::kPut), messages);
          }
        },
        options);
  }
}

TEST(Large, AMessageToAPostedReceiveNeedsNothingOfItsReceiver) {
  std::atomic<bool> posted = false, written = false;
  run_pair([&](Rank& on) {
    const Bytes data = pattern(300000, 4);
    if (on.rank == 0) {
      while (!posted) std::this_thread::yield();
      EXPECT_EQ(on.send(data, 1, 3), 0);
      written = true;
      return;
    }
    Bytes got(data.size());
    Request* request = on.irecv(got, 0, 3);
    posted = true;
    while (!written) std::this_thread::yield();  // outside of the library
    EXPECT_EQ(got, data);
    EXPECT_EQ(on.wait(request), 0);
  });
}

Code send_from(Rank& on, Types& types, const Buffer& buffer) {
  return api::send(on.process, buffer.memory.data(), static_cast<Count>(buffer.count), types[buffer.lie], 1,
                   5, on.world);
}

void receive_into(Rank& on, Types& types, Lie lie, const Bytes& expected) {
  Buffer buffer(lie, elements_of(lie, kBytes));
  Status status;
  ASSERT_EQ(api::recv(on.process, buffer.memory.data(), static_cast<Count>(buffer.count), types[lie], 0, 5,
                      on.world, &status),
            0);
  EXPECT_EQ(status.bytes, static_cast<Count>(kBytes));
  EXPECT_EQ(buffer.get(kBytes), expected);
  EXPECT_TRUE(buffer.untouched_beside(kBytes));
}

// The receiver comes when the sender has returned from as many sends as can be set aside.
TEST(Large, ABlockingSendDoesNotWaitForALateReceiver) {
  for (const Network network : {Network::kSharedMemory, Network::kInproc}) {
    WorldOptions options;
    options.network = network;
    options.config.eager_bytes_max = kEagerBytesMaxDefault;
    run_pair(
        [](Rank& on) {
          Types types(on);
          Bytes go;
          for (const Lie from : kLies) {
            for (const Lie to : kLies) {
              const std::uint64_t before = on.process.counters.sends_set_aside;
              if (on.rank == 0) {
                Buffer buffer(from, elements_of(from, kBytes));
                for (std::uint32_t i = 0; i < kAsides; ++i) {
                  buffer.put(pattern(kBytes, i));
                  ASSERT_EQ(send_from(on, types, buffer), 0);
                }
                buffer.put(Bytes(kBytes));
                EXPECT_EQ(on.process.counters.sends_set_aside, before + kAsides);
                EXPECT_EQ(on.process.counters.set_aside_bytes.value, kAsides * kBytes);
                on.send(go, 1, 9);
                on.recv(go, 1, 9);  // behind the answers to all of them
                EXPECT_EQ(on.process.counters.set_aside_bytes.value, 0u);
              } else {
                on.recv(go, 0, 9);
                for (std::uint32_t i = 0; i < kAsides; ++i) receive_into(on, types, to, pattern(kBytes, i));
                on.send(go, 0, 9);
              }
            }
          }
        },
        options);
  }
}

// It comes at any time, also amid the copy that is to be set aside.
TEST(Large, ALateReceiverMayComeAtAnyTime) {
  constexpr std::uint32_t kLaps = 400;
  WorldOptions options;
  options.config.eager_bytes_max = kEagerBytesMaxDefault;
  const auto body = [](Rank& on) {
    Types types(on);
    Buffer buffer(Lie::kDense, kBytes);
    Bytes go;
    for (std::uint32_t lap = 0; lap < kLaps; ++lap) {
      if (on.rank == 0) {
        on.recv(go, 1, 9);
        buffer.put(pattern(kBytes, lap));
        ASSERT_EQ(send_from(on, types, buffer), 0);
        buffer.put(Bytes(kBytes));
      } else {
        on.send(go, 0, 9);
        for (std::uint32_t spin = lap * 97 % 300; spin != 0; --spin) relax_processor();
        receive_into(on, types, Lie::kDense, pattern(kBytes, lap));
      }
    }
  };
  run_pair(body, options);
}

// Nor where it answers a message, and there are too few cells for it to go at once.
TEST(Large, AnAnswerDoesNotWaitForALateReceiver) {
  std::atomic<bool> sent = false;
  WorldOptions options;
  options.config.eager_bytes_max = kEagerBytesMaxDefault;
  const auto body = [&](Rank& on) {
    const Bytes data = pattern(kBytes, 4);
    Bytes got(kBytes);
    if (on.rank == 0) {
      EXPECT_EQ(on.recv(got, 1, 3), 0);
      EXPECT_EQ(on.send(data, 1, 3), 0);
      sent = true;
    } else {
      EXPECT_EQ(on.send(data, 0, 3), 0);
      while (!sent) std::this_thread::yield();  // outside of the library
      EXPECT_EQ(on.recv(got, 0, 3), 0);
    }
    EXPECT_EQ(got, data);
  };
  run_pair(body, options);
}

TEST(Large, ANonblockingSendReturnsBeforeItsMessageIsCopied) {
  for (const bool persistent : {false, true}) {
    std::atomic<bool> posted = false, begun = false, looked = false, written = false;
    run_pair([&](Rank& on) {
      const Bytes data = pattern(300000, 4);
      if (on.rank == 0) {
        while (!posted) std::this_thread::yield();
        Request* request = nullptr;
        if (persistent) {
          EXPECT_EQ(api::send_init(on.process, data.data(), static_cast<Count>(data.size()), on.byte, 1, 3,
                                   on.world, &request),
                    0);
          EXPECT_EQ(api::start(on.process, &request), 0);
        } else {
          request = on.isend(data, 1, 3);
        }
        begun = true;
        while (!looked) std::this_thread::yield();
        EXPECT_EQ(on.wait(request), 0);
        written = true;
        if (persistent) EXPECT_EQ(api::request_free(on.process, &request), 0);
        return;
      }
      Bytes got(data.size());
      Request* request = on.irecv(got, 0, 3);
      posted = true;
      while (!begun) std::this_thread::yield();
      EXPECT_EQ(got, Bytes(data.size())) << "nobody has waited yet";
      looked = true;
      while (!written) std::this_thread::yield();
      EXPECT_EQ(got, data) << "the sender has waited";
      EXPECT_EQ(on.wait(request), 0);
    });
  }
}

TEST(Large, AReceiverThatWaitsCopiesWhileTheSenderIsAway) {
  std::atomic<bool> posted = false, begun = false, received = false;
  run_pair([&](Rank& on) {
    const Bytes data = pattern(3000000, 4);
    if (on.rank == 0) {
      while (!posted) std::this_thread::yield();
      Request* request = on.isend(data, 1, 3);
      begun = true;
      while (!received) std::this_thread::yield();  // outside of the library
      EXPECT_EQ(on.wait(request), 0);
      return;
    }
    Bytes got(data.size());
    Request* request = on.irecv(got, 0, 3);
    posted = true;
    while (!begun) std::this_thread::yield();
    EXPECT_EQ(on.wait(request), 0);
    EXPECT_EQ(got, data);
    received = true;
  });
}

// A rank that says that it waits and does nothing is one that cannot copy, or has much else to do.
TEST(Large, ATestLeavesTheCopyToAPeerThatWaitsWhileThatOneCopies) {
  std::atomic<bool> posted = false, begun = false, received = false;
  run_pair([&](Rank& on) {
    const Bytes data = pattern(300000, 4);
    if (on.rank == 0) {
      auto* const page = reinterpret_cast<PairPage*>(on.process.node.pair_page(0, 1));
      while (!posted) std::this_thread::yield();
      Request* request = on.isend(data, 1, 3);
      EXPECT_EQ(page->sender_waits, 0u);
      page->sender_waits = 1;
      begun = true;
      while (!received) std::this_thread::yield();
      EXPECT_EQ(on.wait(request), 0);
      EXPECT_EQ(page->sender_waits, 0u) << "the wait is over";
      return;
    }
    Bytes got(data.size());
    Request* request = on.irecv(got, 0, 3);
    posted = true;
    while (!begun) std::this_thread::yield();
    for (int tests = 0; tests < 20; ++tests) EXPECT_FALSE(on.test(request));
    EXPECT_EQ(got, Bytes(data.size())) << "it is left to the sender";
    int tests = 0;
    while (request != nullptr && ++tests < 1000) on.test(request);
    EXPECT_EQ(request, nullptr) << "the sender has not gone on";
    EXPECT_EQ(got, data);
    received = true;
  });
}

// MPI_Sendrecv waits for its send, then for its receive, which may be over by then.
TEST(Large, NobodyIsSaidToWaitWhenItsExchangeIsOver) {
  WorldOptions options;
  options.config.stream_bytes_min = 1 << 14;
  run_pair(
      [&](Rank& on) {
        const int other = 1 - on.rank;
        const auto* const page = reinterpret_cast<PairPage*>(on.process.node.pair_page(on.rank, other));
        const Bytes data = pattern(65536, static_cast<unsigned>(on.rank));
        for (int lap = 0; lap < 200; ++lap) {
          Bytes got(data.size());
          EXPECT_EQ(api::sendrecv(on.process, data.data(), 65536, on.byte, other, 3, got.data(), 65536,
                                  on.byte, other, 3, on.world, nullptr),
                    0);
          EXPECT_EQ(page->sender_waits, 0u) << "lap " << lap;
          EXPECT_EQ(got, pattern(65536, static_cast<unsigned>(other)));
        }
      },
      options);
}

TEST(Large, BothCopyWhenBothWait) {
  std::atomic<bool> helped = false;
  WorldOptions options;
  options.config.advertised_receives = 0;
  run_pair(
      [&](Rank& on) {
        Bytes data(32 << 20, 1);
        for (int lap = 0; lap < 3; ++lap) {
          if (on.rank == 0) {
            EXPECT_EQ(on.send(data, 1, 3), 0);
          } else {
            EXPECT_EQ(on.recv(data, 0, 3), 0);
          }
        }
        if (on.rank == 0) helped = sent(on, Way::kCooperative) == 3;
      },
      options);
  EXPECT_TRUE(helped);
}

TEST(Large, ToOneself) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    const Bytes data = pattern(kBytes, 3);
    for (const bool receive_first : {true, false}) {
      Bytes got(kBytes);
      std::vector<Request*> requests;
      if (receive_first) requests.push_back(on.irecv(got, 0, 1));
      requests.push_back(on.isend(data, 0, 1));
      if (!receive_first) requests.push_back(on.irecv(got, 0, 1));
      EXPECT_EQ(on.waitall(requests), 0);
      EXPECT_EQ(got, data);
    }
    EXPECT_EQ(sent(on, Way::kSenderWrite), 1u);
    EXPECT_EQ(sent(on, Way::kCooperative), 1u);
  });
}

TEST(Large, MoreReceivesThanCanBeAdvertised) {
  constexpr int kReceives = 3 * kAdvertisedReceives + 5;
  run_pair([](Rank& on) {
    Bytes go;
    std::vector<Request*> requests;
    std::vector<Bytes> data;
    for (int i = 0; i < kReceives; ++i) {
      data.push_back(on.rank == 0 ? pattern(5000, static_cast<std::uint32_t>(i)) : Bytes(5000));
    }
    if (on.rank == 0) on.recv(go, 1, 9);
    for (auto& one : data) requests.push_back(on.rank == 0 ? on.isend(one, 1, 1) : on.irecv(one, 0, 1));
    if (on.rank == 1) on.send(go, 0, 9);
    EXPECT_EQ(on.waitall(requests), 0);
    for (int i = 0; i < kReceives; ++i) {
      EXPECT_EQ(data[static_cast<std::size_t>(i)], pattern(5000, static_cast<std::uint32_t>(i)));
    }
    EXPECT_GE(on.rank == 0 ? sent(on, Way::kSenderWrite) : received(on, Way::kSenderWrite),
              static_cast<std::uint64_t>(kAdvertisedReceives));
  });
}

TEST(Large, AnEarlierReceiveFromAnySourceHoldsBack) {
  run_pair([](Rank& on) {
    const Bytes one = pattern(5000, 1), two = pattern(5000, 2);
    Bytes go;
    if (on.rank == 0) {
      on.recv(go, 1, 9);
      EXPECT_EQ(on.send(one, 1, 5), 0);
      EXPECT_EQ(sent(on, Way::kSenderWrite), 0u) << "the receive from any source comes first";
      on.recv(go, 1, 9);
      EXPECT_EQ(on.send(two, 1, 5), 0);
      EXPECT_EQ(sent(on, Way::kSenderWrite), 1u) << "it is gone, the other one is advertised";
      return;
    }
    Bytes first(5000), second(5000);
    Request* any = on.irecv(first, kAnySource, kAnyTag);
    Request* specific = on.irecv(second, 0, 5);
    on.send(go, 0, 9);
    EXPECT_EQ(on.wait(any), 0);
    on.process.progress->poll();
    on.send(go, 0, 9);
    EXPECT_EQ(on.wait(specific), 0);
    EXPECT_EQ(first, one);
    EXPECT_EQ(second, two);
  });
}

TEST(Large, AnAdvertisedReceiveCanBeCancelled) {
  run_pair([](Rank& on) {
    const Bytes data = pattern(5000, 1);
    Bytes go;
    for (int lap = 0; lap < 50; ++lap) {
      if (on.rank == 0) {
        on.recv(go, 1, 9);
        EXPECT_EQ(on.send(data, 1, 5), 0);
        continue;
      }
      Bytes got(5000), again(5000);
      Request* request = on.irecv(got, 0, 5);
      if (lap % 2 == 0) on.send(go, 0, 9);  // then the sender may be faster than the cancellation
      EXPECT_EQ(api::cancel(on.process, request), 0);
      if (lap % 2 != 0) on.send(go, 0, 9);
      Status status;
      EXPECT_EQ(on.wait(request, &status), 0);
      if (lap % 2 != 0) EXPECT_TRUE(status.cancelled);
      if (status.cancelled) {
        EXPECT_EQ(got, Bytes(5000)) << "nothing is written to a receive that was cancelled";
        EXPECT_EQ(on.recv(again, 0, 5), 0);
        EXPECT_EQ(again, data);
      } else {
        EXPECT_EQ(got, data);
      }
    }
  });
}

}  // namespace
}  // namespace tasuki::test
