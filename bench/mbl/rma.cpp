// One-sided communication. In one operation of
//   latency   rank 0 starts 200 accesses at rank 1, each at its own place, and synchronises once; one counts
//   ping      rank 0 accesses rank 1's window once, and synchronises
//   shift     every rank accesses the window of the next, and synchronises
//   exchange  every rank accesses the windows of all others, and synchronises once
//   epoch     nothing is accessed: what synchronisation costs alone (pscw: with both neighbours)
//   counter   every rank adds 1 to a number at rank 0 and gets what it was before
//   window    a window is made and freed again
//   shared    MPI_Win_allocate_shared: the memory of the next rank is loaded from or stored to
// `bytes` is what one access moves; of window, what each rank's window has. Where the target takes part in
// the synchronisation before and after an access, data are in use (Use): the rank that they come from writes
// them before, that where they go reads them after.
#include <algorithm>
#include <cstring>

#include "rma_window.hpp"

namespace mbl {
namespace {

constexpr int kLatencyCalls = 200;
constexpr std::int64_t kCacheLineBytes = 64;

/// An access that this rank begins: at `target`'s slot `there`, with the own slot `here`.
struct Access {
  int target;
  int here, there;
};

/// An access by `origin` to this rank's slot `here`, with the origin's slot `there`.
struct Arrival {
  int origin;
  int here, there;
};

/// Which ranks access which in a round.
struct Traffic {
  int slots = 1;  // of each rank's window and buffers
  std::vector<Access> accesses;
  std::vector<Arrival> arrivals;
};

Traffic ping(const Setting& setting, int calls) {
  Traffic traffic;
  traffic.slots = calls;
  for (int call = 0; call < calls; ++call) {
    if (setting.rank == 0) traffic.accesses.push_back({1, call, call});
    if (setting.rank == 1) traffic.arrivals.push_back({0, call, call});
  }
  return traffic;
}

Traffic shift(const Setting& setting) {
  Traffic traffic;
  traffic.accesses.push_back({(setting.rank + 1) % setting.size, 0, 0});
  traffic.arrivals.push_back({(setting.rank + setting.size - 1) % setting.size, 0, 0});
  return traffic;
}

/// Slot r is for or from rank r. `shifted`: each rank begins with the next one; else all begin with rank 0.
Traffic exchange(const Setting& setting, bool shifted) {
  Traffic traffic;
  traffic.slots = setting.size;
  for (int step = 0; step < setting.size; ++step) {
    const int peer = shifted ? (setting.rank + step) % setting.size : step;
    if (peer == setting.rank) continue;
    traffic.accesses.push_back({peer, peer, setting.rank});
    traffic.arrivals.push_back({peer, peer, setting.rank});
  }
  return traffic;
}

template <class Side, class Member>
std::vector<int> peers(const std::vector<Side>& sides, Member member) {
  std::vector<int> found;
  for (const Side& side : sides)
    if (std::find(found.begin(), found.end(), side.*member) == found.end()) found.push_back(side.*member);
  return found;
}

// What the data are: different in every rank, place and use, and small enough that sums fit.
std::int64_t origin_value(int rank, std::int64_t index) {
  return 1 + (rank * 131 + index * 7) % 10007;
}
std::int64_t window_value(int rank, std::int64_t index) {
  return 20000 + (rank * 89 + index * 5) % 9973;
}

struct Choice {
  Operation operation = Operation::kPut;
  Sync sync = Sync::kFence;
  WindowMemory memory = WindowMemory::kAllocate;
  bool vector = false;
};

/// Accesses of one kind, round after round.
class Accesses : public Pattern {
 public:
  Accesses(const Setting& setting, const Choice& choice, Traffic traffic)
      : rank_(setting.rank),
        traffic_(std::move(traffic)),
        transfer_(choice.operation, setting.bytes, choice.vector),
        elements_(transfer_.footprint() / transfer_.element_bytes()),
        window_(setting, transfer_.footprint() * traffic_.slots, choice.memory),
        origin_(static_cast<std::size_t>(transfer_.footprint() * traffic_.slots)) {
    if (transfer_.reads()) result_.resize(origin_.size());
    if (transfer_.compares()) compare_.resize(origin_.size());
    if (!window_.missing().empty()) return;
    epoch_ = std::make_unique<Epoch>(setting, window_, choice.sync, peers(traffic_.accesses, &Access::target),
                                     peers(traffic_.arrivals, &Arrival::origin));
    fill();
    name_buffers();
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      epoch_->begin();
      for (const Access& access : traffic_.accesses) start(access);
      transfer_.wait();
      epoch_->end();
      use_.read();
    }
    epoch_->rest();
  }

