// Hashes of type signatures.
#include "datatype/type_hash.hpp"

#include <algorithm>
#include <cstdio>

#include "datatype/predefined.hpp"

namespace tasuki {

void BasicTypes::add(const BasicTypes& part) {
  hash = hash + part.hash;
  mixed = mixed || part.mixed || (only != 0 && part.only != 0 && only != part.only);
  if (only == 0) only = part.only;
  packed = packed || part.packed;
}

BasicTypes basic_types(const Signature& signature, Count count) {
  BasicTypes types;
  if (signature.basic != 0) {
    const BasicInfo& info = *basic_info(signature.basic);
    const bool is_byte = info.size == 1 && (info.representation == Representation::kSigned ||
                                            info.representation == Representation::kUnsigned);
    const Representation representation = is_byte ? Representation::kBytes : info.representation;
    types.hash = SequenceHash::of(static_cast<std::uint64_t>(representation) << 16 | info.size << 1 |
                                  (info.quad ? 1U : 0U));
    types.only = signature.basic;
    types.packed = signature.basic == kMpiPacked;
  }
  for (const Signature::Part& part : signature.parts) types.add(basic_types(*part.child, part.count));
  types.hash = types.hash.times(count);
  return types;
}

BasicTypes first_basic_types(const Signature& signature, Count count, Count elements) {
  if (signature.elements == 0 || elements == 0) return {};
  const Count whole = std::min(count, elements / signature.elements);
  BasicTypes types;
  if (whole > 0) types = basic_types(signature, whole);
  Count rest = whole < count ? elements - whole * signature.elements : 0;
  for (const Signature::Part& part : signature.parts) {
    if (rest == 0) break;
    const Count taken = std::min(rest, part.count * part.child->elements);
    types.add(first_basic_types(*part.child, part.count, taken));
    rest -= taken;
  }
  return types;
}

std::string basic_types_text(std::uint64_t hash, std::uint16_t only) {
  if (only != 0) return basic_info(only)->name;
  char text[64];
  std::snprintf(text, sizeof text, "mixed types (signature %08x)", static_cast<unsigned>(hash >> 32 ^ hash));
  return text;
}

}  // namespace tasuki
