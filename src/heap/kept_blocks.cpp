// The bins: eight for each power of two.
#include "heap/kept_blocks.hpp"

#include <sys/single_threaded.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>

namespace tasuki::heap {
namespace {

constexpr int kFirstPower = std::bit_width(KeptBlocks::kBlockBytesMin) - 1;

/// Holds the flag for the time that it lives, or not. One thread alone needs none.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& busy)
      : busy_(busy),
        alone_(__libc_single_threaded != 0),
        is_mine_(alone_ || !busy.exchange(true, std::memory_order_acquire)) {}
  ~Turn() {
    if (is_mine_ && !alone_) busy_.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool is_mine() const { return is_mine_; }

 private:
  std::atomic<bool>& busy_;
  const bool alone_;
  const bool is_mine_;
};

bool is_aligned(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

}  // namespace

/// The last bin whose smallest block has no more than `bytes`.
int KeptBlocks::bin_of(std::size_t bytes) {
  if (bytes > kBlockBytesMax) return kBins;
  const int power = std::bit_width(bytes) - 1;
  const auto step = static_cast<int>((bytes >> (power - 3)) % kSteps);
  return (power - kFirstPower) * kSteps + step;
}

FreedBlock* KeptBlocks::take_first(Bin& bin) {
  FreedBlock* block = bin.first;
  bin.first = block->next;
  bin.bytes -= block->resident;
  --bin.blocks;
  bytes_ -= block->resident;
  return block;
}

FreedBlock* KeptBlocks::take(std::size_t bytes, std::size_t alignment) {
  const Turn turn(busy_);
  if (!turn.is_mine() || bytes_ == 0) return nullptr;
  const bool is_large = bytes > kBlockBytesMax;
  const int first = is_large ? kBins : bin_of(bytes - 1) + 1;  // all of its blocks are large enough
  const int end = is_large ? kBins + 1 : std::min(first + kBinsTried, kBins);
  for (int bin = first; bin < end; ++bin) {
    const FreedBlock* block = bins_[bin].first;
    if (block == nullptr || !is_aligned(block, alignment)) continue;
    if (block->bytes >= bytes && block->bytes / 2 <= bytes) return take_first(bins_[bin]);
  }
  return nullptr;
}

void KeptBlocks::make_room(std::size_t bytes, FreedBlock** leaving) {
  while (bytes_ + bytes > kBytesMax) {
    Bin& bin = bins_[next_to_leave_];
    if (bin.first == nullptr) {
      next_to_leave_ = (next_to_leave_ + 1) % (kBins + 1);
      continue;
    }
    FreedBlock* block = take_first(bin);
    block->next = *leaving;
    *leaving = block;
  }
}

FreedBlock* KeptBlocks::keep(void* block, std::size_t bytes, std::size_t resident) {
  auto* freed = ::new (block) FreedBlock{nullptr, bytes, resident};
  const Turn turn(busy_);
  if (!turn.is_mine()) return freed;
  Bin& bin = bins_[bin_of(bytes)];
  const bool is_large = bytes > kBlockBytesMax;
  const bool is_full =
      bin.first != nullptr && (bin.blocks >= kBinBlocksMax || bin.bytes + resident > kBinBytesMax);
  if (is_full && !is_large) return freed;  // the others stay: they lie close together
  FreedBlock* leaving = nullptr;
  if (is_full) {
    leaving = take_first(bin);
    leaving->next = nullptr;
  }
  make_room(resident, &leaving);
  freed->next = bin.first;
  bin.first = freed;
  bin.bytes += resident;
  ++bin.blocks;
  bytes_ += resident;
  return leaving;
}

FreedBlock* KeptBlocks::drop_all() {
  const Turn turn(busy_);
  FreedBlock* leaving = nullptr;
  if (turn.is_mine() && bytes_ != 0) make_room(kBytesMax, &leaving);
  return leaving;
}

/// Who was at work in the parent may have left the lists half changed: they are forgotten.
void KeptBlocks::reset_after_fork() {
  if (!busy_.load(std::memory_order_relaxed)) return;
  for (Bin& bin : bins_) bin = {};
  bytes_ = 0;
  busy_.store(false, std::memory_order_relaxed);
}

}  // namespace tasuki::heap
