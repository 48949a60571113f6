// Broadcast, gather, scatter, allgather and all-to-all in the buffers of ranks that share memory: see
// coll/shm/single_copy.hpp.
#include <algorithm>

#include "coll/algorithm/tree.hpp"
#include "coll/shm/node_segment.hpp"
#include "coll/shm/single_copy.hpp"

namespace tasuki {
namespace {

constexpr int kThrough = 2;  // with the others' exposed buffers

Place block_for_me(int member) {
  return {Space::kBlockForMe, 0, member};
}
Place block_from(int member) {
  return {Space::kBlockFrom, 0, member};
}

ExposedBuffer exposed(const Elements& data, ExposedBuffer::Use use) {
  return {.place = data.place(), .count = data.count, .type = data.element, .use = use};
}
ExposedBuffer exposed(const Blocks& blocks, int rank, ExposedBuffer::Use use) {
  return {.place = blocks.place_of(rank),
          .count = blocks.count_of(rank),
          .type = blocks.element,
          .block = rank,
          .use = use};
}
ExposedBuffer& exposed_for(Schedule& schedule, int rank) {
  return schedule.exposed[static_cast<std::size_t>(rank)];
}
ExposedBuffer& room_for(Schedule& schedule, Member self, int rank) {
  return schedule.exposed[static_cast<std::size_t>(self.size + rank)];
}

/// Gets what each of the others offers this rank, beginning with the rank after it.
/// `source(peer)`: where it lies; `bytes(peer)`: how much there is room for.
template <class Source, class Bytes>
void get_from_all(Schedule& schedule, Member self, Source&& source, Bytes&& bytes) {
  for (int distance = 1; distance < self.size; ++distance) {
    const int peer = neighbour(self, distance);
    schedule.await(peer, kOffered);
    schedule.end_round();
    schedule.move(source(peer), block_from(peer), bytes(peer));
  }
}

/// Of a broadcast, once the root offers.
void get_vector(Schedule& schedule, Member self, int root, const Elements& data) {
  schedule.exposed.push_back({});
  schedule.exposed.push_back(exposed(data, ExposedBuffer::Use::kOwn));
  schedule.await(root, kOffered);
  schedule.end_round();
  schedule.move(input_of(root), output_of(self.rank), data.bytes());
}

void finish(Schedule& schedule) {
  schedule.signal(kThrough);
  schedule.await_everyone(kThrough);
  schedule.end_round();
}

/// All of a scatter but its end: the root shows the others their blocks, by `use`, and they get them.
void begin_scatter(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine,
                   ExposedBuffer::Use use) {
  schedule.exposed.resize(static_cast<std::size_t>(2 * self.size));
  room_for(schedule, self, root) = exposed(mine, ExposedBuffer::Use::kOwn);
  if (self.rank != root) {
    schedule.await(root, kOffered);
    schedule.end_round();
    schedule.move(block_for_me(root), block_from(root), mine.bytes());
    return;
  }
  for (int rank = 0; rank < self.size; ++rank)
    if (rank != root) exposed_for(schedule, rank) = exposed(all, rank, use);
  if (!mine.in_place) exposed_for(schedule, root) = exposed(all, root, ExposedBuffer::Use::kOwn);
  schedule.offer();
  if (!mine.in_place) schedule.move(block_for_me(root), block_from(root), mine.bytes());
}

/// What it takes that data goes from processor to processor: copies that are kept, one rank's to each other
/// processor or those of all ranks of other processors to one; and the ranks' own buffers, since programs
/// write what they give and read what they get. Where one rank puts data by the caches, lines come to it, and
/// travel back to their reader.
double travels_ns(const SingleCopyCost& cost, const Problem& problem, const Parameters& parameters) {
  const double crowd = ranks_per_processor(problem), away = ranks_away(problem);
  const double share = cost.from_one ? std::min(away, 1.0) : away / std::max(1, problem.size - 1);
  const double kept_bytes = (cost.alone ? away : std::min(away, 1.0)) * cost.kept_bytes;
  const double got_bytes = share * (cost.got_alike_bytes + crowd * cost.got_bytes);
  const double put_bytes = share * (cost.put_to_one ? 1 : crowd) * cost.put_bytes;
  const double cached = travelling_share(problem, parameters);
  return travel_ns(cached * got_bytes, parameters) +
         (is_streamed(cost.kept_bytes, problem, parameters) ? stream_ns(kept_bytes, parameters)
                                                            : travel_ns(kept_bytes, parameters)) +
         (is_streamed(cost.put_run_bytes, problem, parameters)
              ? stream_ns(put_bytes, parameters)
              : travel_ns(cached * 2 * put_bytes, parameters));
}

}  // namespace

double single_copy_ns(const SingleCopyCost& cost, const Problem& problem, const Parameters& parameters) {
  const double crowd = ranks_per_processor(problem);
  // Where all ranks meet, each looks at all flags; else one does.
  const double flags_ns =
      parameters.flag_ns + (cost.all_meet ? crowd : 1) * flags_of_all_ns(problem, parameters);
  // A copy that is kept for the others is written anew each time, as a page is.
  const bool by_pages = cost.one_way && !is_streamed(cost.kept_bytes, problem, parameters);
  const double moved_bytes_per_ns = by_pages ? parameters.cell_bytes_per_ns : parameters.get_bytes_per_ns;
  const double busiest_ns =
      cost.moved_bytes / moved_bytes_per_ns + cost.reduced_bytes / parameters.reduced_in_place_bytes_per_ns;
  // Where the data goes one way, a rank waits for half of its pages, and then not for as many collectives.
  const double syncs = cost.one_way ? 2.0 / static_cast<double>(kPages) : cost.syncs;
  // The rank that comes last to a meeting of all goes on at once; the others notice a turn later.
  const double turns = syncs + (cost.all_meet ? 1 : 0);
  return crowd * parameters.expose_ns + (cost.alone ? 1 : crowd) * busiest_ns + syncs * flags_ns +
         travels_ns(cost, problem, parameters) + turns * turns_ns(problem, parameters) +
         uncached_share(problem, parameters) * cost.total_bytes / parameters.node_bytes_per_ns;
}

void single_copy_bcast(Schedule& schedule, Member self, int root, const Elements& data) {
  if (self.rank == root) {
    schedule.exposed.push_back(exposed(data, ExposedBuffer::Use::kRead));
    schedule.offer();
    schedule.await_everyone(kThrough);
    schedule.end_round();
    return;
  }
  get_vector(schedule, self, root, data);
  schedule.signal(kThrough);
  schedule.end_round();
}

SingleCopyCost single_copy_bcast_cost(int size, double bytes) {
  return {.syncs = 2,
          .moved_bytes = bytes,
          .total_bytes = (size - 1) * bytes,
          .got_alike_bytes = bytes,
          .from_one = true};
}

void single_copy_bcast_copy(Schedule& schedule, Member self, int root, const Elements& data) {
  if (self.rank == root) {
    schedule.exposed.push_back(exposed(data, ExposedBuffer::Use::kKept));
    schedule.offer();
  } else {
    get_vector(schedule, self, root, data);
  }
  schedule.end_round();
}

SingleCopyCost single_copy_bcast_copy_cost(int size, double bytes) {
  return {
      .syncs = 1, .moved_bytes = bytes, .total_bytes = size * bytes, .kept_bytes = bytes, .one_way = true};
}

void single_copy_bcast_split(Schedule& schedule, Member self, int root, const Elements& data) {
  const Count put = data.bytes() / self.size / kCacheLineBytes * kCacheLineBytes;
  const Count got = data.bytes() - put;
  if (self.rank == root) {
    schedule.exposed.push_back(exposed(data, ExposedBuffer::Use::kRead));
    schedule.offer();
    for (int distance = 1; distance < self.size; ++distance) {
      const int peer = neighbour(self, distance);
      schedule.await(peer, kOffered);
      schedule.end_round();
      schedule.move(input_of(root) + got, output_of(peer) + got, put);
    }
    return finish(schedule);
  }
  schedule.exposed.push_back({});
  schedule.exposed.push_back(exposed(data, ExposedBuffer::Use::kWritten));
  schedule.offer();
  schedule.await(root, kOffered);
  schedule.end_round();
  schedule.move(input_of(root), output_of(self.rank), got);
  schedule.signal(kThrough);
  schedule.await(root, kThrough);
  schedule.end_round();
  schedule.accept();
  schedule.end_round();
}

SingleCopyCost single_copy_bcast_split_cost(int size, double bytes) {
  const double lines = bytes / size / kCacheLineBytes;
  const double put = static_cast<double>(static_cast<Count>(lines)) * kCacheLineBytes;
  return {.syncs = 2,
          .moved_bytes = std::max(bytes - put, (size - 1) * put),
          .total_bytes = (size - 1) * bytes,
          .got_alike_bytes = bytes - put,
          .put_bytes = put,
          .put_run_bytes = put,
          .from_one = true,
          .all_meet = true};
}

void single_copy_gather(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
  schedule.exposed.resize(static_cast<std::size_t>(2 * self.size));
  ExposedBuffer& own = room_for(schedule, self, root);
  own = exposed(mine, ExposedBuffer::Use::kOwn);
  if (self.rank != root) {
    schedule.await(root, kOffered);
    schedule.end_round();
    schedule.move(block_from(root), block_for_me(root), mine.bytes());
    schedule.signal(kThrough);
    schedule.end_round();
    return;
  }
  for (int rank = 0; rank < self.size; ++rank)
    if (rank != root || !mine.in_place)
      exposed_for(schedule, rank) = exposed(all, rank, ExposedBuffer::Use::kWritten);
  schedule.offer();
  if (!mine.in_place) schedule.move(block_from(root), block_for_me(root), mine.bytes());
  schedule.await_everyone(kThrough);
  schedule.end_round();
  schedule.accept();
  schedule.end_round();
}

SingleCopyCost single_copy_gather_cost(int size, double block_bytes) {
  return {.syncs = 2,
          .moved_bytes = block_bytes,
          .total_bytes = size * block_bytes,
          .put_bytes = (size - 1) * block_bytes,
          .put_run_bytes = block_bytes,
          .put_to_one = true};
}

void single_copy_gather_copy(Schedule& schedule, Member self, int root, const Elements& mine,
                             const Blocks& all) {
  if (self.rank != root) {
    schedule.exposed.push_back(exposed(mine, ExposedBuffer::Use::kKept));
    schedule.offer();
    schedule.end_round();
    return;
  }
  schedule.exposed.resize(static_cast<std::size_t>(2 * self.size));
  exposed_for(schedule, root) = exposed(mine, ExposedBuffer::Use::kOwn);
  for (int rank = 0; rank < self.size; ++rank)
    if (rank != root || !mine.in_place)
      room_for(schedule, self, rank) = exposed(all, rank, ExposedBuffer::Use::kOwn);
  if (!mine.in_place) schedule.move(block_for_me(root), block_from(root), mine.bytes());
  get_from_all(schedule, self, input_of, [&](int peer) { return all.bytes_of(peer); });
  schedule.end_round();
}

SingleCopyCost single_copy_gather_copy_cost(int size, double block_bytes) {
  return {.syncs = 1,
          .moved_bytes = size * block_bytes,
          .total_bytes = (2 * size - 1) * block_bytes,
          .kept_bytes = block_bytes,
          .alone = true,
          .one_way = true};
}

void single_copy_scatter(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine) {
  begin_scatter(schedule, self, root, all, mine, ExposedBuffer::Use::kRead);
  if (self.rank == root) {
    schedule.await_everyone(kThrough);
  } else {
    schedule.signal(kThrough);
  }
  schedule.end_round();
}

SingleCopyCost single_copy_scatter_cost(int size, double block_bytes) {
  return {.syncs = 2,
          .moved_bytes = block_bytes,
          .total_bytes = size * block_bytes,
          .got_bytes = block_bytes,
          .from_one = true};
}

void single_copy_scatter_copy(Schedule& schedule, Member self, int root, const Blocks& all,
                              const Elements& mine) {
  begin_scatter(schedule, self, root, all, mine, ExposedBuffer::Use::kKept);
  schedule.end_round();
}

SingleCopyCost single_copy_scatter_copy_cost(int size, double block_bytes) {
  return single_copy_gather_copy_cost(size,
                                      block_bytes);  // the root copies what all get, instead of getting it
}

void single_copy_allgather(Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
  schedule.exposed.resize(static_cast<std::size_t>(2 * self.size));
  schedule.exposed[0] = mine.in_place ? exposed(all, self.rank, ExposedBuffer::Use::kRead)
                                      : exposed(mine, ExposedBuffer::Use::kRead);
  for (int rank = 0; rank < self.size; ++rank)
    if (rank != self.rank || !mine.in_place)
      room_for(schedule, self, rank) = exposed(all, rank, ExposedBuffer::Use::kOwn);
  schedule.offer();
  if (!mine.in_place) schedule.move(input_of(self.rank), block_from(self.rank), mine.bytes());
  get_from_all(schedule, self, input_of, [&](int peer) { return all.bytes_of(peer); });
  finish(schedule);
}

SingleCopyCost single_copy_allgather_cost(int size, double total_bytes) {
  return {.syncs = 2,
          .moved_bytes = total_bytes,
          .total_bytes = size * total_bytes,
          .got_alike_bytes = total_bytes - total_bytes / size,
          .all_meet = true};
}

namespace {

/// A part of a block.
struct BlockPart {
  Count begin = 0, bytes = 0;
};

/// What `rank` swaps of the blocks that it and `peer` have for one another: the lower rank the first half.
BlockPart part_of_rank(int rank, int peer, Count bytes) {
  const Count half = bytes / 2 / kCacheLineBytes * kCacheLineBytes;
  return rank < peer ? BlockPart{0, half} : BlockPart{half, bytes - half};
}

/// Swaps the blocks that this rank and each of the others have for one another, in pieces that stay in the
/// cache: of each pair of blocks both ranks swap a half.
void swap_with_all(Schedule& schedule, Member self, const Blocks& all) {
  for (int rank = 0; rank < self.size; ++rank) {
    if (rank == self.rank) continue;
    const BlockPart theirs = part_of_rank(rank, self.rank, all.bytes_of(rank));
    ExposedBuffer& swapped = exposed_for(schedule, rank);
    swapped = exposed(all, rank, ExposedBuffer::Use::kSwapped);
    swapped.part_begin = theirs.begin;
    swapped.part_bytes = theirs.bytes;
    room_for(schedule, self, rank) = exposed(all, rank, ExposedBuffer::Use::kOwn);
  }
  const Place piece{Space::kPiece, schedule.scratch(kPieceBytes).offset};
  schedule.offer();
  for (int distance = 1; distance < self.size; ++distance) {
    const int peer = neighbour(self, distance);
    const BlockPart part = part_of_rank(self.rank, peer, all.bytes_of(peer));
    const Place mine = block_from(peer) + part.begin, theirs = block_for_me(peer) + part.begin;
    schedule.await(peer, kOffered);
    schedule.end_round();
    const std::size_t first_step = schedule.begin_pieces();
    schedule.move(mine, piece, part.bytes);
    schedule.move(theirs, mine, part.bytes);
    schedule.move(piece, theirs, part.bytes);
    schedule.end_pieces(first_step, kPieceBytes);
  }
  finish(schedule);
  schedule.accept();
  schedule.end_round();
}

}  // namespace

void single_copy_alltoall(Schedule& schedule, Member self, const Blocks& out, const Blocks& in) {
  schedule.exposed.resize(static_cast<std::size_t>(2 * self.size));
  if (out.in_place) return swap_with_all(schedule, self, in);
  for (int rank = 0; rank < self.size; ++rank) {
    exposed_for(schedule, rank) = exposed(out, rank, ExposedBuffer::Use::kRead);
    room_for(schedule, self, rank) = exposed(in, rank, ExposedBuffer::Use::kOwn);
  }
  schedule.offer();
  schedule.move(block_for_me(self.rank), block_from(self.rank), out.bytes_of(self.rank));
  get_from_all(schedule, self, block_for_me, [&](int peer) { return in.bytes_of(peer); });
  finish(schedule);
}

// In place, what is swapped is read and written on both sides: as much as two copies, of half of each block.
SingleCopyCost single_copy_alltoall_cost(int size, double block_bytes, bool in_place) {
  const double blocks = in_place ? size - 1 : size;
  return {.syncs = 2,
          .moved_bytes = blocks * block_bytes,
          .total_bytes = size * blocks * block_bytes,
          .got_bytes = (size - 1) * block_bytes,
          .all_meet = true};
}

}  // namespace tasuki
