// Sorting that leaves what is equal in the order it was in.
//
// std::stable_sort and std::stable_partition of gcc 12's library have their memory from
// std::get_temporary_buffer, which C++17 has for deprecated: clang, from 19 on, says so of each call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace tasuki {

/// As std::stable_sort: `is_before(one, other)` says whether one has to come before the other.
template <class Element, class IsBefore>
void stable_sort(std::vector<Element>* elements, IsBefore is_before) {
  const std::vector<Element>& all = *elements;
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    if (is_before(all[one], all[other])) return true;
    return one < other && !is_before(all[other], all[one]);
  });
  std::vector<Element> sorted;
  sorted.reserve(all.size());
  for (const std::size_t place : order) sorted.push_back(std::move((*elements)[place]));
  *elements = std::move(sorted);
}

}  // namespace tasuki
