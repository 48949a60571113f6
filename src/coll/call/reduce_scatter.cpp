// MPI_Reduce_scatter_block and MPI_Reduce_scatter (MPI 6.10). `parts` says which elements of the vector each
// rank gets; its blocks lie one after the other.
#include <algorithm>

#include "coll/algorithm/halving.hpp"
#include "coll/algorithm/tree.hpp"
#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

constexpr Place kResult{Space::kReceive, 0};

Count first_element(const Blocks& parts, int rank) {
  if (parts.uniform()) return rank * parts.count;
  Count elements = 0;
  for (int before = 0; before < rank; ++before) elements += parts.count_of(before);
  return elements;
}

Count offset_of(const Blocks& parts, int rank) {
  return first_element(parts, rank) * parts.type.extent;
}

void copy_part(Schedule& schedule, Place whole, const Blocks& parts, int rank) {
  const Count count = parts.count_of(rank);
  schedule.copy(whole + offset_of(parts, rank), count, kReduced, kResult, count, kReduced);
}

/// Receives the other ranks' contributions to this rank's part as they come and adds each.
void add_as_they_come(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Count count = parts.count_of(self.rank);
  const Place own = data.input() + offset_of(parts, self.rank);
  // In place, the beginning of the receive buffer is still to be sent.
  const Place sum = data.in_place ? schedule.scratch_elements(count, data.type) : kResult;
  const Place room = self.size > 2 ? schedule.scratch_elements(count, data.type) : Place{};
  for (int distance = 1; distance < self.size; ++distance) {
    const int to = neighbour(self, distance);
    const bool first = distance == 1;
    schedule.receive(first ? sum : room, count, kReduced, neighbour(self, -distance));
    schedule.send(data.input() + offset_of(parts, to), parts.count_of(to), kReduced, to);
    schedule.end_round();
    schedule.reduce(first ? own : room, sum, count, kReduced);
  }
  if (!(sum == kResult)) schedule.copy(sum, count, kReduced, kResult, count, kReduced);
}

/// Keeps all contributions and adds them in the order of ranks at the end.
void add_in_order(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Count count = parts.count_of(self.rank);
  const Place own = data.input() + offset_of(parts, self.rank);
  schedule.boundaries.clear();  // here: where each rank's contribution lies in scratch memory
  for (int rank = 0; rank < self.size; ++rank)
    schedule.boundaries.push_back(schedule.scratch_elements(count, data.type).offset);
  const auto contribution = [&](int rank) {
    return Place{Space::kScratch, schedule.boundaries[static_cast<std::size_t>(rank)]};
  };
  schedule.copy(own, count, kReduced, contribution(self.rank), count, kReduced);
  for (int distance = 1; distance < self.size; ++distance) {
    const int to = neighbour(self, distance);
    const int from = neighbour(self, -distance);
    schedule.receive(contribution(from), count, kReduced, from);
    schedule.send(data.input() + offset_of(parts, to), parts.count_of(to), kReduced, to);
    schedule.end_round();
  }
  for (int rank = self.size - 2; rank >= 0; --rank)
    schedule.reduce(contribution(rank), contribution(self.size - 1), count, kReduced);
  schedule.copy(contribution(self.size - 1), count, kReduced, kResult, count, kReduced);
}

}  // namespace

void reduce_scatter_pairwise(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  if (self.size == 1) {
    if (!data.in_place) copy_part(schedule, data.input(), parts, 0);
  } else if (data.commutative) {
    add_as_they_come(schedule, self, data, parts);
  } else {
    add_in_order(schedule, self, data, parts);
  }
  schedule.end_round();
}

Cost reduce_scatter_pairwise_cost(int size, double bytes) {
  const double others = size - 1;
  return {.steps = others,
          .messages = size * others,
          .bytes = others * bytes / size,
          .total_bytes = others * bytes,
          .reduced_bytes = others * bytes / size,
          .total_reduced_bytes = others * bytes,
          .copied_bytes = bytes / size};
}

void reduce_scatter_halving(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Fold fold(self.size, 0);
  if (self.size == 1) return reduce_scatter_pairwise(schedule, self, data, parts);
  schedule.boundaries.clear();
  for (int index = 0; index < fold.workers; ++index)
    schedule.boundaries.push_back(first_element(parts, fold.vrank_of(index)));
  schedule.boundaries.push_back(data.count);
  if (fold.is_guest(self.rank)) {
    reduce_by_halves(schedule, self, fold, data, kResult);
    schedule.receive(kResult, parts.count_of(self.rank), kReduced, fold.host_of(self.rank));
    schedule.end_round();
    return;
  }
  const Place sum = schedule.scratch_elements(data.count, data.type);
  reduce_by_halves(schedule, self, fold, data, sum);
  if (fold.is_host(self.rank)) {
    const int guest = fold.guest_of(self.rank);
    schedule.send(sum + offset_of(parts, guest), parts.count_of(guest), kReduced, guest);
  }
  copy_part(schedule, sum, parts, self.rank);
  schedule.end_round();
}

