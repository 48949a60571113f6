// The choice of the innermost loops, and those for any processor.
#include "force_kernel.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "force_kernel_loops.hpp"

namespace spam {
namespace {

struct Portable {
  static constexpr int kLanes = 2;
  using Real = Vectors<kLanes>::Real;
  static SPAM_INLINE Real root(Real square) { return Real{std::sqrt(square[0]), std::sqrt(square[1])}; }
};

template <bool kFriction>
constexpr Kernels kPortable = make_kernels<Portable, kFriction>("portable");

}  // namespace

const Kernels& choose_kernels(bool friction) {
  const char* wanted = std::getenv("SPAM_KERNEL");
  for (const Kernels* kernels : {avx512_kernels(friction), avx2_kernels(friction)})
    if (kernels != nullptr && (wanted == nullptr || !std::strcmp(wanted, kernels->name))) return *kernels;
  return friction ? kPortable<true> : kPortable<false>;
}

}  // namespace spam
