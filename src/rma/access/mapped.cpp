// Operations on mapped memory: one copy, or the processor's atomic instructions.
#include "rma/access/mapped.hpp"

#include <algorithm>

namespace tasuki::rma {
namespace {

constexpr Count kOperandsBytes = 4096;  // fits the first-level cache twice

bool is_dense(const OriginBuffer* buffer) {
  return buffer == nullptr || buffer->type->contiguous;
}

/// Whether it is an array of `type`, as a program has it.
bool is_array(const OriginBuffer* buffer, const BasicInfo& type) {
  return buffer == nullptr || basic_info(*buffer->type) == &type;
}

}  // namespace

void put_mapped(const OriginBuffer& origin, std::byte* target, const TargetBuffer& remote) {
  copy_typed(origin.address, origin.count, *origin.type, target, remote.count, *remote.type);
}

void get_mapped(const OriginBuffer& origin, const std::byte* target, const TargetBuffer& remote) {
  copy_typed(target, remote.count, *remote.type, origin.address, origin.count, *origin.type);
}

void combine_mapped(const Combination& how, const OriginBuffer* origin, const OriginBuffer* result,
                    const Operand& target) {
  if (basic_info(*target.datatype) == how.type && is_array(origin, *how.type) &&
      is_array(result, *how.type)) {
    return combine_array(how, target.guard, target.base, target.count,
                         origin != nullptr ? origin->address : nullptr,
                         result != nullptr ? result->address : nullptr);
  }
  const Count bytes = target.count * target.datatype->size;
  if (is_dense(origin) && is_dense(result)) {
    return combine(how, target, 0, bytes, origin != nullptr ? origin->address : nullptr,
                   result != nullptr ? result->address : nullptr);
  }
  const Count chunk_max = kOperandsBytes / how.element_bytes() * how.element_bytes();
  std::byte operands[kOperandsBytes];
  std::byte olds[kOperandsBytes];
  PackCursor from(origin != nullptr ? *origin->type : *target.datatype,
                  origin != nullptr ? origin->count : 0);
  PackCursor to(result != nullptr ? *result->type : *target.datatype, result != nullptr ? result->count : 0);
  for (Count begin = 0; begin < bytes; begin += chunk_max) {
    const Count end = std::min(bytes, begin + chunk_max);
    const auto size = static_cast<std::size_t>(end - begin);
    if (origin != nullptr) from.pack(origin->address, operands, size);
    combine(how, target, begin, end, origin != nullptr ? operands : nullptr,
            result != nullptr ? olds : nullptr);
    if (result != nullptr) to.unpack(result->address, olds, size);
  }
}

}  // namespace tasuki::rma
