// What the tests of large messages share: layouts whose bytes the test places itself, and what went which
// way.
#pragma once

#include <array>
#include <vector>

#include "base/variables/counters.hpp"
#include "p2p/ranks.hpp"

namespace tasuki::test {

/// Ways for a message to lie in memory. One element of kListed is a whole message.
enum class Lie { kDense, kBlocks, kSmallBlocks, kIrregular, kListed };
inline constexpr std::array<Lie, 5> kLies = {Lie::kDense, Lie::kBlocks, Lie::kSmallBlocks, Lie::kIrregular,
                                             Lie::kListed};
inline constexpr int kListedPeriods = 50;  // of three blocks each

/// Bytes of one element.
inline std::size_t element_bytes(Lie lie) {
  constexpr std::size_t kBytes[] = {1, 1500, 8, 12, 1200 * kListedPeriods};
  return kBytes[static_cast<int>(lie)];
}

/// Where byte `i` of a message lies.
std::size_t place_of(Lie lie, std::size_t i);

/// The types of all lies, of one rank.
class Types {
 public:
  explicit Types(Rank& on) : process_(on.process) {
    types_[0] = on.byte;
    Datatype* made = nullptr;
    EXPECT_EQ(api::type_vector(process_, 3, 500, 700, on.byte, &made, false), 0);
    EXPECT_EQ(api::type_create_resized(process_, made, 0, 2100, &types_[1], false), 0);
    api::type_free(process_, &made);
    EXPECT_EQ(api::type_contiguous(process_, 8, on.byte, &made, false), 0);
    EXPECT_EQ(api::type_create_resized(process_, made, 0, 20, &types_[2], false), 0);
    api::type_free(process_, &made);
    const int lengths[] = {5, 7}, displacements[] = {0, 9};
    EXPECT_EQ(
        api::type_indexed(process_, 2, CountArray(lengths), CountArray(displacements), on.byte, &made, false),
        0);
    EXPECT_EQ(api::type_create_resized(process_, made, 0, 20, &types_[3], false), 0);
    api::type_free(process_, &made);
    make_listed(on);
    for (std::size_t i = 1; i < types_.size(); ++i) EXPECT_EQ(api::type_commit(process_, &types_[i]), 0);
  }
  ~Types() {
    for (std::size_t i = 1; i < types_.size(); ++i) api::type_free(process_, &types_[i]);
  }
  Datatype* operator[](Lie lie) { return types_[static_cast<std::size_t>(lie)]; }

 private:
  void make_listed(Rank& on) {
    std::vector<int> lengths, displacements;
    for (int i = 0; i < kListedPeriods; ++i) {
      lengths.insert(lengths.end(), {700, 100, 400});
      displacements.insert(displacements.end(), {1500 * i + 800, 1500 * i + 600, 1500 * i});
    }
    EXPECT_EQ(api::type_indexed(process_, 3 * kListedPeriods, CountArray(lengths.data()),
                                CountArray(displacements.data()), on.byte, &types_[4], false),
              0);
  }

  Process& process_;
  std::array<Datatype*, 5> types_{};
};

/// A buffer in which a message lies in one of the ways; the bytes between are 0xee and have to stay so.
struct Buffer {
  Buffer(Lie how, std::size_t elements)
      : lie(how),
        count(elements),
        bytes(elements * element_bytes(how)),
        memory(place_of(how, bytes) + 32, 0xee) {}

  void put(const Bytes& data);
  Bytes get(std::size_t size) const;
  /// Whether nothing was written but the first `size` bytes of the message.
  bool untouched_beside(std::size_t size) const;

  Lie lie;
  std::size_t count;
  std::size_t bytes;
  Bytes memory;
};

inline std::uint64_t sent(Rank& on, Way way) {
  return on.process.counters.of(way).sent.messages;
}
inline std::uint64_t received(Rank& on, Way way) {
  return on.process.counters.of(way).received.messages;
}

}  // namespace tasuki::test
