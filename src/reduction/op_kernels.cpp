// The loops of the predefined reduction operations: plain, so that the compiler makes vector code of them
// (this file is compiled with -O3, which -O2 and its vectorizer are no match for).
//
// Two's complement numbers are added and multiplied as unsigned ones: sums wrap around and are never
// undefined. Complex products are the textbook's, without the C standard's detour for infinities.
#include "reduction/op_kernels.hpp"

#include <type_traits>
#include <utility>

#ifdef __clang__
// Not every operation on every type can be vectorized, and need be.
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace tasuki {
namespace {

template <class T>
struct Complex {
  T real;
  T imaginary;
};

template <class V, class I>
struct ValueIndex {
  V value;
  I index;
};

/// The type in which T is added and multiplied.
template <class T>
struct Wrapping {
  using Type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Wrapping<T> {
  // `unsigned` for the small ones: they would be promoted to int, whose products overflow.
  using Type = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};
__extension__ typedef unsigned __int128 UnsignedInt128;
template <>
struct Wrapping<Int128> {
  using Type = UnsignedInt128;
};

struct Max {
  template <class T>
  static T apply(T in, T inout) {
    return in > inout ? in : inout;
  }
};
struct Min {
  template <class T>
  static T apply(T in, T inout) {
    return in < inout ? in : inout;
  }
};
struct Sum {
  template <class T>
  static T apply(T in, T inout) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(in) + static_cast<W>(inout));
  }
  template <class T>
  static Complex<T> apply(Complex<T> in, Complex<T> inout) {
    return {static_cast<T>(in.real + inout.real), static_cast<T>(in.imaginary + inout.imaginary)};
  }
};
struct Prod {
  template <class T>
  static T apply(T in, T inout) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(in) * static_cast<W>(inout));
  }
  template <class T>
  static Complex<T> apply(Complex<T> in, Complex<T> inout) {
    return {static_cast<T>(in.real * inout.real - in.imaginary * inout.imaginary),
            static_cast<T>(in.real * inout.imaginary + in.imaginary * inout.real)};
  }
};
struct Band {
  template <class T>
  static T apply(T in, T inout) {
    return static_cast<T>(in & inout);
  }
};
struct Bor {
  template <class T>
  static T apply(T in, T inout) {
    return static_cast<T>(in | inout);
  }
};
struct Bxor {
  template <class T>
  static T apply(T in, T inout) {
    return static_cast<T>(in ^ inout);
  }
};
struct Land {
  template <class T>
  static T apply(T in, T inout) {
    return static_cast<T>((in != 0) & (inout != 0));
  }
};
struct Lor {
  template <class T>
  static T apply(T in, T inout) {
    return static_cast<T>((in != 0) | (inout != 0));
  }
};
struct Lxor {
  template <class T>
  static T apply(T in, T inout) {
    return static_cast<T>((in != 0) != (inout != 0));
  }
};
// Of equal values the smaller index wins (MPI 6.9.4).
struct Maxloc {
  template <class V, class I>
  static ValueIndex<V, I> apply(ValueIndex<V, I> in, ValueIndex<V, I> inout) {
    if (in.value == inout.value) return {in.value, in.index < inout.index ? in.index : inout.index};
    return in.value > inout.value ? in : inout;
  }
};
struct Minloc {
  template <class V, class I>
  static ValueIndex<V, I> apply(ValueIndex<V, I> in, ValueIndex<V, I> inout) {
    if (in.value == inout.value) return {in.value, in.index < inout.index ? in.index : inout.index};
    return in.value < inout.value ? in : inout;
  }
};

template <class T>
void put(const T& from, T& to) {
  to = from;
}
/// Nothing between and behind value and index is the pair's.
template <class V, class I>
void put(const ValueIndex<V, I>& from, ValueIndex<V, I>& to) {
  to.value = from.value;
  to.index = from.index;
}

