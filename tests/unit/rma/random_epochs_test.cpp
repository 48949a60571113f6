// Random epochs on random windows against a serial oracle: every rank draws the same script of operations
// that do not conflict, carries out its own, and knows what every window must hold after each epoch.
//
// It is the only random oracle of one-sided communication.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/predefined.hpp"
#include "coll/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "rma/api.hpp"
#include "support/sanitized.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::Network;
using test::run_ranks;
using test::WorldOptions;

constexpr int kSlots = 3000;  // of 8 bytes in each rank's part
constexpr int kEpochs = test::kSanitized ? 4 : 12;
constexpr int kLockShared = 302;
constexpr int kLockExclusive = 301;

enum class Action { kPut, kGet, kSum, kXor, kFetch, kReplace, kSwap };
enum class Shape { kDense, kGaps, kBackward, kInts };
enum class Way { kFence, kStart, kLock, kLockAll, kRequests };

/// `count` slots of `target` from `first` on, every `step`-th, reached by one operation; of sums and the like
/// by one of each rank.
struct Operation {
  Action action;
  Shape at_target, at_origin;
  int origin, target, first, count, step;
  std::uint64_t seed;

  int slot(int i) const { return first + i * step; }
  bool by_all() const { return action == Action::kSum || action == Action::kXor; }
};

std::uint64_t value_of(const Operation& operation, int origin, int i) {
  return operation.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(origin * 1000003 + i * 17);
}

using Memory = std::vector<std::vector<std::uint64_t>>;  // by rank: what the windows hold

class Script {
 public:
  Script(int size, unsigned seed) : random_(seed), size_(size) {}
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  std::vector<Operation> epoch() {
    std::vector<Operation> operations;
    for (int target = 0; target < size_; ++target) {
      for (int first = 0;;) {
        first += below(20);
        const int step = 1 + below(3);
        const int count = below(4) == 0 ? 1 + below(600) : 1 + below(6);
        if (first + count * step > kSlots) break;
        Operation one{static_cast<Action>(below(7)),
                      static_cast<Shape>(below(4)),
                      static_cast<Shape>(below(3)),
                      below(size_),
                      target,
                      first,
                      count,
                      step,
                      random_()};
        if (one.action == Action::kSwap) one.count = 1;
        if (one.at_target == Shape::kInts && (step != 1 || one.action != Action::kPut))
          one.at_target = Shape::kGaps;
        operations.push_back(one);
        first += count * step;
      }
    }
    return operations;
  }

 private:
  std::mt19937 random_;
  int size_;
};

/// What the operation leaves in the windows.
void apply(const Operation& operation, Memory* memory, int size) {
  for (int i = 0; i < operation.count; ++i) {
    std::uint64_t& slot =
        (*memory)[static_cast<std::size_t>(operation.target)][static_cast<std::size_t>(operation.slot(i))];
    for (int origin = 0; origin < size; ++origin) {
      if (!operation.by_all() && origin != operation.origin) continue;
      const std::uint64_t value = value_of(operation, origin, i);
      if (operation.action == Action::kSum || operation.action == Action::kFetch) slot += value;
      if (operation.action == Action::kXor) slot ^= value;
      if (operation.action == Action::kPut || operation.action == Action::kReplace) slot = value;
      if (operation.action == Action::kSwap && slot % 2 == 0) slot = value;
    }
  }
}

/// One rank's side.
class Rank {
 public:
  Rank(Process& process, int flavor)
      : process_(process), world_(process.objects->world), dynamic_(flavor == 3) {
    const Count bytes = kSlots * 8;
    void* base = nullptr;
    own_.resize(kSlots);
    if (flavor == 0) ok(api::win_allocate(process, bytes, 4, nullptr, world_, &base, &win_));
    if (flavor == 1) ok(api::win_allocate_shared(process, bytes, 1, nullptr, world_, &base, &win_));
    if (flavor == 2) ok(api::win_create(process, base = own_.data(), bytes, 8, nullptr, world_, &win_));
    if (flavor == 3) {
      ok(api::win_create_dynamic(process, nullptr, world_, &win_));
      ok(api::win_attach(process, win_, base = own_.data(), bytes));
    }
    base_ = static_cast<std::uint64_t*>(base);
    std::memset(base_, 0, static_cast<std::size_t>(bytes));
    unit_ = win_->part(process.rank).disp_unit;
    starts_.resize(static_cast<std::size_t>(process.size));
    Aint start = dynamic_ ? reinterpret_cast<Aint>(base_) : 0;
    auto* aint = type(kMpiAint);
    ok(api::allgather(process, &start, 1, aint, starts_.data(), 1, aint, world_));
  }

