// Data that names the rank that made it. Compiled with the library, not with the tests, which are not
// optimised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tasuki::test {

using Bytes = std::vector<std::uint8_t>;

/// `size` bytes that depend on `seed` everywhere.
Bytes pattern(std::size_t size, std::uint32_t seed);

}  // namespace tasuki::test