  std::string check() override {
    if (!window_.missing().empty()) return kUnsupported + window_.missing();
    fill();
    run(1);
    std::string wrong;
    epoch_->open_memory();
    for (std::int64_t index = 0; index < elements_ * traffic_.slots && wrong.empty(); ++index)
      wrong = difference("the window", load(window_.memory(), index), expected_window(index), index);
    epoch_->close_memory();
    if (!transfer_.reads()) return wrong;
    for (const Access& access : traffic_.accesses)
      for (std::int64_t i = 0; i < elements_ && wrong.empty(); ++i)
        wrong =
            difference("the result", load(result_.data(), access.here * elements_ + i),
                       transfer_.moves(i) ? window_value(access.target, access.there * elements_ + i) : -1,
                       access.here * elements_ + i);
    return wrong;
  }

 private:
  void name_buffers() {
    const std::int64_t bytes = transfer_.footprint();
    for (const Access& access : traffic_.accesses) {
      if (transfer_.writes()) use_.gives(origin_.data() + access.here * bytes, bytes);
      if (transfer_.reads()) use_.gets(result_.data() + access.here * bytes, bytes);
    }
    for (const Arrival& arrival : traffic_.arrivals) {
      unsigned char* const slot = window_.memory() + arrival.here * bytes;
      if (transfer_.writes()) use_.gets(slot, bytes);
      if (!transfer_.writes()) use_.gives(slot, bytes);
    }
  }

  void start(const Access& access) {
    const std::int64_t here = access.here * transfer_.footprint();
    epoch_->before(access.target);
    transfer_.start(origin_.data() + here, compare_.empty() ? nullptr : compare_.data() + here,
                    result_.empty() ? nullptr : result_.data() + here, access.target,
                    window_.place(access.target, access.there * transfer_.footprint()), window_.handle());
    epoch_->after(access.target);
  }

  std::int64_t load(const unsigned char* from, std::int64_t index) const {
    std::int64_t wide = 0;
    std::int32_t narrow = 0;
    if (transfer_.element_bytes() == 8) {
      std::memcpy(&wide, from + index * 8, 8);
      return wide;
    }
    std::memcpy(&narrow, from + index * 4, 4);
    return narrow;
  }

  void store(unsigned char* to, std::int64_t index, std::int64_t value) const {
    const auto narrow = static_cast<std::int32_t>(value);
    if (transfer_.element_bytes() == 8) {
      std::memcpy(to + index * 8, &value, 8);
    } else {
      std::memcpy(to + index * 4, &narrow, 4);
    }
  }

  void fill() {
    epoch_->open_memory();
    for (std::int64_t index = 0; index < elements_ * traffic_.slots; ++index) {
      store(window_.memory(), index, window_value(rank_, index));
      store(origin_.data(), index, origin_value(rank_, index));
      if (!result_.empty()) store(result_.data(), index, -1);
    }
    if (!compare_.empty())  // MPI_Compare_and_swap is to find what it compares with
      for (const Access& access : traffic_.accesses)
        for (std::int64_t i = 0; i < elements_; ++i)
          store(compare_.data(), access.here * elements_ + i,
                window_value(access.target, access.there * elements_ + i));
    epoch_->close_memory();
  }

  std::int64_t expected_window(std::int64_t index) const {
    const std::int64_t slot = index / elements_, i = index % elements_;
    const std::int64_t before = window_value(rank_, index);
    if (!transfer_.writes() || !transfer_.moves(i)) return before;
    for (const Arrival& arrival : traffic_.arrivals)
      if (arrival.here == slot)
        return transfer_.after(before, origin_value(arrival.origin, arrival.there * elements_ + i));
    return before;
  }

  static std::string difference(const char* what, std::int64_t found, std::int64_t expected,
                                std::int64_t index) {
    if (found == expected) return {};
    return std::string(what) + " has " + std::to_string(found) + " at element " + std::to_string(index) +
           ", expected " + std::to_string(expected);
  }