// The result may be one of the operands: no iteration reads what another one writes, which the pragma says.
template <class Operation, class T>
inline __attribute__((always_inline)) void reduce_elements(const void* left, const void* right, void* result,
                                                           std::size_t count) {
  const T* a = static_cast<const T*>(left);
  const T* b = static_cast<const T*>(right);
  T* to = static_cast<T*>(result);
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t index = 0; index < count; ++index) put(Operation::apply(a[index], b[index]), to[index]);
}

template <class Operation, class T>
void reduce_loop(const void* left, const void* right, void* result, std::size_t count) {
  reduce_elements<Operation, T>(left, right, result, count);
}

#ifdef __x86_64__
/// The same loop for processors with AVX2. Without FMA: the results have to be the same on every processor.
template <class Operation, class T>
__attribute__((target("avx2"))) void reduce_loop_avx2(const void* left, const void* right, void* result,
                                                      std::size_t count) {
  reduce_elements<Operation, T>(left, right, result, count);
}
#endif

#ifdef __x86_64__
/// The same loop for processors with vectors of 64 bytes: twice as fast where the data lie in the first-level
/// cache. (The file is compiled without contraction to FMA, which these processors have.)
template <class Operation, class T>
#ifdef __clang__
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), min_vector_width(512)))
#else
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
void reduce_loop_avx512(const void* left, const void* right, void* result, std::size_t count) {
  reduce_elements<Operation, T>(left, right, result, count);
}

/// Whether 64 byte vectors slow nothing else down: since Intel's Ice Lake and AMD's Zen 4, which have VBMI2.
bool has_fast_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vbmi2");
}
#endif

/// GCC makes vfmaddsub of complex products in vectors of 64 bytes, whatever is said of contraction: what is
/// done in vectors and the rest after them would not be the same.
template <class Operation, class T>
constexpr bool kIsContracted = false;
template <class T>
constexpr bool kIsContracted<Prod, Complex<T>> = true;

template <class Operation, class T>
ReductionKernel kernel() {
#ifdef __x86_64__
  if (!kIsContracted<Operation, T> && has_fast_avx512()) return reduce_loop_avx512<Operation, T>;
  if (__builtin_cpu_supports("avx2")) return reduce_loop_avx2<Operation, T>;
#endif
  return reduce_loop<Operation, T>;
}

template <class Operation>
ReductionKernel kernel_of_integers(std::size_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? kernel<Operation, std::int8_t>() : kernel<Operation, std::uint8_t>();
    case 2:
      return is_signed ? kernel<Operation, std::int16_t>() : kernel<Operation, std::uint16_t>();
    case 4:
      return is_signed ? kernel<Operation, std::int32_t>() : kernel<Operation, std::uint32_t>();
    case 8:
      return is_signed ? kernel<Operation, std::int64_t>() : kernel<Operation, std::uint64_t>();
    case 16:
      return is_signed ? kernel<Operation, Int128>() : kernel<Operation, UnsignedInt128>();
    default:
      return nullptr;
  }
}

/// Elements<T> is T itself or Complex<T>; `size` is that of T.
template <class Operation, template <class> class Elements>
ReductionKernel kernel_of_reals(std::size_t size, bool quad) {
  if (quad) return kernel<Operation, Elements<Quad>>();
  if (size == sizeof(float)) return kernel<Operation, Elements<float>>();
  if (size == sizeof(double) && !quad) return kernel<Operation, Elements<double>>();
  if (size == sizeof(long double)) return kernel<Operation, Elements<long double>>();
  if (size == sizeof(Half)) return kernel<Operation, Elements<Half>>();
  return nullptr;
}

template <class T>
using Plain = T;

template <class Operation>
ReductionKernel kernel_of_numbers(const BasicInfo& type) {
  switch (type.representation) {
    case Representation::kSigned:
      return kernel_of_integers<Operation>(type.size, true);
    case Representation::kUnsigned:
      return kernel_of_integers<Operation>(type.size, false);
    case Representation::kFloating:
      return kernel_of_reals<Operation, Plain>(type.size, type.quad);
    default:
      return nullptr;
  }
}

