// A Directory's values and fences, over the table that all implementations share: what is refused is refused
// in words, what was put is found by all after the fence, and a fence ends with a sentence when a rank has
// ended.
#include "job/directory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "job/value_table.hpp"

namespace tasuki {
namespace {

struct Shared {
  explicit Shared(int size) : pages(static_cast<std::size_t>(size)), ended(static_cast<std::size_t>(size)) {}
  std::byte* memory() { return pages.front().bytes; }
  struct alignas(64) Page {
    std::byte bytes[ValueTable::kPageBytes]{};
  };
  std::vector<Page> pages;
  std::vector<std::atomic<bool>> ended;
};

class TableDirectory final : public Directory {
 public:
  TableDirectory(Shared& shared, int rank)
      : rank_(rank),
        size_(static_cast<int>(shared.ended.size())),
        values_(shared.memory(), rank, size_,
                [&shared](int other) { return shared.ended[static_cast<std::size_t>(other)].load(); }) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool get(int rank, std::string_view key, std::string* value) const override {
    return values_.get(rank, key, value);
  }
  void enter_fence() override { values_.enter_fence(); }
  Fence look_at_fence(std::string* error) override { return values_.look_at_fence(error); }

 protected:
  bool put_checked(std::string_view key, std::string_view value, std::string* error) override {
    return values_.put(key, value, error);
  }

 private:
  int rank_;
  int size_;
  ValueTable values_;
};

std::string value_of(int rank, int round) {
  return std::string(static_cast<std::size_t>(rank * 7 + round), static_cast<char>('a' + round)) +
         std::to_string(rank);
}

class DirectoryOf : public testing::TestWithParam<int> {};

TEST_P(DirectoryOf, WhatWasPutBeforeAFenceIsFoundAfterIt) {
  const int size = GetParam();
  Shared shared(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      TableDirectory directory(shared, rank);
      std::string error;
      for (int round = 0; round < 20; ++round) {
        const std::string key = "key" + std::to_string(round);
        ASSERT_TRUE(directory.put(key, value_of(rank, round), &error)) << error;
        directory.enter_fence();
        ASSERT_TRUE(directory.wait_at_fence(&error)) << error;
        for (int other = 0; other < size; ++other) {
          std::string value;
          ASSERT_TRUE(directory.get(other, key, &value));
          ASSERT_EQ(value, value_of(other, round));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Ranks, DirectoryOf, testing::Values(1, 2, 3, 4, 8));

TEST(Directory, FindsNothingThatWasNotPut) {
  Shared shared(2);
  TableDirectory directory(shared, 0);
  std::string error;
  std::string value = "untouched";
  ASSERT_TRUE(directory.put("here", "", &error));
  EXPECT_FALSE(directory.get(0, "her", &value));
  EXPECT_FALSE(directory.get(0, "here1", &value));
  EXPECT_FALSE(directory.get(1, "here", &value));
  EXPECT_FALSE(directory.get(-1, "here", &value));
  EXPECT_FALSE(directory.get(2, "here", &value));
  EXPECT_EQ(value, "untouched");
  EXPECT_TRUE(directory.get(0, "here", &value));
  EXPECT_EQ(value, "");
}

TEST(Directory, TakesWhatIsAsLongAsCanBeAndRefusesMoreInWords) {
  Shared shared(1);
  TableDirectory directory(shared, 0);
  std::string error;
  const std::string key(kKeyBytesMax, 'k');
  const std::string most(kValueBytesMax, '\0');
  EXPECT_TRUE(directory.put(key, most, &error)) << error;
  std::string value;
  EXPECT_TRUE(directory.get(0, key, &value));
  EXPECT_EQ(value, most);
  EXPECT_FALSE(directory.put(key + "k", "", &error));
  EXPECT_EQ(error, "a key of 64 characters, at most 63 are possible");
  EXPECT_FALSE(directory.put("long", most + "x", &error));
  EXPECT_EQ(error, "the value of \"long\" has 512 bytes, at most 511 are possible");
  EXPECT_FALSE(directory.put(key, "again", &error));
  EXPECT_NE(error.find("has been put before"), std::string::npos) << error;
  for (const char* bad : {"", "two words", "a=b", "a;b", "tab\t"}) {
    EXPECT_FALSE(directory.put(bad, "", &error)) << bad;
    EXPECT_NE(error.find("is no key"), std::string::npos) << error;
  }
}

TEST(Directory, SaysWhenARankHasNoRoomLeft) {
  Shared shared(1);
  TableDirectory directory(shared, 0);
  std::string error;
  int put = 0;
  while (put < 100 && directory.put(std::to_string(put), std::string(kValueBytesMax, 'x'), &error)) ++put;
  EXPECT_EQ(put, 7);
  EXPECT_NE(error.find("no room is left for \"7\""), std::string::npos) << error;
  std::string value;
  for (int i = 0; i < put; ++i) EXPECT_TRUE(directory.get(0, std::to_string(i), &value));
}

TEST(Directory, AFenceIsOpenUntilAllHaveEntered) {
  Shared shared(3);
  TableDirectory first(shared, 0), second(shared, 1), third(shared, 2);
  std::string error;
  first.enter_fence();
  third.enter_fence();
  EXPECT_EQ(first.look_at_fence(&error), Directory::Fence::kOpen);
  second.enter_fence();
  second.enter_fence();  // the next one, already
  EXPECT_EQ(first.look_at_fence(&error), Directory::Fence::kOver);
  EXPECT_EQ(third.look_at_fence(&error), Directory::Fence::kOver);
  EXPECT_EQ(second.look_at_fence(&error), Directory::Fence::kOpen);
  EXPECT_TRUE(error.empty());
}

TEST(Directory, ARankThatHasEndedBreaksTheFenceInWords) {
  Shared shared(3);
  TableDirectory first(shared, 0), second(shared, 1);
  std::string error;
  second.enter_fence();
  shared.ended[1] = true;  // it came, and has ended since: not this fence's trouble
  first.enter_fence();
  EXPECT_EQ(first.look_at_fence(&error), Directory::Fence::kOpen);
  shared.ended[2] = true;
  EXPECT_FALSE(first.wait_at_fence(&error));
  EXPECT_EQ(error, "rank 2 has ended, and all ranks of the job are to come");
}

/// Whatever stands in a page, nothing is read outside of it (the address sanitizer would see that).
TEST(Directory, BelievesNoLengthThatLeadsOutOfAPage) {
  auto shared = std::make_unique<Shared>(1);
  TableDirectory directory(*shared, 0);
  std::mt19937 random(1);
  std::string value;
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < 8; ++i) shared->pages[0].bytes[random() % 160] = static_cast<std::byte>(random());
    directory.get(0, "settings", &value);
    EXPECT_LE(value.size(), ValueTable::kPageBytes);
  }
}

}  // namespace
}  // namespace tasuki
