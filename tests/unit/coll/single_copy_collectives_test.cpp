// Single-copy schedules on real ranks (threads) and a real node segment: large data, in symmetric memory and
// in private memory that is staged, all of it or that of odd ranks; datatypes with gaps; predefined pairs; a
// user's operation that does not commute; more blocks than the node segment has room for. Forced straight,
// without the selection; tests/ranks/algorithms.cpp and mixture.cpp draw them at random beside the others.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/predefined.hpp"
#include "base/variables/collective_operations.hpp"
#include "coll/api.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/single_copy.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

Datatype* predefined_type(Process& process, int number) {
  return static_cast<Datatype*>(process.objects->predefined[number]);
}
Op* predefined_op(Process& process, int number) {
  return static_cast<Op*>(process.objects->predefined[number]);
}

/// Runs `write` as the schedule of a blocking collective.
template <class Write>
Code run_single_copy_step(Process& process, const Arguments& arguments, Write&& write) {
  Comm& comm = *process.objects->world;
  EXPECT_NE(node_segment_of(comm), nullptr);
  return run_collective(comm, [&](Execution& execution) -> Code {
    execution.arguments = arguments;
    write(execution.schedule, execution.self());
    return 0;
  });
}

/// Calls `body` in worlds of some sizes where all heaps are global, and where every other one is.
template <class Body>
void in_worlds(std::initializer_list<int> sizes, Body&& body) {
  for (int size : sizes) {
    for (bool odd_heaps_private : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << size << " ranks" << (odd_heaps_private ? ", odd ones with private heaps" : ""));
      WorldOptions options;
      options.odd_heaps_private = odd_heaps_private;
      run_ranks(size, body, options);
      if (testing::Test::HasFailure()) return;
    }
  }
}

constexpr Count kCounts[] = {1, 1000, 40000};

std::int32_t value(int rank, Count i) {
  return static_cast<std::int32_t>((rank + 1) * 1000 + i % 977);
}

