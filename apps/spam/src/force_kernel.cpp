// The choice of the innermost loops, and those for any processor.
#include "force_kernel.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "force_kernel_loops.hpp"
#include "lucy.hpp"

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

PairConstants pair_constants(const Material& material) {
  const Lucy lucy(material.range);
  PairConstants constants;
  constants.inverse_range = lucy.inverse_range;
  constants.range_squared = material.range * material.range;
  constants.push = material.beta / 60 * material.mass * material.mass * lucy.push(0);
  constants.drag = material.viscosity / constants.range_squared;
  constants.density_weight = material.mass * lucy.weight_scale;
  return constants;
}

const Kernels& choose_kernels(bool friction) {
  const char* wanted = std::getenv("SPAM_KERNEL");
  const Kernels* avx2 = avx2_kernels(friction);
  if (avx2 != nullptr && (wanted == nullptr || std::strcmp(wanted, "portable") != 0)) return *avx2;
  return friction ? kPortable<true> : kPortable<false>;
}

}  // namespace spam
