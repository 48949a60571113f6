// Virtual topologies (MPI chapter 8): so far the balanced factorisation, and the question whether there is
// one.
#include <algorithm>
#include <functional>
#include <vector>

#include "object/api.hpp"

namespace tasuki {
namespace {

/// The divisors of `number`, smallest first.
std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= number / divisor; ++divisor) {
    if (number % divisor != 0) continue;
    divisors.push_back(divisor);
    if (divisor != number / divisor) divisors.push_back(number / divisor);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

/// Writes `number` as a product of `count` factors, largest first, such that the largest is as small as
/// possible, then the second, and so on (MPI 8.5.2: as close to each other as possible).
std::vector<int> balanced_factors(int number, std::size_t count) {
  const std::vector<int> divisors = divisors_of(number);
  std::vector<int> factors;
  // Tries the factors that are left, none above `bound`, smallest first: the first success is the best.
  const std::function<bool(int, int)> choose = [&](int left, int bound) {
    if (factors.size() == count) return left == 1;
    for (const int divisor : divisors) {
      if (divisor > bound) return false;
      if (left % divisor != 0) continue;
      double reach = 1;  // the most that factors up to `divisor` can make
      for (std::size_t i = factors.size(); i < count; ++i) reach *= divisor;
      if (reach < left) continue;
      factors.push_back(divisor);
      if (choose(left / divisor, divisor)) return true;
      factors.pop_back();
    }
    return false;
  };
  choose(number, number);
  return factors;
}

}  // namespace

namespace api {

Code dims_create(Process& process, int nnodes, int ndims, int* dims) {
  if (nnodes < 1) return process.fail(kErrArg, "nnodes = %d, expected at least 1", nnodes);
  if (ndims < 0) return process.fail(kErrDims, "ndims = %d, expected at least 0", ndims);
  int left = nnodes;
  std::vector<int*> open;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0) return process.fail(kErrDims, "dims[%d] = %d, expected at least 0", i, dims[i]);
    if (dims[i] == 0) {
      open.push_back(&dims[i]);
    } else if (left % dims[i] != 0) {
      return process.fail(kErrDims,
                          "dims[%d] = %d, expected a divisor of nnodes = %d and the other given dims", i,
                          dims[i], nnodes);
    } else {
      left /= dims[i];
    }
  }
  if (open.empty()) {
    if (left == 1 || ndims == 0) return 0;
    return process.fail(kErrDims, "dims multiply to %d, expected nnodes = %d or a dimension left at 0",
                        nnodes / left, nnodes);
  }
  const std::vector<int> factors = balanced_factors(left, open.size());
  for (std::size_t i = 0; i < open.size(); ++i) *open[i] = factors[i];
  return 0;
}

Code topo_test(Process&, Comm*, int* status) {
  *status = kUndefined;  // no call of this version makes a communicator with a topology
  return 0;
}

}  // namespace api
}  // namespace tasuki