TEST(SingleCopyCollectives, AllreduceOfIntegers) {
  in_worlds({2, 3, 5, 16}, [](Process& process) {
    const int size = process.objects->world->size();
    const int rank = process.objects->world->rank;
    for (Count count : kCounts) {
      for (bool in_place : {false, true}) {
        std::vector<std::int32_t> in(static_cast<std::size_t>(count)), out(in.size(), -1);
        for (Count i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = value(rank, i);
        if (in_place) out = in;
        Datatype* type = predefined_type(process, kMpiInt32T);
        const Reduction data{.count = count, .type = shape_of(*type), .in_place = in_place};
        ASSERT_EQ(run_single_copy_step(
                      process,
                      {.send = in_place ? nullptr : in.data(),
                       .receive = out.data(),
                       .receive_type = type,
                       .op = predefined_op(process, kMpiSum)},
                      [&](Schedule& schedule, Member self) { single_copy_allreduce(schedule, self, data); }),
                  0);
        for (Count i = 0; i < count; ++i) {
          std::int32_t sum = 0;
          for (int from = 0; from < size; ++from) sum += value(from, i);
          ASSERT_EQ(out[static_cast<std::size_t>(i)], sum) << "element " << i << " of " << count;
        }
      }
    }
  });
}

/// The affine map x -> a x + b (mod 10007), composed; the order matters.
void compose(const void* in, void* inout, Count count, Datatype* datatype) {
  for (Count i = 0; i < count; ++i) {
    const Count offset = i * datatype->extent + datatype->true_lb;
    const auto* left = reinterpret_cast<const std::int32_t*>(static_cast<const char*>(in) + offset);
    auto* right = reinterpret_cast<std::int32_t*>(static_cast<char*>(inout) + offset);
    const std::int32_t a = left[0] * right[0] % 10007;
    const std::int32_t b = (left[1] * right[0] + right[1]) % 10007;
    right[0] = a;
    right[1] = b;
  }
}

TEST(SingleCopyCollectives, ScanOfElementsWithGapsByAUsersOperation) {
  in_worlds({2, 3, 4, 9}, [](Process& process) {
    const int rank = process.objects->world->rank;
    Datatype *pair = nullptr, *padded = nullptr;
    api::type_contiguous(process, 2, predefined_type(process, kMpiInt32T), &pair, false);
    api::type_create_resized(process, pair, 0, 12, &padded, false);
    api::type_commit(process, &padded);
    Op op;
    op.function = reinterpret_cast<AnyFunction>(compose);
    op.commutative = false;
    for (Count count : {Count{3}, Count{5000}}) {
      for (int variant = 0; variant < 8; ++variant) {
        const bool in_place = variant % 2 == 1;
        const bool gaps = variant / 2 % 2 == 1;
        const bool exclusive = variant / 4 == 1;
        Datatype* type = gaps ? padded : pair;
        const auto stride = static_cast<std::size_t>(gaps ? 3 : 2);
        std::vector<std::int32_t> in(static_cast<std::size_t>(count) * stride, -5), out = in;
        const auto a = [](int of, Count i) { return static_cast<std::int32_t>((of * 31 + i) % 10007); };
        const auto b = [](int of, Count i) { return static_cast<std::int32_t>((of * 77 + 3 * i) % 10007); };
        for (Count i = 0; i < count; ++i) {
          in[static_cast<std::size_t>(i) * stride] = a(rank, i);
          in[static_cast<std::size_t>(i) * stride + 1] = b(rank, i);
        }
        if (in_place) out = in;
        const Reduction data{
            .count = count, .type = shape_of(*type), .in_place = in_place, .commutative = false};
        ASSERT_EQ(run_single_copy_step(process,
                                       {.send = in_place ? nullptr : in.data(),
                                        .receive = out.data(),
                                        .receive_type = type,
                                        .op = &op},
                                       [&](Schedule& schedule, Member self) {
                                         exclusive ? single_copy_exscan(schedule, self, data)
                                                   : single_copy_scan(schedule, self, data);
                                       }),
                  0);
        if (exclusive && rank == 0) continue;
        for (Count i = 0; i < count; ++i) {
          std::int32_t expected[2] = {a(0, i), b(0, i)};
          for (int from = 1; from < rank + (exclusive ? 0 : 1); ++from) {
            std::int32_t next[2] = {a(from, i), b(from, i)};
            compose(expected, next, 1, pair);
            expected[0] = next[0];
            expected[1] = next[1];
          }
          const std::int32_t* got = &out[static_cast<std::size_t>(i) * stride];
          ASSERT_EQ(got[0], expected[0]) << "element " << i << " variant " << variant;
          ASSERT_EQ(got[1], expected[1]) << "element " << i << " variant " << variant;
          if (gaps) ASSERT_EQ(got[2], -5) << "a gap was written";
        }
      }
    }
    api::type_free(process, &pair);
    api::type_free(process, &padded);
  });
}

TEST(SingleCopyCollectives, ReduceOfPredefinedPairs) {
  struct Pair {
    double value;
    int index;
  };
  in_worlds({2, 4, 7}, [](Process& process) {
    const int size = process.objects->world->size();
    const int rank = process.objects->world->rank;
    Datatype* type = predefined_type(process, kMpiDoubleInt);
    for (Count count : {Count{2}, Count{3000}}) {
      std::vector<Pair> in(static_cast<std::size_t>(count)), out(in.size());
      const auto value_of = [&](int of, Count i) { return static_cast<double>((of + i) % size / 2); };
      for (Count i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = {value_of(rank, i), rank};
      const int root = size - 1;
      ASSERT_EQ(run_single_copy_step(process,
                                     {.send = in.data(),
                                      .receive = out.data(),
                                      .receive_type = type,
                                      .op = predefined_op(process, kMpiMaxloc)},
                                     [&](Schedule& schedule, Member self) {
                                       single_copy_reduce(schedule, self, root,
                                                          {.count = count, .type = shape_of(*type)});
                                     }),
                0);
      if (rank != root) continue;
      for (Count i = 0; i < count; ++i) {
        Pair best{-1, 0};
        for (int from = 0; from < size; ++from)
          if (value_of(from, i) > best.value) best = {value_of(from, i), from};
        ASSERT_EQ(out[static_cast<std::size_t>(i)].value, best.value);
        ASSERT_EQ(out[static_cast<std::size_t>(i)].index, best.index);
      }
    }
  });
}

TEST(SingleCopyCollectives, BcastBothWays) {
  in_worlds({2, 3, 8}, [](Process& process) {
    const int size = process.objects->world->size();
    const int rank = process.objects->world->rank;
    Datatype* type = predefined_type(process, kMpiInt32T);
    for (Count count : kCounts) {
      for (int root = 0; root < size; ++root) {
        std::vector<std::int32_t> data(static_cast<std::size_t>(count), -1);
        if (rank == root)
          for (Count i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = value(root, i);
        ASSERT_EQ(run_single_copy_step(process, {.receive = data.data(), .receive_type = type},
                                       [&](Schedule& schedule, Member self) {
                                         const Elements all{.type = shape_of(*type), .count = count};
                                         root % 2 == 0 ? single_copy_bcast(schedule, self, root, all)
                                                       : single_copy_bcast_split(schedule, self, root, all);
                                       }),
                  0);
        for (Count i = 0; i < count; ++i) ASSERT_EQ(data[static_cast<std::size_t>(i)], value(root, i));
      }
    }
  });
}

// Roots run ahead and write over their buffers at once; the others are late now and then.
TEST(SingleCopyCollectives, CopiesStayWhatTheyWere) {
  in_worlds({2, 3, 8}, [](Process& process) {
    const int size = process.objects->world->size();
    const int rank = process.objects->world->rank;
    Datatype* type = predefined_type(process, kMpiInt32T);
    const TypeShape shape = shape_of(*type);
    for (int call = 0; call < 30; ++call) {
      const int root = call < 15 ? 0 : call % size;
      const Count count = 1 + 997 * (call * 7 % 15);  // memory that is kept grows, and is used again
      std::vector<std::int32_t> data(static_cast<std::size_t>(count), -1);
      for (Count i = 0; i < count && rank == root; ++i) data[static_cast<std::size_t>(i)] = value(call, i);
      if (rank != root && call % 11 == rank) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ASSERT_EQ(run_single_copy_step(process, {.receive = data.data(), .receive_type = type},
                                     [&](Schedule& schedule, Member self) {
                                       single_copy_bcast_copy(schedule, self, root,
                                                              {.type = shape, .count = count});
                                     }),
                0);
      for (Count i = 0; i < count; ++i) ASSERT_EQ(data[static_cast<std::size_t>(i)], value(call, i)) << call;
      std::fill(data.begin(), data.end(), -7);
    }
  });
}

TEST(SingleCopyCollectives, AlltoallOfMoreBlocksThanACellHolds) {
  in_worlds({2, 3, 16}, [](Process& process) {
    const int size = process.objects->world->size();
    const int rank = process.objects->world->rank;
    Datatype* type = predefined_type(process, kMpiInt32T);
    for (Count count : {Count{1}, Count{3000}}) {
      for (bool in_place : {false, true}) {
        std::vector<std::int32_t> out(static_cast<std::size_t>(size * count)), in(out.size(), -1);
        for (int to = 0; to < size; ++to)
          for (Count i = 0; i < count; ++i)
            out[static_cast<std::size_t>(to * count + i)] = value(rank * size + to, i);
        if (in_place) in = out;
        Blocks to{.space = Space::kSend,
                  .element = ElementType::kSendType,
                  .type = shape_of(*type),
                  .count = count};
        const Blocks from{.type = shape_of(*type), .count = count};
        if (in_place) {
          to = from;
          to.in_place = true;
        }
        ASSERT_EQ(
            run_single_copy_step(
                process, {.send = out.data(), .receive = in.data(), .send_type = type, .receive_type = type},
                [&](Schedule& schedule, Member self) { single_copy_alltoall(schedule, self, to, from); }),
            0);
        for (int peer = 0; peer < size; ++peer)
          for (Count i = 0; i < count; ++i)
            ASSERT_EQ(in[static_cast<std::size_t>(peer * count + i)], value(peer * size + rank, i));
      }
    }
  });
}

/// Swaps in the ranks' blocks of `data`, which have these counts and begin one `room` after the other.
Code swap_blocks(Process& process, std::int32_t* data, Datatype* type, const std::vector<Count>& counts,
                 Count room) {
  std::vector<Count> places;
  for (std::size_t peer = 0; peer < counts.size(); ++peer) places.push_back(static_cast<Count>(peer) * room);
  Blocks blocks{.type = shape_of(*type),
                .counts = CountArray(counts.data()),
                .displacements = CountArray(places.data()),
                .displacement_bytes = type->extent};
  const Blocks from = blocks;
  blocks.in_place = true;
  return run_single_copy_step(
      process, {.receive = data, .receive_type = type},
      [&](Schedule& schedule, Member self) { single_copy_alltoall(schedule, self, blocks, from); });
}

TEST(SingleCopyCollectives, AlltoallInPlaceSwapsBlocksOfAnyLengthAndType) {
  in_worlds({2, 3, 4, 8}, [](Process& process) {
    const int size = process.objects->world->size();
    const int rank = process.objects->world->rank;
    Datatype *dense = predefined_type(process, kMpiInt32T), *gapped = nullptr;
    ASSERT_EQ(api::type_create_resized(process, dense, 0, 8, &gapped, false), 0);
    ASSERT_EQ(api::type_commit(process, &gapped), 0);
    constexpr Count kRoom = 6000;
    for (int call = 0; call < 16; ++call) {
      // Of none, of less than the two ranks divide, of odd halves, and of several pieces.
      constexpr Count kLengths[] = {0, 1, 31, 32, 33, 47, 500, 2049, kRoom};
      const auto count_of = [&](int peer) {
        return kLengths[static_cast<std::size_t>(5 * (rank + peer) + call) % std::size(kLengths)];
      };
      const bool has_gaps = (rank + call) % 3 == 0;
      const Count step = has_gaps ? 2 : 1;
      std::vector<Count> counts;
      std::vector<std::int32_t> data(static_cast<std::size_t>(size * kRoom * step), -1), expected = data;
      for (int peer = 0; peer < size; ++peer) {
        counts.push_back(count_of(peer));
        for (Count i = 0; i < count_of(peer); ++i) {
          const auto at = static_cast<std::size_t>((peer * kRoom + i) * step);
          data[at] = value(size * rank + peer, i + call);
          expected[at] = value(size * peer + rank, i + call);
        }
      }
      ASSERT_EQ(swap_blocks(process, data.data(), has_gaps ? gapped : dense, counts, kRoom), 0);
      ASSERT_EQ(data, expected) << "call " << call;
    }
    ASSERT_EQ(api::type_free(process, &gapped), 0);
  });
}

TEST(SingleCopyCollectives, AlltoallInPlaceOfBlocksThatDifferTouchesNothingOfThem) {
  in_worlds({3}, [](Process& process) {
    const int rank = process.objects->world->rank;
    constexpr Count kRoom = 3000;
    // Rank 0 has more for rank 2 than that has for it, and than it has room for.
    const std::vector<Count> counts = {rank == 2 ? 100 : 1000, 500, rank == 0 ? kRoom : 1000};
    std::vector<std::int32_t> data;
    for (int peer = 0; peer < 3; ++peer) data.insert(data.end(), kRoom, 10 * rank + peer);
    std::vector<std::int32_t> expected = data;
    if (rank != 1) std::fill_n(expected.begin() + kRoom, 500, 10 + rank);
    if (rank == 1) {
      std::fill_n(expected.begin(), 500, 1);
      std::fill_n(expected.begin() + 2 * kRoom, 500, 21);
    }
    std::vector<Count> mine = counts;
    if (rank == 1) mine = {500, 500, 500};
    const Code code = swap_blocks(process, data.data(), predefined_type(process, kMpiInt32T), mine, kRoom);
    EXPECT_EQ(error_class_bits(code), rank == 2 ? kErrTruncate : 0);
    EXPECT_EQ(data, expected);
  });
}

/// How often this rank's MPI_Alltoallv ran by the algorithm of this name.
template <Operation operation = Operation::kAlltoallv>
std::uint64_t times_by(Process& process, const char* name) {
  const auto rows = algorithms_of(operation);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (std::string(rows[row].name) == name)
      return process.counters.algorithms[first_algorithm_of(operation) + static_cast<int>(row)];
  }
  return 0;
}

TEST(SingleCopyCollectives, TwoRanksChooseAnAlltoallvByTheLongerOfTheirBlocks) {
  const auto body = [](Process& process) {
    Comm* world = process.objects->world;
    Datatype* type = predefined_type(process, kMpiInt32T);
    constexpr Count kLong = 100000;
    std::vector<std::int32_t> out(2 * kLong, world->rank), in(2 * kLong, -1);
    const Count places[] = {0, kLong};
    for (const bool in_place : {false, true}) {
      for (const Count length : {Count{1}, kLong}) {
        // In one direction, or in both, which it is in place.
        const Count shorter = in_place ? length : 1;
        const Count sent[] = {world->rank == 0 ? 0 : shorter, world->rank == 0 ? length : 0};
        const Count got[] = {world->rank == 0 ? 0 : length, world->rank == 0 ? shorter : 0};
        const std::uint64_t before = times_by(process, "single_copy");
        ASSERT_EQ(
            api::alltoallv(process, in_place ? kInPlace : out.data(), CountArray(sent), CountArray(places),
                           type, in.data(), CountArray(got), CountArray(places), type, world),
            0);
        EXPECT_EQ(times_by(process, "single_copy") - before, length == kLong ? 1 : 0)
            << length << (in_place ? ", in place" : "");
      }
    }
  };
  run_ranks(2, body, with_processor(ProcessorMaker::kAmd));
}

TEST(SingleCopyCollectives, TellWhoHasTooLittleRoom) {
  run_ranks(3, [](Process& process) {
    const int rank = process.objects->world->rank;
    Datatype* type = predefined_type(process, kMpiInt32T);
    const Count count = rank == 1 ? 500 : 1000;  // rank 1 expects less than the root sends
    std::vector<std::int32_t> data(1000, rank);
    const Code code = run_single_copy_step(
        process, {.receive = data.data(), .receive_type = type}, [&](Schedule& schedule, Member self) {
          single_copy_bcast(schedule, self, 0, {.type = shape_of(*type), .count = count});
        });
    EXPECT_EQ(error_class_bits(code), rank == 1 ? kErrTruncate : 0);
    if (rank == 1) EXPECT_EQ(data[500], 1) << "written beyond the room";
  });
}

}  // namespace
}  // namespace tasuki::test
