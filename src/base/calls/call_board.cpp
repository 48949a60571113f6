// The report's way through shared memory: number by number, under a version.
#include "base/calls/call_board.hpp"

#include "base/system/shared_words.hpp"

namespace tasuki {
namespace {

constexpr int kReadsMax = 1000;

}  // namespace

LineValues values_of(const CallLine& line) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return {line.word.load(kRelaxed), line.site.load(kRelaxed), line.comm.load(kRelaxed),
          line.type.load(kRelaxed), line.op.load(kRelaxed),   line.count.load(kRelaxed),
          line.peer.load(kRelaxed), line.tag.load(kRelaxed)};
}

void put_back(const LineValues& values, CallLine* line) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  line->site.store(values.site, kRelaxed);
  line->comm.store(values.comm, kRelaxed);
  line->peer.store(values.peer, kRelaxed);
  line->tag.store(values.tag, kRelaxed);
  line->count.store(values.count, kRelaxed);
  line->type.store(values.type, kRelaxed);
  line->op.store(values.op, kRelaxed);
  line->word.store(values.word, kRelaxed);
}

void publish_report(const RankReport& from, CallBoard* board) {
  std::uint64_t version = board->version.load(std::memory_order_relaxed) & ~std::uint64_t{1};
  if (!board->version.compare_exchange_strong(version, version + 1, std::memory_order_relaxed)) return;
  std::atomic_thread_fence(std::memory_order_release);
  store_words(from, &board->report);
  board->version.store(version + 2, std::memory_order_release);
}

bool read_report(const CallBoard& board, RankReport* to) {
  for (int look = 0; look < kReadsMax; ++look) {
    const std::uint64_t version = board.version.load(std::memory_order_acquire);
    if (version == 0) return false;
    if (version % 2 != 0) continue;
    load_words(board.report, to);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (board.version.load(std::memory_order_relaxed) == version) return true;
  }
  return false;
}

}  // namespace tasuki
