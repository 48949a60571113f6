// MPI_Dims_create: factors as close to each other as possible, fixed dimensions kept, bad input refused.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "object/api.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

TEST(DimsCreateTest, BalancedAndDescending) {
  test::run_ranks(1, [](Process& process) {
    const struct {
      int nodes;
      std::vector<int> expected;
    } cases[] = {{1, {1}},
                 {6, {3, 2}},
                 {7, {7, 1}},
                 {12, {4, 3}},
                 {12, {3, 2, 2}},
                 {64, {4, 4, 4}},
                 {60, {5, 4, 3}},
                 {96, {6, 4, 4}},
                 {1000, {10, 10, 10}},
                 {36, {6, 6}},
                 {2147483647, {2147483647, 1}},
                 {1 << 30, {1024, 1024, 1024}}};
    for (const auto& each : cases) {
      std::vector<int> dims(each.expected.size(), 0);
      ASSERT_EQ(api::dims_create(process, each.nodes, static_cast<int>(dims.size()), dims.data()), 0);
      EXPECT_EQ(dims, each.expected) << each.nodes;
    }
  });
}

TEST(DimsCreateTest, GivenDimensionsStay) {
  test::run_ranks(1, [](Process& process) {
    int dims[] = {0, 3, 0};
    ASSERT_EQ(api::dims_create(process, 12, 3, dims), 0);
    EXPECT_EQ(std::vector<int>(dims, dims + 3), (std::vector<int>{2, 3, 2}));
  });
}

TEST(DimsCreateTest, RefusesWhatDoesNotDivide) {
  test::run_ranks(1, [](Process& process) {
    int five[] = {5, 0};
    const Code code = api::dims_create(process, 12, 2, five);
    EXPECT_EQ(error_class_bits(code), kErrDims);
    EXPECT_EQ(process.errors.text(code),
              "dims[0] = 5, expected a divisor of nnodes = 12 and the other given dims");
    int full[] = {2, 2};
    EXPECT_EQ(error_class_bits(api::dims_create(process, 12, 2, full)), kErrDims);
    int negative[] = {-1, 0};
    EXPECT_EQ(error_class_bits(api::dims_create(process, 12, 2, negative)), kErrDims);
    EXPECT_EQ(error_class_bits(api::dims_create(process, 0, 2, negative)), kErrArg);
  });
}

}  // namespace
}  // namespace tasuki
