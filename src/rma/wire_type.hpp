// A datatype as it travels to the target of a window: its layout and bounds, which is all that moving its
// bytes needs, as a list of 64-bit words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype/datatype.hpp"
#include "object/object.hpp"

namespace tasuki::rma {

std::vector<std::int64_t> encode_type(const Datatype& datatype);

/// The type that the words describe, or null when they describe none.
Ref<Datatype> decode_type(const std::int64_t* words, std::size_t count);

}  // namespace tasuki::rma
