// Virtual topologies: MPI_Dims_create gives factors as close to each other as possible; grids are as plain
// arithmetic has them, and their slices too; graphs come back as they were given, distributed graphs however
// their edges were spread over the ranks. Wrong arguments of one rank fail on all and hang none.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "object/topology.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

TEST(DimsCreateTest, BalancedAndDescending) {
  test::run_ranks(1, [](Process& process) {
    const struct {
      int nodes;
      std::vector<int> expected;
    } cases[] = {{1, {1}},
                 {6, {3, 2}},
                 {7, {7, 1}},
                 {12, {4, 3}},
                 {12, {3, 2, 2}},
                 {64, {4, 4, 4}},
                 {60, {5, 4, 3}},
                 {96, {6, 4, 4}},
                 {1000, {10, 10, 10}},
                 {36, {6, 6}},
                 {5040, {21, 16, 15}},  // as close as 20 x 18 x 14, with less surface
                 {6240, {26, 16, 15}},
                 {7488, {26, 18, 16}},
                 {2147483647, {2147483647, 1}},
                 {1 << 30, {1024, 1024, 1024}}};
    for (const auto& each : cases) {
      std::vector<int> dims(each.expected.size(), 0);
      ASSERT_EQ(api::dims_create(process, each.nodes, static_cast<int>(dims.size()), dims.data()), 0);
      EXPECT_EQ(dims, each.expected) << each.nodes;
    }
  });
}

std::vector<int> dims_of(Process& process, int nodes, std::size_t count) {
  std::vector<int> dims(count, 0);
  EXPECT_EQ(api::dims_create(process, nodes, static_cast<int>(count), dims.data()), 0) << nodes;
  return dims;
}

std::int64_t surface_of(const std::vector<int>& dims) {
  const std::int64_t nodes =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{0},
                         [nodes](std::int64_t sum, int dimension) { return sum + nodes / dimension; });
}

/// All products of `nodes`, largest factor first: the best by the contract, found by looking at each.
void look_at_all(int nodes, std::vector<int>& chosen, std::size_t count, std::vector<int>* best) {
  if (chosen.size() == count) {
    if (nodes != 1) return;
    const auto key = [](const std::vector<int>& dims) {
      return std::tuple(dims.front() - dims.back(), surface_of(dims), dims);
    };
    if (best->empty() || key(chosen) < key(*best)) *best = chosen;
    return;
  }
  const int bound = chosen.empty() ? nodes : std::min(nodes, chosen.back());
  for (int factor = 1; factor <= bound; ++factor) {
    if (nodes % factor != 0) continue;
    chosen.push_back(factor);
    look_at_all(nodes / factor, chosen, count, best);
    chosen.pop_back();
  }
}

TEST(DimsCreateTest, OfAllProductsTheClosestWithTheLeastSurfaceIsChosen) {
  test::run_ranks(1, [](Process& process) {
    for (std::size_t count = 1; count <= 5; ++count) {
      for (int nodes = 1; nodes <= (count <= 3 ? 2600 : 800); ++nodes) {
        std::vector<int> chosen, best;
        look_at_all(nodes, chosen, count, &best);
        ASSERT_EQ(dims_of(process, nodes, count), best) << nodes << " in " << count;
      }
    }
  });
}

/// The worst for a search are many ways to write what is left beside a factor that has to be large.
TEST(DimsCreateTest, AnyNumberInAnyNumberOfDimensionsIsSoonDone) {
  test::run_ranks(1, [](Process& process) {
    for (const int nodes : {INT_MAX, 1 << 30, 2095133040, 1108689120, 889035840, 46337 * 46327, 1162261467}) {
      for (std::size_t count = 1; count <= 34; ++count) {
        const std::vector<int> dims = dims_of(process, nodes, count);
        EXPECT_TRUE(std::is_sorted(dims.rbegin(), dims.rend()));
        EXPECT_EQ(std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<std::int64_t>()),
                  nodes);
      }
    }
    EXPECT_EQ(dims_of(process, 1 << 30, 31)[0], 2);
    EXPECT_EQ(dims_of(process, 2095133040, 3), (std::vector<int>{1292, 1287, 1260}));
    const std::vector<int> many = dims_of(process, 60, 1000000);
    EXPECT_EQ(std::vector<int>(many.begin(), many.begin() + 5), (std::vector<int>{5, 3, 2, 2, 1}));
  });
}

TEST(DimsCreateTest, GivenDimensionsStay) {
  test::run_ranks(1, [](Process& process) {
    int dims[] = {0, 3, 0};
    ASSERT_EQ(api::dims_create(process, 12, 3, dims), 0);
    EXPECT_EQ(std::vector<int>(dims, dims + 3), (std::vector<int>{2, 3, 2}));
  });
}

