// A datatype as it travels to other ranks: its layout and bounds, which is all that moving its bytes needs,
// as a list of 64-bit words. Windows send them to their targets, files to their other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype/datatype.hpp"
#include "object/object.hpp"

namespace tasuki {

/// No words where it would take more than `words_max`.
std::vector<std::int64_t> encode_type(const Datatype& datatype, std::size_t words_max = SIZE_MAX);

/// The type that the words describe, or null when they describe none.
Ref<Datatype> decode_type(const std::int64_t* words, std::size_t count);

}  // namespace tasuki
