// How a datatype was made: envelope and contents (MPI 5.1.13).
#include <algorithm>

#include "base/user_memory.hpp"
#include "datatype/call/api.hpp"
#include "datatype/call/construct.hpp"

namespace tasuki {
namespace {

/// Only the `_c` forms can tell what a `_c` constructor was given.
Code check_form(Process& process, const Datatype& datatype, bool wide) {
  if (wide || !datatype.wide) return kSuccess;
  return process.fail(kErrType,
                      "datatype was made by a large-count (_c) constructor: decode it with the _c form");
}

Code check_room(Process& process, const char* argument, Count max, std::size_t needed) {
  if (max >= static_cast<Count>(needed)) return kSuccess;
  return process.fail(kErrArg, "%s = %lld, expected at least %zu", argument, printed(max), needed);
}

/// Predefined types, named or not, are what they are; of others the user gets an object of his own.
bool is_derived(const Datatype& datatype) {
  switch (datatype.combiner) {
    case Combiner::kNamed:
    case Combiner::kF90Integer:
    case Combiner::kF90Real:
    case Combiner::kF90Complex:
    case Combiner::kValueIndex:
      return false;
    default:
      return true;
  }
}

}  // namespace

namespace api {

Code type_get_envelope(Process& process, Datatype* datatype, Count* num_integers, Count* num_addresses,
                       Count* num_large_counts, Count* num_datatypes, int* combiner, bool wide) {
  if (const Code code = check_form(process, *datatype, wide)) return code;
  *num_integers = static_cast<Count>(datatype->integers.size());
  *num_addresses = static_cast<Count>(datatype->addresses.size());
  if (num_large_counts != nullptr) *num_large_counts = static_cast<Count>(datatype->large_counts.size());
  *num_datatypes = static_cast<Count>(datatype->types.size());
  *combiner = static_cast<int>(datatype->combiner);
  return kSuccess;
}

Code type_get_contents(Process& process, Datatype* datatype, Count max_integers, Count max_addresses,
                       Count max_large_counts, Count max_datatypes, int* integers, Aint* addresses,
                       Count* large_counts, Datatype** datatypes, bool wide) {
  const Datatype& type = *datatype;
  if (type.combiner == Combiner::kNamed) {
    return process.fail(kErrType, "datatype = %s, expected one that is not predefined", type.name.c_str());
  }
  if (const Code code = check_form(process, type, wide)) return code;
  if (const Code code = check_room(process, "max_integers", max_integers, type.integers.size())) return code;
  if (const Code code = check_room(process, "max_addresses", max_addresses, type.addresses.size()))
    return code;
  if (const Code code = check_room(process, "max_large_counts", max_large_counts, type.large_counts.size())) {
    return code;
  }
  if (const Code code = check_room(process, "max_datatypes", max_datatypes, type.types.size())) return code;
  std::copy(type.integers.begin(), type.integers.end(), integers);
  std::copy(type.addresses.begin(), type.addresses.end(), addresses);
  std::copy(type.large_counts.begin(), type.large_counts.end(), large_counts);
  for (std::size_t i = 0; i < type.types.size(); ++i) {
    Datatype* part = type.types[i];
    datatypes[i] = is_derived(*part) ? clone_with_origin(*part) : part;
    if (datatypes[i] != nullptr) continue;
    for (std::size_t made = 0; made < i; ++made) {
      if (is_derived(*type.types[made])) release(datatypes[made]);
    }
    return fail_memory(process, "max_datatypes", max_datatypes);
  }
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
