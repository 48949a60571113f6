// The innermost loops for processors with AVX-512.
#include "force_kernel.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("arch=x86-64-v4"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#endif
#include "force_kernel_loops.hpp"

namespace spam {
namespace {

// An approximate 1 / sqrt(a) to 14 bits, y, and the series of sqrt(a) = a y (1 - e)^(-1/2) for e = 1 - a y^2
// up to e^3: with |e| < 2^-13 the rest is below the rounding of a double.
struct Avx512 {
#ifdef SPAM_WIDE
  static constexpr int kLanes = 8;
#else
  static constexpr int kLanes = 4;
#endif
  using Real = Vectors<kLanes>::Real;
  static SPAM_INLINE Real root(Real square) {
#ifdef SPAM_WIDE
    const Real y = _mm512_rsqrt14_pd(square);
#else
    const Real y = _mm256_rsqrt14_pd(square);
#endif
    const Real near = square * y;
    const Real e = 1.0 - near * y;
    const Real series = 0.5 + e * (0.375 + e * 0.3125);
    return near + near * e * series;
  }
};

template <bool kFriction>
constexpr Kernels kKernels = make_kernels<Avx512, kFriction>("avx512");

}  // namespace
}  // namespace spam
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace spam {

const Kernels* avx512_kernels(bool friction) {
  __builtin_cpu_init();
  if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")))
    return nullptr;
  return friction ? &kKernels<true> : &kKernels<false>;
}

}  // namespace spam

#else
namespace spam {
const Kernels* avx512_kernels(bool) {
  return nullptr;
}
}  // namespace spam
#endif
