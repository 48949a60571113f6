// Filling blocks, and looking at what came.
#include "blocks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

namespace mbl {
namespace {

constexpr unsigned char kPoison = 0xa5;

std::uint64_t bits_of(double word) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &word, sizeof(bits));
  return bits;
}

}  // namespace

std::uint64_t word_of(const Route& route, std::size_t index) {
  const std::uint64_t message =
      (static_cast<std::uint64_t>(route.from) << 20) + static_cast<unsigned>(route.to);
  // An odd factor: different names have different words, and they differ in many bytes.
  return ((message << 32) + index + 1) * 0x9e3779b97f4a7c15u;
}

double number_of(int rank, std::size_t index) {
  return (rank + 1.0) * static_cast<double>(index % 1000 + 1);
}

int length_of(const Route& route, int words, Lengths lengths) {
  if (lengths == Lengths::kEven || route.steps == 1) return words;
  return static_cast<int>(2LL * words * route.step / (route.steps - 1));
}

Blocks::Blocks(std::vector<Route> routes, int words, Lengths lengths, Memory memory)
    : routes_(std::move(routes)) {
  for (const Route& route : routes_) {
    offsets_.push_back(words_of_all_);
    counts_.push_back(length_of(route, words, lengths));
    words_of_all_ += counts_.back();
  }
  memory_ = std::make_unique<Buffer>((words_of_all_ + 1) * std::int64_t{kWordBytes}, memory);  // never empty
}

void Blocks::poison() {
  std::memset(data(), kPoison, static_cast<std::size_t>(words_of_all_) * kWordBytes);
}

void Blocks::clear() {
  std::fill_n(data(), words_of_all_, 0.0);
}

void Blocks::fill() {
  for (int block = 0; block < size(); ++block) fill(routes_[static_cast<std::size_t>(block)], block);
}

void Blocks::fill(const Route& route, int block) {
  double* at = this->block(block);
  const auto count = static_cast<std::size_t>(counts_[static_cast<std::size_t>(block)]);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = word_of(route, i);
    std::memcpy(at + i, &word, sizeof(word));
  }
}

void Blocks::fill_numbers(int rank) {
  double* at = data();
  for (std::size_t i = 0; i < static_cast<std::size_t>(words_of_all_); ++i) at[i] = number_of(rank, i);
}

std::string Blocks::wrong(const std::vector<Route>& routes) const {
  for (std::size_t block = 0; block < routes.size(); ++block) {
    const double* at = data() + offsets_[block];
    for (std::size_t i = 0; i < static_cast<std::size_t>(counts_[block]); ++i) {
      const std::uint64_t came = bits_of(at[i]), expected = word_of(routes[block], i);
      if (came == expected) continue;
      char text[160];
      std::snprintf(text, sizeof(text), "block %zu, from rank %d: at byte %zu came %016llx, expected %016llx",
                    block, routes[block].from, i * kWordBytes, static_cast<unsigned long long>(came),
                    static_cast<unsigned long long>(expected));
      return text;
    }
  }
  return "";
}

std::string Blocks::wrong_sums(int ranks, std::size_t first) const {
  const double factor = 0.5 * ranks * (ranks + 1);  // 1 + 2 + … + ranks
  const double* at = data();
  for (std::size_t i = 0; i < static_cast<std::size_t>(words_of_all_); ++i) {
    const double expected = factor * number_of(0, first + i);
    if (at[i] == expected) continue;
    char text[160];
    std::snprintf(text, sizeof(text), "sum of %d ranks: at byte %zu came %.17g, expected %.17g", ranks,
                  i * kWordBytes, at[i], expected);
    return text;
  }
  return "";
}

bool fits_int(const Setting& setting, std::int64_t blocks, std::int64_t unit) {
  return setting.bytes / unit <= std::numeric_limits<int>::max() / blocks;
}

}  // namespace mbl
