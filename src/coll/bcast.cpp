// MPI_Bcast (MPI 6.4).
#include <algorithm>
#include <bit>

#include "coll/api.hpp"
#include "coll/check.hpp"
#include "coll/collectives.hpp"

namespace tasuki {
namespace {

/// The place of a vrank in the binomial tree: its parent is `lowest_bit` before it, and it has the vranks
/// [vrank, vrank + subtree) below and with it.
struct TreePlace {
  int vrank;
  int lowest_bit;
  int subtree;
};

TreePlace tree_place(Member self, int root) {
  const int vrank = (self.rank - root + self.size) % self.size;
  if (vrank == 0) return {0, 0, self.size};
  const int lowest_bit = vrank & -vrank;
  return {vrank, lowest_bit, std::min(lowest_bit, self.size - vrank)};
}

/// The distance to the first (the farthest) child; then it halves.
int first_distance(const TreePlace& at) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(at.subtree))) / 2;
}

}  // namespace

void bcast_binomial(Schedule& schedule, Member self, int root, const Elements& data) {
  const TreePlace at = tree_place(self, root);
  if (at.vrank != 0) {
    schedule.receive(data.place(), data.count, data.element,
                     (self.rank - at.lowest_bit + self.size) % self.size);
    schedule.end_round();
  }
  for (int distance = first_distance(at); distance >= 1; distance /= 2)
    schedule.send(data.place(), data.count, data.element, (self.rank + distance) % self.size);
  schedule.end_round();
}

Cost bcast_binomial_cost(int size, double bytes) {
  const double steps = ceil_log2(size);
  return {.steps = steps, .bytes = steps * bytes, .total_bytes = (size - 1) * bytes};
}

void bcast_scatter_ring(Schedule& schedule, Member self, int root, const Elements& data) {
  const TreePlace at = tree_place(self, root);
  const Count bytes = data.bytes();
  const Count piece = (bytes + self.size - 1) / self.size;
  const auto begin = [&](int vrank) { return std::min(vrank * piece, bytes); };
  const auto bytes_between = [&](int first, int end) { return begin(end) - begin(first); };
  const bool packed = !data.type.contiguous;
  const Place all = packed ? schedule.scratch(bytes) : data.place();
  if (packed && at.vrank == 0)
    schedule.copy(data.place(), data.count, data.element, all, bytes, ElementType::kBytes);

  if (at.vrank != 0) {
    schedule.receive(all + begin(at.vrank), bytes_between(at.vrank, at.vrank + at.subtree),
                     ElementType::kBytes, (self.rank - at.lowest_bit + self.size) % self.size);
    schedule.end_round();
  }
  for (int distance = first_distance(at); distance >= 1; distance /= 2) {
    const int child = at.vrank + distance;
    const int end = std::min(child + distance, at.vrank + at.subtree);
    schedule.send(all + begin(child), bytes_between(child, end), ElementType::kBytes,
                  (self.rank + distance) % self.size);
  }
  schedule.end_round();

  const int right = (self.rank + 1) % self.size;
  const int left = (self.rank - 1 + self.size) % self.size;
  for (int round = 0; round < self.size - 1; ++round) {
    const int out = (at.vrank - round + self.size) % self.size;
    const int in = (at.vrank - round - 1 + self.size) % self.size;
    schedule.receive(all + begin(in), bytes_between(in, in + 1), ElementType::kBytes, left);
    schedule.send(all + begin(out), bytes_between(out, out + 1), ElementType::kBytes, right);
    schedule.end_round();
  }
  if (packed && at.vrank != 0)
    schedule.copy(all, bytes, ElementType::kBytes, data.place(), data.count, data.element);
  schedule.end_round();
}

Cost bcast_scatter_ring_cost(int size, double bytes) {
  const double others = size - 1.0;
  const double share = bytes / size;
  return {.steps = ceil_log2(size) + others,
          .bytes = 2 * others * share,
          .total_bytes = others * bytes + share * size / 2 * ceil_log2(size)};
}

BcastAlgorithm choose_bcast(int size, Count bytes, const CostParameters& parameters) {
  const auto n = static_cast<double>(bytes);
  return cheapest<BcastAlgorithm>(parameters,
                                  {{BcastAlgorithm::kBinomial, bcast_binomial_cost(size, n)},
                                   {BcastAlgorithm::kScatterRing, bcast_scatter_ring_cost(size, n)}});
}

void schedule_bcast(Schedule& schedule, Member self, int root, const Elements& data,
                    const CostParameters& parameters) {
  switch (choose_bcast(self.size, data.bytes(), parameters)) {
    case BcastAlgorithm::kBinomial:
      return bcast_binomial(schedule, self, root, data);
    case BcastAlgorithm::kScatterRing:
      return bcast_scatter_ring(schedule, self, root, data);
  }
}

namespace {

auto bcast_plan(void* buffer, Count count, Datatype* datatype, int root) {
  return [=](Execution& execution) -> Code {
    Process& process = execution.process();
    if (const Code code = check_intracommunicator(execution.comm()); code != 0) return code;
    if (const Code code = check_not_in_place(process, "buffer", buffer, "nowhere in MPI_Bcast"); code != 0)
      return code;
    execution.arguments = {.receive = buffer, .receive_type = datatype};
    const Elements data{.type = shape_of(*datatype), .count = count};
    schedule_bcast(execution.schedule, execution.self(), root, data, process.collectives->parameters);
    return 0;
  };
}

}  // namespace

namespace api {

Code bcast(Process&, void* buffer, Count count, Datatype* datatype, int root, Comm* comm) {
  return run_collective(*comm, bcast_plan(buffer, count, datatype, root));
}

Code ibcast(Process&, void* buffer, Count count, Datatype* datatype, int root, Comm* comm,
            Request** request) {
  return start_collective(*comm, request, bcast_plan(buffer, count, datatype, root));
}

Code bcast_init(Process&, void* buffer, Count count, Datatype* datatype, int root, Comm* comm, Info*,
                Request** request) {
  return prepare_collective(*comm, request, bcast_plan(buffer, count, datatype, root));
}

}  // namespace api
}  // namespace tasuki
