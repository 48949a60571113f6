// Flag-based collectives under load: ranks that do random ones on several communicators, in whatever order
// their members come, find what a serial oracle says. The counts are on either side of what is flag-based;
// types are contiguous, with gaps, and aligned to 16; operations are predefined, and a user's that does not
// commute.
//
// tests/ranks/mixture.cpp has random collectives among processes. This oracle is kept for the thread
// sanitizer, which sees the ranks as threads: flags and data that are read too early are a race there, though
// the data may be right.
#include "coll/shm/flag_collectives.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "base/predefined.hpp"
#include "base/variables/algorithm_table.hpp"
#include "coll/api.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/single_copy.hpp"
#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "reduction/api.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::Network;
using test::run_ranks;
using test::WorldOptions;

enum Kind { kNumbers, kLongDoubles, kMaps, kMapsWithGaps, kKinds };

/// x -> a * x + b, or, in the kinds of numbers, a alone.
struct Value {
  std::uint32_t a = 0, b = 0;
  friend bool operator==(const Value&, const Value&) = default;
};

/// First `left`, then `right`: does not commute.
Value then(Value left, Value right) {
  return {left.a * right.a, right.a * left.b + right.b};
}
Value combine(Kind kind, Value left, Value right) {
  return kind < kMaps ? Value{left.a + right.a, 0} : then(left, right);
}

int gap_of(Kind kind) {
  return kind == kMapsWithGaps ? 1 : 0;
}
std::size_t bytes_of(Kind kind) {
  if (kind == kNumbers) return 4;
  return kind == kLongDoubles ? sizeof(long double) : static_cast<std::size_t>(8 + 4 * gap_of(kind));
}

Value read(Kind kind, const void* at) {
  Value value;
  if (kind == kLongDoubles) {
    value.a = static_cast<std::uint32_t>(*static_cast<const long double*>(at));
  } else {
    const auto* words = static_cast<const std::uint32_t*>(at);
    value.a = words[0];
    if (kind >= kMaps) value.b = words[1 + gap_of(kind)];
  }
  return value;
}
void write(Kind kind, void* at, Value value) {
  if (kind == kLongDoubles) {
    *static_cast<long double*>(at) = value.a;
  } else {
    auto* words = static_cast<std::uint32_t*>(at);
    words[0] = value.a;
    if (kind >= kMaps) words[1 + gap_of(kind)] = value.b;
  }
}

void apply_maps(const void* in, void* inout, Count count, Datatype* datatype) {
  const Kind kind = datatype->extent == 8 ? kMaps : kMapsWithGaps;
  const auto extent = static_cast<std::size_t>(datatype->extent);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto* left = static_cast<const std::byte*>(in) + i * extent;
    auto* right = static_cast<std::byte*>(inout) + i * extent;
    write(kind, right, then(read(kind, left), read(kind, right)));
  }
}

/// What is equal at all ranks of a step.
struct Step {
  Operation operation;
  Kind kind;
  int count;
  int root;
  bool in_place;
  unsigned seed;

  /// The element that `rank` has at `index` of what it brings along.
  Value input(int rank, int index) const {
    const unsigned mixed = (seed * 31 + static_cast<unsigned>(rank)) * 977 + static_cast<unsigned>(index);
    return kind < kMaps ? Value{mixed % 1000, 0} : Value{mixed % 7 + 2, mixed % 1000};
  }
  /// Combined over the ranks from `first` to `last`.
  Value reduced(int first, int last, int index) const {
    Value value = input(first, index);
    for (int rank = first + 1; rank <= last; ++rank) value = combine(kind, value, input(rank, index));
    return value;
  }
};

