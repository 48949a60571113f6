// Whether long messages are streamed between ranks that share a cache, as the machine says, follows from how
// long their lines take to travel: found out beside the messages, in the time of a clock that the test sets.
#include <gtest/gtest.h>

#include <atomic>

#include "p2p/large/large.hpp"
#include "p2p/large_support.hpp"
#include "protocol/line_pace.hpp"
#include "support/line_clock.hpp"

namespace tasuki::test {
namespace {

TEST(LinePace, IsFoundFromTheFirstSamplesAndKeptAgainstAFew) {
  LinePace pace;
  EXPECT_EQ(pace.lines(), Lines::kUnknown);
  EXPECT_FALSE(pace.add(kFarNs));
  EXPECT_FALSE(pace.add(kFarNs));
  EXPECT_EQ(pace.lines(), Lines::kUnknown);
  EXPECT_TRUE(pace.add(kFarNs));
  EXPECT_EQ(pace.lines(), Lines::kFar);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(pace.add(i % 2 == 0 ? kNearNs : kFarNs));
  EXPECT_EQ(pace.lines(), Lines::kFar);
}

TEST(LinePace, FollowsAChangeWithinSevenSamples) {
  LinePace pace;
  for (int i = 0; i < 100; ++i) pace.add(kNearNs);
  EXPECT_EQ(pace.lines(), Lines::kNear);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(pace.add(kFarNs));
  EXPECT_TRUE(pace.add(kFarNs));
  EXPECT_EQ(pace.lines(), Lines::kFar);
}

TEST(LinePace, ARankThatWasInterruptedWhileItLookedSaysNothing) {
  LinePace pace;
  for (int i = 0; i < 3; ++i) pace.add(kNearNs);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(pace.add(i % 4 == 0 ? 50'000'000 : kNearNs));
}

constexpr std::size_t kLongBytes = 40'000;

/// So many messages from rank 0 to rank 1, which ends when both know what came of them.
void send_some(Rank& on, int count) {
  Bytes buffer(kLongBytes, static_cast<std::uint8_t>(on.rank));
  Status status;
  for (int i = 0; i < count; ++i) {
    if (on.rank == 0)
      ASSERT_EQ(api::ssend(on.process, buffer.data(), kLongBytes, on.byte, 1, i, on.world), 0);
    else
      ASSERT_EQ(api::recv(on.process, buffer.data(), kLongBytes, on.byte, 0, i, on.world, &status), 0);
  }
  Bytes go;
  on.rank == 1 ? on.send(go, 0, 1) : on.recv(go, 1, 1);
  on.rank == 0 ? on.send(go, 1, 1) : on.recv(go, 0, 1);
}

TEST(Lines, DecideWhetherLongMessagesAreStreamed) {
  LookedAtClock clock;
  run_ranks(
      2,
      [&](Process& process) {
        Rank on(process);
        LargeMessages& large = *process.p2p->large;
        const int peer = 1 - on.rank;
        const auto is_streamed = [&] {
          return on.rank == 0 ? large.is_streamed_to(peer, kLongBytes)
                              : large.is_streamed_from(peer, kLongBytes);
        };
        EXPECT_TRUE(is_streamed()) << "nothing is known";
        std::uint64_t changes = 0;
        for (const std::int64_t ns : {kNearNs, kFarNs, kNearNs}) {
          clock.line_ns = ns;
          send_some(on, 100);
          EXPECT_EQ(is_streamed(), ns == kFarNs) << ns;
          EXPECT_FALSE(large.is_streamed_to(peer, 1000));
          changes += on.rank == 1 ? 1 : 0;
          EXPECT_EQ(process.counters.line_changes, changes) << ns;
          EXPECT_EQ(process.counters.ranks_of_far_lines.value, ns == kFarNs && on.rank == 1 ? 1u : 0u);
          send_some(on, 0);
        }
        EXPECT_GE(process.counters.line_samples, on.rank == 1 ? 30u : 0u);
        // What comes the other way tells both as well.
        EXPECT_EQ(large.is_streamed_from(peer, kLongBytes), large.is_streamed_to(peer, kLongBytes));
      },
      options_of(clock, ProcessorMaker::kAmd));
}

TEST(Lines, AreNotLookedAtWhereNothingFollowsFromThem) {
  LookedAtClock clock;
  for (const bool is_set : {false, true}) {
    WorldOptions options = options_of(clock, is_set ? ProcessorMaker::kAmd : ProcessorMaker::kIntel);
    if (is_set) options.config.stream_bytes_min = 20'000;
    run_ranks(
        2,
        [&](Process& process) {
          Rank on(process);
          send_some(on, 20);
          EXPECT_EQ(process.counters.line_samples, 0u);
          EXPECT_EQ(process.p2p->large->is_streamed_to(1 - on.rank, kLongBytes), is_set);
        },
        options);
  }
}

constexpr std::size_t kExchangedBytes = 100'000;

/// Rank 0 posts a receive, sends a message of its own meanwhile if `both_send`, and then gets one from
/// rank 1. Returns how many of these were written into its receive, after the first; or 1 as soon as one was.
std::uint64_t written_into_receives(bool both_send, int rounds) {
  LookedAtClock clock;
  clock.line_ns = kFarNs;
  std::uint64_t written = 0;
  std::atomic<bool> is_over = false;
  run_ranks(
      2,
      [&](Process& process) {
        Rank on(process);
        Bytes go, buffer(kExchangedBytes, static_cast<std::uint8_t>(on.rank)), own = buffer;
        const auto bytes = static_cast<Count>(kExchangedBytes);
        Status status;
        std::uint64_t first = 0;
        for (int round = 0; round < rounds && !is_over; ++round) {
          Request* request = nullptr;
          if (on.rank == 0) {
            ASSERT_EQ(api::irecv(process, buffer.data(), bytes, on.byte, 1, 5, on.world, &request), 0);
            on.send(go, 1, 1);
            if (both_send) ASSERT_EQ(api::send(process, own.data(), bytes, on.byte, 1, 5, on.world), 0);
            ASSERT_EQ(on.wait(request, &status), 0);
            EXPECT_EQ(buffer, Bytes(kExchangedBytes, 1));
            if (round == 0) first = received(on, Way::kSenderWrite);
            written = received(on, Way::kSenderWrite) - first;
            is_over = written > 0;
            on.send(go, 1, 2);
          } else {
            on.recv(go, 0, 1);
            if (both_send)
              ASSERT_EQ(api::recv(process, buffer.data(), bytes, on.byte, 0, 5, on.world, &status), 0);
            ASSERT_EQ(api::send(process, own.data(), bytes, on.byte, 0, 5, on.world), 0);
            on.recv(go, 0, 2);
          }
        }
      },
      options_of(clock, ProcessorMaker::kAmd));
  return written;
}

TEST(Lines, AReceiveIsAdvertisedUnlessBothRanksSendAtTheSameTime) {
  EXPECT_EQ(written_into_receives(false, 1000), 1u);
  EXPECT_EQ(written_into_receives(true, 50), 0u);
}

}  // namespace
}  // namespace tasuki::test