  ~Rank() {
    ok(api::barrier(process_, world_));
    ok(api::win_free(process_, &win_));
  }

  void run(Way way, const std::vector<Operation>& operations, const Memory& before) {
    open(way);
    for (const Operation& operation : operations) {
      if (!operation.by_all() && operation.origin != process_.rank) continue;
      if (way == Way::kLock) ok(api::win_lock(process_, kLockShared, operation.target, 0, win_));
      start(operation, way == Way::kRequests, before);
      if (way == Way::kLock) ok(api::win_unlock(process_, operation.target, win_));
    }
    for (Request*& request : requests_) ok(api::wait(process_, &request, nullptr));
    requests_.clear();
    close(way);
    for (const Fetched& fetched : fetched_) {
      const Operation& operation = fetched.operation;
      for (int i = 0; i < operation.count; ++i) {
        ASSERT_EQ(fetched.values[static_cast<std::size_t>(i * fetched.stride)],
                  expected_fetch(operation, i, before))
            << "element " << i << " of action " << static_cast<int>(operation.action) << " on rank "
            << operation.target;
      }
    }
    fetched_.clear();
    sources_.clear();
    for (Datatype*& one : types_) api::type_free(process_, &one);
    types_.clear();
    ok(api::barrier(process_, world_));
  }

  void check(const Memory& memory, int epoch) {
    const auto& mine = memory[static_cast<std::size_t>(process_.rank)];
    ok(api::win_lock(process_, kLockExclusive, process_.rank, 0, win_));
    for (std::size_t i = 0; i < kSlots; ++i)
      ASSERT_EQ(base_[i], mine[i]) << "slot " << i << " after epoch " << epoch;
    ok(api::win_unlock(process_, process_.rank, win_));
    ok(api::barrier(process_, world_));
  }

 private:
  struct Fetched {
    Operation operation;
    int stride;
    std::vector<std::uint64_t> values;
  };

  void ok(Code code) { ASSERT_EQ(code, 0) << process_.errors.text(code); }
  Datatype* type(std::uint16_t number) {
    return static_cast<Datatype*>(process_.objects->predefined[number]);
  }
  Op* op(std::uint16_t number) { return static_cast<Op*>(process_.objects->predefined[number]); }

  static std::uint64_t expected_fetch(const Operation& operation, int i, const Memory& before) {
    return before[static_cast<std::size_t>(operation.target)][static_cast<std::size_t>(operation.slot(i))];
  }

  void open(Way way) {
    if (way == Way::kFence) ok(api::win_fence(process_, 0, win_));
    if (way == Way::kLockAll || way == Way::kRequests) ok(api::win_lock_all(process_, 0, win_));
    if (way != Way::kStart) return;
    Group* all = nullptr;
    ok(api::win_get_group(process_, win_, &all));
    ok(api::win_post(process_, all, 0, win_));
    ok(api::win_start(process_, all, 0, win_));
    ok(api::group_free(process_, &all));
  }

  void close(Way way) {
    if (way == Way::kFence) ok(api::win_fence(process_, 0, win_));
    if (way == Way::kLockAll || way == Way::kRequests) ok(api::win_unlock_all(process_, win_));
    if (way != Way::kStart) return;
    ok(api::win_complete(process_, win_));
    ok(api::win_wait(process_, win_));
  }

  /// A type of `count` slots, `step` apart, and where it starts counted from the first slot.
  Datatype* shape(Shape shape, int count, int step, Count* start, Count* elements) {
    Datatype* slot = type(kMpiUint64T);
    *start = 0;
    *elements = 1;
    Datatype* made = nullptr;
    if (shape == Shape::kInts) {
      *elements = 2 * count;
      return type(kMpiUint32T);
    }
    if (shape == Shape::kDense && step == 1) {
      *elements = count;
      return slot;
    }
    if (shape == Shape::kBackward) {
      *start = Count{count - 1} * step;
      ok(api::type_vector(process_, count, 1, -step, slot, &made, false));
    } else {
      ok(api::type_vector(process_, count, 1, step, slot, &made, false));
    }
    ok(api::type_commit(process_, &made));
    types_.push_back(made);
    return made;
  }