  int rank_;
  Traffic traffic_;
  Transfer transfer_;
  std::int64_t elements_;  // of a slot
  Window window_;
  std::vector<unsigned char> origin_, result_, compare_;
  std::unique_ptr<Epoch> epoch_;  // freed before the window
};

/// Synchronisation alone.
class Synchronisation : public Pattern {
 public:
  Synchronisation(const Setting& setting, Sync sync, int assertion)
      : targets_(neighbours(setting, sync, 1)),
        sync_(sync),
        assertion_(assertion),
        window_(setting, kCacheLineBytes, WindowMemory::kAllocate),
        epoch_(setting, window_, sync, targets_, neighbours(setting, sync, setting.size - 1)) {}

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      if (sync_ == Sync::kFence) {
        require(MPI_Win_fence(assertion_, window_.handle()), "MPI_Win_fence");
        continue;
      }
      epoch_.begin();
      for (const int target : targets_) {
        epoch_.before(target);
        epoch_.after(target);
      }
      epoch_.end();
    }
  }

  std::string check() override { return kNotChecked; }

 private:
  /// Post and start go round the ring; locks and flushes are rank 0's, at the next one.
  static std::vector<int> neighbours(const Setting& setting, Sync sync, int distance) {
    if (sync != Sync::kPscw && setting.rank != 0) return {};
    return {(setting.rank + distance) % setting.size};
  }

  std::vector<int> targets_;
  Sync sync_;
  int assertion_;
  Window window_;
  Epoch epoch_;
};

/// A number at rank 0 that all ranks add 1 to, and get, all at once.
class Counter : public Pattern {
 public:
  Counter(const Setting& setting, Operation operation)
      : setting_(setting),
        operation_(operation),
        window_(setting, kCacheLineBytes, WindowMemory::kAllocate),
        epoch_(setting, window_, Sync::kFlush, {0}, {}) {}

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      if (operation_ == Operation::kFetchAndOp) {
        fetch_and_add();
      } else {
        compare_and_swap();
      }
    }
  }

  std::string check() override {
    const std::int64_t zero = 0;
    epoch_.open_memory();
    std::memcpy(window_.memory(), &zero, sizeof zero);
    epoch_.close_memory();
    seen_ = 0;
    run(1);
    std::vector<std::int64_t> seen(static_cast<std::size_t>(setting_.size));
    MPI_Allgather(&seen_, 1, MPI_INT64_T, seen.data(), 1, MPI_INT64_T, setting_.comm);
    std::sort(seen.begin(), seen.end());
    for (int i = 0; i < setting_.size; ++i)
      if (seen[static_cast<std::size_t>(i)] != i)
        return "the ranks got " + std::to_string(seen[static_cast<std::size_t>(i)]) + ", expected " +
               std::to_string(i);
    return {};
  }

 private:
  void fetch_and_add() {
    const std::int64_t one = 1;
    MPI_Fetch_and_op(&one, &seen_, MPI_INT64_T, 0, 0, MPI_SUM, window_.handle());
    epoch_.end();
  }

  /// What it found last is what it tries next.
  void compare_and_swap() {
    for (std::int64_t expected = seen_;; expected = seen_) {
      const std::int64_t next = expected + 1;
      MPI_Compare_and_swap(&next, &expected, &seen_, MPI_INT64_T, 0, 0, window_.handle());
      epoch_.end();
      if (seen_ == expected) return;
    }
  }

  Setting setting_;
  Operation operation_;
  std::int64_t seen_ = 0;
  Window window_;
  Epoch epoch_;
};

/// Windows are made and freed.
class WindowCycle : public Pattern {
 public:
  WindowCycle(const Setting& setting, WindowMemory kind) : setting_(setting), kind_(kind) {
    if (kind == WindowMemory::kMalloc) memory_.resize(static_cast<std::size_t>(setting.bytes));
    if (kind == WindowMemory::kShared) missing_ = why_not_shared(setting);
  }

  void run(int rounds) override {
    create_seconds_ = free_seconds_ = 0;
    for (int round = 0; round < rounds; ++round) {
      MPI_Win win = MPI_WIN_NULL;
      const double begin = MPI_Wtime();
      create(&win);
      const double middle = MPI_Wtime();
      require(MPI_Win_free(&win), "MPI_Win_free");
      create_seconds_ += (middle - begin) / rounds;
      free_seconds_ += (MPI_Wtime() - middle) / rounds;
    }
  }

  std::string check() override { return missing_.empty() ? kNotChecked : kUnsupported + missing_; }

  Notes notes() override { return {{"create_seconds", create_seconds_}, {"free_seconds", free_seconds_}}; }

