// The collectives of MPI: what each takes and gives, and its three calls.
//
// Factors: throughput is factor * M / t with M the block that one rank has for another, or the whole vector
// where there are no blocks. Bcast 1 and allreduce 2 (a reduce and a bcast), gatherings np; so scatterings
// and alltoall np too, reduce and the scans 1, and on neighbours the 4 neighbours.
#include "collectives.hpp"

namespace mbl::collective {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20;

void barrier(Form form, Arguments& at) {
  at.issue(form, MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, at.comm());
}
void bcast(Form form, Arguments& at) {
  at.issue(form, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, at.into(), at.words, MPI_DOUBLE, 0, at.comm());
}
void gather(Form form, Arguments& at) {
  at.issue(form, MPI_Gather, MPI_Igather, MPI_Gather_init, at.from(), at.words, MPI_DOUBLE, at.into(),
           at.words, MPI_DOUBLE, 0, at.comm());
}
void gatherv(Form form, Arguments& at) {
  at.issue(form, MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, at.from(), at.out.words(), MPI_DOUBLE,
           at.into(), at.in.counts().data(), at.in.offsets().data(), MPI_DOUBLE, 0, at.comm());
}
void scatter(Form form, Arguments& at) {
  at.issue(form, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, at.from(), at.words, MPI_DOUBLE, at.into(),
           at.words, MPI_DOUBLE, 0, at.comm());
}
void scatterv(Form form, Arguments& at) {
  at.issue(form, MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, at.from(), at.out.counts().data(),
           at.out.offsets().data(), MPI_DOUBLE, at.into(), at.in.words(), MPI_DOUBLE, 0, at.comm());
}
void allgather(Form form, Arguments& at) {
  at.issue(form, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, at.from(), at.words, MPI_DOUBLE,
           at.into(), at.words, MPI_DOUBLE, at.comm());
}
void allgatherv(Form form, Arguments& at) {
  at.issue(form, MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, at.from(), at.out.words(), MPI_DOUBLE,
           at.into(), at.in.counts().data(), at.in.offsets().data(), MPI_DOUBLE, at.comm());
}
void alltoall(Form form, Arguments& at) {
  at.issue(form, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, at.from(), at.words, MPI_DOUBLE, at.into(),
           at.words, MPI_DOUBLE, at.comm());
}
void alltoallv(Form form, Arguments& at) {
  at.issue(form, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, at.from(), at.out.counts().data(),
           at.out.offsets().data(), MPI_DOUBLE, at.into(), at.in.counts().data(), at.in.offsets().data(),
           MPI_DOUBLE, at.comm());
}
void alltoallw(Form form, Arguments& at) {
  at.issue(form, MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, at.from(), at.out.counts().data(),
           at.out_bytes.data(), at.types.data(), at.into(), at.in.counts().data(), at.in_bytes.data(),
           at.types.data(), at.comm());
}
void reduce(Form form, Arguments& at) {
  at.issue(form, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, at.from(), at.into(), at.words, MPI_DOUBLE,
           MPI_SUM, 0, at.comm());
}
void allreduce(Form form, Arguments& at) {
  at.issue(form, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, at.from(), at.into(), at.words,
           MPI_DOUBLE, MPI_SUM, at.comm());
}
void reduce_scatter(Form form, Arguments& at) {
  at.issue(form, MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, at.from(), at.into(),
           at.out.counts().data(), MPI_DOUBLE, MPI_SUM, at.comm());
}
void reduce_scatter_block(Form form, Arguments& at) {
  at.issue(form, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init,
           at.from(), at.into(), at.words, MPI_DOUBLE, MPI_SUM, at.comm());
}
void scan(Form form, Arguments& at) {
  at.issue(form, MPI_Scan, MPI_Iscan, MPI_Scan_init, at.from(), at.into(), at.words, MPI_DOUBLE, MPI_SUM,
           at.comm());
}
void exscan(Form form, Arguments& at) {
  at.issue(form, MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, at.from(), at.into(), at.words, MPI_DOUBLE,
           MPI_SUM, at.comm());
}
void neighbor_allgather(Form form, Arguments& at) {
  at.issue(form, MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init, at.from(),
           at.words, MPI_DOUBLE, at.into(), at.words, MPI_DOUBLE, at.comm());
}
void neighbor_allgatherv(Form form, Arguments& at) {
  at.issue(form, MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init, at.from(),
           at.out.words(), MPI_DOUBLE, at.into(), at.in.counts().data(), at.in.offsets().data(), MPI_DOUBLE,
           at.comm());
}
void neighbor_alltoall(Form form, Arguments& at) {
  at.issue(form, MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init, at.from(),
           at.words, MPI_DOUBLE, at.into(), at.words, MPI_DOUBLE, at.comm());
}
void neighbor_alltoallv(Form form, Arguments& at) {
  at.issue(form, MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init, at.from(),
           at.out.counts().data(), at.out.offsets().data(), MPI_DOUBLE, at.into(), at.in.counts().data(),
           at.in.offsets().data(), MPI_DOUBLE, at.comm());
}
void neighbor_alltoallw(Form form, Arguments& at) {
  at.issue(form, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init, at.from(),
           at.out.counts().data(), at.out_addresses.data(), at.types.data(), at.into(), at.in.counts().data(),
           at.in_addresses.data(), at.types.data(), at.comm());
}

double once(int) {
  return 1;
}
double twice(int) {
  return 2;
}
double each(int size) {
  return size;
}
double four(int) {
  return 4;
}

// What the blocks are: `to` of a message that many get is 0; on neighbours it is the direction.
Route whole(const Member&, int) {
  return {};
}
Route of_this(const Member& at, int) {
  return {at.rank, 0, at.rank, at.size};
}
Route of_each(const Member& at, int block) {
  return {block, 0, block, at.size};
}
Route root_to_each(const Member& at, int block) {
  return {0, block, block, at.size};
}
Route root_to_this(const Member& at, int) {
  return {0, at.rank, at.rank, at.size};
}
Route this_to_each(const Member& at, int block) {
  return {at.rank, block, (at.rank + block) % at.size, at.size};
}
Route each_to_this(const Member& at, int block) {
  return {block, at.rank, (at.rank + block) % at.size, at.size};
}
Route of_neighbor(const Member& at, int block) {
  const int neighbor = at.neighbors[static_cast<std::size_t>(block)];
  return {neighbor, 0, neighbor, at.size};
}
Route this_to_neighbor(const Member& at, int block) {
  return {at.rank, block, block / 2, static_cast<int>(at.neighbors.size()) / 2};
}
// What comes from below was sent up, and the other way round.
Route neighbor_to_this(const Member& at, int block) {
  return {at.neighbors[static_cast<std::size_t>(block)], block ^ 1, block / 2,
          static_cast<int>(at.neighbors.size()) / 2};
}

// The same where both neighbours of a dimension are one rank, and its two messages are taken in the order in
// which they were sent.
Route neighbor_to_this_swapped(const Member& at, int block) {
  Route route = neighbor_to_this(at, block);
  if (route.from == at.neighbors[static_cast<std::size_t>(block ^ 1)]) route.to = block;
  return route;
}

constexpr Shape kNone = Shape::kNone, kOne = Shape::kOne, kEach = Shape::kEach;
constexpr bool kRoot = true, kEveryRank = false;

constexpr Flow kNoData;
constexpr Flow kRootToAll = {kNone, kOne, kRoot, kEveryRank, Sum::kNone, whole, whole};
constexpr Flow kAllToRoot = {kOne, kEach, kEveryRank, kRoot, Sum::kNone, of_this, of_each};
constexpr Flow kRootToEach = {kEach, kOne, kRoot, kEveryRank, Sum::kNone, root_to_each, root_to_this};
constexpr Flow kAllToAll = {kOne, kEach, kEveryRank, kEveryRank, Sum::kNone, of_this, of_each};
constexpr Flow kEachToEach = {kEach, kEach, kEveryRank, kEveryRank, Sum::kNone, this_to_each, each_to_this};
constexpr Flow kSumToRoot = {kOne, kOne, kEveryRank, kRoot, Sum::kOfAll, whole, whole};
constexpr Flow kSumToAll = {kOne, kOne, kEveryRank, kEveryRank, Sum::kOfAll, whole, whole};
constexpr Flow kSumToEach = {kEach, kOne, kEveryRank, kEveryRank, Sum::kOfAll, of_each, of_this};
constexpr Flow kSumUpToThis = {kOne, kOne, kEveryRank, kEveryRank, Sum::kUpToThis, whole, whole};
constexpr Flow kSumBelowThis = {kOne, kOne, kEveryRank, kEveryRank, Sum::kBelowThis, whole, whole};
constexpr Flow kToNeighbors = {kOne, kEach, kEveryRank, kEveryRank, Sum::kNone, of_this, of_neighbor};
constexpr Flow kToEachNeighbor = {kEach,
                                  kEach,
                                  kEveryRank,
                                  kEveryRank,
                                  Sum::kNone,
                                  this_to_neighbor,
                                  neighbor_to_this,
                                  neighbor_to_this_swapped};

using Sizes = std::vector<std::int64_t>;
const Sizes kEmpty = {0}, kShort = {8}, kEnds = {8, 64 * kKiB};
// Of those that programs call most, as many as tell protocols apart (tasuki fit).
const Sizes kMany = powers_of_two(8, 4 * kMiB), kBlocks = powers_of_two(8, kMiB);

}  // namespace