  /// The order in which a shape visits the slots: the i-th of them.
  static int visited(const Operation& operation, int i) {
    return operation.at_target == Shape::kBackward && operation.count > 0 ? operation.count - 1 - i : i;
  }

  void start(const Operation& operation, bool by_request, const Memory& before) {
    Count at = 0, elements = 0;
    Datatype* there = shape(operation.at_target, operation.count, operation.step, &at, &elements);
    const Count bytes = (operation.first + at) * 8;
    const Count displacement = starts_[static_cast<std::size_t>(operation.target)] + bytes / unit_;
    const bool gaps = operation.at_origin == Shape::kGaps;
    const int stride = gaps ? 2 : 1;
    Datatype* here = type(kMpiUint64T);
    Count count = operation.count;
    if (gaps) {
      Count unused = 0;
      here = shape(Shape::kGaps, operation.count, 2, &unused, &count);
    }
    std::vector<std::uint64_t> source(static_cast<std::size_t>(operation.count * stride));
    for (int i = 0; i < operation.count; ++i) {
      source[static_cast<std::size_t>(i * stride)] =
          value_of(operation, process_.rank, visited(operation, i));
    }
    sources_.push_back(std::move(source));
    std::vector<std::uint64_t>& from = sources_.back();
    fetched_.push_back({operation, stride, std::vector<std::uint64_t>(from.size())});
    std::uint64_t* result = fetched_.back().values.data();
    issue(operation, by_request, before, from.data(), count, here, result, displacement, elements, there);
    if (operation.at_target == Shape::kBackward)
      fetched_.back().operation.first += (operation.count - 1) * operation.step;
    if (operation.at_target == Shape::kBackward) fetched_.back().operation.step = -operation.step;
    const bool fetches = operation.action == Action::kGet || operation.action == Action::kFetch ||
                         operation.action == Action::kSwap;
    if (!fetches) fetched_.pop_back();
  }

  void issue(const Operation& operation, bool by_request, const Memory& before, std::uint64_t* from,
             Count count, Datatype* here, std::uint64_t* result, Count displacement, Count elements,
             Datatype* there) {
    const int target = operation.target;
    Request* request = nullptr;
    const auto accumulate = [&](std::uint16_t how) {
      ok(by_request ? api::raccumulate(process_, from, count, here, target, displacement, elements, there,
                                       op(how), win_, &request)
                    : api::accumulate(process_, from, count, here, target, displacement, elements, there,
                                      op(how), win_));
    };
    switch (operation.action) {
      case Action::kPut:
        ok(by_request
               ? api::rput(process_, from, count, here, target, displacement, elements, there, win_, &request)
               : api::put(process_, from, count, here, target, displacement, elements, there, win_));
        break;
      case Action::kGet:
        ok(by_request ? api::rget(process_, result, count, here, target, displacement, elements, there, win_,
                                  &request)
                      : api::get(process_, result, count, here, target, displacement, elements, there, win_));
        break;
      case Action::kFetch:
        ok(by_request ? api::rget_accumulate(process_, from, count, here, result, count, here, target,
                                             displacement, elements, there, op(kMpiSum), win_, &request)
                      : api::get_accumulate(process_, from, count, here, result, count, here, target,
                                            displacement, elements, there, op(kMpiSum), win_));
        break;
      case Action::kSwap: {
        // Swaps where the slot is even: compares with what is there, or with something else.
        const std::uint64_t there_now = expected_fetch(operation, 0, before);
        sources_.push_back({there_now % 2 == 0 ? there_now : there_now + 1});
        ok(api::compare_and_swap(process_, from, sources_.back().data(), result, type(kMpiUint64T), target,
                                 displacement, win_));
        break;
      }
      case Action::kSum:
        accumulate(kMpiSum);
        break;
      case Action::kXor:
        accumulate(kMpiBxor);
        break;
      case Action::kReplace:
        accumulate(kMpiReplace);
        break;
    }
    if (request != nullptr) requests_.push_back(request);
  }

