// PostedCopy: two threads copy a job together, job after job; every byte arrives once, before the origin goes
// on, and a target that is late never touches what belongs to another job.
#include "rma/control/posted_copy.hpp"

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
bool help_with(PostedCopy& posted, std::byte* part) {
  CopyJob job;
  CooperativeCopyEnd end = join_copy(posted, &job);
  if (!end.exists()) return false;
  const ByteRange piece = end.claim({}, kPostedPieces);
  if (!piece.empty()) {
    std::byte* own = part + job.offset + piece.begin;
    auto* others = reinterpret_cast<std::byte*>(job.origin_address) + piece.begin;
    std::memcpy(job.action.is_put ? own : others, job.action.is_put ? others : own,
                static_cast<std::size_t>(piece.bytes()));
    end.report(piece);
  }
  leave_copy(posted);
  return !piece.empty();
}

/// The origin's side. Returns whether the copy was free.
bool copy_with(PostedCopy& posted, std::byte* origin, std::byte* part, const CopyJob& job) {
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, job, &piece);
  if (!end.exists()) return false;
  for (; !piece.empty(); piece = end.claim(piece, kPostedPieces)) {
    std::byte* target = part + job.offset + piece.begin;
    std::memcpy(job.action.is_put ? target : origin + piece.begin,
                job.action.is_put ? origin + piece.begin : target, static_cast<std::size_t>(piece.bytes()));
  }
  close_copy(posted);
  while (!is_copied(posted, end)) {
    EXPECT_TRUE(is_sound(posted, end));
    std::this_thread::yield();
  }
  free_copy(posted);
  return true;
}

TEST(PostedCopy, EveryByteArrivesWhicheverRankCopiesIt) {
  PostedCopy posted{};
  std::vector<std::byte> part(kJobBytesMax + 100);
  std::vector<std::byte> origin(kJobBytesMax);
  std::atomic<bool> over{false};
  std::atomic<int> pieces{0};
  std::thread target([&] {
    while (!over.load())
      help_with(posted, part.data()) ? static_cast<void>(++pieces) : std::this_thread::yield();
  });
  for (int round = 0; round < 100 || (pieces.load() == 0 && round < 10'000); ++round) {
    const std::int64_t bytes = round % 10 == 0 ? kJobBytesMax : 1 + round * 997 % kJobBytesMax;
    std::fill(origin.begin(), origin.end(), static_cast<std::byte>(round));
    std::fill(part.begin(), part.end(), static_cast<std::byte>(round + 1));
    const CopyJob job{.origin_address = reinterpret_cast<SymmetricAddress>(origin.data()),
                      .offset = round % 100,
                      .bytes = bytes,
                      .origin = 0,
                      .action = {.is_put = round % 2 == 0}};
    ASSERT_TRUE(copy_with(posted, origin.data(), part.data(), job));
    const auto& changed = job.action.is_put ? part : origin;
    const auto begin = changed.begin() + (job.action.is_put ? job.offset : 0);
    const auto value = static_cast<std::byte>(job.action.is_put ? round : round + 1);
    const auto before = static_cast<std::byte>(job.action.is_put ? round + 1 : round);
    ASSERT_TRUE(std::all_of(begin, begin + bytes, [value](std::byte one) { return one == value; }));
    ASSERT_TRUE(std::all_of(begin + bytes, changed.end(), [before](std::byte one) { return one == before; }));
  }
  over = true;
  target.join();
  EXPECT_GT(pieces.load(), 0);
}

constexpr CopyJob kJob{
    .origin_address = 4096, .offset = 0, .bytes = 100'000, .origin = 1, .action = {.is_put = true}};

/// An origin that copies all of it itself.
void copy_alone(PostedCopy& posted, const CopyJob& job) {
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, job, &piece);
  ASSERT_TRUE(end.exists());
  while (!piece.empty()) piece = end.claim(piece, kPostedPieces);
  close_copy(posted);
  ASSERT_TRUE(is_copied(posted, end));
  free_copy(posted);
}

TEST(PostedCopy, OfSeveralOriginsOneUsesIt) {
  PostedCopy posted{};
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, kJob, &piece);
  ASSERT_TRUE(end.exists());
  EXPECT_FALSE(post_copy(posted, kJob, &piece).exists());
  while (!piece.empty()) piece = end.claim(piece, kPostedPieces);
  close_copy(posted);
  ASSERT_TRUE(is_copied(posted, end));
  free_copy(posted);
  copy_alone(posted, kJob);
}

// As long as the target may look at the job, its description stays.
TEST(PostedCopy, TheOriginWaitsForATargetThatHasJoined) {
  PostedCopy posted{};
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, kJob, &piece);
  CopyJob seen;
  CooperativeCopyEnd late = join_copy(posted, &seen);
  ASSERT_TRUE(late.exists());
  EXPECT_EQ(seen.bytes, kJob.bytes);
  while (!piece.empty()) piece = end.claim(piece, kPostedPieces);
  close_copy(posted);
  EXPECT_FALSE(is_copied(posted, end)) << "the target is still there";
  EXPECT_TRUE(late.claim({}, kPostedPieces).empty());
  leave_copy(posted);
  EXPECT_TRUE(is_copied(posted, end));
}

TEST(PostedCopy, ATargetJoinsOnlyWhereThereIsWork) {
  PostedCopy posted{};
  posted.bytes = kJobBytesMax;
  CopyJob seen;
  EXPECT_FALSE(join_copy(posted, &seen).exists()) << "before the first job";
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, kJob, &piece);
  while (!piece.empty()) piece = end.claim(piece, kPostedPieces);
  EXPECT_FALSE(join_copy(posted, &seen).exists()) << "all of it is claimed";
  close_copy(posted);
  EXPECT_FALSE(join_copy(posted, &seen).exists()) << "it is closed";
  free_copy(posted);
  posted.bytes = kJobBytesMax;
  EXPECT_FALSE(join_copy(posted, &seen).exists()) << "between jobs";
  EXPECT_EQ(posted.joined.load(), 0U);
}

TEST(PostedCopy, WhatCannotBeIsNotSound) {
  PostedCopy posted{};
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, kJob, &piece);
  EXPECT_TRUE(is_sound(posted, end));
  posted.joined = 77;
  EXPECT_FALSE(is_sound(posted, end));
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-5}, INT64_MAX}) {
    posted.bytes = bytes;
    CopyJob seen;
    EXPECT_FALSE(join_copy(posted, &seen).exists());
  }
}

TEST(PostedCopy, CountsFitHoweverLargeTheJobAndHoweverManyThereAre) {
  PostedCopy posted{};
  ByteRange piece;
  const CopyJob large{.origin_address = 4096, .offset = 0, .bytes = std::int64_t{1} << 46, .origin = 1};
  CooperativeCopyEnd end = post_copy(posted, large, &piece);
  std::int64_t sum = 0, last = 0;
  for (; !piece.empty(); piece = end.claim(piece, kPostedPieces)) {
    ASSERT_EQ(piece.begin, last);
    last = piece.end;
    sum += piece.bytes();
  }
  EXPECT_EQ(sum, large.bytes);
  close_copy(posted);
  EXPECT_TRUE(is_copied(posted, end));
  free_copy(posted);
  for (std::uint32_t i = 0; i < 2 * CooperativeCopy::kGenerations + 3; ++i) copy_alone(posted, kJob);
}

}  // namespace
}  // namespace tasuki::rma
