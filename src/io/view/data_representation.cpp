// Sizes and datatypes in a file's representation.
#include "io/view/data_representation.hpp"

#include <cstring>
#include <vector>

#include "base/user_memory.hpp"
#include "datatype/call/api.hpp"
#include "datatype/signature.hpp"
#include "object/callbacks.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

Code signature_bytes(Process& process, DataRepresentation& representation, const Signature& signature,
                     Count* bytes) {
  if (signature.basic != 0) {
    return bytes_in_file(process, representation, *basic_info(signature.basic), bytes);
  }
  *bytes = 0;
  for (const Signature::Part& part : signature.parts) {
    Count one = 0;
    if (const Code code = signature_bytes(process, representation, *part.child, &one)) return code;
    if (__builtin_mul_overflow(one, part.count, &one) || __builtin_add_overflow(*bytes, one, bytes))
      return process.fail(kErrType, "the datatype's data in the file needs more than 63 bits of bytes");
  }
  return kSuccess;
}

/// What a constructor was given, in the order of MPI 5.1.13, whichever form it had: the numbers, then the
/// byte displacements. False: there is no memory for a copy of them.
bool numbers_of(const Datatype& datatype, std::vector<std::int64_t>* numbers) {
  if (datatype.wide) return try_assign(numbers, datatype.large_counts.data(), datatype.large_counts.size());
  if (!try_reserve(numbers, datatype.integers.size() + datatype.addresses.size())) return false;
  numbers->insert(numbers->end(), datatype.integers.begin(), datatype.integers.end());
  numbers->insert(numbers->end(), datatype.addresses.begin(), datatype.addresses.end());
  return true;
}

/// Subarrays and distributed arrays, whose order and distributions are integers in either form.
Code array_in_file(Process& process, const Datatype& datatype, Datatype* part, Datatype** made) {
  const std::vector<int>& integers = datatype.integers;
  const bool subarray = datatype.combiner == Combiner::kSubarray;
  const int dimensions = integers[subarray ? 0 : 2];
  const auto n = static_cast<std::size_t>(dimensions);
  const std::size_t head = subarray ? 1 : 3;
  std::vector<std::int64_t> large = datatype.large_counts;
  if (!datatype.wide) {
    large.assign(integers.begin() + static_cast<std::ptrdiff_t>(head),
                 integers.begin() + static_cast<std::ptrdiff_t>(head + (subarray ? 3 * n : n)));
  }
  if (subarray) {
    return api::type_create_subarray(process, dimensions, CountArray(&large[0]), CountArray(&large[n]),
                                     CountArray(&large[2 * n]), integers.back(), part, made, true);
  }
  const int* distributions = &integers[datatype.wide ? head : head + n];
  return api::type_create_darray(process, integers[0], integers[1], dimensions, CountArray(&large[0]),
                                 distributions, distributions + n, distributions + 2 * n, integers.back(),
                                 part, made, true);
}

/// The same constructor over `parts` instead of the types that it was given.
Code construct_again(Process& process, const Datatype& datatype, const std::vector<Datatype*>& parts,
                     Datatype** made) {
  std::vector<std::int64_t> numbers;
  if (!numbers_of(datatype, &numbers))
    return process.fail(kErrNoMem, "the datatype's description takes more memory than can be had");
  Datatype* part = parts.empty() ? nullptr : parts[0];
  const auto number = [&](std::size_t i) { return numbers[i]; };
  // Lists of one each per block begin behind `skipped` numbers, or behind the first such list.
  const auto blocks = numbers.empty() ? 0 : static_cast<std::size_t>(numbers[0]);
  const auto list = [&](std::size_t skipped) {
    return CountArray(skipped < numbers.size() ? &numbers[skipped] : numbers.data());
  };
  switch (datatype.combiner) {
    case Combiner::kContiguous:
      return api::type_contiguous(process, number(0), part, made, true);
    case Combiner::kVector:
      return api::type_vector(process, number(0), number(1), number(2), part, made, true);
    case Combiner::kHvector:
      return api::type_create_hvector(process, number(0), number(1), number(2), part, made, true);
    case Combiner::kIndexed:
      return api::type_indexed(process, number(0), list(1), list(1 + blocks), part, made, true);
    case Combiner::kHindexed:
      return api::type_create_hindexed(process, number(0), list(1), list(1 + blocks), part, made, true);
    case Combiner::kIndexedBlock:
      return api::type_create_indexed_block(process, number(0), number(1), list(2), part, made, true);
    case Combiner::kHindexedBlock:
      return api::type_create_hindexed_block(process, number(0), number(1), list(2), part, made, true);
    case Combiner::kStruct:
      return api::type_create_struct(process, number(0), list(1), list(1 + blocks), parts.data(), made, true);
    case Combiner::kResized:
      return api::type_create_resized(process, part, number(0), number(1), made, true);
    case Combiner::kSubarray:
    case Combiner::kDarray:
      return array_in_file(process, datatype, part, made);
    case Combiner::kDup:
      return api::type_contiguous(process, 1, part, made, true);
    default:
      return process.fail(kErrType, "the datatype has no constructor that is known");
  }
}

