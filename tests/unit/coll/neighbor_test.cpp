// Neighbourhood collectives on real ranks (threads) against an oracle that knows each edge by a number: all
// five operations, blocking, nonblocking and persistent, on a graph with an edge that is there twice and a
// loop. What lies between the blocks must stay untouched. And: bad arguments are refused, and edges that do
// not match are an error, not a hang.
//
// Random grids and graphs are in tests/property/collectives.py, among processes. This one graph is for the
// thread sanitizer, and of MPI_Graph_create's kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/predefined.hpp"
#include "coll/algorithm/algorithms.hpp"
#include "coll/api.hpp"
#include "coll/simulation.hpp"
#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

constexpr std::int32_t kUntouched = -77;
constexpr int kElementsMax = 400;  // 400 int32 are more than the eager limit of these worlds

/// One place among a rank's neighbours: who, and the number that the edge has at both its ends.
struct End {
  int peer;
  std::uint32_t edge;
};

/// What the oracle knows of a rank's neighbourhood.
struct Oracle {
  std::vector<End> out, in;
};

std::int32_t value_of(std::uint32_t edge, Count element) {
  return static_cast<std::int32_t>((edge * 2654435761u + static_cast<std::uint32_t>(element) * 40503u) >> 2);
}

/// The count of an edge in the v and w forms; now and then 0, now and then long.
Count count_of(std::uint32_t edge, unsigned round) {
  const std::uint32_t hash = (edge + 7) * 2246822519u + round * 3266489917u;
  return hash % 11 == 0 ? kElementsMax : hash % 5;
}

/// An int32 with or without a gap after it.
struct Cell {
  Datatype* type;
  Count stride;  // in int32
};

/// The buffers and arguments of one side of a call.
struct Side {
  std::vector<std::int32_t> data;
  std::vector<int> counts, element_displs;
  std::vector<Aint> byte_displs;
  std::vector<Datatype*> types;
  std::vector<Count> begins, strides;  // in int32

  /// Blocks of these counts, with a gap of one element between them; in `cells`, one for each block.
  void lay_out(const std::vector<Count>& block_counts, const std::vector<Cell>& cells) {
    Count next = 1;
    for (std::size_t i = 0; i < block_counts.size(); ++i) {
      const Count stride = cells[i].stride;
      next = (next + stride - 1) / stride * stride;  // displacements count elements
      begins.push_back(next);
      strides.push_back(stride);
      types.push_back(cells[i].type);
      counts.push_back(static_cast<int>(block_counts[i]));
      element_displs.push_back(static_cast<int>(next / stride));
      byte_displs.push_back(4 * next);
      next += (block_counts[i] + 1) * stride;
    }
    data.assign(static_cast<std::size_t>(next) + 1, kUntouched);
  }
  std::int32_t& at(std::size_t block, Count element) {
    return data[static_cast<std::size_t>(begins[block] + element * strides[block])];
  }
};

enum class Operation { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw };
enum class Form { kBlocking, kNonblocking, kPersistent };

