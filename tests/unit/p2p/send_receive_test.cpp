// A message arrives whole, whatever its size, mode and type, whichever side comes first.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

constexpr SendMode kModes[] = {SendMode::kStandard, SendMode::kBuffered, SendMode::kSynchronous,
                               SendMode::kReady};

Code blocking_send(Rank& on, SendMode mode, const Bytes& data, int dest, int tag) {
  const auto count = static_cast<Count>(data.size());
  switch (mode) {
    case SendMode::kStandard:
      return api::send(on.process, data.data(), count, on.byte, dest, tag, on.world);
    case SendMode::kBuffered:
      return api::bsend(on.process, data.data(), count, on.byte, dest, tag, on.world);
    case SendMode::kSynchronous:
      return api::ssend(on.process, data.data(), count, on.byte, dest, tag, on.world);
    case SendMode::kReady:
      return api::rsend(on.process, data.data(), count, on.byte, dest, tag, on.world);
  }
  return kErrArg;
}

Request* nonblocking_send(Rank& on, SendMode mode, const Bytes& data, int dest, int tag) {
  const auto count = static_cast<Count>(data.size());
  Request* request = nullptr;
  Code code = kErrArg;
  switch (mode) {
    case SendMode::kStandard:
      code = api::isend(on.process, data.data(), count, on.byte, dest, tag, on.world, &request);
      break;
    case SendMode::kBuffered:
      code = api::ibsend(on.process, data.data(), count, on.byte, dest, tag, on.world, &request);
      break;
    case SendMode::kSynchronous:
      code = api::issend(on.process, data.data(), count, on.byte, dest, tag, on.world, &request);
      break;
    case SendMode::kReady:
      code = api::irsend(on.process, data.data(), count, on.byte, dest, tag, on.world, &request);
      break;
  }
  EXPECT_EQ(code, 0);
  return request;
}

void expect_message(Rank& on, const Bytes& received, const Status& status, std::size_t size, int source,
                    int tag) {
  EXPECT_EQ(status.source, source);
  EXPECT_EQ(status.tag, tag);
  EXPECT_EQ(status.error, 0);
  EXPECT_EQ(status.bytes, static_cast<Count>(size));
  EXPECT_EQ(received, pattern(size, static_cast<std::uint32_t>(tag))) << "size " << size << " at " << on.rank;
}

TEST(SendReceive, EveryModeAndSizeReceiveFirst) {
  on_both_networks(2, [](Rank& on) {
    int tag = 0;
    api::buffer_attach(on.process, kBufferAutomatic, 0);
    for (const SendMode mode : kModes) {
      for (const std::size_t size : edge_sizes(on)) {
        ++tag;
        if (on.rank == 0) {
          Bytes go;
          on.recv(go, 1, 0);
          EXPECT_EQ(blocking_send(on, mode, pattern(size, static_cast<std::uint32_t>(tag)), 1, tag), 0);
        } else {
          Bytes got(size);
          Status status;
          Request* request = on.irecv(got, 0, tag);
          on.send({}, 0, 0);
          EXPECT_EQ(on.wait(request, &status), 0);
          EXPECT_EQ(request, nullptr);
          expect_message(on, got, status, size, 0, tag);
        }
      }
    }
    void* address = nullptr;
    Count size = 0;
    EXPECT_EQ(api::buffer_detach(on.process, &address, &size), 0);
    EXPECT_EQ(address, kBufferAutomatic);
  });
}

TEST(SendReceive, EveryModeAndSizeMessageFirst) {
  on_both_networks(2, [](Rank& on) {
    int tag = 0;
    api::buffer_attach(on.process, kBufferAutomatic, 0);
    for (const SendMode mode : kModes) {
      for (const std::size_t size : edge_sizes(on)) {
        ++tag;
        if (on.rank == 0) {
          const Bytes data = pattern(size, static_cast<std::uint32_t>(tag));
          Request* request = nonblocking_send(on, mode, data, 1, tag);
          on.send({}, 1, 0);
          EXPECT_EQ(on.wait(request), 0);
        } else {
          Bytes got(size), go;
          Status status;
          on.recv(go, 0, 0);  // the message came before
          EXPECT_EQ(on.recv(got, 0, tag, &status), 0);
          expect_message(on, got, status, size, 0, tag);
        }
      }
    }
  });
}