 private:
  void create(MPI_Win* win) {
    const auto bytes = static_cast<MPI_Aint>(setting_.bytes);
    unsigned char* base = memory_.data();
    switch (kind_) {
      case WindowMemory::kAllocate:
        require(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, setting_.comm, &base, win), "MPI_Win_allocate");
        break;
      case WindowMemory::kShared:
        require(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, setting_.comm, &base, win),
                "MPI_Win_allocate_shared");
        break;
      case WindowMemory::kDynamic:
        require(MPI_Win_create_dynamic(MPI_INFO_NULL, setting_.comm, win), "MPI_Win_create_dynamic");
        break;
      default:
        require(MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, setting_.comm, win), "MPI_Win_create");
    }
  }

  Setting setting_;
  WindowMemory kind_;
  std::vector<unsigned char> memory_;
  std::string missing_;
  double create_seconds_ = 0;
  double free_seconds_ = 0;
};

/// Loads from, or stores to, the shared memory of the next rank.
class SharedCopy : public Pattern {
 public:
  SharedCopy(const Setting& setting, bool stores, bool all)
      : setting_(setting),
        stores_(stores),
        all_(all),
        window_(setting, setting.bytes, WindowMemory::kShared),
        own_(static_cast<std::size_t>(setting.bytes)) {
    if (!window_.missing().empty()) return;
    MPI_Aint bytes = 0;
    int unit = 0;
    require(MPI_Win_shared_query(window_.handle(), next(), &bytes, &unit, &other_), "MPI_Win_shared_query");
    epoch_ = std::make_unique<Epoch>(setting, window_, Sync::kFlush, std::vector<int>{}, std::vector<int>{});
  }

  void run(int rounds) override {
    if (!all_ && setting_.rank != 0) return;
    for (int round = 0; round < rounds; ++round) {
      std::memcpy(stores_ ? other_ : own_.data(), stores_ ? own_.data() : other_, own_.size());
      MPI_Win_sync(window_.handle());
    }
  }

  std::string check() override {
    if (!window_.missing().empty()) return kUnsupported + window_.missing();
    const auto mark = [this](int rank) { return static_cast<int>(rank % 120 + setting_.bytes % 7 + 1); };
    epoch_->open_memory();
    std::memset(own_.data(), stores_ ? mark(setting_.rank) : 0, own_.size());
    std::memset(window_.memory(), stores_ ? 0 : mark(setting_.rank), own_.size());
    epoch_->close_memory();
    run(1);
    epoch_->open_memory();
    const int previous = (setting_.rank + setting_.size - 1) % setting_.size;
    const bool comes = all_ || (stores_ ? previous : setting_.rank) == 0;
    const int expected = comes ? mark(stores_ ? previous : next()) : 0;
    const unsigned char* found = stores_ ? window_.memory() : own_.data();
    std::string wrong;
    for (std::int64_t i = 0; i < setting_.bytes && wrong.empty(); ++i)
      if (found[i] != expected)
        wrong = "byte " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
                std::to_string(expected);
    epoch_->close_memory();
    return wrong;
  }

 private:
  int next() const { return (setting_.rank + 1) % setting_.size; }

  Setting setting_;
  bool stores_;
  bool all_;
  Window window_;
  std::vector<unsigned char> own_;
  unsigned char* other_ = nullptr;
  std::unique_ptr<Epoch> epoch_;  // freed before the window
};

// ---------------------------------------------------------------------------------------------- catalogue

using Sizes = std::vector<std::int64_t>;

const Sizes kQuickSizes = {4, 4 << 10, 64 << 10, 1 << 20, 4 << 20};
const Sizes kFewSizes = {4, 64 << 10, 1 << 20};
const Sizes kTwoSizes = {4, 1 << 20};

Benchmark benchmark(const char* name, std::string variant, std::string doc, Sizes bytes, Sizes quick) {
  Benchmark made;
  made.group = "rma";
  made.name = name;
  made.variant = std::move(variant);
  made.doc = std::move(doc);
  made.bytes = std::move(bytes);
  made.quick_bytes = std::move(quick);
  return made;
}

std::string variant_of(const Choice& choice) {
  return std::string("operation=") + name_of(choice.operation) + ",sync=" + name_of(choice.sync) +
         ",window=" + name_of(choice.memory) + ",layout=" + (choice.vector ? "vector" : "contiguous");
}

/// Data can be in use where the target knows when accesses begin and when they have ended.
void enter(Catalogue& catalogue, Sync sync, Benchmark made) {
  const bool both = sync == Sync::kFencePair || sync == Sync::kFenceAsserted || sync == Sync::kPscw;
  if (both) add_in_use(catalogue, std::move(made));
  if (!both) add_untouched(catalogue, std::move(made));
}

