// MPI_Gatherv, MPI_Scatterv and MPI_Allgatherv on a node segment: short blocks over the flags, long ones by
// messages, and both in one collective, of which each rank knows its own part alone. Blocks are random:
// none, short and long, of a contiguous type and of one with gaps, in place or not; and calls that are wrong.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/predefined.hpp"
#include "base/variables/algorithm_table.hpp"
#include "coll/api.hpp"
#include "coll/run/execution.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "support/sanitized.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::Network;
using test::run_ranks;
using test::WorldOptions;

constexpr int kGap = -7;
constexpr int kCalls = test::kSanitized ? 40 : 150;

class Blocks {
 public:
  explicit Blocks(Process& process) : process_(process), world_(*process.objects->world) {
    integer_ = static_cast<Datatype*>(process.objects->predefined[kMpiInt]);
    EXPECT_EQ(api::type_vector(process, 2, 1, 2, integer_, &with_gap_, false), 0);  // 3 integers, 2 with data
    EXPECT_EQ(api::type_commit(process, &with_gap_), 0);
  }
  ~Blocks() { EXPECT_EQ(api::type_free(process_, &with_gap_), 0); }

  /// What all ranks draw alike.
  void draw(std::mt19937& same) {
    constexpr int kCounts[] = {0, 1, 1, 2, 5, 100, 300, 3000, 40000};
    const std::size_t kinds = same() % 3 == 0 ? std::size(kCounts) : 5;  // most calls have short ones alone
    counts_.clear();
    firsts_.clear();
    int room = 0;
    for (int rank = 0; rank < world_.size(); ++rank) {
      room += static_cast<int>(same() % 3);
      firsts_.push_back(room);
      counts_.push_back(kCounts[same() % kinds]);
      room += counts_.back();
    }
    room_ = room;
    root_ = static_cast<int>(same()) & 0xffff;
    root_ %= world_.size();
    in_place_ = same() % 3 == 0;
    gaps_in_ = same() % 3 == 0;
    gaps_out_ = same() % 3 == 0;
    salt_ = static_cast<int>(same() % 1000);
  }

  void gatherv() {
    const bool is_root = world_.rank == root_;
    std::vector<int> out = own(gaps_out_), in = room(gaps_in_);
    if (is_root && in_place_) fill(in, gaps_in_, world_.rank);
    ASSERT_EQ(api::gatherv(process_, is_root && in_place_ ? kInPlace : out.data(), own_count(),
                           type(gaps_out_), in.data(), CountArray(counts_.data()), CountArray(firsts_.data()),
                           type(gaps_in_), root_, &world_),
              0);
    if (is_root) expect_all(in);
  }

  void allgatherv() {
    std::vector<int> out = own(gaps_out_), in = room(gaps_in_);
    if (in_place_) fill(in, gaps_in_, world_.rank);
    ASSERT_EQ(
        api::allgatherv(process_, in_place_ ? kInPlace : out.data(), own_count(), type(gaps_out_), in.data(),
                        CountArray(counts_.data()), CountArray(firsts_.data()), type(gaps_in_), &world_),
        0);
    expect_all(in);
  }

  void scatterv() {
    const bool is_root = world_.rank == root_;
    std::vector<int> out = room(gaps_out_), in(own(gaps_in_).size(), kGap);
    for (int rank = 0; is_root && rank < world_.size(); ++rank) fill(out, gaps_out_, rank);
    const bool in_place = is_root && in_place_;
    ASSERT_EQ(api::scatterv(process_, out.data(), CountArray(counts_.data()), CountArray(firsts_.data()),
                            type(gaps_out_), in_place ? kInPlace : in.data(), own_count(), type(gaps_in_),
                            root_, &world_),
              0);
    if (!in_place) EXPECT_EQ(in, own(gaps_in_)) << "root " << root_;
  }

 private:
  // A count is of blocks of two integers: (int, int), or with a gap between them.
  Datatype* type(bool gaps) { return gaps ? with_gap_ : pair(); }
  Datatype* pair() {
    if (pair_ == nullptr) {
      EXPECT_EQ(api::type_contiguous(process_, 2, integer_, &pair_, false), 0);
      EXPECT_EQ(api::type_commit(process_, &pair_), 0);
      pairs_.reset(pair_);
    }
    return pair_;
  }
  struct Free {
    void operator()(Datatype* type) const { release(type); }
  };
  static int width(bool gaps) { return gaps ? 3 : 2; }
  int own_count() const { return counts_[static_cast<std::size_t>(world_.rank)]; }
  std::vector<int> room(bool gaps) const {
    return std::vector<int>(static_cast<std::size_t>((room_ + 1) * width(gaps)), kGap);
  }
  int number(int rank, int index, int part) const { return salt_ + 100000 * rank + 2 * index + part; }