/// The file form of a predefined type, as bytes.
Code basic_in_file(Process& process, DataRepresentation& representation, const BasicInfo& info,
                   Ref<Datatype>* made) {
  Count bytes = 0;
  if (info.representation == Representation::kPair) {
    Count index_bytes = 0;
    if (const Code code = bytes_in_file(process, representation, *basic_info(info.value), &bytes))
      return code;
    if (const Code code = bytes_in_file(process, representation, *basic_info(info.index), &index_bytes))
      return code;
    bytes += index_bytes;
  } else if (const Code code = bytes_in_file(process, representation, info, &bytes)) {
    return code;
  }
  Datatype* type = nullptr;
  Datatype* byte = predefined_object<Datatype>(*process.objects, kMpiByte);
  if (const Code code = api::type_contiguous(process, bytes, byte, &type, true)) return code;
  *made = Ref<Datatype>(type);
  return kSuccess;
}

}  // namespace

Code bytes_in_file(Process& process, DataRepresentation& representation, const BasicInfo& info,
                   Count* bytes) {
  if (representation.is_native() || representation.form == DataRepresentation::Form::kExternal32) {
    *bytes = representation.is_native() ? info.size : info.external_size;
    return kSuccess;
  }
  const auto known = representation.element_bytes.find(info.predefined);
  if (known != representation.element_bytes.end()) {
    *bytes = known->second;
    return kSuccess;
  }
  Datatype* type = static_cast<Datatype*>(process.objects->predefined[info.predefined]);
  Aint extent = 0;
  const Code code = process.callbacks->datarep_extent(representation.file_extent, type, &extent,
                                                      representation.extra_state);
  if (code != kSuccess || extent <= 0 || extent > kStageBytes) {
    return process.fail(
        kErrConversion,
        "the extent function of data representation \"%s\" returned %d and extent %lld for %s, "
        "expected MPI_SUCCESS and a positive extent",
        representation.name.c_str(), code, static_cast<long long>(extent), info.name);
  }
  representation.element_bytes[info.predefined] = *bytes = extent;
  return kSuccess;
}

Code bytes_in_file(Process& process, DataRepresentation& representation, const Datatype& datatype,
                   Count count, Count* bytes) {
  Count one = datatype.size;
  if (!representation.is_native()) {
    if (const Code code = signature_bytes(process, representation, *datatype.signature, &one)) return code;
  }
  if (__builtin_mul_overflow(one, count, bytes))
    return process.fail(kErrCount, "count = %lld, more than 63 bits of bytes", static_cast<long long>(count));
  return kSuccess;
}

Code type_in_file(Process& process, DataRepresentation& representation, Datatype* datatype,
                  Ref<Datatype>* made) {
  if (representation.is_native()) {
    *made = Ref<Datatype>::share(datatype);
    return kSuccess;
  }
  if (const BasicInfo* info = basic_info(*datatype))
    return basic_in_file(process, representation, *info, made);
  std::vector<Ref<Datatype>> parts;
  std::vector<Datatype*> pointers;
  for (Datatype* part : datatype->types) {
    parts.emplace_back();
    if (const Code code = type_in_file(process, representation, part, &parts.back())) return code;
    pointers.push_back(parts.back().get());
  }
  Datatype* type = nullptr;
  if (const Code code = construct_again(process, *datatype, pointers, &type)) return code;
  *made = Ref<Datatype>(type);
  return kSuccess;
}

}  // namespace tasuki