/// For benchmarks that have their listed sizes alone.
constexpr std::int64_t kNoOtherSize = std::int64_t{1} << 60;

std::int64_t unit_of(const Choice& choice) {
  if (is_atomic(choice.operation)) return kNoOtherSize;
  return choice.vector ? 64 : 4;
}

/// The sizes that an operation has.
Sizes sizes_of(const Choice& choice) {
  if (is_atomic(choice.operation)) return {4, 8};
  return powers_of_two(choice.vector ? 64 : 4, 4 << 20);
}

void add_latency(Catalogue& catalogue, Operation operation, Sync sync, bool quick) {
  const Choice choice{operation, sync};
  Benchmark made = benchmark("latency", variant_of(choice),
                             "one of rank 0's 200 accesses at rank 1 with one synchronisation behind them",
                             {4, 8}, quick ? Sizes{4} : Sizes{});
  made.ranks_min = made.ranks_max = 2;
  made.who = Who::kFirst;
  made.divisor = kLatencyCalls;
  made.unit = unit_of(choice);
  made.make = [choice](const Setting& setting) {
    return std::make_unique<Accesses>(setting, choice, ping(setting, kLatencyCalls));
  };
  enter(catalogue, choice.sync, std::move(made));
}

void add_ping(Catalogue& catalogue, const Choice& choice, Sizes quick) {
  Benchmark made = benchmark("ping", variant_of(choice), "rank 0 accesses rank 1's window and synchronises",
                             sizes_of(choice), std::move(quick));
  made.ranks_min = made.ranks_max = 2;
  made.who = Who::kFirst;
  made.unit = unit_of(choice);
  made.make = [choice](const Setting& setting) {
    return std::make_unique<Accesses>(setting, choice, ping(setting, 1));
  };
  enter(catalogue, choice.sync, std::move(made));
}

void add_shift(Catalogue& catalogue, const Choice& choice, Sizes quick) {
  Benchmark made = benchmark("shift", variant_of(choice), "every rank accesses the next one's window",
                             sizes_of(choice), std::move(quick));
  made.ranks_min = 2;
  made.unit = unit_of(choice);
  made.make = [choice](const Setting& setting) {
    return std::make_unique<Accesses>(setting, choice, shift(setting));
  };
  enter(catalogue, choice.sync, std::move(made));
}

void add_exchange(Catalogue& catalogue, const Choice& choice, bool shifted, Sizes quick) {
  Benchmark made = benchmark("exchange", variant_of(choice) + ",order=" + (shifted ? "shifted" : "naive"),
                             "every rank accesses the windows of all others, and synchronises once",
                             sizes_of(choice), std::move(quick));
  made.ranks_min = 2;
  made.unit = unit_of(choice);
  made.factor = [](int size) { return size - 1.0; };
  made.make = [choice, shifted](const Setting& setting) {
    return std::make_unique<Accesses>(setting, choice, exchange(setting, shifted));
  };
  enter(catalogue, choice.sync, std::move(made));
}

void add_epoch(Catalogue& catalogue, Sync sync, int assertion) {
  std::string variant = std::string("sync=") + name_of(sync);
  if (sync == Sync::kFence) variant += assertion == 0 ? ",asserts=none" : ",asserts=all";
  Benchmark made = benchmark("epoch", variant, "synchronisation without accesses", {0}, {0});
  made.make = [sync, assertion](const Setting& setting) {
    return std::make_unique<Synchronisation>(setting, sync, assertion);
  };
  catalogue.push_back(std::move(made));
}

void add_counter(Catalogue& catalogue, Operation operation) {
  Benchmark made = benchmark("counter", std::string("operation=") + name_of(operation),
                             "every rank adds 1 to one number at rank 0, all at once", {8}, {8});
  made.unit = kNoOtherSize;
  made.make = [operation](const Setting& setting) { return std::make_unique<Counter>(setting, operation); };
  catalogue.push_back(std::move(made));
}

void add_window(Catalogue& catalogue, WindowMemory memory) {
  Benchmark made = benchmark("window", std::string("window=") + name_of(memory), "a window is made and freed",
                             {4 << 10, 64 << 10, 1 << 20, 16 << 20}, {1 << 20});
  made.make = [memory](const Setting& setting) { return std::make_unique<WindowCycle>(setting, memory); };
  catalogue.push_back(std::move(made));
}