const std::vector<Operation>& operations() {
  constexpr Also kPlain = Also::kNothing;
  static const std::vector<Operation> table = {
      {"barrier", "MPI_Barrier", barrier, kNoData, once, kPlain, kEmpty, kEmpty},
      {"bcast", "MPI_Bcast of M bytes", bcast, kRootToAll, once, kPlain, kMany, kEnds},
      {"gather", "MPI_Gather of M bytes of each rank", gather, kAllToRoot, each, kPlain, kEnds, {}},
      {"gatherv", "MPI_Gatherv of M bytes of each rank", gatherv, kAllToRoot, each, Also::kUneven, kEnds, {}},
      {"scatter", "MPI_Scatter of M bytes for each rank", scatter, kRootToEach, each, kPlain, kEnds, {}},
      {"scatterv",
       "MPI_Scatterv of M bytes for each rank",
       scatterv,
       kRootToEach,
       each,
       Also::kUneven,
       kEnds,
       {}},
      {"allgather", "MPI_Allgather of M bytes of each rank", allgather, kAllToAll, each, Also::kInPlace,
       kBlocks, kEnds},
      {"allgatherv",
       "MPI_Allgatherv of M bytes of each rank",
       allgatherv,
       kAllToAll,
       each,
       Also::kUneven,
       kEnds,
       {}},
      {"alltoall", "MPI_Alltoall of M bytes of each rank for each", alltoall, kEachToEach, each,
       Also::kInPlace, kBlocks, kEnds},
      {"alltoallv",
       "MPI_Alltoallv of M bytes of each rank for each",
       alltoallv,
       kEachToEach,
       each,
       Also::kUneven,
       kEnds,
       {}},
      {"alltoallw",
       "MPI_Alltoallw of M bytes of each rank for each",
       alltoallw,
       kEachToEach,
       each,
       Also::kUneven,
       kShort,
       {}},
      {"reduce", "MPI_Reduce of M bytes of doubles, MPI_SUM", reduce, kSumToRoot, once, kPlain, kMany, {}},
      {"allreduce", "MPI_Allreduce of M bytes of doubles, MPI_SUM", allreduce, kSumToAll, twice,
       Also::kInPlace, kMany, kEnds},
      {"reduce_scatter",
       "MPI_Reduce_scatter of M bytes for each rank, MPI_SUM",
       reduce_scatter,
       kSumToEach,
       each,
       Also::kUneven,
       kEnds,
       {}},
      {"reduce_scatter_block",
       "MPI_Reduce_scatter_block of M bytes for each rank, MPI_SUM",
       reduce_scatter_block,
       kSumToEach,
       each,
       kPlain,
       kEnds,
       {}},
      {"scan", "MPI_Scan of M bytes of doubles, MPI_SUM", scan, kSumUpToThis, once, kPlain, kEnds, {}},
      {"exscan", "MPI_Exscan of M bytes of doubles, MPI_SUM", exscan, kSumBelowThis, once, kPlain, kEnds, {}},
  };
  return table;
}

