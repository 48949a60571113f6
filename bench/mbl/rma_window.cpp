// Windows, epochs and accesses: see rma_window.hpp.
#include "rma_window.hpp"

#include <cstdlib>

namespace mbl {

const char* name_of(WindowMemory memory) {
  switch (memory) {
    case WindowMemory::kMalloc:
      return "malloc";
    case WindowMemory::kAllocMem:
      return "alloc_mem";
    case WindowMemory::kAllocate:
      return "allocate";
    case WindowMemory::kShared:
      return "allocate_shared";
    case WindowMemory::kDynamic:
      return "dynamic";
  }
  return "";
}

const char* name_of(Sync sync) {
  switch (sync) {
    case Sync::kFence:
      return "fence";
    case Sync::kFencePair:
      return "fence_pair";
    case Sync::kFenceAsserted:
      return "fence_asserted";
    case Sync::kPscw:
      return "pscw";
    case Sync::kLock:
      return "lock";
    case Sync::kLockAll:
      return "lock_all";
    case Sync::kFlush:
      return "flush";
    case Sync::kFlushLocal:
      return "flush_local";
  }
  return "";
}

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::kPut:
      return "put";
    case Operation::kGet:
      return "get";
    case Operation::kAccumulate:
      return "accumulate";
    case Operation::kGetAccumulate:
      return "get_accumulate";
    case Operation::kFetchAndOp:
      return "fetch_and_op";
    case Operation::kCompareAndSwap:
      return "compare_and_swap";
    case Operation::kRput:
      return "rput";
    case Operation::kRget:
      return "rget";
    case Operation::kRaccumulate:
      return "raccumulate";
  }
  return "";
}

bool is_atomic(Operation operation) {
  return operation == Operation::kFetchAndOp || operation == Operation::kCompareAndSwap;
}

// ------------------------------------------------------------------------------------------------ windows

std::string why_not_shared(const Setting& setting) {
  MPI_Comm node = MPI_COMM_NULL;
  require(MPI_Comm_split_type(setting.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
  int size = 0, least = 0;
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  MPI_Allreduce(&size, &least, 1, MPI_INT, MPI_MIN, setting.comm);
  return least == setting.size ? "" : "MPI_Win_allocate_shared: the ranks are not all on one node";
}

Window::Window(const Setting& setting, std::int64_t bytes, WindowMemory memory) : kind_(memory) {
  const auto size = static_cast<MPI_Aint>(bytes);
  switch (memory) {
    case WindowMemory::kAllocMem:
      require(MPI_Alloc_mem(size, MPI_INFO_NULL, &memory_), "MPI_Alloc_mem");
      break;
    case WindowMemory::kMalloc:
    case WindowMemory::kDynamic:
      memory_ = static_cast<unsigned char*>(std::malloc(static_cast<std::size_t>(size)));
      break;
    case WindowMemory::kShared:
      missing_ = why_not_shared(setting);
      break;
    case WindowMemory::kAllocate:
      break;
  }
  if (!missing_.empty()) return;
  const MPI_Comm comm = setting.comm;
  if (memory == WindowMemory::kAllocate)
    require(MPI_Win_allocate(size, 1, MPI_INFO_NULL, comm, &memory_, &win_), "MPI_Win_allocate");
  else if (memory == WindowMemory::kShared)
    require(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, comm, &memory_, &win_),
            "MPI_Win_allocate_shared");
  else if (memory == WindowMemory::kDynamic)
    create_dynamic(setting, size);
  else
    require(MPI_Win_create(memory_, size, 1, MPI_INFO_NULL, comm, &win_), "MPI_Win_create");
}

void Window::create_dynamic(const Setting& setting, MPI_Aint bytes) {
  require(MPI_Win_create_dynamic(MPI_INFO_NULL, setting.comm, &win_), "MPI_Win_create_dynamic");
  require(MPI_Win_attach(win_, memory_, bytes), "MPI_Win_attach");
  MPI_Aint address = 0;
  MPI_Get_address(memory_, &address);
  bases_.resize(static_cast<std::size_t>(setting.size));
  MPI_Allgather(&address, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, setting.comm);
}

Window::~Window() {
  if (kind_ == WindowMemory::kDynamic && win_ != MPI_WIN_NULL)
    require(MPI_Win_detach(win_, memory_), "MPI_Win_detach");
  if (win_ != MPI_WIN_NULL) require(MPI_Win_free(&win_), "MPI_Win_free");
  if (kind_ == WindowMemory::kAllocMem) require(MPI_Free_mem(memory_), "MPI_Free_mem");
  if (kind_ == WindowMemory::kMalloc || kind_ == WindowMemory::kDynamic) std::free(memory_);
}

// ------------------------------------------------------------------------------------------------- epochs

namespace {

MPI_Group group_of(MPI_Comm comm, const std::vector<int>& ranks) {
  if (ranks.empty()) return MPI_GROUP_EMPTY;
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &all);
  require(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some), "MPI_Group_incl");
  MPI_Group_free(&all);
  return some;
}

}  // namespace