class Buffer {
 public:
  Buffer(Kind kind, int count) : kind_(kind), bytes_(bytes_of(kind) * static_cast<std::size_t>(count) + 16) {
    std::memset(bytes_.data(), 0x5a, bytes_.size());
  }
  void* data() { return bytes_.data(); }
  void* at(int index) { return bytes_.data() + static_cast<std::size_t>(index) * bytes_of(kind_); }
  void set(int index, Value value) { write(kind_, at(index), value); }
  Value get(int index) { return read(kind_, at(index)); }
  bool gap_is_whole(int index) {
    std::uint32_t gap;
    std::memcpy(&gap, static_cast<std::byte*>(at(index)) + 4, 4);
    return kind_ != kMapsWithGaps || gap == 0x5a5a5a5a;
  }

 private:
  Kind kind_;
  std::vector<std::byte> bytes_;
};

class Player {
 public:
  explicit Player(Process& process) : process_(process) {
    Datatype* word = predefined<Datatype>(kMpiInt);
    types_[kNumbers] = word;
    types_[kLongDoubles] = predefined<Datatype>(kMpiLongDouble);
    EXPECT_EQ(api::type_contiguous(process, 2, word, &types_[kMaps], false), 0);
    EXPECT_EQ(api::type_vector(process, 2, 1, 2, word, &types_[kMapsWithGaps], false), 0);
    EXPECT_EQ(api::op_create(process, reinterpret_cast<AnyFunction>(&apply_maps), false, &maps_, true), 0);
    for (int kind = kMaps; kind < kKinds; ++kind) EXPECT_EQ(api::type_commit(process, &types_[kind]), 0);
  }
  ~Player() {
    for (int kind = kMaps; kind < kKinds; ++kind) EXPECT_EQ(api::type_free(process_, &types_[kind]), 0);
    EXPECT_EQ(api::op_free(process_, &maps_), 0);
  }

  void play(Comm& comm, const Step& step) {
    comm_ = &comm;
    step_ = step;
    size_ = comm.size();
    rank_ = comm.rank;
    type_ = types_[step.kind];
    op_ = step.kind < kMaps ? predefined<Op>(kMpiSum) : maps_;
    const int room = step.count * size_;
    Buffer in(step.kind, room), out(step.kind, room);
    for (int index = 0; index < room; ++index) out.set(index, step.input(rank_, index));
    move(in, out);
    reduce(in, out);
  }

 private:
  template <class T>
  T* predefined(int number) {
    return static_cast<T*>(process_.objects->predefined[static_cast<std::size_t>(number)]);
  }

  void expect(Buffer& buffer, int index, Value value) {
    EXPECT_TRUE(buffer.get(index) == value && buffer.gap_is_whole(index))
        << operation_row(step_.operation).name << " of " << step_.count << " of kind " << step_.kind
        << " at rank " << rank_ << " of " << size_ << ", element " << index;
  }

  /// `buffer` takes this rank's vector of `count` elements where it stands for input and output.
  const void* input(Buffer& in, Buffer& out, int count) {
    if (!step_.in_place) return out.data();
    for (int index = 0; index < count; ++index) in.set(index, step_.input(rank_, index));
    return kInPlace;
  }

  void move(Buffer& in, Buffer& out) {
    const int count = step_.count, root = step_.root;
    const bool is_root = rank_ == root;
    switch (step_.operation) {
      case Operation::kBarrier:
        ASSERT_EQ(api::barrier(process_, comm_), 0);
        return;
      case Operation::kBcast:
        ASSERT_EQ(api::bcast(process_, is_root ? out.data() : in.data(), count, type_, root, comm_), 0);
        for (int i = 0; i < count; ++i) expect(is_root ? out : in, i, step_.input(root, i));
        return;
      case Operation::kGather:
        ASSERT_EQ(api::gather(process_, out.data(), count, type_, in.data(), count, type_, root, comm_), 0);
        for (int i = 0; is_root && i < count * size_; ++i) expect(in, i, step_.input(i / count, i % count));
        return;
      case Operation::kScatter:
        ASSERT_EQ(api::scatter(process_, out.data(), count, type_, in.data(), count, type_, root, comm_), 0);
        for (int i = 0; i < count; ++i) expect(in, i, step_.input(root, rank_ * count + i));
        return;
      case Operation::kAllgather: {
        for (int i = 0; step_.in_place && i < count; ++i) in.set(rank_ * count + i, step_.input(rank_, i));
        const void* from = step_.in_place ? kInPlace : out.data();
        ASSERT_EQ(api::allgather(process_, from, count, type_, in.data(), count, type_, comm_), 0);
        for (int i = 0; i < count * size_; ++i) expect(in, i, step_.input(i / count, i % count));
        return;
      }
      case Operation::kAlltoall: {
        const void* from = input(in, out, count * size_);
        ASSERT_EQ(api::alltoall(process_, from, count, type_, in.data(), count, type_, comm_), 0);
        for (int i = 0; i < count * size_; ++i)
          expect(in, i, step_.input(i / count, rank_ * count + i % count));
        return;
      }
      default:
        return;
    }
  }

