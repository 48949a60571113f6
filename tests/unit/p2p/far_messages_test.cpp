// Messages of every size between ranks of several nodes: whole, in order, and in none of the ways that need
// common memory, though all of these ranks' memory is global and those of one node do use them.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "p2p/ranks.hpp"

namespace tasuki {
namespace {

using test::Bytes;
using test::pattern;
using test::Rank;
using test::run_ranks;

constexpr std::size_t kSizes[] = {0, 1, 40, 41, 1000, 1001, 5000, 70000, 300000};

test::WorldOptions with_nodes(std::vector<int> nodes) {
  test::WorldOptions options{.nodes = std::move(nodes)};
  options.config.network_latency_ns = 3000;
  options.config.network_mb_per_second = 5000;
  return options;
}

std::uint32_t seed_of(int from, int to, std::size_t bytes) {
  return static_cast<std::uint32_t>(from * 100 + to) + static_cast<std::uint32_t>(bytes) * 10000;
}

/// Each rank sends every size to all with `wanted(other)`, all at once, and checks what comes.
template <class Wanted>
void exchange(Rank& mpi, Wanted wanted) {
  for (const std::size_t bytes : kSizes) {
    std::vector<Bytes> out(static_cast<std::size_t>(mpi.size)), in(out.size(), Bytes(bytes));
    std::vector<Request*> requests;
    for (int other = 0; other < mpi.size; ++other) {
      if (!wanted(other)) continue;
      out[static_cast<std::size_t>(other)] = pattern(bytes, seed_of(mpi.rank, other, bytes));
      requests.push_back(mpi.irecv(in[static_cast<std::size_t>(other)], other, 7));
    }
    for (int other = 0; other < mpi.size; ++other) {
      if (wanted(other)) requests.push_back(mpi.isend(out[static_cast<std::size_t>(other)], other, 7));
    }
    for (Request*& request : requests) mpi.wait(request);
    for (int other = 0; other < mpi.size; ++other) {
      if (!wanted(other)) continue;
      EXPECT_EQ(in[static_cast<std::size_t>(other)], pattern(bytes, seed_of(other, mpi.rank, bytes)))
          << bytes << " bytes from " << other;
    }
  }
}

std::uint64_t in_common_memory(const Counters& counters) {
  std::uint64_t sum = 0;
  for (const Way way : {Way::kSenderWrite, Way::kGet, Way::kCooperative, Way::kPut})
    sum += counters.of(way).sent.messages + counters.of(way).received.messages;
  return sum;
}

TEST(FarMessages, MessagesOfEverySize) {
  const std::vector<int> nodes = {0, 1, 0, 2};
  run_ranks(
      4,
      [&](Process& process) {
        Rank mpi(process);
        const auto node_of = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
        exchange(mpi, [&](int other) { return node_of(other) != node_of(process.rank); });
        EXPECT_EQ(in_common_memory(process.counters), 0u);
        EXPECT_GT(process.counters.of(Way::kTwoCopy).sent.messages, 0u);
        exchange(mpi, [&](int other) { return node_of(other) == node_of(process.rank); });
        EXPECT_GT(in_common_memory(process.counters), 0u) << "within a node, and to itself";
      },
      with_nodes(nodes));
}

TEST(FarMessages, DistancesTellThemApart) {
  run_ranks(
      3,
      [](Process& process) {
        for (int other = 0; other < 3; ++other) {
          const bool far = (other == 1) != (process.rank == 1);
          EXPECT_EQ(process.p2p->distances.to(other) == Distance::kNetwork, far);
        }
        process.p2p->distances.assume(Distance::kMachine);
        EXPECT_EQ(process.p2p->distances.to(1) == Distance::kNetwork, process.rank != 1)
            << "whatever is forced";
      },
      with_nodes({0, 1, 0}));
}

}  // namespace
}  // namespace tasuki
