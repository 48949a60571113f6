// MPI_Gather and MPI_Gatherv (MPI 6.5).
#include "coll/api.hpp"
#include "coll/check.hpp"
#include "coll/collectives.hpp"
#include "coll/inter.hpp"
#include "coll/tree.hpp"

namespace tasuki {
namespace {

void place_own_block(Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
  if (mine.in_place) return;
  schedule.copy(mine.place(), mine.count, mine.element, all.place_of(self.rank), all.count_of(self.rank),
                all.element);
}

/// The root's part of the tree: what its children hand up goes straight to its place, but for the one run of
/// blocks that goes around the end of the ranks.
void gather_binomial_root(Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
  const Count block = all.bytes_of(self.rank);
  place_own_block(schedule, self, mine, all);
  Place held;
  int held_first = 0, held_blocks = 0;
  const TreePlace at = tree_place(self, self.rank);
  for (int distance = 1; distance < at.subtree; distance *= 2) {
    const int child = neighbour(self, distance);
    const int blocks = at.child_subtree(distance);
    if (child + blocks <= self.size) {
      schedule.receive(all.place_of(child), blocks * all.count, all.element, child);
    } else {
      held = schedule.scratch(blocks * block);
      held_first = child;
      held_blocks = blocks;
      schedule.receive(held, blocks * block, ElementType::kBytes, child);
    }
  }
  schedule.end_round();
  if (held_blocks == 0) return;
  const int before_end = self.size - held_first;
  schedule.copy(held, before_end * block, ElementType::kBytes, all.place_of(held_first),
                before_end * all.count, all.element);
  const int after_end = held_blocks - before_end;
  schedule.copy(held + before_end * block, after_end * block, ElementType::kBytes, all.place_of(0),
                after_end * all.count, all.element);
  schedule.end_round();
}

}  // namespace

void gather_linear(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
  if (self.rank != root) {
    schedule.send(mine.place(), mine.count, mine.element, root);
    schedule.end_round();
    return;
  }
  place_own_block(schedule, self, mine, all);
  for (int distance = 1; distance < self.size; ++distance) {
    const int peer = neighbour(self, distance);
    schedule.receive(all.place_of(peer), all.count_of(peer), all.element, peer);
  }
  schedule.end_round();
}

Cost gather_linear_cost(int size, double block_bytes) {
  const double others = size - 1;
  return {.steps = others, .bytes = others * block_bytes, .total_bytes = others * block_bytes};
}

void gather_binomial(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
  if (self.rank == root) return gather_binomial_root(schedule, self, mine, all);
  const TreePlace at = tree_place(self, root);
  const int parent = neighbour(self, -at.distance_up);
  if (at.subtree == 1) {
    schedule.send(mine.place(), mine.count, mine.element, parent);
    schedule.end_round();
    return;
  }
  const Count block = mine.bytes();
  const Place held = schedule.scratch(at.subtree * block);
  schedule.copy(mine.place(), mine.count, mine.element, held, block, ElementType::kBytes);
  for (int distance = 1; distance < at.subtree; distance *= 2) {
    schedule.receive(held + distance * block, at.child_subtree(distance) * block, ElementType::kBytes,
                     neighbour(self, distance));
  }
  schedule.end_round();
  schedule.send(held, at.subtree * block, ElementType::kBytes, parent);
  schedule.end_round();
}

Cost gather_binomial_cost(int size, double block_bytes) {
  const double steps = ceil_log2(size);
  return {.steps = steps,
          .bytes = (size - 1) * block_bytes,
          .total_bytes = tree_blocks_moved(size) * block_bytes};
}

GatherAlgorithm choose_gather(int size, Count block_bytes, const CostParameters& parameters) {
  const auto b = static_cast<double>(block_bytes);
  return cheapest<GatherAlgorithm>(parameters, &Config::gather_algorithm,
                                   {{GatherAlgorithm::kLinear, gather_linear_cost(size, b)},
                                    {GatherAlgorithm::kBinomial, gather_binomial_cost(size, b)}});
}

namespace {

/// The parts of MPI_Gather's and MPI_Gatherv's plan that are alike. `all` counts at the root only.
Code plan_gather(Execution& execution, const void* sendbuf, Count sendcount, Datatype* sendtype,
                 void* recvbuf, Datatype* recvtype, int root, const Blocks& all, Elements* mine) {
  Process& process = execution.process();
  const Member self = execution.self();
  *mine = {.space = Space::kSend, .element = ElementType::kSendType};
  mine->in_place = sendbuf == kInPlace;
  if (self.rank != root) {
    if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, "at the root only"); code != 0)
      return code;
  } else {
    if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, "for sendbuf only"); code != 0)
      return code;
    if (const Code code = check_blocks(process, "recvcount", all, self.size); code != 0) return code;
    execution.arguments.receive = recvbuf;
    execution.arguments.receive_type = recvtype;
  }
  if (!mine->in_place) {
    mine->type = shape_of(*sendtype);
    mine->count = sendcount;
    execution.arguments.send = sendbuf;
    execution.arguments.send_type = sendtype;
    if (const Code code = check_count(process, "sendcount", sendcount, mine->type); code != 0) return code;
  }
  return self.rank == root ? check_distinct(process, sendbuf, *mine, recvbuf, all, self.size) : 0;
}

auto gather_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                 Datatype* recvtype, int root) {
  return [=](Execution& execution) -> Code {
    const Member self = execution.self();
    const bool is_inter = execution.comm().is_inter();
    Blocks all;
    if (is_inter ? root == kRoot : self.rank == root) all = {.type = shape_of(*recvtype), .count = recvcount};
    if (is_inter)
      return plan_inter_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all);
    Elements mine;
    const Code code =
        plan_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all, &mine);
    if (code != 0) return code;
    const Count block_bytes = self.rank == root ? all.bytes_of(root) : mine.bytes();
    switch (execution.schedule.chosen(
        kGatherFirst, choose_gather(self.size, block_bytes, execution.process().collectives->parameters))) {
      case GatherAlgorithm::kLinear:
        gather_linear(execution.schedule, self, root, mine, all);
        break;
      case GatherAlgorithm::kBinomial:
        gather_binomial(execution.schedule, self, root, mine, all);
        break;
    }
    return 0;
  };
}

auto gatherv_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, Datatype* recvtype, int root) {
  return [=](Execution& execution) -> Code {
    const bool is_inter = execution.comm().is_inter();
    Blocks all;
    if (is_inter ? root == kRoot : execution.self().rank == root) {
      all = {.type = shape_of(*recvtype),
             .counts = recvcounts,
             .displacements = displs,
             .displacement_bytes = recvtype->extent};
    }
    if (is_inter)
      return plan_inter_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all);
    Elements mine;
    const Code code =
        plan_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all, &mine);
    // Only the root knows the counts, so the tree is not open to MPI_Gatherv.
    if (code == 0) gather_linear(execution.schedule, execution.self(), root, mine, all);
    return code;
  };
}

}  // namespace

namespace api {

Code gather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
            Count recvcount, Datatype* recvtype, int root, Comm* comm) {
  return run_collective(*comm, gather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code igather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             Count recvcount, Datatype* recvtype, int root, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          gather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code gather_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                 Count recvcount, Datatype* recvtype, int root, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            gather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code gatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm) {
  return run_collective(
      *comm, gatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}

Code igatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
              CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm,
              Request** request) {
  return start_collective(
      *comm, request,
      gatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}

Code gatherv_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm, Info*,
                  Request** request) {
  return prepare_collective(
      *comm, request,
      gatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}

}  // namespace api
}  // namespace tasuki
