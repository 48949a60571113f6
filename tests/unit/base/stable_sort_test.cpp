// Shows that what is equal stays in its order, whatever the order and number of the others, and that elements
// are moved.
#include "base/stable_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace tasuki {
namespace {

TEST(StableSort, LeavesEqualsInTheirOrder) {
  std::mt19937 random(7);
  for (int size = 0; size < 200; ++size) {
    std::vector<std::pair<int, int>> elements;  // a key, and its place among all
    for (int place = 0; place < size; ++place) elements.emplace_back(static_cast<int>(random() % 5), place);
    std::vector<std::pair<int, int>> expected = elements;
    std::sort(expected.begin(), expected.end());
    stable_sort(&elements, [](const auto& one, const auto& other) { return one.first < other.first; });
    EXPECT_EQ(elements, expected) << size << " elements";
  }
}

TEST(StableSort, MovesElements) {
  std::vector<std::unique_ptr<int>> elements;
  for (const int number : {3, 1, 2}) elements.push_back(std::make_unique<int>(number));
  stable_sort(&elements, [](const auto& one, const auto& other) { return *one < *other; });
  for (int place = 0; place < 3; ++place) EXPECT_EQ(*elements[static_cast<std::size_t>(place)], place + 1);
}

}  // namespace
}  // namespace tasuki
