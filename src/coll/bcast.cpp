// MPI_Bcast (MPI 6.4).
#include <algorithm>

#include "coll/api.hpp"
#include "coll/check.hpp"
#include "coll/collectives.hpp"
#include "coll/inter.hpp"
#include "coll/tree.hpp"

namespace tasuki {

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
                     ElementType::kBytes, neighbour(self, -at.distance_up));
    schedule.end_round();
  }
  at.for_children_from_top([&](int distance, int blocks) {
    const int child = at.vrank + distance;
    schedule.send(all + begin(child), bytes_between(child, child + blocks), ElementType::kBytes,
                  neighbour(self, distance));
  });
  schedule.end_round();

  const int right = neighbour(self, 1);
  const int left = neighbour(self, -1);
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
          .total_bytes = others * bytes + tree_blocks_moved(size) * share};
}

BcastAlgorithm choose_bcast(int size, Count bytes, const CostParameters& parameters) {
  const auto n = static_cast<double>(bytes);
  return cheapest<BcastAlgorithm>(parameters, &Config::bcast_algorithm,
                                  {{BcastAlgorithm::kBinomial, bcast_binomial_cost(size, n)},
                                   {BcastAlgorithm::kScatterRing, bcast_scatter_ring_cost(size, n)}});
}

void schedule_bcast(Schedule& schedule, Member self, int root, const Elements& data,
                    const CostParameters& parameters) {
  switch (schedule.chosen(kBcastFirst, choose_bcast(self.size, data.bytes(), parameters))) {
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
    if (execution.comm().is_inter()) return plan_inter_bcast(execution, buffer, count, datatype, root);
    if (const Code code = check_not_in_place(process, "buffer", buffer, "nowhere in MPI_Bcast"); code != 0)
      return code;
    const Elements data{.type = shape_of(*datatype), .count = count};
    if (const Code code = check_count(process, "count", count, data.type); code != 0) return code;
    execution.arguments = {.receive = buffer, .receive_type = datatype};
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
