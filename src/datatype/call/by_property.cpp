// Datatypes asked for by what they must hold: Fortran kinds (MPI 19.1.9), sizes, and value-index pairs.
#include <cfloat>

#include "datatype/call/api.hpp"
#include "datatype/call/construct.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

Datatype* predefined_type(Process& process, std::uint16_t number) {
  return static_cast<Datatype*>(process.objects->predefined[number]);
}

/// The one unnamed predefined type of these numbers: the same call gives the same handle. It is the machine's
/// type `basic` in all but its envelope.
Datatype* unnamed_type(Process& process, Combiner combiner, std::vector<int> integers, std::uint16_t basic) {
  for (const Ref<Object>& object : process.objects->unnamed) {
    auto* known = static_cast<Datatype*>(object.get());
    if (known->combiner == combiner && known->integers == integers) return known;
  }
  Datatype* made = clone(*predefined_type(process, basic));
  made->combiner = combiner;
  made->integers = std::move(integers);
  process.objects->unnamed.emplace_back(made);
  return made;
}

/// Decimal precision and exponent range of what selected_real_kind may choose from.
struct RealKind {
  int precision;
  int range;
  std::uint16_t real;
  std::uint16_t complex;
};

constexpr RealKind kRealKinds[] = {
    {FLT_DIG, 37, kMpiReal4, kMpiComplex8},
    {DBL_DIG, 307, kMpiReal8, kMpiComplex16},
    {LDBL_DIG, LDBL_MAX_10_EXP - 1, kMpiLongDouble, kMpiCLongDoubleComplex},
    {33, 4931, kMpiReal16, kMpiComplex32},
};

Code find_real_kind(Process& process, int p, int r, const RealKind** found) {
  if (p == kUndefined && r == kUndefined) {
    return process.fail(kErrArg, "p and r = MPI_UNDEFINED, expected one of them to be given");
  }
  if ((p < 0 && p != kUndefined) || (r < 0 && r != kUndefined)) {
    return process.fail(kErrArg, "p = %d, r = %d, expected 0 or more, or MPI_UNDEFINED", p, r);
  }
  for (const RealKind& kind : kRealKinds) {
    if (p <= kind.precision && r <= kind.range) {  // kUndefined is less than both
      *found = &kind;
      return kSuccess;
    }
  }
  return process.fail(kErrArg, "p = %d, r = %d: this machine has no such real type", p, r);
}

std::uint16_t integer_of_size(int size) {
  switch (size) {
    case 1:
      return kMpiInteger1;
    case 2:
      return kMpiInteger2;
    case 4:
      return kMpiInteger4;
    case 8:
      return kMpiInteger8;
    case 16:
      return kMpiInteger16;
    default:
      return 0;
  }
}

std::uint16_t real_of_size(int size) {
  switch (size) {
    case 2:
      return kMpiReal2;
    case 4:
      return kMpiReal4;
    case 8:
      return kMpiReal8;
    case 16:
      return kMpiReal16;
    default:
      return 0;
  }
}

std::uint16_t complex_of_size(int size) {
  switch (size) {
    case 4:
      return kMpiComplex4;
    case 8:
      return kMpiComplex8;
    case 16:
      return kMpiComplex16;
    case 32:
      return kMpiComplex32;
    default:
      return 0;
  }
}

}  // namespace

namespace api {

Code type_create_f90_integer(Process& process, int r, Datatype** newtype) {
  // selected_int_kind(r): the smallest type that holds all -10^r < n < 10^r.
  const int size = r <= 2 ? 1 : r <= 4 ? 2 : r <= 9 ? 4 : r <= 18 ? 8 : r <= 38 ? 16 : 0;
  if (r < 0 || size == 0) return process.fail(kErrArg, "r = %d, expected 0..38", r);
  *newtype = unnamed_type(process, Combiner::kF90Integer, {r}, integer_of_size(size));
  return kSuccess;
}

Code type_create_f90_real(Process& process, int p, int r, Datatype** newtype) {
  const RealKind* kind = nullptr;
  if (const Code code = find_real_kind(process, p, r, &kind)) return code;
  *newtype = unnamed_type(process, Combiner::kF90Real, {p, r}, kind->real);
  return kSuccess;
}

Code type_create_f90_complex(Process& process, int p, int r, Datatype** newtype) {
  const RealKind* kind = nullptr;
  if (const Code code = find_real_kind(process, p, r, &kind)) return code;
  *newtype = unnamed_type(process, Combiner::kF90Complex, {p, r}, kind->complex);
  return kSuccess;
}

Code type_match_size(Process& process, int typeclass, int size, Datatype** datatype) {
  std::uint16_t number = 0;
  switch (typeclass) {
    case kTypeclassInteger:
      number = integer_of_size(size);
      break;
    case kTypeclassReal:
      number = real_of_size(size);
      break;
    case kTypeclassComplex:
      number = complex_of_size(size);
      break;
    default:
      return process.fail(kErrArg, "typeclass = %d, expected MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX",
                          typeclass);
  }
  if (basic_info(number) == nullptr) {
    return process.fail(kErrArg, "size = %d, no predefined type of that class has it", size);
  }
  *datatype = predefined_type(process, number);
  return kSuccess;
}

Code type_get_value_index(Process& process, Datatype* value_type, Datatype* index_type,
                          Datatype** pair_type) {
  if (const Code code = check_oldtype(process, value_type, "value_type")) return code;
  if (const Code code = check_oldtype(process, index_type, "index_type")) return code;
  constexpr std::uint16_t kPairs[] = {kMpiFloatInt, kMpiDoubleInt,        kMpiLongInt,
                                      kMpi2int,     kMpiShortInt,         kMpiLongDoubleInt,
                                      kMpi2real,    kMpi2doublePrecision, kMpi2integer};
  *pair_type = nullptr;
  for (const std::uint16_t pair : kPairs) {
    const BasicInfo& info = *basic_info(pair);
    if (info.value == value_type->predefined && info.index == index_type->predefined) {
      *pair_type = predefined_type(process, pair);
    }
  }
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
