// Shows that copy_bytes moves all bytes, and no others, whatever the size and however target and source lie
// to each other in their pages, and which of these places go by pieces.
#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tasuki {
namespace {

constexpr std::size_t kPage = 4096;

struct Pages {
  alignas(kPage) std::byte source[6 * kPage];
  alignas(kPage) std::byte target[6 * kPage];
};

void expect_all_bytes_and_no_others(void (*copy)(void* to, const void* from, std::size_t bytes)) {
  static Pages pages;
  for (std::size_t i = 0; i < sizeof pages.source; ++i)
    pages.source[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const std::size_t bytes : {0, 1, 63, 64, 200, 1023, 2047, 2048, 2049, 3072, 3073, 9000, 16384}) {
    for (const std::size_t behind : {0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 2048, 4095}) {
      std::memset(pages.target, 0xEE, sizeof pages.target);
      std::byte* const target = pages.target + behind;
      copy(target, pages.source, bytes);
      ASSERT_EQ(std::memcmp(target, pages.source, bytes), 0) << bytes << " bytes, " << behind << " behind";
      for (const std::byte* at = pages.target; at < target; ++at) ASSERT_EQ(*at, std::byte{0xEE});
      for (const std::byte* at = target + bytes; at < std::end(pages.target); ++at)
        ASSERT_EQ(*at, std::byte{0xEE}) << bytes << " bytes, " << behind << " behind";
    }
  }
}

TEST(CopyBytes, MovesAllBytesAndNoOthers) {
  expect_all_bytes_and_no_others(copy_bytes);
}

TEST(StreamBytes, MovesAllBytesAndNoOthers) {
  expect_all_bytes_and_no_others(stream_bytes);
}

TEST(CopyBytes, KnowsTargetsJustBehindTheirSources) {
  static Pages pages;
  EXPECT_TRUE(is_just_behind(pages.target + 8, pages.source));
  EXPECT_TRUE(is_just_behind(pages.target + 8, pages.source + kPage)) << "in another page";
  EXPECT_TRUE(is_just_behind(pages.target + 3, pages.source + kPage - 5)) << "over the end of a page";
  EXPECT_FALSE(is_just_behind(pages.target, pages.source));
  EXPECT_FALSE(is_just_behind(pages.target, pages.source + 8));
  EXPECT_FALSE(is_just_behind(pages.target + 64, pages.source));
}

}  // namespace
}  // namespace tasuki