Epoch::Epoch(const Setting& setting, const Window& window, Sync sync, const std::vector<int>& targets,
             const std::vector<int>& origins)
    : comm_(setting.comm),
      rank_(setting.rank),
      win_(window.handle()),
      sync_(sync),
      target_(targets.size() == 1 ? targets[0] : -1),
      accesses_(!targets.empty()),
      is_accessed_(!origins.empty()) {
  if (sync == Sync::kPscw) {
    targets_ = group_of(comm_, targets);
    origins_ = group_of(comm_, origins);
  }
  if (is_fence()) require(MPI_Win_fence(MPI_MODE_NOPRECEDE, win_), "MPI_Win_fence");
  if (is_flush()) require(MPI_Win_lock_all(0, win_), "MPI_Win_lock_all");
}

Epoch::~Epoch() {
  if (is_fence()) require(MPI_Win_fence(MPI_MODE_NOSUCCEED, win_), "MPI_Win_fence");
  if (is_flush()) require(MPI_Win_unlock_all(win_), "MPI_Win_unlock_all");
  if (targets_ != MPI_GROUP_EMPTY) MPI_Group_free(&targets_);
  if (origins_ != MPI_GROUP_EMPTY) MPI_Group_free(&origins_);
}

void Epoch::begin() {
  switch (sync_) {
    case Sync::kFencePair:
      require(MPI_Win_fence(0, win_), "MPI_Win_fence");
      break;
    case Sync::kFenceAsserted:
      require(MPI_Win_fence(MPI_MODE_NOPRECEDE, win_), "MPI_Win_fence");
      break;
    case Sync::kPscw:
      if (is_accessed_) require(MPI_Win_post(origins_, 0, win_), "MPI_Win_post");
      if (accesses_) require(MPI_Win_start(targets_, 0, win_), "MPI_Win_start");
      break;
    case Sync::kLockAll:
      if (accesses_) require(MPI_Win_lock_all(0, win_), "MPI_Win_lock_all");
      break;
    default:
      break;
  }
}

void Epoch::before(int target) {
  if (sync_ == Sync::kLock) require(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win_), "MPI_Win_lock");
}

void Epoch::after(int target) {
  if (sync_ == Sync::kLock) require(MPI_Win_unlock(target, win_), "MPI_Win_unlock");
}

void Epoch::end() {
  switch (sync_) {
    case Sync::kFence:
    case Sync::kFencePair:
      require(MPI_Win_fence(0, win_), "MPI_Win_fence");
      break;
    case Sync::kFenceAsserted:
      require(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win_), "MPI_Win_fence");
      break;
    case Sync::kPscw:
      if (accesses_) require(MPI_Win_complete(win_), "MPI_Win_complete");
      if (is_accessed_) require(MPI_Win_wait(win_), "MPI_Win_wait");
      break;
    case Sync::kLockAll:
      if (accesses_) require(MPI_Win_unlock_all(win_), "MPI_Win_unlock_all");
      break;
    case Sync::kFlush:
      if (target_ >= 0)
        require(MPI_Win_flush(target_, win_), "MPI_Win_flush");
      else if (accesses_)
        require(MPI_Win_flush_all(win_), "MPI_Win_flush_all");
      break;
    case Sync::kFlushLocal:
      if (target_ >= 0)
        require(MPI_Win_flush_local(target_, win_), "MPI_Win_flush_local");
      else if (accesses_)
        require(MPI_Win_flush_local_all(win_), "MPI_Win_flush_local_all");
      break;
    case Sync::kLock:
      break;
  }
}

