// The hierarchical collectives give the right result wherever the ranks are: nodes of one size or of
// several, consecutive, interleaved, reversed or in no order; for all roots, datatypes with gaps, in place or
// not; and no more goes between nodes than has to.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "coll/algorithm/knomial.hpp"
#include "coll/hierarchy/schedules.hpp"
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

void chain_within(Schedule& schedule, Member self, int root, const Elements& data) {
  bcast_chain(schedule, self, root, data, 8);
}
void gather_by_fours(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
  gather_knomial(schedule, self, root, mine, all, 4);
}

TEST(HierarchicalSchedules, Barrier) {
  for_placements([](const Placement& placement, const Case& c) {
    if (c.root != 0 || c.count != 0) return;
    std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
    for (int rank = 0; rank < c.size; ++rank)
      hierarchical_barrier(ranks[static_cast<std::size_t>(rank)].schedule, rank, placement.map(rank));
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
        hierarchical_barrier(ranks[static_cast<std::size_t>(rank)].schedule, rank, placement.map(rank));
      EXPECT_EQ(Simulation(ranks, nullptr, 1).run_without(late), 0) << "without rank " << late;
    }
  }
}

TEST(HierarchicalSchedules, Bcast) {
  for_placements([](const Placement& placement, const Case& c) {
    for (const BcastPart& within : {BcastPart(bcast_binomial), BcastPart(chain_within)}) {
      const auto ranks = run_bcast(c, [&](Schedule& schedule, Member self, int root, const Elements& data) {
        hierarchical_bcast(schedule, self.rank, root, placement.map(self.rank), data, within, bcast_binomial);
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
            hierarchical_gather(schedule, self.rank, root, placement.map(self.rank), mine, all,
                                gather_by_fours);
          },
          in_place, nullptr);
      Traffic traffic = measure_traffic(gathered, placement.node_of);
      EXPECT_EQ(traffic.messages, map.nodes() - 1);
      EXPECT_EQ(traffic.bytes, far * bytes_of(c));
      const auto scattered = run_scatter(
          c,
          [&](Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine) {
            hierarchical_scatter(schedule, self.rank, root, placement.map(self.rank), all, mine,
                                 scatter_binomial);
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
    const auto algorithm = [&](Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
      hierarchical_allgather(schedule, self.rank, placement.map(self.rank), mine, all, gather_binomial,
                             c.count % 2 == 0 ? allgather_bruck : allgather_ring, bcast_binomial);
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
    hierarchical_alltoall(r.schedule, rank, placement.map(rank), out, in, gather_binomial, scatter_binomial);
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
  EXPECT_EQ(traffic.messages, nodes * (nodes - 1));
  double pairs = 0;
  for (int from : placement.node_of) {
    for (int to : placement.node_of) pairs += from == to ? 0 : 1;
  }
  EXPECT_EQ(traffic.bytes, pairs * bytes_of(c));
}

TEST(HierarchicalSchedules, Alltoall) {
  for_placements([](const Placement& placement, const Case& c) {
    if (c.root != 0) return;
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
              hierarchical_reduce(schedule, self.rank, root, placement.map(self.rank), data, reduce_binomial,
                                  reduce_binomial);
            },
            [&](const reductions::World& world, int root) {
              const Traffic traffic = measure_traffic(world.ranks, placement.node_of);
              const bool handed_on = !commutative && map.node_of(root) != 0;
              EXPECT_EQ(traffic.bytes, (map.nodes() - 1 + (handed_on ? 1 : 0)) * world.bytes());
            });
        reductions::World world(c.size, c.count, commutative, in_place);
        reductions::check_allreduce(world, [&](Schedule& schedule, Member self, const Reduction& data) {
          const auto doubling = [](Schedule& part, Member member, const Reduction& sums) {
            allreduce_recursive_doubling(part, member, sums, {Space::kReceive, 0});
          };
          hierarchical_allreduce(schedule, self.rank, placement.map(self.rank), data, reduce_binomial,
                                 doubling, bcast_binomial);
        });
      }
    }
    // Long vectors: reductions that give the result room of their own, or none.
    for (bool in_place : {false, true}) {
      const ReducePart chain = [](Schedule& schedule, Member self, int root, const Reduction& data) {
        reduce_chain(schedule, self, root, data, 16);
      };
      for (const auto& [within, between] :
           {std::pair{ReducePart(reduce_halving), chain}, std::pair{chain, ReducePart(reduce_halving)}}) {
        reductions::check_reduce(
            c.size, c.count, in_place, true,
            [&, &part = within, &other = between](Schedule& schedule, Member self, int root,
                                                  const Reduction& data) {
              hierarchical_reduce(schedule, self.rank, root, placement.map(self.rank), data, part, other);
            },
            [](const reductions::World&, int) {});
      }
      reductions::World world(c.size, c.count, true, in_place);
      reductions::check_allreduce(world, [&](Schedule& schedule, Member self, const Reduction& data) {
        hierarchical_allreduce(schedule, self.rank, placement.map(self.rank), data, reduce_halving,
                               in_place ? allreduce_ring : allreduce_halving_doubling, chain_within);
      });
    }
  });
}

TEST(HierarchicalSchedules, AllreduceInLanes) {
  const std::vector<int> placements_of_equal_nodes[] = {{0, 0, 1, 1},
                                                        {0, 1, 0, 1},
                                                        {2, 1, 0, 0, 1, 2},
                                                        {0, 1, 2},
                                                        {0, 0, 0, 0, 1, 1, 1, 1},
                                                        {0, 0, 0},
                                                        {0, 0, 0, 1, 1, 1, 2, 2, 2}};
  const auto doubling = [](Schedule& part, Member member, const Reduction& sums) {
    allreduce_recursive_doubling(part, member, sums, {Space::kReceive, 0});
  };
  for (const std::vector<int>& node_of : placements_of_equal_nodes) {
    const int size = static_cast<int>(node_of.size());
    const NodeMap map(node_of, 0);
    for (Count count : {0, 1, 7, 64}) {
      for (bool in_place : {false, true}) {
        for (bool commutative : {false, true}) {
          if (!commutative && !map.is_consecutive()) continue;
          SCOPED_TRACE(testing::Message()
                       << size << " ranks, count " << count << (in_place ? ", in place" : ""));
          reductions::World world(size, count, commutative, in_place);
          reductions::check_allreduce(world, [&](Schedule& schedule, Member self, const Reduction& data) {
            allreduce_lanes(schedule, self.rank, NodeMap(node_of, self.rank), data,
                            commutative ? reduce_scatter_halving : reduce_scatter_pairwise, doubling,
                            allgather_ring);
          });
          if (map.nodes() == 2)
            EXPECT_EQ(measure_traffic(world.ranks, node_of).bytes, 2 * world.bytes()) << "n each way";
        }
      }
    }
  }
}

/// Where messages between nodes are slow and the ranks are interleaved, two levels take less time than one.
TEST(HierarchicalSchedules, SavesTheSlowSteps) {
  constexpr int kSlow = 20;
  const Placement placement = placement_of("interleaved", 15, [](int rank) { return rank % 5; });
  const Case c{15, 0, 4, kDense};
  const auto flat = run_bcast(c, bcast_binomial);
  const auto hierarchy = run_bcast(c, [&](Schedule& schedule, Member self, int root, const Elements& data) {
    hierarchical_bcast(schedule, self.rank, root, placement.map(self.rank), data, bcast_binomial,
                       bcast_binomial);
  });
  const double flat_time = CostMeter(flat, placement.node_of, kSlow).measure().steps;
  const double levels_time = CostMeter(hierarchy, placement.node_of, kSlow).measure().steps;
  EXPECT_LT(levels_time, flat_time);
  EXPECT_LT(measure_traffic(hierarchy, placement.node_of).bytes,
            measure_traffic(flat, placement.node_of).bytes);
}

}  // namespace
}  // namespace tasuki::test
