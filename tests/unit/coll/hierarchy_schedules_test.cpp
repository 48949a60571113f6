// The hierarchical collectives give the right result wherever the ranks are: nodes of one size or of
// several, consecutive, interleaved, reversed or in no order; for all roots, datatypes with gaps, in place or
// not; and no more goes between nodes than has to.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coll/algorithm/knomial.hpp"
#include "coll/hierarchy/collectives.hpp"
#include "coll/move_cases.hpp"
#include "coll/pipeline/pipeline.hpp"
#include "coll/reduction_cases.hpp"

namespace tasuki::test {
namespace {

/// Which node each rank is on.
struct Placement {
  std::string name;
  std::vector<int> node_of;

  int size() const { return static_cast<int>(node_of.size()); }
  NodeMap map(int rank) const { return {node_of, rank}; }
};

Placement placement_of(std::string name, int size, const std::function<int(int)>& node) {
  Placement placement{std::move(name), {}};
  for (int rank = 0; rank < size; ++rank) placement.node_of.push_back(node(rank));
  return placement;
}

std::vector<Placement> placements(int size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<Placement> all;
  all.push_back(placement_of("one node", size, [](int) { return 0; }));
  all.push_back(placement_of("a node each", size, [](int rank) { return rank; }));
  all.push_back(placement_of("by fours", size, [](int rank) { return rank / 4; }));
  all.push_back(placement_of("reversed by threes", size, [=](int rank) { return (size - 1 - rank) / 3; }));
  all.push_back(placement_of("interleaved over 2", size, [](int rank) { return rank % 2; }));
  all.push_back(
      placement_of("interleaved over 3, from the end", size, [=](int rank) { return (size - rank) % 3; }));
  all.push_back(placement_of("in no order", size, [&](int) { return static_cast<int>(random() % 4); }));
  all.push_back(placement_of("one far away", size, [=](int rank) { return rank == size / 2 ? 7 : 5; }));
  return all;
}

/// Calls `body(placement, case)`.
template <class Body>
void for_placements(Body&& body) {
  for (int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16}) {
    if (size > kSimulatedRanksMax) break;
    for (const Placement& placement : placements(size)) {
      for (int root : {0, size / 2, size - 1}) {
        for (Count count : {0, 1, 3, 16}) {
          SCOPED_TRACE(testing::Message()
                       << size << " ranks " << placement.name << ", root " << root << ", count " << count);
          body(placement,
               Case{size, root, count, kShapes[static_cast<std::size_t>(size + root + count) % 4]});
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

double bytes_of(const Case& c) {
  return static_cast<double>(4 * c.count);
}
int nodes_of(const Placement& placement) {
  return placement.map(0).nodes();
}

void chain(Schedule& schedule, Member self, int root, const Elements& data) {
  bcast_chain(schedule, self, root, data, 8);
}
void reduce_in_chain(Schedule& schedule, Member self, int root, const Reduction& data) {
  reduce_chain(schedule, self, root, data, 16);
}
void gather_by_fours(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
  gather_knomial(schedule, self, root, mine, all, 4);
}
void allreduce_doubling(Schedule& schedule, Member self, const Reduction& data) {
  allreduce_recursive_doubling(schedule, self, data, {Space::kReceive, 0});
}

/// What the parts are to be done by, where there is more than one way.
struct PartAlgorithms {
  std::function<void(Schedule&, Member, int, const Elements&)> bcast_within = bcast_binomial;
  std::function<void(Schedule&, Member, int, const Reduction&)> reduce_within = reduce_binomial;
  std::function<void(Schedule&, Member, int, const Reduction&)> reduce_between = reduce_binomial;
  std::function<void(Schedule&, Member, const Reduction&)> allreduce = allreduce_doubling;
  std::function<void(Schedule&, Member, const Elements&, const Blocks&)> allgather = allgather_ring;
  std::function<void(Schedule&, Member, const Reduction&, const Blocks&)> reduce_scatter =
      reduce_scatter_pairwise;
};

/// Writes the parts by these algorithms.
class PartsByName final : public hierarchy::Parts {
 public:
  PartsByName(Schedule& rank_schedule, const NodeMap& node_map, int own_rank, int root,
              const PartAlgorithms& algorithms)
      : Parts(rank_schedule, node_map, own_rank, root), algorithms_(algorithms) {}

 private:
  void add(const hierarchy::Part& part) override {
    hierarchy::among(schedule, ranks_of(part.among), part.buffers,
                     [&](Member self) { write(part, self, part.among == hierarchy::Among::kNode); });
  }

  void write(const hierarchy::Part& part, Member self, bool within) {
    const auto& [mine, out, all, vector] = part.data;
    switch (part.operation) {
      case Operation::kBarrier:
        return barrier_dissemination(schedule, self);
      case Operation::kBcast:
        return within ? algorithms_.bcast_within(schedule, self, part.root, mine)
                      : bcast_binomial(schedule, self, part.root, mine);
      case Operation::kGather:
        return within ? gather_by_fours(schedule, self, part.root, mine, all)
                      : gather_linear(schedule, self, part.root, mine, all);
      case Operation::kGatherv:
        return gather_linear(schedule, self, part.root, mine, all);
      case Operation::kScatter:
        return within ? scatter_binomial(schedule, self, part.root, all, mine)
                      : scatter_linear(schedule, self, part.root, all, mine);
      case Operation::kScatterv:
        return scatter_linear(schedule, self, part.root, all, mine);
      case Operation::kAllgather:
        return algorithms_.allgather(schedule, self, mine, all);
      case Operation::kAlltoall:
        return alltoall_pairwise(schedule, self, out, all, 1 << 18);
      case Operation::kReduce:
        return (within ? algorithms_.reduce_within : algorithms_.reduce_between)(schedule, self, part.root,
                                                                                 vector);
      case Operation::kAllreduce:
        return algorithms_.allreduce(schedule, self, vector);
      case Operation::kReduceScatter:
        return algorithms_.reduce_scatter(schedule, self, vector, all);
      case Operation::kScan:
        return scan_recursive_doubling(schedule, self, vector);
      case Operation::kExscan:
        return exscan_recursive_doubling(schedule, self, vector);
      default:
        ADD_FAILURE() << "no hierarchical collective has such a part";
    }
  }

  const PartAlgorithms& algorithms_;
};

/// Writes the collective of this rank.
void write(hierarchy::Collective& collective, Schedule& schedule, int rank, int root, const NodeMap& map,
           const CallData& data, const PartAlgorithms& algorithms = {}) {
  PartsByName parts(schedule, map, rank, root, algorithms);
  collective(parts, data);
  schedule.end_round();
}

TEST(HierarchicalSchedules, Barrier) {
  for_placements([](const Placement& placement, const Case& c) {
    if (c.root != 0 || c.count != 0) return;
    std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
    for (int rank = 0; rank < c.size; ++rank)
      write(hierarchy::barrier, ranks[static_cast<std::size_t>(rank)].schedule, rank, 0, placement.map(rank),
            {});
    run(ranks, c);
    const int nodes = nodes_of(placement);
    EXPECT_EQ(measure_traffic(ranks, placement.node_of).messages, nodes * ceil_log2(nodes));
  });
}

/// No rank leaves a barrier before all have come.
TEST(HierarchicalSchedules, BarrierHoldsAll) {
  for (const Placement& placement : placements(9)) {
    SCOPED_TRACE(placement.name);
    for (int late = 0; late < placement.size(); ++late) {
      std::vector<SimulatedRank> ranks(static_cast<std::size_t>(placement.size()));
      for (int rank = 0; rank < placement.size(); ++rank)
        write(hierarchy::barrier, ranks[static_cast<std::size_t>(rank)].schedule, rank, 0,
              placement.map(rank), {});
      EXPECT_EQ(Simulation(ranks, nullptr, 1).run_without(late), 0) << "without rank " << late;
    }
  }
}

TEST(HierarchicalSchedules, Bcast) {
  for_placements([](const Placement& placement, const Case& c) {
    for (const PartAlgorithms& algorithms : {PartAlgorithms{}, PartAlgorithms{.bcast_within = chain}}) {
      const auto ranks = run_bcast(c, [&](Schedule& schedule, Member self, int root, const Elements& data) {
        write(hierarchy::bcast, schedule, self.rank, root, placement.map(self.rank), {.elements = data},
              algorithms);
      });
      const Traffic traffic = measure_traffic(ranks, placement.node_of);
      EXPECT_EQ(traffic.messages, nodes_of(placement) - 1);
      EXPECT_EQ(traffic.bytes, (nodes_of(placement) - 1) * bytes_of(c));
    }
  });
}

TEST(HierarchicalSchedules, GatherAndScatter) {
  for_placements([](const Placement& placement, const Case& c) {
    const NodeMap map = placement.map(c.root);
    const int far = c.size - map.ranks_on(map.node_of(c.root));  // ranks on other nodes
    for (bool in_place : {false, true}) {
      const auto gathered = run_gather(
          c,
          [&](Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
            write(hierarchy::gather, schedule, self.rank, root, placement.map(self.rank),
                  {.elements = mine, .blocks = all});
          },
          in_place, nullptr);
      Traffic traffic = measure_traffic(gathered, placement.node_of);
      EXPECT_EQ(traffic.messages, map.nodes() - 1);
      EXPECT_EQ(traffic.bytes, far * bytes_of(c));
      const auto scattered = run_scatter(
          c,
          [&](Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine) {
            write(hierarchy::scatter, schedule, self.rank, root, placement.map(self.rank),
                  {.elements = mine, .blocks = all});
          },
          in_place, nullptr);
      traffic = measure_traffic(scattered, placement.node_of);
      EXPECT_EQ(traffic.messages, map.nodes() - 1);
      EXPECT_EQ(traffic.bytes, far * bytes_of(c));
    }
  });
}

TEST(HierarchicalSchedules, Allgather) {
  for_placements([](const Placement& placement, const Case& c) {
    if (c.root != 0) return;
    PartAlgorithms algorithms;
    if (c.count % 2 == 0) algorithms.allgather = allgather_bruck;
    const auto algorithm = [&](Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
      write(hierarchy::allgather, schedule, self.rank, 0, placement.map(self.rank),
            {.elements = mine, .blocks = all}, algorithms);
    };
    const Layout layout(c.size);
    for (bool in_place : {false, true}) {
      run_allgather(c, algorithm, in_place, &layout);
      const auto ranks = run_allgather(c, algorithm, in_place, nullptr);
      const int nodes = nodes_of(placement);
      EXPECT_EQ(measure_traffic(ranks, placement.node_of).bytes, (nodes - 1) * c.size * bytes_of(c));
    }
  });
}

void check_alltoall(const Placement& placement, const Case& c, bool in_place) {
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
  const TypeShape in_type = kShapes[static_cast<std::size_t>(c.count) % 4];
  const Blocks in{.type = in_type, .count = c.count};
  const Blocks separate{
      .space = Space::kSend, .element = ElementType::kSendType, .type = c.type, .count = c.count};
  const Blocks& out = in_place ? in : separate;
  for (int rank = 0; rank < c.size; ++rank) {
    SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    r.send_type = c.type;
    r.receive_type = in_type;
    make_room(&r.send, &r.send_base, c.size * c.count, c.type);
    make_room(&r.receive, &r.receive_base, c.size * c.count, in_type);
    for (int to = 0; to < c.size; ++to) {
      for (Count i = 0; i < c.count; ++i)
        put(in_place ? r.receive : r.send,
            at((in_place ? r.receive_base : r.send_base) + out.place_of(to).offset, out.type, i),
            value_of(rank, to, i));
    }
    write(hierarchy::alltoall, r.schedule, rank, 0, placement.map(rank), {.out = out, .blocks = in});
  }
  run(ranks, c);
  for (int to = 0; to < c.size; ++to) {
    const SimulatedRank& r = ranks[static_cast<std::size_t>(to)];
    for (int from = 0; from < c.size; ++from) {
      for (Count i = 0; i < c.count; ++i)
        ASSERT_EQ(get(r.receive, at(r.receive_base + in.place_of(from).offset, in_type, i)),
                  value_of(from, to, i))
            << from << " to " << to;
    }
  }
  if (c.count == 0) return;
  const int nodes = nodes_of(placement);
  const Traffic traffic = measure_traffic(ranks, placement.node_of);
  EXPECT_EQ(traffic.messages, c.size * (nodes - 1)) << "along each lane";
  double pairs = 0;
  for (int from : placement.node_of) {
    for (int to : placement.node_of) pairs += from == to ? 0 : 1;
  }
  EXPECT_EQ(traffic.bytes, pairs * bytes_of(c));
}

TEST(HierarchicalSchedules, Alltoall) {
  for_placements([](const Placement& placement, const Case& c) {
    if (c.root != 0 || !placement.map(0).is_uniform()) return;
    check_alltoall(placement, c, false);
    check_alltoall(placement, c, true);
  });
}

TEST(HierarchicalSchedules, ReduceAndAllreduce) {
  for_placements([](const Placement& placement, const Case& c) {
    if (c.root != 0) return;  // the roots are below
    const NodeMap map = placement.map(0);
    for (bool commutative : {false, true}) {
      if (!commutative && !map.is_consecutive()) continue;
      for (bool in_place : {false, true}) {
        reductions::check_reduce(
            c.size, c.count, in_place, commutative,
            [&](Schedule& schedule, Member self, int root, const Reduction& data) {
              write(hierarchy::reduce, schedule, self.rank, root, placement.map(self.rank), {.vector = data});
            },
            [&](const reductions::World& world, int) {
              const Traffic traffic = measure_traffic(world.ranks, placement.node_of);
              EXPECT_EQ(traffic.bytes, (map.nodes() - 1) * world.bytes());
            });
        reductions::World world(c.size, c.count, commutative, in_place);
        reductions::check_allreduce(world, [&](Schedule& schedule, Member self, const Reduction& data) {
          write(hierarchy::allreduce, schedule, self.rank, 0, placement.map(self.rank), {.vector = data});
        });
      }
    }
    // Long vectors: reductions that give the result room of their own, or none.
    for (bool in_place : {false, true}) {
      for (const PartAlgorithms& algorithms :
           {PartAlgorithms{.reduce_within = reduce_halving, .reduce_between = reduce_in_chain},
            PartAlgorithms{.reduce_within = reduce_in_chain, .reduce_between = reduce_halving}}) {
        reductions::check_reduce(
            c.size, c.count, in_place, true,
            [&](Schedule& schedule, Member self, int root, const Reduction& data) {
              write(hierarchy::reduce, schedule, self.rank, root, placement.map(self.rank), {.vector = data},
                    algorithms);
            },
            [](const reductions::World&, int) {});
      }
      reductions::World world(c.size, c.count, true, in_place);
      const PartAlgorithms algorithms{.bcast_within = chain,
                                      .reduce_within = reduce_halving,
                                      .allreduce = in_place ? allreduce_ring : allreduce_halving_doubling};
      reductions::check_allreduce(world, [&](Schedule& schedule, Member self, const Reduction& data) {
        write(hierarchy::allreduce, schedule, self.rank, 0, placement.map(self.rank), {.vector = data},
              algorithms);
      });
    }
  });
}

/// Calls `body(nodes, count, in_place, commutative)` for nodes of as many ranks each.
template <class Body>
void for_equal_nodes(Body&& body) {
  const std::vector<int> placements_of_equal_nodes[] = {{0, 0, 1, 1},
                                                        {0, 1, 0, 1},
                                                        {2, 1, 0, 0, 1, 2},
                                                        {0, 1, 2},
                                                        {0, 0, 0, 0, 1, 1, 1, 1},
                                                        {0, 0, 0},
                                                        {0, 0, 0, 1, 1, 1, 2, 2, 2}};
  for (const std::vector<int>& node_of : placements_of_equal_nodes) {
    for (Count count : {0, 1, 7, 64}) {
      for (bool in_place : {false, true}) {
        for (bool commutative : {false, true}) {
          if (!commutative && !NodeMap(node_of, 0).is_consecutive()) continue;
          SCOPED_TRACE(testing::Message() << node_of.size() << " ranks, the last on node " << node_of.back()
                                          << ", count " << count << (in_place ? ", in place" : ""));
          body(node_of, count, in_place, commutative);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(HierarchicalSchedules, AllreduceInLanes) {
  for_equal_nodes([](const std::vector<int>& node_of, Count count, bool in_place, bool commutative) {
    PartAlgorithms algorithms;
    if (commutative) algorithms.reduce_scatter = reduce_scatter_halving;
    reductions::World world(static_cast<int>(node_of.size()), count, commutative, in_place);
    reductions::check_allreduce(world, [&](Schedule& schedule, Member self, const Reduction& data) {
      write(hierarchy::allreduce_by_lanes, schedule, self.rank, 0, NodeMap(node_of, self.rank),
            {.vector = data}, algorithms);
    });
    if (NodeMap(node_of, 0).nodes() == 2)
      EXPECT_EQ(measure_traffic(world.ranks, node_of).bytes, 2 * world.bytes()) << "n each way";
  });
}

/// Runs `collective` of all ranks on vectors that are to be reduced.
void run_reduction(reductions::World& world, hierarchy::Collective& collective,
                   const std::vector<int>& node_of, const Blocks& blocks = {}) {
  PartAlgorithms algorithms;
  if (world.data.commutative) algorithms.reduce_scatter = reduce_scatter_halving;
  for (int rank = 0; rank < world.size; ++rank)
    write(collective, world.ranks[static_cast<std::size_t>(rank)].schedule, rank, 0, NodeMap(node_of, rank),
          {.blocks = blocks, .vector = world.data}, algorithms);
  world.run();
}

TEST(HierarchicalSchedules, ReduceScatter) {
  for_equal_nodes([](const std::vector<int>& node_of, Count count, bool in_place, bool commutative) {
    const int size = static_cast<int>(node_of.size());
    std::vector<Count> counts;  // none, of some ranks
    Count all = 0;
    for (int rank = 0; rank < size; ++rank) all += counts.emplace_back(rank % 3 == 1 ? 0 : count % 8 + rank);
    reductions::World world(size, all, commutative, in_place);
    run_reduction(world, hierarchy::reduce_scatter, node_of,
                  {.element = kReduced, .type = world.data.type, .counts = CountArray(counts.data())});
    Count first = 0;
    for (int rank = 0; rank < size; ++rank) {
      const Count own = counts[static_cast<std::size_t>(rank)];
      for (Count i = 0; i < own; ++i) world.expect(rank, i, first + i, 0, size);
      first += own;
    }
    const int nodes = NodeMap(node_of, 0).nodes();
    const double bytes = measure_traffic(world.ranks, node_of).bytes;
    if (nodes == 2) EXPECT_EQ(bytes, world.bytes()) << "the half of it each way";
  });
}

TEST(HierarchicalSchedules, Scans) {
  for_equal_nodes([](const std::vector<int>& node_of, Count count, bool in_place, bool commutative) {
    const NodeMap map(node_of, 0);
    if (commutative || !map.is_consecutive()) return;
    const int size = map.size();
    reductions::World scanned(size, count, false, in_place);
    run_reduction(scanned, hierarchy::scan, node_of);
    reductions::World before(size, count, false, in_place);
    const Bytes first_before = before.ranks[0].receive;
    run_reduction(before, hierarchy::exscan, node_of);
    EXPECT_EQ(before.ranks[0].receive, first_before) << "MPI 6.11.2: not significant at rank 0";
    for (int rank = 0; rank < size; ++rank) {
      for (Count i = 0; i < count; ++i) {
        scanned.expect(rank, i, i, 0, rank + 1);
        if (rank > 0) before.expect(rank, i, i, 0, rank);
      }
    }
    if (map.nodes() == 2) EXPECT_EQ(measure_traffic(scanned.ranks, node_of).bytes, scanned.bytes());
  });
}

/// Where messages between nodes are slow and the ranks are interleaved, two levels take less time than one.
TEST(HierarchicalSchedules, SavesTheSlowSteps) {
  constexpr int kSlow = 20;
  const Placement placement = placement_of("interleaved", 15, [](int rank) { return rank % 5; });
  const Case c{15, 0, 4, kDense};
  const auto flat = run_bcast(c, bcast_binomial);
  const auto hierarchy = run_bcast(c, [&](Schedule& schedule, Member self, int root, const Elements& data) {
    write(hierarchy::bcast, schedule, self.rank, root, placement.map(self.rank), {.elements = data});
  });
  const double flat_time = CostMeter(flat, placement.node_of, kSlow).measure().steps;
  const double levels_time = CostMeter(hierarchy, placement.node_of, kSlow).measure().steps;
  EXPECT_LT(levels_time, flat_time);
  EXPECT_LT(measure_traffic(hierarchy, placement.node_of).bytes,
            measure_traffic(flat, placement.node_of).bytes);
}

}  // namespace
}  // namespace tasuki::test