Cost reduce_scatter_halving_cost(int size, double bytes) {
  const Fold fold(size, 0);
  Cost cost = reduce_by_halves_cost(size, bytes);
  if (fold.rest == 0) return cost;
  // The hosts come first and keep their guests' parts too: the one with index 0 has the most to do.
  double kept = 0;
  for (int parts_kept = fold.workers / 2; parts_kept >= 1; parts_kept /= 2)
    kept += parts_kept + std::min(parts_kept, fold.rest);
  cost.bytes = cost.reduced_bytes = bytes + kept * bytes / size;
  cost.steps += 1;
  cost.messages += fold.rest;
  cost.total_bytes += fold.rest * bytes / size;
  return cost;
}

Cost reduce_scatter_recursive_doubling_cost(int size, double bytes) {
  Cost cost = allreduce_recursive_doubling_cost(size, bytes);
  cost.copied_bytes += bytes / size;
  return cost;
}

void reduce_scatter_recursive_doubling(Schedule& schedule, Member self, const Reduction& data,
                                       const Blocks& parts) {
  const Place whole = schedule.scratch_elements(data.count, data.type);
  allreduce_recursive_doubling(schedule, self, data, whole);
  copy_part(schedule, whole, parts, self.rank);
  schedule.end_round();
}

namespace {

Code plan_reduce_scatter(Execution& execution, const void* sendbuf, void* recvbuf, const Blocks& parts,
                         Datatype* datatype, Op* op) {
  Process& process = execution.process();
  const Member self = execution.self();
  if (const Code code = check_blocks(process, "recvcount", parts, self.size); code != 0) return code;
  const Count count = first_element(parts, self.size);
  if (execution.comm().is_inter())
    return plan_inter_reduce_scatter(execution, sendbuf, recvbuf, count, parts, datatype, op);
  if (const Code code = check_reduction(execution.comm(), count, *datatype, *op); code != 0) return code;
  // With nothing to receive, the two buffers cannot overlap.
  const Code code = check_result(process, sendbuf, recvbuf, *datatype, parts.count_of(self.rank));
  if (code != 0) return code;
  execution.arguments = {.send = sendbuf, .receive = recvbuf, .receive_type = datatype, .op = op};
  const Reduction data{
      .count = count, .type = parts.type, .in_place = sendbuf == kInPlace, .commutative = op->commutative};
  Problem problem = execution.problem(Operation::kReduceScatter, data.count * data.type.size);
  problem.commutative = data.commutative;
  problem.uniform = parts.uniform();
  plan_chosen(execution, reduce_scatter_entries(), problem, 0, data, parts);
  return 0;
}

auto reduce_scatter_block_plan(const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype,
                               Op* op) {
  return [=](Execution& execution) {
    execution.describe(CollectiveCall::kReduceScatterBlock,
                       {.op = op, .type = datatype, .count = recvcount, .blocks = execution.comm().size()});
    const Blocks parts{.type = shape_of(*datatype), .count = recvcount};
    return plan_reduce_scatter(execution, sendbuf, recvbuf, parts, datatype, op);
  };
}

auto reduce_scatter_plan(const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype* datatype,
                         Op* op) {
  return [=](Execution& execution) {
    execution.describe(CollectiveCall::kReduceScatter,
                       {.op = op, .type = datatype, .count = execution.comm().size(), .counts = recvcounts});
    const Blocks parts{.type = shape_of(*datatype), .counts = recvcounts};
    return plan_reduce_scatter(execution, sendbuf, recvbuf, parts, datatype, op);
  };
}

}  // namespace

namespace api {

Code reduce_scatter_block(Process&, const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype,
                          Op* op, Comm* comm) {
  Code code = 0;
  if (Stage* stage = stage_of(*comm);
      stage != nullptr &&
      quick_reduce_scatter(*comm, *stage, sendbuf, recvbuf, {.count = recvcount}, *datatype, *op, &code))
    return code;
  return run_collective(*comm, reduce_scatter_block_plan(sendbuf, recvbuf, recvcount, datatype, op));
}

Code ireduce_scatter_block(Process&, const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype,
                           Op* op, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          reduce_scatter_block_plan(sendbuf, recvbuf, recvcount, datatype, op));
}

Code reduce_scatter_block_init(Process&, const void* sendbuf, void* recvbuf, Count recvcount,
                               Datatype* datatype, Op* op, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            reduce_scatter_block_plan(sendbuf, recvbuf, recvcount, datatype, op));
}

Code reduce_scatter(Process&, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype* datatype,
                    Op* op, Comm* comm) {
  Code code = 0;
  if (Stage* stage = stage_of(*comm);
      stage != nullptr &&
      quick_reduce_scatter(*comm, *stage, sendbuf, recvbuf, {.counts = recvcounts}, *datatype, *op, &code))
    return code;
  return run_collective(*comm, reduce_scatter_plan(sendbuf, recvbuf, recvcounts, datatype, op));
}

Code ireduce_scatter(Process&, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype* datatype,
                     Op* op, Comm* comm, Request** request) {
  return start_collective(*comm, request, reduce_scatter_plan(sendbuf, recvbuf, recvcounts, datatype, op));
}

Code reduce_scatter_init(Process&, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                         Datatype* datatype, Op* op, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request, reduce_scatter_plan(sendbuf, recvbuf, recvcounts, datatype, op));
}

}  // namespace api
}  // namespace tasuki