TEST(SendReceive, ToOneselfOfAnySize) {
  on_both_networks(1, [](Rank& on) {
    int tag = 0;
    for (const std::size_t size : edge_sizes(on)) {
      for (const bool receive_first : {true, false}) {
        ++tag;
        const Bytes data = pattern(size, static_cast<std::uint32_t>(tag));
        Bytes got(size);
        Status status;
        Request* receive = receive_first ? on.irecv(got, 0, tag) : nullptr;
        Request* send = on.isend(data, 0, tag);
        if (!receive_first) receive = on.irecv(got, kAnySource, kAnyTag);
        EXPECT_EQ(on.wait(receive, &status), 0);
        EXPECT_EQ(on.wait(send), 0);
        expect_message(on, got, status, size, 0, tag);
      }
    }
  });
}

TEST(SendReceive, OnCommSelf) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    int mine = on.rank + 100, got = 0;
    Request* receive = nullptr;
    api::irecv(process, &got, 1, on.integer, 0, 3, on.self, &receive);
    EXPECT_EQ(api::send(process, &mine, 1, on.integer, 0, 3, on.self), 0);
    EXPECT_EQ(on.wait(receive), 0);
    EXPECT_EQ(got, mine);
  });
}

TEST(SendReceive, ProcNullDoesNothingAtOnce) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes data(100, 7);
    Status status;
    for (const SendMode mode : kModes) {
      EXPECT_EQ(blocking_send(on, mode, data, kProcNull, 1), 0);
      Request* request = nonblocking_send(on, mode, data, kProcNull, 1);
      EXPECT_TRUE(on.test(request));
      EXPECT_EQ(request, nullptr);
    }
    const Bytes before = data;
    EXPECT_EQ(on.recv(data, kProcNull, 5, &status), 0);
    EXPECT_EQ(status.source, kProcNull);
    EXPECT_EQ(status.tag, kAnyTag);
    EXPECT_EQ(status.bytes, 0);
    Request* request = on.irecv(data, kProcNull, kAnyTag);
    status = {};
    EXPECT_TRUE(on.test(request, &status));
    EXPECT_EQ(status.source, kProcNull);
    EXPECT_EQ(data, before);
  });
}

TEST(SendReceive, StridedTypesOfEverySize) {
  on_both_networks(2, [](Rank& on) {
    Datatype* column = nullptr;
    ASSERT_EQ(api::type_vector(on.process, 3, 2, 5, on.integer, &column, false), 0);
    ASSERT_EQ(api::type_commit(on.process, &column), 0);
    const std::size_t extent = static_cast<std::size_t>(column->extent) / sizeof(int);
    for (const Count count : {0, 1, 2, 43, 200, 3000}) {
      const std::size_t length = static_cast<std::size_t>(count) * extent + 16;
      std::vector<int> grid(length, -1);
      if (on.rank == 0) {
        for (std::size_t i = 0; i < length; ++i) grid[i] = static_cast<int>(i * 3);
        EXPECT_EQ(api::send(on.process, grid.data(), count, column, 1, 9, on.world), 0);
        continue;
      }
      Status status;
      EXPECT_EQ(api::recv(on.process, grid.data(), count, column, 0, 9, on.world, &status), 0);
      EXPECT_EQ(status.bytes, count * column->size);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count) * extent; ++i) {
        const std::size_t within = i % extent;
        const bool data = within % 5 < 2;  // the element after the last stride begins the next one
        ASSERT_EQ(grid[i], data ? static_cast<int>(i * 3) : -1) << "count " << count << ", int " << i;
      }
    }
    api::type_free(on.process, &column);
  });
}

