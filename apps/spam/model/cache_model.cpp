// Counts by following every access of the force loops through a cache for each thread. What happens between
// the loops goes through the caches, too, but is not counted.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "access_trace.hpp"
#include "cache.hpp"
#include "error.hpp"
#include "private_caches.hpp"

namespace spam {
namespace {

/// SPAM_CACHE=BYTES,LINE,WAYS in the environment, or the paper's machine.
CacheShape chosen_shape() {
  CacheShape shape;
  const char* text = std::getenv("SPAM_CACHE");
  if (text == nullptr) return shape;
  int length = 0;
  const int read = std::sscanf(text, "%zu,%zu,%zu%n", &shape.bytes, &shape.line_bytes, &shape.ways, &length);
  const bool whole = read == 3 && text[length] == '\0';
  if (!whole || shape.line_bytes == 0 || shape.ways == 0 || shape.bytes == 0 ||
      shape.bytes % (shape.line_bytes * shape.ways) != 0)
    throw Error(std::string("SPAM_CACHE=") + text +
                ": expected BYTES,LINE,WAYS, the first a multiple of the others' product");
  return shape;
}

}  // namespace

struct CacheCounters::State {
  PrivateCaches caches;

  void replay(bool counted) {
    const std::uint64_t line_bytes = caches.shape().line_bytes;
    replay_accesses([&](int thread, const Access& access) {
      const std::uint64_t last = (access.address + static_cast<std::uint64_t>(access.bytes) - 1) / line_bytes;
      for (std::uint64_t line = access.address / line_bytes; line <= last; ++line)
        caches.access(thread, line, access.write, counted);
    });
  }
};

CacheCounters::CacheCounters(int threads) : state_(new State{PrivateCaches(chosen_shape(), threads)}) {}
CacheCounters::~CacheCounters() = default;
void CacheCounters::start() {
  state_->replay(false);
}
void CacheCounters::stop() {
  state_->replay(true);
}
std::optional<CacheCounts> CacheCounters::counts() const {
  return state_->caches.counts();
}
const char* CacheCounters::source() {
  return "model";
}

}  // namespace spam