TEST(DimsCreateTest, RefusesWhatDoesNotDivide) {
  test::run_ranks(1, [](Process& process) {
    int five[] = {5, 0};
    const Code code = api::dims_create(process, 12, 2, five);
    EXPECT_EQ(error_class_bits(code), kErrDims);
    EXPECT_EQ(process.errors.text(code),
              "dims[0] = 5, expected a divisor of nnodes = 12 and the other given dims");
    int full[] = {2, 2};
    EXPECT_EQ(error_class_bits(api::dims_create(process, 12, 2, full)), kErrDims);
    int negative[] = {-1, 0};
    EXPECT_EQ(error_class_bits(api::dims_create(process, 12, 2, negative)), kErrDims);
    EXPECT_EQ(error_class_bits(api::dims_create(process, 0, 2, negative)), kErrArg);
  });
}

using Ints = std::vector<int>;

void expect_error(Process& process, Code code, int error_class, const char* text) {
  EXPECT_EQ(error_class_bits(code), error_class);
  EXPECT_NE(process.errors.text(code).find(text), std::string::npos) << process.errors.text(code);
}

Comm* make_grid(Process& process, const Ints& dims, const Ints& periods) {
  Comm* grid = nullptr;
  EXPECT_EQ(api::cart_create(process, process.objects->world, static_cast<int>(dims.size()), dims.data(),
                             periods.data(), true, &grid),
            0);
  return grid;
}

TEST(CartTest, RanksCoordinatesAndShifts) {
  test::run_ranks(7, [](Process& process) {
    const Ints dims{2, 3}, periods{1, 0};
    Comm* grid = make_grid(process, dims, periods);
    int newrank = 0;
    ASSERT_EQ(api::cart_map(process, process.objects->world, 2, dims.data(), periods.data(), &newrank), 0);
    if (process.rank == 6) {
      EXPECT_EQ(grid, nullptr);
      EXPECT_EQ(newrank, kUndefined);
      return;
    }
    EXPECT_EQ(newrank, process.rank);
    EXPECT_EQ(grid->size(), 6);
    EXPECT_EQ(grid->rank, process.rank);
    int status = 0, ndims = 0;
    ASSERT_EQ(api::topo_test(process, grid, &status), 0);
    EXPECT_EQ(status, static_cast<int>(TopologyKind::kCart));
    ASSERT_EQ(api::cartdim_get(process, grid, &ndims), 0);
    EXPECT_EQ(ndims, 2);
    Ints got_dims(2), got_periods(2), coords(2);
    ASSERT_EQ(api::cart_get(process, grid, 2, got_dims.data(), got_periods.data(), coords.data()), 0);
    EXPECT_EQ(std::tie(got_dims, got_periods), std::tie(dims, periods));
    EXPECT_EQ(coords, (Ints{process.rank / 3, process.rank % 3}));
    for (int rank = 0; rank < 6; ++rank) {
      ASSERT_EQ(api::cart_coords(process, grid, rank, 2, coords.data()), 0);
      EXPECT_EQ(coords, (Ints{rank / 3, rank % 3}));
      coords[0] -= 4;  // periodic
      int back = -1;
      ASSERT_EQ(api::cart_rank(process, grid, coords.data(), &back), 0);
      EXPECT_EQ(back, rank);
    }
    for (int disp : {0, 1, -1, 2, -5, 2147483647, -2147483647 - 1}) {
      int source = 0, destination = 0;
      ASSERT_EQ(api::cart_shift(process, grid, 0, disp, &source, &destination), 0);
      const int other = disp % 2 == 0 ? process.rank : (process.rank + 3) % 6;
      EXPECT_EQ(source, other) << disp;
      EXPECT_EQ(destination, other) << disp;
      ASSERT_EQ(api::cart_shift(process, grid, 1, disp, &source, &destination), 0);
      const auto beside = [&](std::int64_t distance) {
        const std::int64_t coordinate = process.rank % 3 + distance;
        return coordinate < 0 || coordinate > 2 ? kProcNull : process.rank + static_cast<int>(distance);
      };
      EXPECT_EQ(source, beside(-std::int64_t{disp})) << disp;
      EXPECT_EQ(destination, beside(disp)) << disp;
    }
    api::comm_free(process, &grid);
  });
}