void Epoch::rest() {
  if (sync_ == Sync::kFlushLocal && accesses_) require(MPI_Win_flush_all(win_), "MPI_Win_flush_all");
}

void Epoch::open_memory() {
  MPI_Barrier(comm_);
  if (is_flush())
    require(MPI_Win_sync(win_), "MPI_Win_sync");
  else if (is_fence())
    require(MPI_Win_fence(0, win_), "MPI_Win_fence");
  else
    require(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, win_), "MPI_Win_lock");
}

void Epoch::close_memory() {
  if (is_flush())
    require(MPI_Win_sync(win_), "MPI_Win_sync");
  else if (is_fence())
    require(MPI_Win_fence(0, win_), "MPI_Win_fence");
  else
    require(MPI_Win_unlock(rank_, win_), "MPI_Win_unlock");
  MPI_Barrier(comm_);
}

// ---------------------------------------------------------------------------------------------- transfers

Transfer::Transfer(Operation operation, std::int64_t bytes, bool vector)
    : operation_(operation), vector_(vector), footprint_(bytes) {
  if (is_atomic(operation)) {
    element_bytes_ = static_cast<int>(bytes);
    type_ = bytes == 8 ? MPI_INT64_T : MPI_INT32_T;
  } else if (!vector) {
    count_ = static_cast<int>(bytes / element_bytes_);
  } else {
    const int blocks = static_cast<int>(bytes / (kBlockElements * element_bytes_));
    footprint_ = 2 * bytes;
    require(MPI_Type_vector(blocks, kBlockElements, 2 * kBlockElements, MPI_INT32_T, &type_),
            "MPI_Type_vector");
    require(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
}

Transfer::~Transfer() {
  if (vector_) MPI_Type_free(&type_);
}

void Transfer::start(const void* origin, const void* compare, void* result, int target, MPI_Aint place,
                     MPI_Win win) {
  const auto request = [this] { return &requests_.emplace_back(MPI_REQUEST_NULL); };
  switch (operation_) {
    case Operation::kPut:
      MPI_Put(origin, count_, type_, target, place, count_, type_, win);
      break;
    case Operation::kGet:
      MPI_Get(result, count_, type_, target, place, count_, type_, win);
      break;
    case Operation::kAccumulate:
      MPI_Accumulate(origin, count_, type_, target, place, count_, type_, MPI_SUM, win);
      break;
    case Operation::kGetAccumulate:
      MPI_Get_accumulate(origin, count_, type_, result, count_, type_, target, place, count_, type_, MPI_SUM,
                         win);
      break;
    case Operation::kFetchAndOp:
      MPI_Fetch_and_op(origin, result, type_, target, place, MPI_SUM, win);
      break;
    case Operation::kCompareAndSwap:
      MPI_Compare_and_swap(origin, compare, result, type_, target, place, win);
      break;
    case Operation::kRput:
      MPI_Rput(origin, count_, type_, target, place, count_, type_, win, request());
      break;
    case Operation::kRget:
      MPI_Rget(result, count_, type_, target, place, count_, type_, win, request());
      break;
    case Operation::kRaccumulate:
      MPI_Raccumulate(origin, count_, type_, target, place, count_, type_, MPI_SUM, win, request());
      break;
  }
}

void Transfer::wait() {
  if (requests_.empty()) return;
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
}

bool Transfer::reads() const {
  return operation_ == Operation::kGet || operation_ == Operation::kRget ||
         operation_ == Operation::kGetAccumulate || is_atomic(operation_);
}

bool Transfer::writes() const {
  return operation_ != Operation::kGet && operation_ != Operation::kRget;
}

bool Transfer::compares() const {
  return operation_ == Operation::kCompareAndSwap;
}

std::int64_t Transfer::after(std::int64_t window, std::int64_t origin) const {
  switch (operation_) {
    case Operation::kGet:
    case Operation::kRget:
      return window;
    case Operation::kPut:
    case Operation::kRput:
    case Operation::kCompareAndSwap:
      return origin;
    default:
      return window + origin;
  }
}

}  // namespace mbl
