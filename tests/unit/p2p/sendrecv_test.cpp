// Send-receive: exchanges of any size without a deadlock, in place and not, blocking and not.
#include <gtest/gtest.h>

#include "base/variables/counters.hpp"
#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

void around_the_ring(Rank& on, std::size_t size, bool replace, bool nonblocking) {
  const int right = (on.rank + 1) % on.size, left = (on.rank + on.size - 1) % on.size;
  Bytes data = pattern(size, static_cast<std::uint32_t>(on.rank));
  Bytes other(size);
  Bytes& got = replace ? data : other;
  const auto count = static_cast<Count>(size);
  Status status;
  Request* request = nullptr;
  if (replace && nonblocking) {
    EXPECT_EQ(api::isendrecv_replace(on.process, data.data(), count, on.byte, right, 1, left, 1, on.world,
                                     &request),
              0);
  } else if (replace) {
    EXPECT_EQ(
        api::sendrecv_replace(on.process, data.data(), count, on.byte, right, 1, left, 1, on.world, &status),
        0);
  } else if (nonblocking) {
    EXPECT_EQ(api::isendrecv(on.process, data.data(), count, on.byte, right, 1, got.data(), count, on.byte,
                             left, 1, on.world, &request),
              0);
  } else {
    EXPECT_EQ(api::sendrecv(on.process, data.data(), count, on.byte, right, 1, got.data(), count, on.byte,
                            left, 1, on.world, &status),
              0);
  }
  if (nonblocking) {
    EXPECT_EQ(on.wait(request, &status), 0);
  }
  EXPECT_EQ(got, pattern(size, static_cast<std::uint32_t>(left)));
  EXPECT_EQ(status.source, left);
  EXPECT_EQ(status.bytes, count);
}

TEST(Sendrecv, AroundTheRing) {
  for (const int size : {1, 2, 3}) {
    on_both_networks(size, [](Rank& on) {
      for (const std::size_t bytes : edge_sizes(on)) {
        for (const bool replace : {false, true}) {
          for (const bool nonblocking : {false, true}) around_the_ring(on, bytes, replace, nonblocking);
        }
      }
    });
  }
}

TEST(Sendrecv, ProcNullAtTheEnds) {
  on_both_networks(3, [](Rank& on) {
    const int right = on.rank + 1 < on.size ? on.rank + 1 : kProcNull;
    const int left = on.rank > 0 ? on.rank - 1 : kProcNull;
    int value = on.rank, got = -7;
    Status status;
    EXPECT_EQ(api::sendrecv(on.process, &value, 1, on.integer, right, 0, &got, 1, on.integer, left, 0,
                            on.world, &status),
              0);
    EXPECT_EQ(got, left == kProcNull ? -7 : left);
    EXPECT_EQ(status.source, left);
    Request* request = nullptr;
    EXPECT_EQ(
        api::isendrecv_replace(on.process, &value, 1, on.integer, right, 0, left, 0, on.world, &request), 0);
    EXPECT_EQ(on.wait(request, &status), 0);
    EXPECT_EQ(value, left == kProcNull ? on.rank : left);
    EXPECT_EQ(status.source, left);
  });
}

TEST(Sendrecv, ReplaceOfAStridedTypeLeavesTheGaps) {
  on_both_networks(2, [](Rank& on) {
    Datatype* every_second = nullptr;
    ASSERT_EQ(api::type_vector(on.process, 1000, 1, 2, on.integer, &every_second, false), 0);
    ASSERT_EQ(api::type_commit(on.process, &every_second), 0);
    std::vector<int> data(2000, on.rank);
    for (std::size_t i = 1; i < data.size(); i += 2) data[i] = 77;
    const int peer = 1 - on.rank;
    EXPECT_EQ(
        api::sendrecv_replace(on.process, data.data(), 1, every_second, peer, 0, peer, 0, on.world, nullptr),
        0);
    for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], i % 2 ? 77 : peer);
    api::type_free(on.process, &every_second);
  });
}

TEST(Sendrecv, TruncationIsReported) {
  on_both_networks(2, [](Rank& on) {
    const int peer = 1 - on.rank;
    const Bytes data(500, 1);
    Bytes got(100);
    const Code code = api::sendrecv(on.process, data.data(), 500, on.byte, peer, 0, got.data(), 100, on.byte,
                                    peer, 0, on.world, nullptr);
    EXPECT_EQ(error_class_bits(code), kErrTruncate);
    Request* request = nullptr;
    EXPECT_EQ(api::isendrecv(on.process, data.data(), 500, on.byte, peer, 0, got.data(), 100, on.byte, peer,
                             0, on.world, &request),
              0);
    EXPECT_EQ(error_class_bits(on.wait(request)), kErrTruncate);
  });
}

}  // namespace
}  // namespace tasuki::test
