// The algorithms of the broadcast: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include <algorithm>

#include "coll/algorithm/tree.hpp"

namespace tasuki {

namespace {

/// The vector in one piece for each rank, counted from the root on: vrank v has piece v after the scatter,
/// and with it those of its subtree. Data that is not contiguous is packed first and unpacked at the end.
class Pieces {
 public:
  Pieces(Schedule& schedule, Member self, int root, const Elements& data)
      : schedule_(schedule),
        self_(self),
        root_(root),
        data_(data),
        piece_((data.bytes() + self.size - 1) / self.size),
        at_(tree_place(self, root)),
        all_(data.type.contiguous ? data.place() : schedule.scratch(data.bytes())) {}

  int vrank() const { return at_.vrank; }

  /// Whether the rank at `vrank` has a piece from the scatter already.
  bool has(int vrank, int piece) const {
    return (piece - vrank + self_.size) % self_.size < tree_place({vrank, self_.size}, 0).subtree;
  }

  void send(int first, int pieces, int to_vrank) {
    schedule_.send(all_ + begin(first), bytes(first, pieces), ElementType::kBytes, rank_of(to_vrank));
  }
  void receive(int first, int pieces, int from_vrank) {
    schedule_.receive(all_ + begin(first), bytes(first, pieces), ElementType::kBytes, rank_of(from_vrank));
  }

  /// Down a binomial tree.
  void scatter() {
    if (!data_.type.contiguous && at_.vrank == 0)
      schedule_.copy(data_.place(), data_.count, data_.element, all_, data_.bytes(), ElementType::kBytes);
    if (at_.vrank != 0) {
      receive(at_.vrank, at_.subtree, at_.vrank - at_.distance_up);
      schedule_.end_round();
    }
    at_.for_children_from_top([&](int distance, int pieces) {
      send(at_.vrank + distance, pieces, at_.vrank + distance);
      schedule_.end_child(bytes(at_.vrank + distance, pieces));
    });
    schedule_.end_round();
  }

  void unpack() {
    if (!data_.type.contiguous && at_.vrank != 0)
      schedule_.copy(all_, data_.bytes(), ElementType::kBytes, data_.place(), data_.count, data_.element);
    schedule_.end_round();
  }

 private:
  int rank_of(int vrank) const { return (vrank + root_) % self_.size; }
  Count begin(int piece) const { return std::min(piece * piece_, data_.bytes()); }
  Count bytes(int first, int pieces) const { return begin(first + pieces) - begin(first); }

  Schedule& schedule_;
  Member self_;
  int root_;
  const Elements& data_;
  Count piece_;  // bytes
  TreePlace at_;
  Place all_;
};

Cost scatter_and_gather_cost(int size, double bytes, double gather_steps, double messages) {
  const double others = size - 1.0;
  return {.steps = ceil_log2(size) + gather_steps,
          .messages = messages,
          .bytes = 2 * others * bytes / size,
          .total_bytes = others * bytes,
          .one_way = true};
}

}  // namespace

void bcast_scatter_ring(Schedule& schedule, Member self, int root, const Elements& data) {
  Pieces pieces(schedule, self, root, data);
  pieces.scatter();
  const int vrank = pieces.vrank();
  const int right = (vrank + 1) % self.size;
  const int left = (vrank - 1 + self.size) % self.size;
  for (int round = 0; round < self.size - 1; ++round) {
    const int out = (vrank - round + self.size) % self.size;
    const int in = (left - round + self.size) % self.size;
    if (!pieces.has(vrank, in)) pieces.receive(in, 1, left);
    if (!pieces.has(right, out)) pieces.send(out, 1, right);
    schedule.end_round();
  }
  pieces.unpack();
}

Cost bcast_scatter_ring_cost(int size, double bytes) {
  // Around the ring goes to each rank what it does not have from the scatter.
  const double missing = size * (size - 1.0) - tree_blocks_moved(size);
  return scatter_and_gather_cost(size, bytes, size - 1.0, size - 1 + missing);
}

void bcast_scatter_doubling(Schedule& schedule, Member self, int root, const Elements& data) {
  Pieces pieces(schedule, self, root, data);
  pieces.scatter();
  const int vrank = pieces.vrank();
  for (int distance = 1; distance < self.size; distance *= 2) {
    const int partner = vrank ^ distance;
    const int mine = vrank & -distance;
    const int theirs = partner & -distance;
    if (!pieces.has(vrank, theirs)) pieces.receive(theirs, distance, partner);
    if (!pieces.has(partner, mine)) pieces.send(mine, distance, partner);
    schedule.end_round();
  }
  pieces.unpack();
}

Cost bcast_scatter_doubling_cost(int size, double bytes) {
  Cost cost = scatter_and_gather_cost(size, bytes, ceil_log2(size), size * ceil_log2(size));
  cost.one_way = size <= 2;  // of more ranks, those far from the root exchange what they have
  return cost;
}

}  // namespace tasuki