  void fill(std::vector<int>& buffer, bool gaps, int rank, int first = -1) const {
    if (first < 0) first = firsts_[static_cast<std::size_t>(rank)];
    for (int index = 0; index < counts_[static_cast<std::size_t>(rank)]; ++index) {
      int* element = &buffer[static_cast<std::size_t>((first + index) * width(gaps))];
      element[0] = number(rank, index, 0);
      element[width(gaps) - 1] = number(rank, index, 1);
    }
  }
  std::vector<int> own(bool gaps) const {
    std::vector<int> buffer(static_cast<std::size_t>((own_count() + 1) * width(gaps)), kGap);
    fill(buffer, gaps, world_.rank, 0);
    return buffer;
  }
  void expect_all(const std::vector<int>& in) const {
    std::vector<int> expected = room(gaps_in_);
    for (int rank = 0; rank < world_.size(); ++rank) fill(expected, gaps_in_, rank);
    EXPECT_TRUE(in == expected) << "root " << root_ << ", rank " << world_.rank;
  }

  Process& process_;
  Comm& world_;
  Datatype *integer_, *with_gap_ = nullptr, *pair_ = nullptr;
  std::unique_ptr<Datatype, Free> pairs_;
  std::vector<int> counts_, firsts_;
  int room_ = 0, root_ = 0, salt_ = 0;
  bool in_place_ = false, gaps_in_ = false, gaps_out_ = false;
};

class FlagBlocks : public testing::TestWithParam<std::tuple<int, Network, const char*>> {};

void want(Process& process, Operation operation, const std::string& name) {
  const auto rows = algorithms_of(operation);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].name == name)
      process.config.*operation_row(operation).algorithm = static_cast<std::int64_t>(row) + 1;
  }
}

TEST_P(FlagBlocks, AreRightAtRandom) {
  const auto [size, network, algorithm] = GetParam();
  run_ranks(
      size,
      [&](Process& process) {
        for (const Operation operation : {Operation::kGatherv, Operation::kScatterv})
          want(process, operation, algorithm);
        std::mt19937 same(static_cast<unsigned>(process.size));
        Blocks blocks(process);
        for (int call = 0; call < kCalls && !testing::Test::HasFailure(); ++call) {
          blocks.draw(same);
          switch (same() % 3) {
            case 0:
              blocks.gatherv();
              break;
            case 1:
              blocks.scatterv();
              break;
            default:
              blocks.allgatherv();
          }
        }
        constexpr int kGathers = algorithm_number(Operation::kGatherv, "flag_based");
        if (process.size > 1 && std::string(algorithm) == "flag_based") {
          EXPECT_GT(process.counters.algorithms[kGathers], 0U);
        }
      },
      WorldOptions{.network = network});
}

INSTANTIATE_TEST_SUITE_P(Worlds, FlagBlocks,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values(Network::kSharedMemory, Network::kInproc),
                                          testing::Values("cheapest", "flag_based", "linear")));

/// What does not fit is the error of the rank that receives it, and what follows is right.
TEST(FlagBlock, WithoutRoomIsAnErrorOfTheRankThatReceives) {
  run_ranks(3, [](Process& process) {
    for (const Operation operation : {Operation::kGatherv, Operation::kScatterv})
      want(process, operation, "flag_based");
    Comm& world = *process.objects->world;
    auto* integer = static_cast<Datatype*>(process.objects->predefined[kMpiInt]);
    constexpr int kLong = 5000, kFirst[] = {0, kLong, 2 * kLong};
    std::vector<int> all(3 * kLong), own(kLong, process.rank);
    const bool is_root = process.rank == 1;
    for (const auto& [sent, room] : {std::pair{2, 1}, std::pair{1, 0}, std::pair{kLong, 1},
                                     std::pair{kLong, 0}, std::pair{kLong, kLong - 1}}) {
      const int rooms[] = {room, 1, 1}, sends[] = {sent, 1, 1};
      const int count = process.rank == 0 ? sent : 1;
      Code code = api::gatherv(process, own.data(), count, integer, all.data(), CountArray(rooms),
                               CountArray(kFirst), integer, 1, &world);
      EXPECT_EQ(error_class_bits(code), is_root ? kErrTruncate : 0) << sent << " to " << room;
      EXPECT_TRUE(!is_root || all[2 * kLong] == 2) << sent << " to " << room;
      code = api::scatterv(process, all.data(), CountArray(sends), CountArray(kFirst), integer, own.data(),
                           process.rank == 0 ? room : 1, integer, 1, &world);
      EXPECT_EQ(error_class_bits(code), process.rank == 0 ? kErrTruncate : 0) << sent << " to " << room;
      own.assign(kLong, process.rank);
      EXPECT_EQ(api::gatherv(process, own.data(), 1, integer, all.data(), CountArray(sends),
                             CountArray(kFirst), integer, 1, &world),
                0);
      EXPECT_TRUE(!is_root || all[0] == 0) << sent << " to " << room;
    }
  });
}

}  // namespace
}  // namespace tasuki
