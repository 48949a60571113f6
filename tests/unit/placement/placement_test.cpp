// Placement: grids are cut along the machine's boundaries, heavy edges stay inside, nothing becomes worse,
// and an order that is good already stays. And where ranks are bound to different processors, topologies with
// `reorder` are the same graphs as without it, node by node.
#include "placement/placement.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "coll/api.hpp"
#include "communicator/api.hpp"
#include "node/hardware.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "object/topology.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using Ints = std::vector<int>;

/// One process for each processor of machines with 2 packages of 2 L3 caches of 4 cores, in the usual order.
std::vector<ProcessPlace> processes(int count) {
  std::vector<ProcessPlace> places;
  for (int i = 0; i < count; ++i) {
    const int in_machine = i % 16;
    const std::int32_t package = in_machine / 8 * 8, cache = in_machine / 4 * 4;
    places.push_back({static_cast<std::uint64_t>(i / 16),
                      {0, package, package, cache, in_machine, in_machine, in_machine, in_machine}});
  }
  return places;
}

std::vector<PlacementEdge> grid(int rows, int columns) {
  std::vector<PlacementEdge> edges;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int node = row * columns + column;
      if (column + 1 < columns) edges.push_back({node, node + 1, 1});
      if (row + 1 < rows) edges.push_back({node, node + columns, 1});
    }
  }
  return edges;
}

Ints sorted(Ints values) {
  std::sort(values.begin(), values.end());
  return values;
}

Ints as_they_are(std::size_t count) {
  Ints order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(PlaceDistanceTest, DoublesWithEachLevel) {
  const std::vector<ProcessPlace> places = processes(17);
  EXPECT_EQ(place_distance(places[0], places[0]), 0);
  EXPECT_LT(place_distance(places[0], places[1]), place_distance(places[0], places[4]));
  EXPECT_LT(place_distance(places[0], places[4]), place_distance(places[0], places[8]));
  EXPECT_LT(place_distance(places[0], places[8]), place_distance(places[0], places[16]));
  ProcessPlace anywhere{0, {}};
  anywhere.place.fill(-1);
  EXPECT_EQ(place_distance(anywhere, anywhere), place_distance(places[0], places[8]));
}

TEST(PlaceNodesTest, CutsAGridAlongTheCaches) {
  // In rows of 8, each cache of 4 cores has a piece of one row: 12 edges go down from cache to cache and more
  // from package to package. In squares of 2 x 2 and halves of the grid, 8 leave a cache.
  const std::vector<PlacementEdge> edges = grid(2, 8);
  const std::vector<ProcessPlace> places = processes(16);
  const Ints order = place_nodes(edges, places);
  EXPECT_EQ(sorted(order), as_they_are(16));
  const Ints squares = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
  EXPECT_LE(placement_cost(edges, places, order), placement_cost(edges, places, squares));
  EXPECT_LT(placement_cost(edges, places, order), placement_cost(edges, places, as_they_are(16)));
}

TEST(PlaceNodesTest, FindsPairsThatTalkMost) {
  // Node i and node i + 8 exchange much: each pair belongs on one side of the machine.
  std::vector<PlacementEdge> edges;
  for (int i = 0; i < 8; ++i) {
    edges.push_back({i, i + 8, 100});
    edges.push_back({i, (i + 1) % 8, 1});
  }
  const std::vector<ProcessPlace> places = processes(16);
  const Ints order = place_nodes(edges, places);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(order[i] / 4, order[i + 8] / 4) << i;
}

TEST(PlaceNodesTest, KeepsWhatIsGood) {
  EXPECT_EQ(place_nodes(grid(1, 32), processes(32)), as_they_are(32));
  EXPECT_EQ(place_nodes({}, processes(5)), as_they_are(5));
  EXPECT_EQ(place_nodes({}, {}), Ints{});
  std::vector<ProcessPlace> anywhere(6, ProcessPlace{0, {}});
  for (ProcessPlace& place : anywhere) place.place.fill(-1);
  EXPECT_EQ(place_nodes(grid(2, 3), anywhere), as_they_are(6));
}

TEST(PlaceNodesTest, NeverWorseAndAlwaysAPermutation) {
  std::minstd_rand random(11);
  for (int round = 0; round < 60; ++round) {
    const int count = 1 + static_cast<int>(random() % 40);
    std::vector<ProcessPlace> places = processes(count);
    std::shuffle(places.begin(), places.end(), random);
    std::vector<PlacementEdge> edges;
    for (int i = 0; i < 3 * count; ++i) {
      const auto any = [&] { return static_cast<std::int32_t>(random() % static_cast<unsigned>(count)); };
      edges.push_back({any(), any(), static_cast<std::int64_t>(random() % 7)});
    }
    const Ints order = place_nodes(edges, places);
    EXPECT_EQ(sorted(order), as_they_are(static_cast<std::size_t>(count)));
    EXPECT_LE(placement_cost(edges, places, order), placement_cost(edges, places, as_they_are(order.size())));
  }
}

/// Binds this rank's thread to one of the processors that the program may use, round robin.
void bind_to_a_processor(int rank) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  Ints processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &allowed)) processors.push_back(i);
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(processors[static_cast<std::size_t>(rank) % processors.size()]), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