template <class Operation>
ReductionKernel kernel_of_pairs(const BasicInfo& type) {
  switch (type.predefined) {
    case kMpiFloatInt:
      return kernel<Operation, ValueIndex<float, int>>();
    case kMpiDoubleInt:
      return kernel<Operation, ValueIndex<double, int>>();
    case kMpiLongInt:
      return kernel<Operation, ValueIndex<long, int>>();
    case kMpi2int:
      return kernel<Operation, ValueIndex<int, int>>();
    case kMpiShortInt:
      return kernel<Operation, ValueIndex<short, int>>();
    case kMpiLongDoubleInt:
      return kernel<Operation, ValueIndex<long double, int>>();
    case kMpi2real:
      return kernel<Operation, ValueIndex<float, float>>();
    case kMpi2doublePrecision:
      return kernel<Operation, ValueIndex<double, double>>();
    case kMpi2integer:
      return kernel<Operation, ValueIndex<std::int32_t, std::int32_t>>();
    default:
      return nullptr;
  }
}

bool is_integer_group(ReductionGroup group) {
  return group == ReductionGroup::kCInteger || group == ReductionGroup::kFortranInteger ||
         group == ReductionGroup::kMultiLanguage;
}

/// MPI_MAX and MPI_MIN: integers and floating numbers.
template <class Operation>
ReductionKernel kernel_of_order(const BasicInfo& type) {
  const bool defined = is_integer_group(type.group) || type.group == ReductionGroup::kFloating;
  return defined ? kernel_of_numbers<Operation>(type) : nullptr;
}

/// MPI_SUM and MPI_PROD: complex numbers too.
template <class Operation>
ReductionKernel kernel_of_arithmetic(const BasicInfo& type) {
  if (type.group == ReductionGroup::kComplex)
    return kernel_of_reals<Operation, Complex>(type.size / std::size_t{2}, type.quad);
  return kernel_of_order<Operation>(type);
}

/// MPI_BAND, MPI_BOR, MPI_BXOR: integers and bytes.
template <class Operation>
ReductionKernel kernel_of_bits(const BasicInfo& type) {
  const bool defined = is_integer_group(type.group) || type.group == ReductionGroup::kByte;
  return defined ? kernel_of_integers<Operation>(type.size, false) : nullptr;
}

/// MPI_LAND, MPI_LOR, MPI_LXOR: C integers and logicals; and MPI_AINT, MPI_OFFSET, MPI_COUNT, which are C
/// integers by another name: the standard does not list them here, but MPICH takes them.
template <class Operation>
ReductionKernel kernel_of_truth(const BasicInfo& type) {
  const bool defined = type.group == ReductionGroup::kCInteger || type.group == ReductionGroup::kLogical ||
                       type.group == ReductionGroup::kMultiLanguage;
  return defined ? kernel_of_integers<Operation>(type.size, false) : nullptr;
}

}  // namespace

ReductionKernel find_reduction_kernel(std::uint16_t op, const BasicInfo& type) {
  switch (op) {
    case kMpiMax:
      return kernel_of_order<Max>(type);
    case kMpiMin:
      return kernel_of_order<Min>(type);
    case kMpiSum:
      return kernel_of_arithmetic<Sum>(type);
    case kMpiProd:
      return kernel_of_arithmetic<Prod>(type);
    case kMpiBand:
      return kernel_of_bits<Band>(type);
    case kMpiBor:
      return kernel_of_bits<Bor>(type);
    case kMpiBxor:
      return kernel_of_bits<Bxor>(type);
    case kMpiLand:
      return kernel_of_truth<Land>(type);
    case kMpiLor:
      return kernel_of_truth<Lor>(type);
    case kMpiLxor:
      return kernel_of_truth<Lxor>(type);
    case kMpiMaxloc:
      return kernel_of_pairs<Maxloc>(type);
    case kMpiMinloc:
      return kernel_of_pairs<Minloc>(type);
    default:
      return nullptr;
  }
}

}  // namespace tasuki