/// One call with its buffers, and what is expected of it.
class Call {
 public:
  Call(Process& process, Comm* comm, const Oracle& oracle, Operation operation, unsigned round)
      : process_(process), comm_(comm), oracle_(oracle), operation_(operation), round_(round) {
    Datatype* integer = static_cast<Datatype*>(process.objects->predefined[kMpiInt32T]);
    api::type_create_resized(process, integer, 0, 12, &gaps_, false);
    api::type_commit(process, &gaps_);
    const Cell cells[] = {{integer, 1}, {gaps_, 3}};
    std::minstd_rand own(round * 31 + static_cast<unsigned>(process.rank) + 1);
    const Cell out_cell = cells[own() % 2], in_cell = cells[own() % 2];
    std::vector<Count> out_counts, in_counts;
    std::vector<Cell> out_cells, in_cells;
    for (const End& place : oracle.out) {
      out_counts.push_back(count(place, process.rank));
      out_cells.push_back(is_w() ? cells[own() % 2] : out_cell);
    }
    for (const End& place : oracle.in) {
      in_counts.push_back(count(place, place.peer));
      in_cells.push_back(is_w() ? cells[own() % 2] : in_cell);
    }
    if (is_gather()) {
      out_counts.assign(1, uniform_or_by_rank(process.rank));
      out_cells.assign(1, out_cell);
    }
    if (is_uniform()) {
      lay_out_evenly(&out_, out_counts, out_cell);
      lay_out_evenly(&in_, in_counts, in_cell);
    } else {
      out_.lay_out(out_counts, out_cells);
      in_.lay_out(in_counts, in_cells);
    }
    out_type_ = out_cell.type;
    in_type_ = in_cell.type;
    fill();
  }
  ~Call() { api::type_free(process_, &gaps_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void run(Form form) {
    if (form == Form::kBlocking) {
      ASSERT_EQ(invoke(form, nullptr), 0);
      return check();
    }
    Request* request = nullptr;
    ASSERT_EQ(invoke(form, &request), 0);
    for (int again = 0; again < (form == Form::kPersistent ? 2 : 1); ++again) {
      if (form == Form::kPersistent) {
        ASSERT_EQ(api::start(process_, &request), 0);
      }
      ASSERT_EQ(api::barrier(process_, comm_), 0);
      ASSERT_EQ(api::wait(process_, &request, nullptr), 0);
      check();
      std::fill(in_.data.begin(), in_.data.end(), kUntouched);
    }
    if (form == Form::kPersistent) {
      ASSERT_EQ(api::request_free(process_, &request), 0);
    }
  }

 private:
  bool is_gather() const { return operation_ <= Operation::kAllgatherv; }
  bool is_w() const { return operation_ == Operation::kAlltoallw; }
  bool is_uniform() const {
    return operation_ == Operation::kAllgather || operation_ == Operation::kAlltoall;
  }
  Count uniform_or_by_rank(int rank) const {
    return count_of(operation_ == Operation::kAllgather ? 3u : static_cast<std::uint32_t>(rank), round_);
  }
  Count count(const End& place, int source) const {
    if (is_gather()) return uniform_or_by_rank(source);
    return operation_ == Operation::kAlltoall ? count_of(5, round_) : count_of(place.edge, round_);
  }

  /// Blocks that follow one another.
  static void lay_out_evenly(Side* side, const std::vector<Count>& counts, const Cell& cell) {
    Count next = 0;
    for (const Count count : counts) {
      side->begins.push_back(next);
      side->strides.push_back(cell.stride);
      side->counts.push_back(static_cast<int>(count));
      next += count * cell.stride;
    }
    side->data.assign(static_cast<std::size_t>(next) + 1, kUntouched);
  }

  void fill() {
    for (std::size_t block = 0; block < out_.begins.size(); ++block) {
      const std::uint32_t edge =
          is_gather() ? static_cast<std::uint32_t>(process_.rank) : oracle_.out[block].edge;
      for (Count i = 0; i < out_.counts[block]; ++i) out_.at(block, i) = value_of(edge, i);
    }
  }

  void check() {
    std::vector<std::int32_t> expected(in_.data.size(), kUntouched);
    for (std::size_t block = 0; block < oracle_.in.size(); ++block) {
      const End& place = oracle_.in[block];
      const std::uint32_t edge = is_gather() ? static_cast<std::uint32_t>(place.peer) : place.edge;
      for (Count i = 0; i < in_.counts[block]; ++i)
        expected[static_cast<std::size_t>(in_.begins[block] + i * in_.strides[block])] = value_of(edge, i);
    }
    ASSERT_EQ(in_.data, expected) << "operation " << static_cast<int>(operation_) << ", rank "
                                  << process_.rank;
  }

  Code invoke(Form form, Request** request) {
    const std::int32_t* out = out_.data.data();
    std::int32_t* in = in_.data.data();
    const CountArray sc(out_.counts.data()), rc(in_.counts.data());
    const CountArray sd(out_.element_displs.data()), rd(in_.element_displs.data());
    const CountArray sb(reinterpret_cast<const std::int64_t*>(out_.byte_displs.data()));
    const CountArray rb(reinterpret_cast<const std::int64_t*>(in_.byte_displs.data()));
    const Count s = out_.counts.empty() ? 0 : out_.counts[0], r = in_.counts.empty() ? 0 : in_.counts[0];
    if (operation_ == Operation::kAllgatherv) out += out_.begins[0];
    const auto call = [&](auto blocking, auto nonblocking, auto init, auto... a) {
      if (form == Form::kBlocking) return blocking(process_, a..., comm_);
      if (form == Form::kNonblocking) return nonblocking(process_, a..., comm_, request);
      return init(process_, a..., comm_, nullptr, request);
    };
    switch (operation_) {
      case Operation::kAllgather:
        return call(api::neighbor_allgather, api::ineighbor_allgather, api::neighbor_allgather_init, out, s,
                    out_type_, in, r, in_type_);
      case Operation::kAllgatherv:
        return call(api::neighbor_allgatherv, api::ineighbor_allgatherv, api::neighbor_allgatherv_init, out,
                    s, out_type_, in, rc, rd, in_type_);
      case Operation::kAlltoall:
        return call(api::neighbor_alltoall, api::ineighbor_alltoall, api::neighbor_alltoall_init, out, s,
                    out_type_, in, r, in_type_);
      case Operation::kAlltoallv:
        return call(api::neighbor_alltoallv, api::ineighbor_alltoallv, api::neighbor_alltoallv_init, out, sc,
                    sd, out_type_, in, rc, rd, in_type_);
      case Operation::kAlltoallw:
        return call(api::neighbor_alltoallw, api::ineighbor_alltoallw, api::neighbor_alltoallw_init, out, sc,
                    sb, out_.types.data(), in, rc, rb, in_.types.data());
    }
    return -1;
  }

  Process& process_;
  Comm* comm_;
  const Oracle& oracle_;
  Operation operation_;
  unsigned round_;
  Datatype* gaps_ = nullptr;
  Datatype* out_type_;
  Datatype* in_type_;
  Side out_, in_;
};

void run_all(Process& process, Comm* comm, const Oracle& oracle, unsigned seed) {
  for (int operation = 0; operation < 5; ++operation) {
    for (const Form form : {Form::kBlocking, Form::kNonblocking, Form::kPersistent}) {
      const unsigned round = seed * 17 + static_cast<unsigned>(operation) * 3 + static_cast<unsigned>(form);
      Call(process, comm, oracle, static_cast<Operation>(operation), round).run(form);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(NeighborTest, SymmetricGraph) {
  run_ranks(4, [](Process& process) {
    // A path 0 - 1 - 2 with the edge 0 - 1 twice; 3 has a loop. What leaves to the k-th occurrence of a
    // neighbour comes in as its k-th.
    const int index[] = {2, 5, 6, 7};
    const int edges[] = {1, 1, 0, 2, 0, 1, 3};
    Comm* graph = nullptr;
    ASSERT_EQ(api::graph_create(process, process.objects->world, 4, index, edges, false, &graph), 0);
    const Oracle oracles[] = {{{{1, 10}, {1, 11}}, {{1, 20}, {1, 21}}},
                              {{{0, 20}, {2, 30}, {0, 21}}, {{0, 10}, {2, 40}, {0, 11}}},
                              {{{1, 40}}, {{1, 30}}},
                              {{{3, 50}}, {{3, 50}}}};
    for (unsigned round = 0; round < 5; ++round) run_all(process, graph, oracles[process.rank], round);
    api::comm_free(process, &graph);
  });
}

void expect_error(Process& process, Code code, int error_class, const char* text) {
  EXPECT_EQ(error_class_bits(code), error_class);
  EXPECT_NE(process.errors.text(code).find(text), std::string::npos) << process.errors.text(code);
}

TEST(NeighborTest, BadArgumentsAreRefused) {
  run_ranks(2, [](Process& process) {
    Comm* world = process.objects->world;
    Datatype* integer = static_cast<Datatype*>(process.objects->predefined[kMpiInt32T]);
    int out[4] = {}, in[4] = {};
    expect_error(process, api::neighbor_allgather(process, out, 1, integer, in, 1, integer, world),
                 kErrTopology, "comm has no topology");
    // Rank 1 does not take in what rank 0 sends it: refused on both, and no hang.
    const int zero = 0, one = 1;
    Comm* graph = nullptr;
    const bool first = process.rank == 0;
    ASSERT_EQ(api::dist_graph_create_adjacent(process, world, 0, nullptr, kUnweighted, first ? 1 : 0, &one,
                                              kUnweighted, nullptr, false, &graph),
              0);
    expect_error(process, api::neighbor_allgather(process, out, 1, integer, in, 1, integer, graph),
                 kErrTopology, "expected each edge at both its ends");
    api::comm_free(process, &graph);
    const int index[] = {1, 1};
    ASSERT_EQ(api::graph_create(process, world, 2, index, &one, false, &graph), 0);
    expect_error(process, api::neighbor_alltoall(process, out, 1, integer, in, 1, integer, graph),
                 kErrTopology, "not symmetric");
    api::comm_free(process, &graph);
    const int two = 2;
    ASSERT_EQ(api::cart_create(process, world, 1, &two, &zero, false, &graph), 0);
    expect_error(process, api::neighbor_alltoall(process, kInPlace, 1, integer, in, 1, integer, graph),
                 kErrBuffer, "sendbuf = MPI_IN_PLACE");
    expect_error(process, api::neighbor_alltoall(process, in, 1, integer, in, 1, integer, graph), kErrBuffer,
                 "sendbuf and recvbuf");
    const int counts[] = {1, -1}, places[] = {0, 1};
    expect_error(process,
                 api::neighbor_allgatherv(process, out, 1, integer, in, CountArray(counts),
                                          CountArray(places), integer, graph),
                 kErrCount, "recvcounts[1] = -1");
    // The ranks are still in step, and one that sends too much is heard.
    const int lengths[] = {2, 2};
    const Code code =
        api::neighbor_alltoallv(process, out, CountArray(first ? lengths : index), CountArray(places),
                                integer, in, CountArray(index), CountArray(places), integer, graph);
    EXPECT_EQ(error_class_bits(code), first ? kSuccess : kErrTruncate);
    api::comm_free(process, &graph);
  });
}

TEST(NeighborTest, CostsWhatTheFormulaSays) {
  for (int size : {5, 8}) {
    for (int degree : {1, 2, 4}) {
      std::vector<SimulatedRank> ranks(static_cast<std::size_t>(size));
      for (int rank = 0; rank < size; ++rank) {
        std::vector<int> sources, destinations;
        for (int i = 1; i <= degree; ++i) {
          sources.push_back((rank - i + size) % size);
          destinations.push_back((rank + i) % size);
        }
        SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
        r.send_type = r.receive_type = {.size = 4, .extent = 4, .true_extent = 4};
        r.send.resize(static_cast<std::size_t>(12 * degree));
        r.receive.resize(r.send.size());
        neighbor_direct(
            r.schedule, rank, {sources, destinations},
            {.space = Space::kSend, .element = ElementType::kSendType, .type = r.send_type, .count = 3},
            {.type = r.receive_type, .count = 3});
      }
      Simulation(ranks, nullptr, 1).run();
      expect_cost(measure_cost(ranks), neighbor_direct_cost(size, degree, 12), true);
    }
  }
}

}  // namespace
}  // namespace tasuki::test