void add_shared(Catalogue& catalogue, bool stores, bool all) {
  const std::string variant =
      std::string("operation=") + (stores ? "store" : "load") + ",ranks=" + (all ? "all" : "first");
  Benchmark made = benchmark("shared", variant, "memory of the next rank is copied by loads or stores",
                             powers_of_two(64, 4 << 20), all ? Sizes{} : Sizes{64 << 10, 4 << 20});
  made.ranks_min = 2;
  if (!all) {
    made.ranks_max = 2;
    made.who = Who::kFirst;
  }
  made.make = [stores, all](const Setting& setting) {
    return std::make_unique<SharedCopy>(setting, stores, all);
  };
  add_untouched(catalogue, std::move(made));
}

constexpr Operation kMoves[] = {Operation::kPut, Operation::kGet, Operation::kAccumulate};

void add_pings(Catalogue& catalogue) {
  for (const Operation operation : kMoves) {
    const bool is_put = operation == Operation::kPut;
    add_ping(catalogue, {operation, Sync::kFencePair}, kQuickSizes);
    for (const Sync sync : {Sync::kFence, Sync::kFenceAsserted, Sync::kPscw, Sync::kLock, Sync::kLockAll,
                            Sync::kFlush, Sync::kFlushLocal})
      add_ping(catalogue, {operation, sync}, is_put ? kTwoSizes : Sizes{});
    for (const WindowMemory memory :
         {WindowMemory::kMalloc, WindowMemory::kAllocMem, WindowMemory::kShared, WindowMemory::kDynamic}) {
      add_ping(catalogue, {operation, Sync::kFencePair, memory}, is_put ? kTwoSizes : Sizes{});
      add_ping(catalogue, {operation, Sync::kFlush, memory}, {});
    }
    add_ping(catalogue, {operation, Sync::kFencePair, WindowMemory::kAllocate, true},
             is_put ? Sizes{64 << 10, 1 << 20} : Sizes{});
  }
  add_ping(catalogue, {Operation::kGetAccumulate, Sync::kFencePair}, {});
  add_ping(catalogue, {Operation::kGetAccumulate, Sync::kFlush}, {4});
  for (const Operation operation : {Operation::kRput, Operation::kRget, Operation::kRaccumulate})
    add_ping(catalogue, {operation, Sync::kFlush}, {});
  for (const Operation operation : {Operation::kFetchAndOp, Operation::kCompareAndSwap})
    add_ping(catalogue, {operation, Sync::kFlush}, {8});
}

}  // namespace

void add_rma(Catalogue& catalogue) {
  for (const Operation operation :
       {Operation::kPut, Operation::kGet, Operation::kAccumulate, Operation::kGetAccumulate,
        Operation::kFetchAndOp, Operation::kCompareAndSwap, Operation::kRput, Operation::kRget,
        Operation::kRaccumulate})
    add_latency(catalogue, operation, Sync::kFlush, true);
  for (const Operation operation : kMoves)
    add_latency(catalogue, operation, Sync::kFence, operation == Operation::kPut);
  add_pings(catalogue);
  for (const Operation operation : kMoves)
    for (const Sync sync : {Sync::kFencePair, Sync::kFence, Sync::kPscw, Sync::kFlush})
      add_shift(catalogue, {operation, sync},
                sync == Sync::kFencePair && operation != Operation::kAccumulate ? kFewSizes : Sizes{});
  for (const Operation operation : {Operation::kPut, Operation::kGet})
    for (const Sync sync : {Sync::kFencePair, Sync::kFence, Sync::kPscw, Sync::kFlush})
      for (const bool shifted : {true, false})
        add_exchange(catalogue, {operation, sync}, shifted,
                     sync == Sync::kFencePair && shifted ? kFewSizes : Sizes{});
  add_epoch(catalogue, Sync::kFence, 0);
  add_epoch(catalogue, Sync::kFence,
            MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);
  for (const Sync sync : {Sync::kPscw, Sync::kLock, Sync::kLockAll, Sync::kFlush})
    add_epoch(catalogue, sync, 0);
  for (const Operation operation : {Operation::kFetchAndOp, Operation::kCompareAndSwap})
    add_counter(catalogue, operation);
  for (const WindowMemory memory :
       {WindowMemory::kMalloc, WindowMemory::kAllocate, WindowMemory::kShared, WindowMemory::kDynamic})
    add_window(catalogue, memory);
  for (const bool all : {false, true})
    for (const bool stores : {true, false}) add_shared(catalogue, stores, all);
}

}  // namespace mbl
