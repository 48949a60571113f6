// The innermost loops for processors with AVX2. Vectors of AVX-512, with its approximate roots and Newton's
// steps or with as many lanes again, were no faster where they were tried: more lanes stay empty at both ends
// of a run.
#include "force_kernel.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("arch=x86-64-v3"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#endif
#include "force_kernel_loops.hpp"

namespace spam {
namespace {

struct Avx2 {
  static constexpr int kLanes = 4;
  using Real = Vectors<kLanes>::Real;
  static SPAM_INLINE Real root(Real square) { return _mm256_sqrt_pd(square); }
};

template <bool kFriction>
constexpr Kernels kKernels = make_kernels<Avx2, kFriction>("avx2");

}  // namespace
}  // namespace spam
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace spam {

const Kernels* avx2_kernels(bool friction) {
  __builtin_cpu_init();
  if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")))
    return nullptr;
  return friction ? &kKernels<true> : &kKernels<false>;
}

}  // namespace spam

#else
namespace spam {
const Kernels* avx2_kernels(bool) {
  return nullptr;
}
}  // namespace spam
#endif
