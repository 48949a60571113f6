// Persistent requests: started again and again, inactive in between.
#include <gtest/gtest.h>

#include <algorithm>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

using InitSend = Code (*)(Process&, const void*, Count, Datatype*, int, int, Comm*, Request**);

TEST(Persistent, EveryModeAndSizeManyTimes) {
  on_both_networks(2, [](Rank& on) {
    api::buffer_attach(on.process, kBufferAutomatic, 0);
    for (const InitSend init : {api::send_init, api::bsend_init, api::ssend_init, api::rsend_init}) {
      for (const std::size_t size : edge_sizes(on)) {
        Bytes data(size);
        Request* request = nullptr;
        if (on.rank == 0) {
          EXPECT_EQ(
              init(on.process, data.data(), static_cast<Count>(size), on.byte, 1, 3, on.world, &request), 0);
        } else {
          EXPECT_EQ(api::recv_init(on.process, data.data(), static_cast<Count>(size), on.byte, 0, 3, on.world,
                                   &request),
                    0);
        }
        Request* const handle = request;
        for (std::uint32_t lap = 0; lap < 4; ++lap) {
          Status status{.source = 9, .tag = 9, .bytes = 9};
          EXPECT_EQ(on.wait(request, &status), 0) << "inactive: nothing to wait for";
          EXPECT_EQ(status.source, kAnySource);
          if (on.rank == 0) {
            std::ranges::copy(pattern(size, lap), data.begin());  // in place: the request knows the address
            Bytes go;
            on.recv(go, 1, 4);  // a ready send needs its receive
          }
          EXPECT_EQ(api::start(on.process, &request), 0);
          if (on.rank == 1) on.send({}, 0, 4);
          EXPECT_EQ(on.wait(request, &status), 0);
          EXPECT_EQ(request, handle) << "the handle stays";
          if (on.rank == 1) {
            EXPECT_EQ(data, pattern(size, lap));
            EXPECT_EQ(status.bytes, static_cast<Count>(size));
            EXPECT_EQ(status.source, 0);
          }
        }
        EXPECT_EQ(api::request_free(on.process, &request), 0);
      }
    }
  });
}

TEST(Persistent, StartallAndWaitall) {
  on_both_networks(2, [](Rank& on) {
    constexpr int kCount = 5;
    const int peer = 1 - on.rank;
    std::vector<int> out(kCount), in(kCount);
    std::vector<Request*> requests(2 * kCount);
    for (int i = 0; i < kCount; ++i) {
      const auto at = static_cast<std::size_t>(i);
      api::send_init(on.process, &out[at], 1, on.integer, peer, i, on.world, &requests[2 * at]);
      api::recv_init(on.process, &in[at], 1, on.integer, peer, i, on.world, &requests[2 * at + 1]);
    }
    for (int lap = 0; lap < 10; ++lap) {
      for (int i = 0; i < kCount; ++i) out[static_cast<std::size_t>(i)] = lap * 100 + i + on.rank * 10;
      EXPECT_EQ(api::startall(on.process, 2 * kCount, requests.data()), 0);
      EXPECT_EQ(on.waitall(requests), 0);
      for (int i = 0; i < kCount; ++i) EXPECT_EQ(in[static_cast<std::size_t>(i)], lap * 100 + i + peer * 10);
    }
    for (Request*& request : requests) api::request_free(on.process, &request);
  });
}

TEST(Persistent, StartingAnActiveOrAPlainRequestIsRefused) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes data(4);
    Request* request = nullptr;
    api::recv_init(process, data.data(), 4, on.byte, 0, 1, on.world, &request);
    EXPECT_EQ(api::start(process, &request), 0);
    const Code twice = api::start(process, &request);
    EXPECT_EQ(error_class_bits(twice), kErrRequest);
    EXPECT_NE(on.text(twice).find("active"), std::string::npos);
    on.send(data, 0, 1);
    EXPECT_EQ(on.wait(request), 0);
    api::request_free(process, &request);
    Request* plain = on.irecv(data, 0, 2);
    EXPECT_EQ(error_class_bits(api::start(process, &plain)), kErrRequest);
    on.send(data, 0, 2);
    EXPECT_EQ(on.wait(plain), 0);
  });
}

TEST(Persistent, ToProcNull) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes data(4);
    Request* send = nullptr;
    Request* receive = nullptr;
    api::send_init(process, data.data(), 4, on.byte, kProcNull, 1, on.world, &send);
    api::recv_init(process, data.data(), 4, on.byte, kProcNull, 1, on.world, &receive);
    for (int lap = 0; lap < 2; ++lap) {
      Status status;
      EXPECT_EQ(api::start(process, &send), 0);
      EXPECT_EQ(api::start(process, &receive), 0);
      EXPECT_EQ(on.wait(send), 0);
      EXPECT_EQ(on.wait(receive, &status), 0);
      EXPECT_EQ(status.source, kProcNull);
    }
    api::request_free(process, &send);
    api::request_free(process, &receive);
  });
}

TEST(Persistent, FreedWhileActive) {
  on_both_networks(2, [](Rank& on) {
    Bytes data = pattern(60000, 1);
    if (on.rank == 0) {
      Request* request = nullptr;
      api::send_init(on.process, data.data(), 60000, on.byte, 1, 1, on.world, &request);
      EXPECT_EQ(api::start(on.process, &request), 0);
      EXPECT_EQ(api::request_free(on.process, &request), 0);
    } else {
      Bytes got(60000);
      EXPECT_EQ(on.recv(got, 0, 1), 0);
      EXPECT_EQ(got, data);
    }
    on.barrier();
  });
}

}  // namespace
}  // namespace tasuki::test