TEST(SendReceive, TheTypeMayBeFreedWhileAMessageIsUnderWay) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    const std::size_t ints = 100000;
    std::vector<int> data(2 * ints, on.rank == 0 ? 5 : 0);
    Datatype* pairs = nullptr;
    ASSERT_EQ(api::type_vector(process, static_cast<Count>(ints), 1, 2, on.integer, &pairs, false), 0);
    ASSERT_EQ(api::type_commit(process, &pairs), 0);
    Request* request = nullptr;
    if (on.rank == 0) {
      api::isend(process, data.data(), 1, pairs, 1, 0, on.world, &request);
    } else {
      api::irecv(process, data.data(), 1, pairs, 0, 0, on.world, &request);
    }
    api::type_free(process, &pairs);
    EXPECT_EQ(on.wait(request), 0);
    for (std::size_t i = 0; i + 1 < data.size(); i += 2) ASSERT_EQ(data[i], 5);
  });
}

TEST(SendReceive, ASynchronousSendWaitsForItsReceive) {
  on_both_networks(2, [](Rank& on) {
    for (const std::size_t size : {std::size_t{8}, std::size_t{500}, std::size_t{100000}}) {
      Bytes data = pattern(size, 1);
      if (on.rank == 0) {
        Request* request = on.issend(data, 1, 1);
        for (int i = 0; i < 200; ++i) ASSERT_FALSE(on.test(request)) << "no rank has posted a receive";
        on.send({}, 1, 2);
        EXPECT_EQ(on.wait(request), 0);
      } else {
        Bytes go, got(size);
        on.recv(go, 0, 2);
        EXPECT_EQ(on.recv(got, 0, 1), 0);
        EXPECT_EQ(got, data);
      }
    }
  });
}

TEST(SendReceive, NothingBlocksInsideStartingManySends) {
  // Far more than the FIFO holds, before the peer takes the first one.
  on_both_networks(2, [](Rank& on) {
    constexpr int kMessages = 3000;
    std::vector<Bytes> data;
    std::vector<Request*> requests;
    for (int i = 0; i < kMessages; ++i) {
      const std::size_t size = i % 10 == 9 ? 3000 : static_cast<std::size_t>(i) % 700;
      data.push_back(on.rank == 0 ? pattern(size, static_cast<std::uint32_t>(i)) : Bytes(size));
    }
    if (on.rank == 0) {
      for (int i = 0; i < kMessages; ++i)
        requests.push_back(on.isend(data[static_cast<std::size_t>(i)], 1, i % 3));
      on.send({}, 1, 5);  // queued behind them all
    } else {
      Bytes go;
      on.recv(go, 0, 5);  // all the others are here, unexpected
      for (int i = 0; i < kMessages; ++i)
        requests.push_back(on.irecv(data[static_cast<std::size_t>(i)], 0, i % 3));
    }
    std::vector<Status> statuses(kMessages);
    EXPECT_EQ(on.waitall(requests, statuses.data()), 0);
    for (int i = 0; i < kMessages && on.rank == 1; ++i) {
      const Bytes& got = data[static_cast<std::size_t>(i)];
      ASSERT_EQ(got, pattern(got.size(), static_cast<std::uint32_t>(i))) << "message " << i;
    }
  });
}

TEST(SendReceive, LongMessagesBothWaysAtOnceDoNotBlockEachOther) {
  on_both_networks(3, [](Rank& on) {
    const std::size_t size = 300000;
    std::vector<Bytes> out, in;
    std::vector<Request*> requests;
    for (int peer = 0; peer < on.size; ++peer) {
      out.push_back(pattern(size, static_cast<std::uint32_t>(on.rank * 10 + peer)));
      in.emplace_back(size);
    }
    for (int peer = 0; peer < on.size; ++peer)
      requests.push_back(on.isend(out[static_cast<std::size_t>(peer)], peer, 4));
    for (int peer = 0; peer < on.size; ++peer)
      requests.push_back(on.irecv(in[static_cast<std::size_t>(peer)], peer, 4));
    EXPECT_EQ(on.waitall(requests), 0);
    for (int peer = 0; peer < on.size; ++peer) {
      EXPECT_EQ(in[static_cast<std::size_t>(peer)],
                pattern(size, static_cast<std::uint32_t>(peer * 10 + on.rank)));
    }
  });
}