const std::vector<Operation>& neighbor_operations() {
  static const std::vector<Operation> table = {
      {"neighbor_allgather",
       "MPI_Neighbor_allgather of M bytes to the 4 neighbours in a grid",
       neighbor_allgather,
       kToNeighbors,
       four,
       Also::kNothing,
       kEnds,
       {}},
      {"neighbor_allgatherv",
       "MPI_Neighbor_allgatherv of M bytes to the 4 neighbours in a grid",
       neighbor_allgatherv,
       kToNeighbors,
       four,
       Also::kUneven,
       kShort,
       {}},
      {"neighbor_alltoall", "MPI_Neighbor_alltoall of M bytes for each of the 4 neighbours in a grid",
       neighbor_alltoall, kToEachNeighbor, four, Also::kNothing, kEnds, kShort},
      {"neighbor_alltoallv",
       "MPI_Neighbor_alltoallv of M bytes for each of the 4 neighbours in a grid",
       neighbor_alltoallv,
       kToEachNeighbor,
       four,
       Also::kUneven,
       kShort,
       {}},
      {"neighbor_alltoallw",
       "MPI_Neighbor_alltoallw of M bytes for each of the 4 neighbours in a grid",
       neighbor_alltoallw,
       kToEachNeighbor,
       four,
       Also::kUneven,
       kShort,
       {}},
  };
  return table;
}

}  // namespace mbl::collective