  Process& process_;
  Comm* world_;
  bool dynamic_;
  Win* win_ = nullptr;
  std::vector<std::uint64_t> own_;
  std::uint64_t* base_ = nullptr;
  Count unit_ = 1;
  std::vector<Aint> starts_;
  std::vector<std::vector<std::uint64_t>> sources_;  // what operations under way read
  std::vector<Fetched> fetched_;
  std::vector<Datatype*> types_;
  std::vector<Request*> requests_;
};

/// A flavor, and which ranks' memory is global: operations on private memory go as messages.
struct Kind {
  int flavor;
  enum { kNobody, kEven, kAll } global;
};

void run_epochs(int size, const Kind& kind, unsigned seed, Network network = Network::kSharedMemory,
                const std::vector<int>& nodes = {}) {
  WorldOptions options;
  options.nodes = nodes;
  options.network = network;
  options.late_copies = network == Network::kInproc && !nodes.empty();
  options.symmetric_heap = kind.global != Kind::kNobody;
  options.odd_ranks_private = kind.global == Kind::kEven;
  const int flavor = kind.flavor;
  run_ranks(
      size,
      [=](Process& process) {
        Script script(size, seed);
        Memory memory(static_cast<std::size_t>(size), std::vector<std::uint64_t>(kSlots));
        Rank rank(process, flavor);
        for (int epoch = 0; epoch < kEpochs; ++epoch) {
          const auto way = static_cast<Way>(script.below(5));
          const std::vector<Operation> operations = script.epoch();
          const Memory before = memory;
          for (const Operation& operation : operations) apply(operation, &memory, size);
          rank.run(way, operations, before);
          if (testing::Test::HasFatalFailure()) return;
          rank.check(memory, epoch);
        }
      },
      options);
}

class RandomEpochs : public testing::TestWithParam<Kind> {};

TEST_P(RandomEpochs, OfOneRank) {
  run_epochs(1, GetParam(), 1);
}
TEST_P(RandomEpochs, OfTwoRanks) {
  run_epochs(2, GetParam(), 2);
  run_epochs(2, GetParam(), 3);
}
TEST_P(RandomEpochs, OfThreeRanks) {
  run_epochs(3, GetParam(), 4);
}
TEST_P(RandomEpochs, OfFiveRanks) {
  run_epochs(5, GetParam(), 5);
}
TEST_P(RandomEpochs, OverTheToyLink) {
  run_epochs(3, GetParam(), 6, Network::kInproc);
}

// Over nodes no window has shared memory, so there are none of MPI_Win_allocate_shared.
TEST_P(RandomEpochs, OverNodes) {
  if (GetParam().flavor == 1) return;
  run_epochs(2, GetParam(), 7, Network::kSharedMemory, {0, 1});
  run_epochs(3, GetParam(), 8, Network::kSharedMemory, {0, 1, 0});
  run_epochs(4, GetParam(), 9, Network::kSharedMemory, {0, 0, 1, 1});
  run_epochs(5, GetParam(), 10, Network::kSharedMemory, {0, 1, 2, 3, 1});
}

// Puts and gets are the network's between nodes, and complete after packets that were sent later.
TEST_P(RandomEpochs, OverNodesByCopiesOfTheNetwork) {
  if (GetParam().flavor == 1) return;
  run_epochs(2, GetParam(), 11, Network::kInproc, {0, 1});
  run_epochs(3, GetParam(), 12, Network::kInproc, {0, 1, 0});
  run_epochs(5, GetParam(), 13, Network::kInproc, {0, 1, 2, 3, 1});
}

// Allocated, shared, created, dynamic.
INSTANTIATE_TEST_SUITE_P(Flavors, RandomEpochs,
                         testing::Values(Kind{0, Kind::kNobody}, Kind{0, Kind::kEven}, Kind{0, Kind::kAll},
                                         Kind{1, Kind::kAll}, Kind{2, Kind::kNobody}, Kind{2, Kind::kEven},
                                         Kind{2, Kind::kAll}, Kind{3, Kind::kAll}));

}  // namespace
}  // namespace tasuki
