// SharedCopy: two threads copy a job together, job after job; every byte arrives once, before the origin goes
// on, and a target that is late never touches what belongs to another job.
#include "rma/control/shared_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace tasuki::rma {
namespace {

constexpr std::int64_t kJobBytesMax = 500'000;

/// The target's side, into or out of `part`. Returns whether it copied a piece.
bool help_with(SharedCopy& copy, std::byte* part) {
  CopyJob job;
  const std::uint64_t claims = read_job(copy, &job);
  Piece piece;
  if (!has_work(claims, job) || !try_claim_back(copy, claims, job, &piece)) return false;
  std::byte* own = part + job.offset + piece.begin;
  auto* others = reinterpret_cast<std::byte*>(job.origin_address) + piece.begin;
  std::memcpy(job.is_put ? own : others, job.is_put ? others : own,
              static_cast<std::size_t>(piece.end - piece.begin));
  add_copied(copy);
  return true;
}

/// The origin's side. Returns whether the copy was free.
bool copy_with(SharedCopy& copy, std::byte* origin, std::byte* part, const CopyJob& job) {
  if (!begin_copy(copy, job)) return false;
  for (Piece piece = claim_front(copy, job.bytes); !piece.empty(); piece = claim_front(copy, job.bytes)) {
    std::byte* target = part + job.offset + piece.begin;
    std::memcpy(job.is_put ? target : origin + piece.begin, job.is_put ? origin + piece.begin : target,
                static_cast<std::size_t>(piece.end - piece.begin));
  }
  while (!is_copied(copy)) std::this_thread::yield();
  end_copy(copy);
  return true;
}

TEST(SharedCopy, EveryByteArrivesWhoeverCopiesIt) {
  SharedCopy copy{};
  std::vector<std::byte> part(kJobBytesMax + 100);
  std::vector<std::byte> origin(kJobBytesMax);
  std::atomic<bool> over{false};
  std::thread target([&] {
    while (!over.load()) {
      if (!help_with(copy, part.data())) std::this_thread::yield();
    }
  });
  for (int round = 0; round < 100; ++round) {
    const std::int64_t bytes = round % 10 == 0 ? kJobBytesMax : 1 + round * 997 % kJobBytesMax;
    std::fill(origin.begin(), origin.end(), static_cast<std::byte>(round));
    std::fill(part.begin(), part.end(), static_cast<std::byte>(round + 1));
    const CopyJob job{.origin_address = reinterpret_cast<GlobalAddress>(origin.data()),
                      .offset = round % 100,
                      .bytes = bytes,
                      .origin = 0,
                      .is_put = round % 2 == 0};
    ASSERT_TRUE(copy_with(copy, origin.data(), part.data(), job));
    const auto& changed = job.is_put ? part : origin;
    const auto begin = changed.begin() + (job.is_put ? job.offset : 0);
    const auto value = static_cast<std::byte>(job.is_put ? round : round + 1);
    const auto before = static_cast<std::byte>(job.is_put ? round + 1 : round);
    ASSERT_TRUE(std::all_of(begin, begin + bytes, [value](std::byte one) { return one == value; }));
    ASSERT_TRUE(std::all_of(begin + bytes, changed.end(), [before](std::byte one) { return one == before; }));
  }
  over = true;
  target.join();
}

TEST(SharedCopy, OfSeveralOriginsOneUsesIt) {
  SharedCopy copy{};
  const CopyJob job{.origin_address = 4096, .offset = 0, .bytes = 100'000, .origin = 1, .is_put = true};
  ASSERT_TRUE(begin_copy(copy, job));
  EXPECT_FALSE(begin_copy(copy, job));
  while (!claim_front(copy, job.bytes).empty()) continue;
  ASSERT_TRUE(is_copied(copy));
  end_copy(copy);
  EXPECT_TRUE(begin_copy(copy, job));
}

TEST(SharedCopy, ALateTargetClaimsNothingOfTheNextJob) {
  SharedCopy copy{};
  const CopyJob first{.origin_address = 4096, .offset = 0, .bytes = 100'000, .origin = 1, .is_put = true};
  ASSERT_TRUE(begin_copy(copy, first));
  CopyJob seen;
  const std::uint64_t claims = read_job(copy, &seen);
  ASSERT_TRUE(has_work(claims, seen));
  while (!claim_front(copy, first.bytes).empty()) continue;
  end_copy(copy);
  ASSERT_TRUE(
      begin_copy(copy, {.origin_address = 8192, .offset = 8, .bytes = 50, .origin = 2, .is_put = false}));
  Piece piece;
  EXPECT_FALSE(try_claim_back(copy, claims, seen, &piece));
}

// What was exhausted must not have pieces again when its description changes to that of a larger job.
TEST(SharedCopy, BetweenJobsThereIsNothingToClaim) {
  SharedCopy copy{};
  copy.bytes = kJobBytesMax;
  CopyJob seen;
  std::uint64_t claims = read_job(copy, &seen);
  EXPECT_FALSE(has_work(claims, seen)) << "before the first job";
  const CopyJob job{.origin_address = 4096, .offset = 0, .bytes = 100, .origin = 1, .is_put = true};
  ASSERT_TRUE(begin_copy(copy, job));
  while (!claim_front(copy, job.bytes).empty()) continue;
  end_copy(copy);
  copy.bytes = kJobBytesMax;
  claims = read_job(copy, &seen);
  EXPECT_FALSE(has_work(claims, seen));
}

TEST(SharedCopy, CountsFitHoweverLargeTheJob) {
  SharedCopy copy{};
  const std::int64_t bytes = std::int64_t{1} << 46;
  ASSERT_TRUE(
      begin_copy(copy, {.origin_address = 4096, .offset = 0, .bytes = bytes, .origin = 1, .is_put = true}));
  std::int64_t sum = 0;
  std::int64_t end = 0;
  for (Piece piece = claim_front(copy, bytes); !piece.empty(); piece = claim_front(copy, bytes)) {
    ASSERT_EQ(piece.begin, end);
    end = piece.end;
    sum += piece.end - piece.begin;
  }
  EXPECT_EQ(sum, bytes);
  EXPECT_TRUE(is_copied(copy));
}

}  // namespace
}  // namespace tasuki::rma