TEST(SendReceive, AShortMessageOvertakesNothingButIsNotHeldUpByAStream) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    Bytes big(4 << 20), small(8), tiny;
    if (on.rank == 0) {
      Request* stream = on.isend(big, 1, 1);
      on.send(small, 1, 2);  // must arrive although the stream fills the FIFO
      on.recv(tiny, 1, 3);
      EXPECT_EQ(on.wait(stream), 0);
    } else {
      Request* stream = on.irecv(big, 0, 1);
      on.recv(small, 0, 2);
      on.send(tiny, 0, 3);
      EXPECT_EQ(on.wait(stream), 0);
    }
  });
}

TEST(SendReceive, ACountThatOverflowsIsRefused) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    int value = 0;
    Request* request = nullptr;
    const Count huge = Count{1} << 62;
    for (const Code code : {api::send(process, &value, huge, on.integer, 0, 0, on.world),
                            api::isend(process, &value, huge, on.integer, 0, 0, on.world, &request),
                            api::recv(process, &value, huge, on.integer, 0, 0, on.world, nullptr)}) {
      EXPECT_EQ(error_class_bits(code), kErrCount);
      EXPECT_NE(on.text(code).find("count = 4611686018427387904"), std::string::npos) << on.text(code);
    }
    EXPECT_EQ(request, nullptr);
  });
}

/// 50 messages from rank 0 to rank 1, which takes none before all have been sent. `answers`: each follows a
/// message of rank 1.
void send_ahead(Rank& on, std::size_t bytes, bool answers, bool blocking, std::atomic<int>& rounds_sent) {
  constexpr int kMessages = 50;
  Bytes none;
  const int round = rounds_sent.load() + 1;
  on.barrier();
  if (on.rank == 1) {
    for (int i = 0; answers && i < kMessages; ++i) ASSERT_EQ(on.send(none, 0, 0), 0);
    while (rounds_sent.load() != round) std::this_thread::yield();  // computes
    for (int i = 0; i < kMessages; ++i) {
      Bytes data(bytes);
      ASSERT_EQ(on.recv(data, 0, 0), 0);
      ASSERT_EQ(data, Bytes(bytes, static_cast<std::uint8_t>(i))) << "message " << i;
    }
    return;
  }
  std::vector<Bytes> sent;
  std::vector<Request*> requests;
  for (int i = 0; i < kMessages; ++i) {
    if (answers) ASSERT_EQ(on.recv(none, 1, 0), 0);
    sent.emplace_back(bytes, static_cast<std::uint8_t>(i));
    if (blocking) {
      ASSERT_EQ(on.send(sent.back(), 1, 0), 0);
    } else {
      requests.push_back(on.isend(sent.back(), 1, 0));
    }
  }
  ASSERT_EQ(on.waitall(requests), 0);
  rounds_sent = round;
}

TEST(SendReceive, FiftyMessagesAreSentBeforeTheirReceiverLooks) {
  std::atomic<int> rounds_sent = 0;
  run_ranks(2,
            [&](Process& process) {
              Rank on(process);
              for (const bool blocking : {false, true}) {
                for (const std::size_t bytes : {40, 100, 101, 256, 512, 513, 1024, 2080, 2081, 2900}) {
                  for (const bool answers : {false, true}) {
                    SCOPED_TRACE(testing::Message() << bytes << " bytes" << (answers ? ", in answer" : ""));
                    send_ahead(on, bytes, answers, blocking, rounds_sent);
                  }
                }
                on.barrier();
                if (testing::Test::HasFailure()) return;  // blocking sends would wait for ever
              }
            },
            {.config = {}});
}

}  // namespace
}  // namespace tasuki::test