/// For each rank of `comm`, the processor that it is bound to.
Ints processors_of(Process& process, Comm* comm) {
  auto* integer = static_cast<Datatype*>(process.objects->predefined[kMpiInt32T]);
  const int mine = hardware_place()[static_cast<std::size_t>(HardwareLevel::kPu)];
  Ints all(static_cast<std::size_t>(comm->size()));
  EXPECT_EQ(api::allgather(process, &mine, 1, integer, all.data(), 1, integer, comm), 0);
  return all;
}

/// The edges of two rings, of the lower and of the upper half of the ranks, that cross between processors.
int crossings(const Ints& processors) {
  const std::size_t half = processors.size() / 2;
  int count = 0;
  for (std::size_t i = 0; i < processors.size(); ++i)
    count += processors[i] != processors[i / half * half + (i + 1) % half] ? 1 : 0;
  return count;
}

TEST(ReorderTest, DistributedGraphsAreTheSameGraphs) {
  for (const int size : {2, 4, 8}) {
    test::run_ranks(size, [size](Process& process) {
      bind_to_a_processor(process.rank);
      const int half = size / 2;
      const auto next = [half](int node, int step) {
        return node / half * half + (node % half + step + half) % half;
      };
      const int before = next(process.rank, -1), after = next(process.rank, 1), one = 1, weight = 3;
      Comm* world = process.objects->world;
      Comm *adjacent = nullptr, *general = nullptr;
      ASSERT_EQ(api::dist_graph_create_adjacent(process, world, 1, &before, &weight, 1, &after, &weight,
                                                nullptr, true, &adjacent),
                0);
      ASSERT_EQ(api::dist_graph_create(process, world, 1, &process.rank, &one, &after, kUnweighted, nullptr,
                                       true, &general),
                0);
      const Ints world_processors = processors_of(process, world);
      const bool two_processors = sorted(world_processors).front() != sorted(world_processors).back();
      for (Comm* graph : {adjacent, general}) {
        EXPECT_EQ(graph->topology->sources, Ints{next(graph->rank, -1)});
        EXPECT_EQ(graph->topology->destinations, Ints{next(graph->rank, 1)});
        EXPECT_EQ(graph->topology->source_weights, graph == adjacent ? Ints{3} : Ints{});
        EXPECT_TRUE(graph->topology->matched);
        auto* integer = static_cast<Datatype*>(process.objects->predefined[kMpiInt32T]);
        int from = -1;
        ASSERT_EQ(api::neighbor_allgather(process, &graph->rank, 1, integer, &from, 1, integer, graph), 0);
        EXPECT_EQ(from, next(graph->rank, -1));
        const int crossed = crossings(processors_of(process, graph));
        EXPECT_LE(crossed, crossings(world_processors));
        // Bound round robin to an even number of processors, each ring lies across them all.
        if (two_processors && size >= 4) EXPECT_LT(crossed, crossings(world_processors));
        api::comm_free(process, &graph);
      }
    });
  }
}

TEST(ReorderTest, GridsAndGraphsHaveEachProcessOnce) {
  test::run_ranks(5, [](Process& process) {
    bind_to_a_processor(process.rank);
    Comm* world = process.objects->world;
    const Ints dims{2, 2}, periods{1, 0}, index{1, 2, 3, 4}, edges{1, 0, 3, 2};
    Comm *cart = nullptr, *graph = nullptr;
    ASSERT_EQ(api::cart_create(process, world, 2, dims.data(), periods.data(), true, &cart), 0);
    ASSERT_EQ(api::graph_create(process, world, 4, index.data(), edges.data(), true, &graph), 0);
    EXPECT_EQ(cart == nullptr, process.rank == 4);
    EXPECT_EQ(graph == nullptr, process.rank == 4);
    for (Comm* comm : {cart, graph}) {
      if (comm == nullptr) continue;
      EXPECT_EQ(sorted(comm->group->endpoints), as_they_are(4));
      EXPECT_EQ(comm->endpoint(comm->rank), process.rank);
    }
    if (cart != nullptr) {
      EXPECT_EQ(cart->topology->coords, (Ints{cart->rank / 2, cart->rank % 2}));
      EXPECT_EQ(graph->topology->sources, Ints{graph->rank ^ 1});
      api::comm_free(process, &cart);
      api::comm_free(process, &graph);
    }
  });
}

}  // namespace
}  // namespace tasuki
