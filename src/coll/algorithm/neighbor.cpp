// The exchange of neighbours: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

namespace tasuki {
namespace {

/// In a grid, the block of the neighbour in the opposite direction.
constexpr int opposite(int block) {
  return block ^ 1;
}

/// The copies from oneself to oneself: of the j-th such edge out to the j-th in.
void copy_own(Schedule& schedule, int rank, const Neighborhood& neighbors, const Blocks& out,
              const Blocks& in) {
  const int indegree = static_cast<int>(neighbors.sources.size());
  int next = 0;
  for (int block = 0; block < static_cast<int>(neighbors.destinations.size()); ++block) {
    if (neighbors.destinations[static_cast<std::size_t>(block)] != rank) continue;
    int to = opposite(block);
    if (!neighbors.is_grid) {
      while (next < indegree && neighbors.sources[static_cast<std::size_t>(next)] != rank) ++next;
      to = next++;
    }
    schedule.copy(out.place_of(block), out.count_of(block), out.element, in.place_of(to), in.count_of(to),
                  in.element, block, to);
  }
}

}  // namespace

// Messages from one rank to another have one tag and so arrive in the order of the sender's blocks. Receives
// are posted in that order: a grid's sender calls `opposite(block)` what this rank calls `block`.
void neighbor_direct(Schedule& schedule, int rank, const Neighborhood& neighbors, const Blocks& out,
                     const Blocks& in) {
  for (int place = 0; place < static_cast<int>(neighbors.sources.size()); ++place) {
    const int block = neighbors.is_grid ? opposite(place) : place;
    const int source = neighbors.sources[static_cast<std::size_t>(block)];
    if (source == kProcNull || source == rank) continue;
    schedule.receive(in.place_of(block), in.count_of(block), in.element, source, block);
  }
  for (int block = 0; block < static_cast<int>(neighbors.destinations.size()); ++block) {
    const int destination = neighbors.destinations[static_cast<std::size_t>(block)];
    if (destination == kProcNull || destination == rank) continue;
    schedule.send(out.place_of(block), out.count_of(block), out.element, destination, block);
  }
  copy_own(schedule, rank, neighbors, out, in);
  schedule.end_round();
}

Cost neighbor_direct_cost(int size, int degree, double block_bytes) {
  return {.steps = static_cast<double>(degree),
          .messages = static_cast<double>(size * degree),
          .bytes = degree * block_bytes,
          .total_bytes = static_cast<double>(size) * degree * block_bytes};
}

}  // namespace tasuki
