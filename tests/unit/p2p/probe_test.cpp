// A probe returns what a receive would get; a matched probe takes the message, so that no other call can.
#include <gtest/gtest.h>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

TEST(Probe, TellsSourceTagAndSizeAndLeavesTheMessage) {
  on_both_networks(2, [](Rank& on) {
    int tag = 1;
    for (const std::size_t size : edge_sizes(on)) {
      ++tag;
      const Bytes data = pattern(size, 9);
      if (on.rank == 0) {
        EXPECT_EQ(on.send(data, 1, tag), 0);
        continue;
      }
      Status status;
      EXPECT_EQ(api::probe(on.process, kAnySource, kAnyTag, on.world, &status), 0);
      EXPECT_EQ(status.source, 0);
      EXPECT_EQ(status.tag, tag);
      EXPECT_EQ(status.bytes, static_cast<Count>(size));
      bool flag = false;
      EXPECT_EQ(api::iprobe(on.process, 0, tag, on.world, &flag, &status), 0);
      EXPECT_TRUE(flag) << "it is still there";
      EXPECT_EQ(api::iprobe(on.process, 0, tag + 1000, on.world, &flag, &status), 0);
      EXPECT_FALSE(flag);
      Bytes got(size);
      EXPECT_EQ(on.recv(got, status.source, tag), 0);
      EXPECT_EQ(got, data);
    }
  });
}

TEST(Probe, AMatchedMessageIsOutOfReachOfReceives) {
  on_both_networks(2, [](Rank& on) {
    for (const std::size_t size :
         {std::size_t{8}, std::size_t{700}, std::size_t{9000}, std::size_t{200000}}) {
      const Bytes first = pattern(size, 1), second = pattern(size, 2);
      if (on.rank == 0) {
        Request* one = on.isend(first, 1, 4);
        Request* two = on.isend(second, 1, 4);
        on.wait(one);
        on.wait(two);
        continue;
      }
      Message* message = nullptr;
      Status status;
      EXPECT_EQ(api::mprobe(on.process, 0, 4, on.world, &message, &status), 0);
      ASSERT_NE(message, nullptr);
      EXPECT_EQ(status.bytes, static_cast<Count>(size));
      Bytes got(size);
      EXPECT_EQ(on.recv(got, 0, 4), 0);
      EXPECT_EQ(got, second) << "the first one is taken";
      status = {};
      EXPECT_EQ(api::mrecv(on.process, got.data(), static_cast<Count>(size), on.byte, &message, &status), 0);
      EXPECT_EQ(message, nullptr);
      EXPECT_EQ(got, first);
      EXPECT_EQ(status.source, 0);
      EXPECT_EQ(status.tag, 4);
    }
  });
}

TEST(Probe, ImprobeAndImrecv) {
  on_both_networks(2, [](Rank& on) {
    const Bytes data = pattern(50000, 1);
    if (on.rank == 0) {
      on.send(data, 1, 2);
      return;
    }
    bool flag = true;
    Message* message = nullptr;
    Status status;
    EXPECT_EQ(api::improbe(on.process, 0, 77, on.world, &flag, &message, &status), 0);
    EXPECT_FALSE(flag);
    EXPECT_EQ(message, nullptr);
    do {
      EXPECT_EQ(api::improbe(on.process, kAnySource, 2, on.world, &flag, &message, &status), 0);
    } while (!flag);
    Bytes got(50000);
    Request* request = nullptr;
    EXPECT_EQ(api::imrecv(on.process, got.data(), 50000, on.byte, &message, &request), 0);
    EXPECT_EQ(message, nullptr);
    EXPECT_EQ(on.wait(request, &status), 0);
    EXPECT_EQ(got, data);
  });
}

TEST(Probe, AMatchedReceiveTruncatesToo) {
  on_both_networks(2, [](Rank& on) {
    for (const std::size_t size : {std::size_t{20}, std::size_t{800}, std::size_t{90000}}) {
      if (on.rank == 0) {
        EXPECT_EQ(on.send(pattern(size, 5), 1, 2), 0);
        continue;
      }
      Message* message = nullptr;
      EXPECT_EQ(api::mprobe(on.process, 0, 2, on.world, &message, nullptr), 0);
      Bytes got(10);
      const Code code = api::mrecv(on.process, got.data(), 10, on.byte, &message, nullptr);
      EXPECT_EQ(error_class_bits(code), kErrTruncate);
      EXPECT_EQ(got, pattern(10, 5)) << size;
    }
  });
}

TEST(Probe, OfProcNull) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Status status;
    bool flag = false;
    Message* message = nullptr;
    EXPECT_EQ(api::probe(process, kProcNull, 0, on.world, &status), 0);
    EXPECT_EQ(status.source, kProcNull);
    EXPECT_EQ(api::iprobe(process, kProcNull, 0, on.world, &flag, &status), 0);
    EXPECT_TRUE(flag);
    flag = false;
    EXPECT_EQ(api::improbe(process, kProcNull, 0, on.world, &flag, &message, &status), 0);
    EXPECT_TRUE(flag);
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(message->predefined, kMpiMessageNoProc);
    Bytes got(10, 1);
    status = {};
    EXPECT_EQ(api::mrecv(process, got.data(), 10, on.byte, &message, &status), 0);
    EXPECT_EQ(message, nullptr);
    EXPECT_EQ(status.source, kProcNull);
    EXPECT_EQ(status.tag, kAnyTag);
    EXPECT_EQ(api::mprobe(process, kProcNull, 0, on.world, &message, &status), 0);
    Request* request = nullptr;
    EXPECT_EQ(api::imrecv(process, got.data(), 10, on.byte, &message, &request), 0);
    EXPECT_TRUE(on.test(request, &status));
    EXPECT_EQ(status.source, kProcNull);
    EXPECT_EQ(got, Bytes(10, 1));
  });
}

}  // namespace
}  // namespace tasuki::test
