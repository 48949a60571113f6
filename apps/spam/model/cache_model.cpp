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

/// Where memory might lie physically. Caches of the second level and above choose a line's set by that, and
/// the kernel gives out pages in no order; by virtual addresses arrays that are far apart would meet in one
/// set.
std::uint64_t physical(std::uint64_t address) {
  constexpr int kPageBits = 12;
  std::uint64_t page = address >> kPageBits;
  page = (page ^ (page >> 30)) * 0xbf58476d1ce4e5b9ULL;  // the finaliser of SplitMix64: one to one
  page = (page ^ (page >> 27)) * 0x94d049bb133111ebULL;
  page ^= page >> 31;
  return (page << kPageBits) | (address & ((1U << kPageBits) - 1));
}

}  // namespace

struct CacheCounters::State {
  PrivateCaches caches;

  void replay(bool counted) {
    const std::uint64_t line_bytes = caches.shape().line_bytes;
    replay_accesses([&](int thread, const Access& access) {
      const std::uint64_t end = access.address + static_cast<std::uint64_t>(access.bytes);
      for (std::uint64_t at = access.address; at < end; at = (at / line_bytes + 1) * line_bytes)
        caches.access(thread, physical(at) / line_bytes, access.write, counted);
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
