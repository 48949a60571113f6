// SharedLane: see shared_lane.hpp.
#include "storage/shared_lane.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <semaphore>
#include <utility>
#include <vector>

namespace tasuki {
namespace {

constexpr Count kLittleBytes =
    64 << 10;  // a copy to or from the page cache moves them sooner than a thread wakes
constexpr std::size_t kSharePiecesMax = 1024;
constexpr std::chrono::milliseconds kStaysOut(1);  // the thread, behind a share that the caller took

bool is_little(std::span<const FilePiece> pieces) {
  Count bytes = 0;
  for (const FilePiece& piece : pieces) {
    bytes += piece.bytes;
    if (bytes > kLittleBytes) return false;
  }
  return true;
}

/// A program that is bound to one processor computes there: the thread may run on any.
void leave_only_processor() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1) return;
  std::fill_n(reinterpret_cast<unsigned char*>(&set), sizeof set, 0xff);
  sched_setaffinity(0, sizeof set, &set);
}

class SharedLane final : public FileLane {
 public:
  explicit SharedLane(LaneCalls calls) : calls_(std::move(calls)) {}
  ~SharedLane() override;

  void begin(bool write, std::span<const FilePiece> pieces) override;
  bool is_over() override { return left_.load(std::memory_order_acquire) == 0; }
  bool help() override;
  TransferResult finish() override;
  TransferResult move(bool write, std::span<const FilePiece> pieces) override {
    return calls_.by_caller(write, pieces);
  }

 private:
  struct Share {
    std::size_t first;  // of pieces_
    std::size_t count = 0;
    Count bytes = 0;
    TransferResult done{};
  };

  void cut(std::span<const FilePiece> pieces);
  bool has_thread();
  void make(Share* share, const MovePieces& move);
  void ring();
  void work();
  void sleep(std::unique_lock<std::mutex>& guard, bool for_long);

  const LaneCalls calls_;
  const pid_t owner_ = getpid();
  pthread_t thread_{};
  bool has_started_ = false;

  // Of the transfer. A thread may look at a share that it has taken, and at all when it finds left_ at zero.
  bool write_ = false;
  TransferResult little_;  // of one that was over at once: there are no shares
  std::vector<FilePiece> pieces_;
  std::vector<Share> shares_;
  std::atomic<int> left_{0};  // shares that are not over

  std::counting_semaphore<> over_{0};  // 1 or more when left_ has come to zero and no wait has taken that
  std::binary_semaphore bell_{0};
  std::mutex mutex_;         // of what follows
  bool sleeps_ = false;      // the thread, which has not been rung for
  std::size_t next_ = 0;     // the first share that is not taken
  std::size_t end_ = 0;      // behind the last one
  bool was_helped_ = false;  // the caller took a share of this transfer, since the thread last looked
  bool ends_ = false;        // the lane
};

SharedLane::~SharedLane() {
  if (getpid() != owner_) return;
  finish();
  if (!has_started_) return;
  {
    const std::lock_guard guard(mutex_);
    ends_ = true;
    ring();
  }
  pthread_join(thread_, nullptr);
}

/// Pieces are cut at multiples of kShareBytes, so that none begins amid a page that another one writes, and a
/// share ends where it has so many bytes or more.
void SharedLane::cut(std::span<const FilePiece> pieces) {
  pieces_.clear();
  for (FilePiece piece : pieces) {
    while (piece.bytes > 0) {
      if (shares_.empty() || shares_.back().bytes >= kShareBytes || shares_.back().count == kSharePiecesMax)
        shares_.push_back({.first = pieces_.size()});
      const Count bytes = std::min(piece.bytes, kShareBytes - piece.offset % kShareBytes);
      pieces_.push_back({piece.offset, piece.memory, bytes});
      ++shares_.back().count;
      shares_.back().bytes += bytes;
      piece = {piece.offset + bytes, piece.memory + bytes, piece.bytes - bytes};
    }
  }
}

bool SharedLane::has_thread() {
  if (has_started_) return true;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_started_ = pthread_create(
                     &thread_, nullptr,
                     [](void* self) -> void* {
                       leave_only_processor();
                       static_cast<SharedLane*>(self)->work();
                       return nullptr;
                     },
                     this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return has_started_;
}

void SharedLane::begin(bool write, std::span<const FilePiece> pieces) {
  shares_.clear();
  const bool little = is_little(pieces);
  if (little && !write && calls_.read_from_cache(pieces, &little_)) return;
  if ((little && write) || !has_thread()) {
    little_ = calls_.by_caller(write, pieces);
    return;
  }
  write_ = write;
  cut(pieces);
  left_.store(static_cast<int>(shares_.size()), std::memory_order_relaxed);
  while (over_.try_acquire()) {
  }
  const std::lock_guard guard(mutex_);
  next_ = 0;
  end_ = shares_.size();
  was_helped_ = false;
  ring();
}

void SharedLane::ring() {
  if (std::exchange(sleeps_, false)) bell_.release();
}

void SharedLane::make(Share* share, const MovePieces& move) {
  share->done = move(write_, std::span<const FilePiece>(pieces_).subspan(share->first, share->count));
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) over_.release();
}

bool SharedLane::help() {
  Share* share = nullptr;
  {
    const std::lock_guard guard(mutex_);
    if (next_ == end_) return false;
    share = &shares_[next_++];
    was_helped_ = true;
  }
  make(share, calls_.by_caller);
  return true;
}

TransferResult SharedLane::finish() {
  while (help()) {
  }
  while (!is_over()) over_.acquire();
  if (shares_.empty()) return little_;
  TransferResult done;
  for (const Share& share : shares_) {
    done.bytes += share.done.bytes;
    done.error = share.done.error;
    if (share.done.bytes < share.bytes || done.error != 0) break;
  }
  return done;
}

void SharedLane::work() {
  std::unique_lock guard(mutex_);
  while (!ends_) {
    if (next_ == end_) {
      sleep(guard, true);
    } else if (std::exchange(was_helped_, false)) {
      sleep(guard, false);
    } else {
      Share* const share = &shares_[next_++];
      guard.unlock();
      make(share, calls_.by_thread);
      guard.lock();
    }
  }
}

/// Until ring(), and not for long where that is not wanted.
void SharedLane::sleep(std::unique_lock<std::mutex>& guard, bool for_long) {
  sleeps_ = true;
  guard.unlock();
  bool rung = true;
  if (for_long) {
    bell_.acquire();
  } else {
    rung = bell_.try_acquire_for(kStaysOut);
  }
  guard.lock();
  if (!rung && !std::exchange(sleeps_, false)) bell_.acquire();  // ring() came just now
}

}  // namespace

std::unique_ptr<FileLane> make_shared_lane(LaneCalls calls) {
  return std::make_unique<SharedLane>(std::move(calls));
}

}  // namespace tasuki
