// Cancelling: a send or a receive that nothing matched is gone without a trace; what is matched goes on.
#include <gtest/gtest.h>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

TEST(Cancel, APostedReceiveNeverMatches) {
  on_both_networks(2, [](Rank& on) {
    if (on.rank == 0) {
      Bytes go;
      on.recv(go, 1, 9);
      on.send(pattern(8, 1), 1, 1);
      return;
    }
    for (const int source : {0, kAnySource}) {
      Bytes untouched(8, 0);
      Request* request = on.irecv(untouched, source, 1);
      EXPECT_EQ(api::cancel(on.process, request), 0);
      Status status;
      EXPECT_EQ(on.wait(request, &status), 0);
      EXPECT_EQ(request, nullptr);
      EXPECT_TRUE(status.cancelled);
    }
    on.send({}, 0, 9);
    Bytes got(8);
    EXPECT_EQ(on.recv(got, 0, 1), 0);
    EXPECT_EQ(got, pattern(8, 1));
  });
}

TEST(Cancel, AMatchedReceiveCompletes) {
  on_both_networks(2, [](Rank& on) {
    if (on.rank == 0) {
      on.send(pattern(8, 1), 1, 1);
      on.send({}, 1, 2);
      return;
    }
    Bytes got(8), go;
    Request* request = on.irecv(got, 0, 1);
    on.recv(go, 0, 2);
    EXPECT_EQ(api::cancel(on.process, request), 0);
    Status status;
    EXPECT_EQ(on.wait(request, &status), 0);
    EXPECT_FALSE(status.cancelled);
    EXPECT_EQ(got, pattern(8, 1));
  });
}

TEST(Cancel, ASendOnlyWhileItIsQueued) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    if (on.rank == 1) {
      Bytes go;
      on.barrier();  // takes what is there
      Bytes got(8);
      for (int tag = 0;; ++tag) {
        Status status;
        ASSERT_EQ(on.recv(got, 0, kAnyTag, &status), 0);
        if (status.tag == 5) break;
      }
      return;
    }
    const Bytes data = pattern(8, 1);
    Request* first = on.isend(data, 1, 0);
    api::cancel(process, first);
    Status status;
    EXPECT_EQ(on.wait(first, &status), 0);
    EXPECT_FALSE(status.cancelled) << "it had left";
    on.barrier();
    // Fill the FIFO by a thousand messages; the last one is still here, unless the receiver kept up with us.
    std::vector<Request*> requests;
    for (int i = 0; i < 2000; ++i) requests.push_back(on.isend(data, 1, 3));
    Request* last = on.isend(data, 1, 4);
    const bool queued = !last->done;
    api::cancel(process, last);
    EXPECT_EQ(on.wait(last, &status), 0);
    EXPECT_EQ(status.cancelled, queued);
    EXPECT_EQ(on.waitall(requests), 0);
    on.send(data, 1, 5);
  });
}

TEST(Cancel, ASendThatWaitsForItsReceiveIsDropped) {
  on_both_networks(2, [](Rank& on) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{5000}, std::size_t{300000}}) {
      Bytes got(bytes);
      if (on.rank == 1) {
        on.recv(got, 0, 2);  // no receive matches tag 1 before
        on.recv(got, 0, 1);
        EXPECT_EQ(got, pattern(bytes, 2));
        continue;
      }
      const Bytes first = pattern(bytes, 1), second = pattern(bytes, 2);
      Request* request = nullptr;
      api::ssend_init(on.process, first.data(), static_cast<Count>(bytes), on.byte, 1, 1, on.world, &request);
      for (int lap = 0; lap < 3; ++lap) {
        Status status;
        EXPECT_EQ(api::start(on.process, &request), 0);
        EXPECT_EQ(api::cancel(on.process, request), 0);
        EXPECT_EQ(api::cancel(on.process, request), 0);
        EXPECT_EQ(on.wait(request, &status), 0);
        EXPECT_TRUE(status.cancelled);
      }
      api::request_free(on.process, &request);
      on.send(second, 1, 2);
      on.send(second, 1, 1);
    }
  });
}

TEST(Cancel, APersistentReceiveCanBeStartedAgain) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes got(8);
    Request* request = nullptr;
    api::recv_init(process, got.data(), 8, on.byte, 0, 1, on.world, &request);
    for (int lap = 0; lap < 3; ++lap) {
      Status status;
      EXPECT_EQ(api::start(process, &request), 0);
      EXPECT_EQ(api::cancel(process, request), 0);
      EXPECT_EQ(on.wait(request, &status), 0);
      EXPECT_TRUE(status.cancelled);
      EXPECT_EQ(api::start(process, &request), 0);
      on.send(pattern(8, static_cast<std::uint32_t>(lap)), 0, 1);
      EXPECT_EQ(on.wait(request, &status), 0);
      EXPECT_FALSE(status.cancelled);
      EXPECT_EQ(got, pattern(8, static_cast<std::uint32_t>(lap)));
    }
    api::request_free(process, &request);
  });
}

}  // namespace
}  // namespace tasuki::test