  void reduce(Buffer& in, Buffer& out) {
    const int count = step_.count, root = step_.root, last = size_ - 1;
    switch (step_.operation) {
      case Operation::kReduce: {
        const void* from = rank_ == root ? input(in, out, count) : out.data();
        ASSERT_EQ(api::reduce(process_, from, in.data(), count, type_, op_, root, comm_), 0);
        for (int i = 0; rank_ == root && i < count; ++i) expect(in, i, step_.reduced(0, last, i));
        return;
      }
      case Operation::kAllreduce:
        ASSERT_EQ(api::allreduce(process_, input(in, out, count), in.data(), count, type_, op_, comm_), 0);
        for (int i = 0; i < count; ++i) expect(in, i, step_.reduced(0, last, i));
        return;
      case Operation::kReduceScatter: {
        const void* from = input(in, out, count * size_);
        ASSERT_EQ(api::reduce_scatter_block(process_, from, in.data(), count, type_, op_, comm_), 0);
        for (int i = 0; i < count; ++i) expect(in, i, step_.reduced(0, last, rank_ * count + i));
        return;
      }
      case Operation::kScan:
        ASSERT_EQ(api::scan(process_, input(in, out, count), in.data(), count, type_, op_, comm_), 0);
        for (int i = 0; i < count; ++i) expect(in, i, step_.reduced(0, rank_, i));
        return;
      case Operation::kExscan:
        ASSERT_EQ(api::exscan(process_, input(in, out, count), in.data(), count, type_, op_, comm_), 0);
        for (int i = 0; rank_ > 0 && i < count; ++i) expect(in, i, step_.reduced(0, rank_ - 1, i));
        return;
      default:
        return;
    }
  }

  Process& process_;
  Datatype* types_[kKinds] = {};
  Op* maps_ = nullptr;
  Comm* comm_ = nullptr;
  Step step_{};
  int size_ = 0, rank_ = 0;
  Datatype* type_ = nullptr;
  Op* op_ = nullptr;
};

/// The same at all ranks.
Step draw(std::mt19937& same) {
  constexpr Operation kOperationsToPlay[] = {
      Operation::kBarrier, Operation::kBcast,     Operation::kGather,        Operation::kScatter,
      Operation::kReduce,  Operation::kScan,      Operation::kAllgather,     Operation::kAlltoall,
      Operation::kExscan,  Operation::kAllreduce, Operation::kReduceScatter,
  };
  constexpr int kCounts[] = {0, 1, 1, 2, 7, 60, 300};
  Step step{};
  step.operation = kOperationsToPlay[same() % std::size(kOperationsToPlay)];
  step.kind = static_cast<Kind>(same() % kKinds);
  step.count = kCounts[same() % std::size(kCounts)];
  step.root = static_cast<int>(same() % 64);
  step.in_place = same() % 3 == 0;
  step.seed = static_cast<unsigned>(same() % 1000);
  return step;
}

