// The distance of the processors of two ranks: it determines what a cache line costs on its way between them,
// and so from which size on sharing the copy of a message pays. Or the ranks share no memory at all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki {

enum class Distance : std::uint8_t {
  kCache,    // they share the last level of cache
  kPackage,  // they share the socket, not a cache
  kMachine,  // nothing but the machine
  kNetwork,  // no memory: they are on different nodes
};
inline constexpr std::size_t kDistances = 3;  // of ranks that share memory

constexpr const char* distance_text(Distance distance) {
  constexpr const char* kTexts[kDistances + 1] = {"a last-level cache in common", "a socket in common",
                                                  "different sockets", "different nodes"};
  return kTexts[static_cast<std::size_t>(distance)];
}

}  // namespace tasuki