TEST(CartTest, SlicesAreGrids) {
  test::run_ranks(8, [](Process& process) {
    Comm* grid = make_grid(process, {2, 2, 2}, {1, 0, 1});
    const Ints place{process.rank / 4, process.rank / 2 % 2, process.rank % 2};
    for (int kept = 0; kept < 8; ++kept) {
      const Ints remain{kept & 1, kept & 2, kept & 4};  // any number but 0 is true
      Comm* slice = nullptr;
      ASSERT_EQ(api::cart_sub(process, grid, remain.data(), &slice), 0);
      Ints expected, expected_periods;
      int expected_rank = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        if (remain[i] == 0) continue;
        expected.push_back(place[i]);
        expected_periods.push_back(i == 1 ? 0 : 1);
        expected_rank = expected_rank * 2 + place[i];
      }
      const int ndims = static_cast<int>(expected.size());
      Ints dims(expected.size()), periods(expected.size()), coords(expected.size());
      ASSERT_EQ(api::cart_get(process, slice, ndims, dims.data(), periods.data(), coords.data()), 0);
      EXPECT_EQ(slice->size(), 1 << ndims);
      EXPECT_EQ(slice->rank, expected_rank);
      EXPECT_EQ(coords, expected);
      EXPECT_EQ(periods, expected_periods);
      EXPECT_EQ(dims, Ints(expected.size(), 2));
      api::comm_free(process, &slice);
    }
    api::comm_free(process, &grid);
  });
}

TEST(CartTest, NoDimensionsAreOneProcess) {
  test::run_ranks(3, [](Process& process) {
    Comm* point = make_grid(process, {}, {});
    if (process.rank > 0) {
      EXPECT_EQ(point, nullptr);
      return;
    }
    int rank = -1, size = -1, ndims = -1;
    EXPECT_EQ(api::cart_rank(process, point, nullptr, &rank), 0);
    EXPECT_EQ(rank, 0);
    EXPECT_EQ(api::comm_size(process, point, &size), 0);
    EXPECT_EQ(size, 1);
    Comm* slice = nullptr;
    ASSERT_EQ(api::cart_sub(process, point, nullptr, &slice), 0);
    EXPECT_EQ(api::cartdim_get(process, slice, &ndims), 0);
    EXPECT_EQ(ndims, 0);
    expect_error(process, api::cart_shift(process, point, 0, 1, &rank, &size), kErrDims, "direction = 0");
    api::comm_free(process, &slice);
    api::comm_free(process, &point);
  });
}

TEST(CartTest, DuplicatesKeepTheGridAndSplitsDoNot) {
  test::run_ranks(2, [](Process& process) {
    Comm* grid = make_grid(process, {2}, {1});
    Comm *same = nullptr, *other = nullptr;
    ASSERT_EQ(api::comm_dup(process, grid, &same), 0);
    ASSERT_EQ(api::comm_split(process, grid, 0, 0, &other), 0);
    api::comm_free(process, &grid);
    int status = 0, source = -1, destination = -1;
    ASSERT_EQ(api::cart_shift(process, same, 0, 1, &source, &destination), 0);
    EXPECT_EQ(destination, 1 - process.rank);
    ASSERT_EQ(api::topo_test(process, other, &status), 0);
    EXPECT_EQ(status, kUndefined);
    api::comm_free(process, &same);
    api::comm_free(process, &other);
  });
}

TEST(CartTest, WrongArguments) {
  test::run_ranks(3, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* grid = nullptr;
    const int flags[] = {0, 0}, large[] = {2, 2}, empty[] = {3, 0}, three = 3, two = 2;
    expect_error(process, api::cart_create(process, world, 2, large, flags, false, &grid), kErrDims,
                 "expected at most the 3 ranks");
    // One rank is wrong, then one is different.
    const Code one_wrong = api::cart_create(process, world, process.rank == 1 ? 2 : 1,
                                            process.rank == 1 ? empty : &three, flags, false, &grid);
    expect_error(process, one_wrong, kErrDims, process.rank == 1 ? "dims[1] = 0" : "rank 1 of comm_old");
    const Code differs =
        api::cart_create(process, world, 1, process.rank == 2 ? &two : &three, flags, false, &grid);
    expect_error(process, differs, kErrArg, process.rank == 2 ? "rank 0 of comm_old" : "rank 2 of comm_old");
    ASSERT_EQ(api::cart_create(process, world, 1, &three, flags, false, &grid), 0);
    int value = 0;
    expect_error(process, api::cart_rank(process, grid, &three, &value), kErrArg,
                 "coords[0] = 3, expected 0..2");
    expect_error(process, api::cart_coords(process, grid, 3, 1, &value), kErrRank, "rank = 3, expected 0..2");
    expect_error(process, api::cart_coords(process, grid, 0, 0, &value), kErrArg, "maxdims = 0");
    expect_error(process, api::graphdims_get(process, grid, &value, &value), kErrTopology,
                 "another kind of topology, expected a graph");
    expect_error(process, api::cartdim_get(process, world, &value), kErrTopology,
                 "no topology, expected a Cartesian one");
    api::comm_free(process, &grid);
  });
}

