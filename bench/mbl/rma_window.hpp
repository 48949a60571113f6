// Windows, epochs and accesses: what the patterns of rma.cpp are put together from. A Window owns its memory;
// an Epoch says how accesses are synchronised; a Transfer is one call of one operation on one kind of data.
//
// One thread; making and freeing a Window or an Epoch is collective.
#pragma once

#include <cstddef>

#include "suite.hpp"

namespace mbl {

/// Where a window's memory comes from: MPI_Win_create over malloc or MPI_Alloc_mem, MPI_Win_allocate,
/// MPI_Win_allocate_shared, or MPI_Win_create_dynamic with malloc's memory attached.
enum class WindowMemory { kMalloc, kAllocMem, kAllocate, kShared, kDynamic };
const char* name_of(WindowMemory memory);

/// Why the ranks cannot share memory, told to all alike; empty when they can. Collective.
std::string why_not_shared(const Setting& setting);

class Window {
 public:
  Window(const Setting& setting, std::int64_t bytes, WindowMemory memory);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Why there is no such window here, the same at all ranks; empty when there is one. Nothing else may be
  /// called when there is none.
  const std::string& missing() const { return missing_; }
  MPI_Win handle() const { return win_; }
  unsigned char* memory() const { return memory_; }
  /// The displacement of the byte at `offset` in `target`'s memory.
  MPI_Aint place(int target, std::int64_t offset) const {
    return (bases_.empty() ? 0 : bases_[static_cast<std::size_t>(target)]) + static_cast<MPI_Aint>(offset);
  }

 private:
  void create_dynamic(const Setting& setting, MPI_Aint bytes);

  WindowMemory kind_;
  MPI_Win win_ = MPI_WIN_NULL;
  unsigned char* memory_ = nullptr;
  std::vector<MPI_Aint> bases_;  // of a dynamic window: each rank's address
  std::string missing_;
};

/// How accesses are synchronised, in every round:
///   kFence          accesses, MPI_Win_fence
///   kFencePair      MPI_Win_fence, accesses, MPI_Win_fence
///   kFenceAsserted  the same with MPI_MODE_NOPRECEDE, and with MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED
///   kPscw           post and start, accesses, complete and wait
///   kLock           MPI_Win_lock (shared) and MPI_Win_unlock around each access
///   kLockAll        MPI_Win_lock_all, accesses, MPI_Win_unlock_all
///   kFlush          accesses, MPI_Win_flush of their target (of all, if there is more than one)
///   kFlushLocal     accesses, MPI_Win_flush_local, and one flush after the last round
enum class Sync { kFence, kFencePair, kFenceAsserted, kPscw, kLock, kLockAll, kFlush, kFlushLocal };
const char* name_of(Sync sync);

class Epoch {
 public:
  /// `targets`: the ranks that this rank accesses, `origins`: those that access it (no rank twice).
  Epoch(const Setting& setting, const Window& window, Sync sync, const std::vector<int>& targets,
        const std::vector<int>& origins);
  ~Epoch();
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  // A round: begin(), for each access before(), the call, after(); end(). After the last one: rest().
  void begin();
  void before(int target);
  void after(int target);
  void end();
  void rest();
  /// Around loads and stores of the own memory, between samples; collective. What was stored can be accessed,
  /// and what was put be seen, when they return.
  void open_memory();
  void close_memory();

 private:
  bool is_flush() const { return sync_ == Sync::kFlush || sync_ == Sync::kFlushLocal; }
  bool is_fence() const {
    return sync_ == Sync::kFence || sync_ == Sync::kFencePair || sync_ == Sync::kFenceAsserted;
  }

  MPI_Comm comm_;
  int rank_;
  MPI_Win win_;
  Sync sync_;
  int target_;  // the one that there is, or -1
  bool accesses_;
  bool is_accessed_;
  MPI_Group targets_ = MPI_GROUP_EMPTY;
  MPI_Group origins_ = MPI_GROUP_EMPTY;
};

enum class Operation {
  kPut,
  kGet,
  kAccumulate,
  kGetAccumulate,
  kFetchAndOp,
  kCompareAndSwap,
  kRput,
  kRget,
  kRaccumulate
};
const char* name_of(Operation operation);
/// Moves one integer.
bool is_atomic(Operation operation);

/// One access: `bytes` of integers, either in one piece or (vector) in blocks of 64 bytes with gaps as long.
/// Accumulates add. The integers have 4 bytes; those of kFetchAndOp and kCompareAndSwap are one of `bytes`.
class Transfer {
 public:
  Transfer(Operation operation, std::int64_t bytes, bool vector);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Starts it: from `origin` (compared with `compare`) to the window, or from there to `result`.
  void start(const void* origin, const void* compare, void* result, int target, MPI_Aint place, MPI_Win win);
  /// Waits for the requests of those with one.
  void wait();

  bool reads() const;     // gives the origin what was in the window
  bool writes() const;    // changes the window
  bool compares() const;  // needs start()'s `compare`
  /// What the window has after one access, when it had `window` and the origin `origin`.
  std::int64_t after(std::int64_t window, std::int64_t origin) const;
  std::int64_t footprint() const { return footprint_; }  // bytes from the first to the last, gaps included
  int element_bytes() const { return element_bytes_; }
  /// Whether the element at this index of the footprint is moved, and not a gap.
  bool moves(std::int64_t index) const { return !vector_ || index / kBlockElements % 2 == 0; }

 private:
  static constexpr int kBlockElements = 16;

  Operation operation_;
  bool vector_;
  int element_bytes_ = 4;
  std::int64_t footprint_;
  int count_ = 1;
  MPI_Datatype type_ = MPI_INT32_T;
  std::vector<MPI_Request> requests_;
};

}  // namespace mbl
