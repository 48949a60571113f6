// Rings in several directions: see coll/pipeline/multi_ring.hpp.
#include "coll/pipeline/multi_ring.hpp"

#include <algorithm>
#include <vector>

namespace tasuki {
namespace {

/// Where the blocks lie while they travel, as bytes.
class Room {
 public:
  Room(Schedule& schedule, const Grid& grid, const Blocks& all) : all_(all), direct_(all.type.contiguous) {
    if (direct_) return;
    offsets_.reserve(static_cast<std::size_t>(grid.size()));
    Count bytes = 0;
    for (int rank = 0; rank < grid.size(); ++rank) {
      offsets_.push_back(bytes);
      bytes += all.bytes_of(rank);
    }
    held_ = schedule.scratch(bytes);
  }

  bool direct() const { return direct_; }
  Place block(int rank) const {
    return direct_ ? all_.place_of(rank) : held_ + offsets_[static_cast<std::size_t>(rank)];
  }
  Count part_begin(int rank, int part, int parts) const { return all_.bytes_of(rank) * part / parts; }
  Place part(int rank, int part, int parts) const { return block(rank) + part_begin(rank, part, parts); }
  Count part_bytes(int rank, int part, int parts) const {
    return part_begin(rank, part + 1, parts) - part_begin(rank, part, parts);
  }

 private:
  const Blocks& all_;
  bool direct_;
  Place held_;
  std::vector<Count> offsets_;  // by rank
};

/// What one part does in one tick.
struct Move {
  int to, from;         // the neighbours
  int leaving, coming;  // whose block
};

/// Whose blocks a rank has before a node segment: all that are on its line or plane in the dimensions done so
/// far.
std::vector<int> held_before(const Grid& grid, int rank, int first_dimension, int segment) {
  std::vector<int> held = {rank};
  for (int done = 0; done < segment; ++done) {
    const int dimension = (first_dimension + done) % grid.dimensions;
    const std::size_t before = held.size();
    for (int distance = 1; distance < grid.extent(dimension); ++distance) {
      for (std::size_t i = 0; i < before; ++i) held.push_back(grid.shifted(held[i], dimension, distance));
    }
  }
  return held;
}

/// The moves of one part, tick by tick: P-1.
std::vector<Move> moves_of(const Grid& grid, int rank, int part) {
  std::vector<Move> moves;
  moves.reserve(static_cast<std::size_t>(grid.size()));
  const int first_dimension = part / 2 % std::max(grid.dimensions, 1);
  const int direction = part % 2 == 0 ? 1 : -1;
  for (int segment = 0; segment < grid.dimensions; ++segment) {
    const int dimension = (first_dimension + segment) % grid.dimensions;
    // In an order that all ranks of the ring have alike: as seen from the rank.
    const std::vector<int> held = held_before(grid, rank, first_dimension, segment);
    for (int distance = 1; distance < grid.extent(dimension); ++distance) {
      for (const int block : held)
        moves.push_back({.to = grid.shifted(rank, dimension, direction),
                         .from = grid.shifted(rank, dimension, -direction),
                         .leaving = grid.shifted(block, dimension, -direction * (distance - 1)),
                         .coming = grid.shifted(block, dimension, -direction * distance)});
    }
  }
  return moves;
}

}  // namespace

int multi_ring_directions(const Grid& grid) {
  return std::min(2 * grid.dimensions, 4);
}

int multi_ring_neighbours(const Grid& grid) {
  int neighbours = 0;
  for (int dimension = 0; dimension < grid.dimensions; ++dimension)
    neighbours += grid.extent(dimension) > 2 ? 2 : 1;
  return std::min(neighbours, multi_ring_directions(grid));
}

void allgather_multi_ring(Schedule& schedule, int rank, const Grid& grid, const Elements& mine,
                          const Blocks& all) {
  const Room room(schedule, grid, all);
  const Place own = all.place_of(rank);
  const Count own_count = all.count_of(rank);
  if (!mine.in_place) schedule.copy(mine.place(), mine.count, mine.element, own, own_count, all.element);
  if (!room.direct())
    schedule.copy(own, own_count, all.element, room.block(rank), all.bytes_of(rank), ElementType::kBytes);

  const int parts = multi_ring_directions(grid);
  if (parts > 1) schedule.follows_data = true;
  std::vector<std::vector<Move>> moves;
  for (int part = 0; part < parts; ++part) moves.push_back(moves_of(grid, rank, part));
  for (int tick = 0; tick < grid.size() - 1; ++tick) {
    for (int part = 0; part < parts; ++part) {
      const Move& move = moves[static_cast<std::size_t>(part)][static_cast<std::size_t>(tick)];
      const Count coming = room.part_bytes(move.coming, part, parts);
      const Count leaving = room.part_bytes(move.leaving, part, parts);
      if (coming > 0)
        schedule.receive(room.part(move.coming, part, parts), coming, ElementType::kBytes, move.from);
      if (leaving > 0)
        schedule.send(room.part(move.leaving, part, parts), leaving, ElementType::kBytes, move.to);
    }
    schedule.end_round();
  }
  for (int block = 0; !room.direct() && block < grid.size(); ++block) {
    if (block == rank) continue;
    schedule.copy(room.block(block), all.bytes_of(block), ElementType::kBytes, all.place_of(block),
                  all.count_of(block), all.element);
  }
  schedule.end_round();
}

Cost allgather_multi_ring_cost(const Grid& grid, double total_bytes) {
  const int size = grid.size();
  const double directions = multi_ring_directions(grid);
  return {.steps = directions * (size - 1),
          .messages = directions * size * (size - 1),
          .bytes = total_bytes * (size - 1) / size,
          .total_bytes = total_bytes * (size - 1),
          .copied_bytes = total_bytes};
}

}  // namespace tasuki