TEST(GraphTest, ComesBackAsGiven) {
  test::run_ranks(5, [](Process& process) {
    Comm* world = process.objects->world;
    const Ints index{2, 3, 4, 6}, edges{1, 3, 0, 3, 0, 2};  // the example of MPI 8.5.3
    Comm* graph = nullptr;
    int newrank = 0;
    ASSERT_EQ(api::graph_create(process, world, 4, index.data(), edges.data(), false, &graph), 0);
    ASSERT_EQ(api::graph_map(process, world, 4, index.data(), edges.data(), &newrank), 0);
    EXPECT_EQ(newrank, process.rank < 4 ? process.rank : kUndefined);
    if (process.rank == 4) {
      EXPECT_EQ(graph, nullptr);
      return;
    }
    int nnodes = 0, nedges = 0;
    ASSERT_EQ(api::graphdims_get(process, graph, &nnodes, &nedges), 0);
    EXPECT_EQ(nnodes, 4);
    EXPECT_EQ(nedges, 6);
    Ints got_index(4), got_edges(6);
    ASSERT_EQ(api::graph_get(process, graph, 4, 6, got_index.data(), got_edges.data()), 0);
    EXPECT_EQ(std::tie(got_index, got_edges), std::tie(index, edges));
    const Ints expected[] = {{1, 3}, {0}, {3}, {0, 2}};
    for (int rank = 0; rank < 4; ++rank) {
      int count = 0;
      ASSERT_EQ(api::graph_neighbors_count(process, graph, rank, &count), 0);
      Ints neighbors(static_cast<std::size_t>(count));
      ASSERT_EQ(api::graph_neighbors(process, graph, rank, count, neighbors.data()), 0);
      EXPECT_EQ(neighbors, expected[rank]);
      expect_error(process, api::graph_neighbors(process, graph, rank, count - 1, neighbors.data()), kErrArg,
                   "maxneighbors");
    }
    api::comm_free(process, &graph);
  });
}

TEST(GraphTest, WrongArguments) {
  test::run_ranks(2, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* graph = nullptr;
    const int falling[] = {2, 1}, index[] = {1, 2}, edges[] = {1, 2};
    expect_error(process, api::graph_create(process, world, 3, index, edges, false, &graph), kErrArg,
                 "nnodes = 3, expected 0 to 2");
    expect_error(process, api::graph_create(process, world, 2, falling, edges, false, &graph), kErrArg,
                 "index[1] = 1, expected at least 2");
    expect_error(process, api::graph_create(process, world, 2, index, edges, false, &graph), kErrArg,
                 "edges[1] = 2, expected 0..1");
    expect_error(process, api::graph_create(process, world, 2, index, nullptr, false, &graph), kErrArg,
                 "edges = NULL");
    ASSERT_EQ(api::graph_create(process, world, 0, index, edges, false, &graph), 0);
    EXPECT_EQ(graph, nullptr);
  });
}