void play_at_random(Process& process, unsigned seed, int steps) {
  Comm* world = process.objects->world;
  const int half = process.rank % 2;
  const bool is_last = process.rank == process.size - 1;
  Comm *reversed = nullptr, *halves = nullptr, *most = nullptr;
  ASSERT_EQ(api::comm_split(process, world, 0, -process.rank, &reversed), 0);
  ASSERT_EQ(api::comm_split(process, world, half, -process.rank, &halves), 0);
  ASSERT_EQ(api::comm_split(process, world, is_last ? kUndefined : 0, process.rank, &most), 0);
  Comm* const comms[] = {world, reversed, halves, most};
  std::mt19937 same(seed);
  std::mt19937 own(seed * 64 + static_cast<unsigned>(process.rank));
  {
    Player player(process);
    for (int number = 0; number < steps && !testing::Test::HasFailure(); ++number) {
      Comm* comm = comms[same() % std::size(comms)];
      Step step = draw(same);
      if (comm == nullptr) continue;
      if (own() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (own() % 4 == 0) sched_yield();
      step.root %= comm->size();
      player.play(*comm, step);
    }
  }
  for (Comm* comm : {reversed, halves, most}) {
    if (comm != nullptr) {
      ASSERT_EQ(api::comm_free(process, &comm), 0);
    }
  }
}

class FlagCollectives : public testing::TestWithParam<std::tuple<int, Network, int>> {};

TEST_P(FlagCollectives, AreRightAtRandom) {
  const auto [size, network, spin_count] = GetParam();
  WorldOptions options{.network = network};
  options.config.spin_count = spin_count;
  run_ranks(
      size, [&](Process& process) { play_at_random(process, static_cast<unsigned>(process.size), 400); },
      options);
}

INSTANTIATE_TEST_SUITE_P(Worlds, FlagCollectives,
                         testing::Combine(testing::Values(2, 3, 4, 8),
                                          testing::Values(Network::kSharedMemory, Network::kInproc),
                                          testing::Values(0, 16)));

TEST(FlagCollective, RunWithoutAMessage) {
  run_ranks(2, [](Process& process) {
    Comm* world = process.objects->world;
    ASSERT_EQ(api::barrier(process, world), 0);  // makes the node segment
    const auto messages = [&] { return process.counters.of(Way::kShort).sent.messages; };
    const std::uint64_t before = messages();
    int in = 1, out = 0;
    ASSERT_EQ(
        api::allreduce(process, &in, &out, 1, static_cast<Datatype*>(process.objects->predefined[kMpiInt]),
                       static_cast<Op*>(process.objects->predefined[kMpiSum]), world),
        0);
    EXPECT_EQ(out, 2);
    EXPECT_EQ(messages(), before);
    constexpr int kFlags = algorithm_number(Operation::kAllreduce, "flag_based");
    EXPECT_EQ(process.counters.algorithms[kFlags], 1U);
  });
}

/// How much more the collective takes where each turn takes `more_ns` more.
double price_of_turns(const Problem& problem, double more_ns) {
  Parameters slower;
  slower.turn_ns += more_ns;
  return flag_collective_ns(problem, slower, 0) - flag_collective_ns(problem, {}, 0);
}

TEST(FlagCollective, WriteNearlyAPagePastTheCachesWhereTheProcessorStreams) {
  for (const ProcessorMaker maker : {ProcessorMaker::kAmd, ProcessorMaker::kIntel}) {
    WorldOptions options;
    options.config = {.distance = 1 + static_cast<int>(Distance::kCache), .processor = processor_item(maker)};
    run_ranks(
        3,
        [&](Process& process) {
          Comm* world = process.objects->world;
          auto* byte = static_cast<Datatype*>(process.objects->predefined[kMpiByte]);
          auto* band = static_cast<Op*>(process.objects->predefined[kMpiBor]);
          const NodeSegment& segment = *node_segment_of(*world);
          EXPECT_FALSE(segment.is_streamed(kStreamedShownBytesMin - 1));
          EXPECT_EQ(segment.is_streamed(kStreamedShownBytesMin), maker == ProcessorMaker::kAmd);
          for (int bytes = kStreamedShownBytesMin - 2; bytes <= kInlineBytes;
               bytes += bytes < 3900 ? 1 : 37) {
            const auto told = [&](int rank) { return std::byte(rank + bytes % 7 + 1); };
            const auto size = static_cast<std::size_t>(bytes);
            std::vector<std::byte> own(size + 1, told(world->rank)), all(3 * size), sum(size);
            // From an odd address.
            ASSERT_EQ(api::gather(process, own.data() + 1, bytes, byte, all.data(), bytes, byte, 1, world),
                      0);
            ASSERT_EQ(api::reduce(process, own.data() + 1, sum.data(), bytes, byte, band, 2, world), 0);
            ASSERT_EQ(api::bcast(process, own.data() + 1, bytes, byte, 0, world), 0);
            EXPECT_EQ(own[1], told(0));
            EXPECT_EQ(own[size], told(0));
            for (int rank = 0; world->rank == 1 && rank < 3; ++rank) {
              EXPECT_EQ(all[static_cast<std::size_t>(rank) * size], told(rank));
              EXPECT_EQ(all[static_cast<std::size_t>(rank + 1) * size - 1], told(rank));
            }
            if (world->rank == 2) EXPECT_EQ(sum[size - 1], told(0) | told(1) | told(2));
          }
        },
        options);
  }
}

TEST(FlagPrice, OneWayOnesPayForTurnsOnlyWhenTheyWaitForRoom) {
  Problem problem{
      .operation = Operation::kAllreduce, .size = 8, .bytes = 8, .node_ranks_max = 8, .processors = 2};
  const double turns = 3;  // four ranks a processor
  EXPECT_NEAR(price_of_turns(problem, 6400), turns * 6400, 1e-6);
  problem.operation = Operation::kBcast;
  // They wait until half of it is free.
  EXPECT_NEAR(price_of_turns(problem, 6400), 2 * turns * 6400 / kLines, 1e-6);
  problem.bytes = 1024;
  EXPECT_NEAR(price_of_turns(problem, 6400), 2 * turns * 6400 / kPages, 1e-6);
  problem.operation =
      Operation::kScan;  // four ranks of a processor, each after those before it, in any order
  EXPECT_NEAR(price_of_turns(problem, 6400), 2.5 * 2 * turns * 6400 / kPages, 1e-6);
  problem.operation = Operation::kScatter;  // the root shows seven blocks
  problem.bytes = 8;
  EXPECT_NEAR(price_of_turns(problem, 6400), 2 * turns * 6400 / kLines, 1e-6);
  problem.bytes = 16;
  EXPECT_NEAR(price_of_turns(problem, 6400), 2 * turns * 6400 / kPages, 1e-6);
  problem.processors = 8;
  EXPECT_EQ(price_of_turns(problem, 6400), 0);
}

/// How much more it takes where each further flag takes 100 ns more.
template <class Price>
double price_of_flags(const Problem& problem, Price&& price) {
  Parameters slower;
  slower.flag_read_ns += 100;
  return price(problem, slower) - price(problem, {});
}

TEST(FlagPrice, FlagsOfRanksThatHaveTheSameProcessorCostNothing) {
  const auto flags = [](const Problem& problem, const Parameters& parameters) {
    return flag_collective_ns(problem, parameters, 0);
  };
  const auto bcast = [](const Problem& problem, const Parameters& parameters) {
    return single_copy_ns(single_copy_bcast_cost(problem.size, 1024), problem, parameters);
  };
  const auto reduce = [](const Problem& problem, const Parameters& parameters) {
    return single_copy_ns(single_copy_reduce_cost(problem.size, 1024), problem, parameters);
  };
  Problem problem{
      .operation = Operation::kGather, .size = 8, .bytes = 8, .node_ranks_max = 8, .processors = 2};
  EXPECT_NEAR(price_of_flags(problem, flags), 3 * 100, 1e-6);  // the root looks at those of four others
  problem.operation = Operation::kBarrier;
  EXPECT_NEAR(price_of_flags(problem, flags), 4 * 3 * 100, 1e-6);  // as do four ranks of each processor
  EXPECT_NEAR(price_of_flags(problem, bcast), 2 * 3 * 100, 1e-6);
  EXPECT_NEAR(price_of_flags(problem, reduce), 2 * 4 * 3 * 100, 1e-6);
  problem.processors = 8;
  EXPECT_NEAR(price_of_flags(problem, flags), 6 * 100, 1e-6);
  problem.processors = 1;
  EXPECT_EQ(price_of_flags(problem, flags), 0);
}

/// How much more it takes where what travels between processors does so at 1 byte a nanosecond.
template <class Price>
double price_of_travel(const Problem& problem, Price&& price) {
  Parameters never, slow;
  never.travelled_bytes_per_ns = 1e300;
  slow.travelled_bytes_per_ns = 1;
  return price(problem, slow) - price(problem, never);
}

TEST(FlagPrice, DataTravelsOnceToEachProcessor) {
  const auto flags = [](const Problem& problem, const Parameters& parameters) {
    return flag_collective_ns(problem, parameters, 0);
  };
  Problem problem{
      .operation = Operation::kBcast, .size = 8, .bytes = 1024, .node_ranks_max = 8, .processors = 2};
  EXPECT_NEAR(price_of_travel(problem, flags), 1024, 1e-6);
  problem.operation = Operation::kReduce;  // what the four ranks of the other processor show
  EXPECT_NEAR(price_of_travel(problem, flags), 4 * 1024, 1e-6);
  problem.operation = Operation::kAllreduce;
  EXPECT_NEAR(price_of_travel(problem, flags), 4 * 1024, 1e-6);
  problem.operation = Operation::kAlltoall;  // to each of four ranks from each of the four others
  EXPECT_NEAR(price_of_travel(problem, flags), 16 * 1024, 1e-6);
  problem.processors = 8;  // each rank has its own
  EXPECT_NEAR(price_of_travel(problem, flags), 7 * 1024, 1e-6);
  problem.processors = 1;
  EXPECT_EQ(price_of_travel(problem, flags), 0);
}

TEST(FlagPrice, CopiesThatAreKeptTravelToo) {
  const auto bcast = [](const Problem& problem, const Parameters& parameters) {
    return single_copy_ns(single_copy_bcast_copy_cost(problem.size, 1024), problem, parameters);
  };
  const auto gather = [](const Problem& problem, const Parameters& parameters) {
    return single_copy_ns(single_copy_gather_copy_cost(problem.size, 1024), problem, parameters);
  };
  Problem problem{.size = 8, .node_ranks_max = 8, .processors = 2};
  EXPECT_NEAR(price_of_travel(problem, bcast), 1024, 1e-6);
  EXPECT_NEAR(price_of_travel(problem, gather), 4 * 1024, 1e-6);
  problem.processors = 1;
  EXPECT_EQ(price_of_travel(problem, bcast), 0);
  EXPECT_EQ(price_of_travel(problem, gather), 0);
}

TEST(FlagLimits, ArePricedOnceForCommunicatorsThatAreAlike) {
  FlagLimitsTable table;
  int priced = 0;
  const auto price = [&] { return FlagLimits{++priced}; };
  const Problem one{.size = 1000, .processors = 4}, other{.size = 1000, .processors = 5};
  EXPECT_EQ(table.find(one, price)[0], 1);
  EXPECT_EQ(table.find(other, price)[0], 2);
  EXPECT_EQ(table.find(one, price)[0], 1);
  table.forget();
  EXPECT_EQ(table.find(one, price)[0], 3);
}

}  // namespace
}  // namespace tasuki
