// Pages of what processes of a job share: the alignment of its parts, whatever the machine's page.
#pragma once

#include <cstddef>

namespace tasuki {

inline constexpr std::size_t kPageBytes = 4096;

inline constexpr std::size_t round_to_page(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace tasuki