TEST(DistGraphTest, EdgesReachBothEndsWhicheverRankGivesThem) {
  for (int size : {1, 2, 3, 6}) {
    test::run_ranks(size, [size](Process& process) {
      std::minstd_rand random(static_cast<unsigned>(size) * 7 + 1);
      const auto any_rank = [&] { return static_cast<int>(random() % static_cast<unsigned>(size)); };
      for (int round = 0; round < 20; ++round) {
        const bool weighted = round % 3 != 0;
        Ints sources, degrees, destinations, weights;
        std::vector<std::pair<int, int>> in, out;  // neighbour and weight
        const unsigned runs = random() % static_cast<unsigned>(3 * size);
        for (unsigned run = 0; run < runs; ++run) {
          const int giver = any_rank(), source = any_rank(), degree = static_cast<int>(random() % 4);
          if (giver == process.rank) {
            sources.push_back(source);
            degrees.push_back(degree);
          }
          for (int i = 0; i < degree; ++i) {
            const int destination = any_rank(), weight = weighted ? static_cast<int>(random() % 9) : 0;
            if (giver == process.rank) {
              destinations.push_back(destination);
              weights.push_back(weight);
            }
            if (source == process.rank) out.emplace_back(destination, weight);
            if (destination == process.rank) in.emplace_back(source, weight);
          }
        }
        Comm* graph = nullptr;
        const int* given = !weighted ? kUnweighted : weights.empty() ? kWeightsEmpty : weights.data();
        ASSERT_EQ(api::dist_graph_create(process, process.objects->world, static_cast<int>(sources.size()),
                                         sources.data(), degrees.data(), destinations.data(), given, nullptr,
                                         false, &graph),
                  0);
        int indegree = -1, outdegree = -1;
        bool has_weights = !weighted;
        ASSERT_EQ(api::dist_graph_neighbors_count(process, graph, &indegree, &outdegree, &has_weights), 0);
        EXPECT_EQ(has_weights, weighted);
        ASSERT_EQ(indegree, static_cast<int>(in.size()));
        ASSERT_EQ(outdegree, static_cast<int>(out.size()));
        Ints from(in.size()), from_weights(in.size()), to(out.size()), to_weights(out.size());
        ASSERT_EQ(api::dist_graph_neighbors(process, graph, indegree, from.data(), from_weights.data(),
                                            outdegree, to.data(), to_weights.data()),
                  0);
        std::vector<std::pair<int, int>> got_in, got_out;
        for (std::size_t i = 0; i < from.size(); ++i) got_in.emplace_back(from[i], from_weights[i]);
        for (std::size_t i = 0; i < to.size(); ++i) got_out.emplace_back(to[i], to_weights[i]);
        for (auto* list : {&in, &out, &got_in, &got_out}) std::sort(list->begin(), list->end());
        EXPECT_EQ(got_in, in);
        EXPECT_EQ(got_out, out);
        EXPECT_TRUE(graph->topology->matched);
        api::comm_free(process, &graph);
      }
    });
  }
}

TEST(DistGraphTest, AdjacentKeepsTheOrderAndGivesTheFirstOnes) {
  test::run_ranks(3, [](Process& process) {
    const int rank = process.rank;
    const Ints sources{(rank + 2) % 3, rank, (rank + 2) % 3},
        destinations{rank, (rank + 1) % 3, (rank + 1) % 3};
    const Ints in_weights{5, 0, 7}, out_weights{1, 2, 3};
    Comm* graph = nullptr;
    ASSERT_EQ(
        api::dist_graph_create_adjacent(process, process.objects->world, 3, sources.data(), in_weights.data(),
                                        3, destinations.data(), out_weights.data(), nullptr, true, &graph),
        0);
    EXPECT_TRUE(graph->topology->matched);
    Ints from(3, -9), from_weights(3, -9), to(3, -9);
    ASSERT_EQ(api::dist_graph_neighbors(process, graph, 2, from.data(), from_weights.data(), 3, to.data(),
                                        kUnweighted),
              0);
    EXPECT_EQ(from, (Ints{sources[0], sources[1], -9}));
    EXPECT_EQ(from_weights, (Ints{5, 0, -9}));
    EXPECT_EQ(to, destinations);
    api::comm_free(process, &graph);
  });
}

TEST(DistGraphTest, WrongArguments) {
  test::run_ranks(2, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* graph = nullptr;
    const int two = 2, zero = 0, negative = -1;
    const auto adjacent = [&](const int* source, const int* source_weight, const int* destination_weight) {
      return api::dist_graph_create_adjacent(process, world, 1, source, source_weight, 1, &zero,
                                             destination_weight, nullptr, false, &graph);
    };
    expect_error(process, adjacent(&two, kUnweighted, kUnweighted), kErrRank,
                 "sources[0] = 2, expected 0..1");
    expect_error(process, adjacent(nullptr, kUnweighted, kUnweighted), kErrArg, "sources = NULL");
    expect_error(process, adjacent(&zero, &negative, &zero), kErrArg, "sourceweights[0] = -1");
    expect_error(process, adjacent(&zero, kWeightsEmpty, &zero), kErrArg, "MPI_WEIGHTS_EMPTY");
    expect_error(process, adjacent(&zero, kUnweighted, &zero), kErrArg, "sourceweights = MPI_UNWEIGHTED");
    // Weights on one rank only.
    const int* mine = process.rank == 0 ? &two : kUnweighted;
    expect_error(process, adjacent(&zero, mine, mine), kErrArg, "weights, on all its ranks");
    expect_error(process,
                 api::dist_graph_create(process, world, 1, &zero, &negative, &zero, kUnweighted, nullptr,
                                        false, &graph),
                 kErrArg, "degrees[0] = -1");
    EXPECT_EQ(graph, nullptr);
  });
}

}  // namespace
}  // namespace tasuki
