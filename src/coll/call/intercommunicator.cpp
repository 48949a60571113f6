// Collectives on intercommunicators: see coll/call/intercommunicator.hpp.
#include "coll/call/intercommunicator.hpp"

#include "coll/algorithm/tree.hpp"
#include "coll/check/arguments.hpp"

namespace tasuki {
namespace {

/// Runs an algorithm among the local group.
template <class Algorithm>
void locally(Schedule& schedule, Algorithm&& algorithm) {
  schedule.end_round();
  const std::size_t first = schedule.steps.size();
  algorithm();
  schedule.end_round();
  schedule.make_local(first);
}

/// What a reduction must satisfy where its arguments count.
Code check_inter_reduction(Execution& execution, const void* sendbuf, const void* recvbuf, Count count,
                           const Datatype& datatype, const Op& op) {
  Process& process = execution.process();
  if (const Code code = check_reduction(execution.comm(), count, datatype, op); code != 0) return code;
  if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, kNotOnInter); code != 0) return code;
  return check_not_in_place(process, "recvbuf", recvbuf, kNotOnInter);
}

}  // namespace

void inter_barrier(Schedule& schedule, Member self) {
  const Elements nothing{.space = Space::kScratch, .element = ElementType::kBytes};
  locally(schedule, [&] { barrier_dissemination(schedule, self); });
  if (self.rank == 0) {
    schedule.receive({}, 0, ElementType::kBytes, 0);
    schedule.send({}, 0, ElementType::kBytes, 0);
  }
  locally(schedule, [&] { bcast_binomial(schedule, self, 0, nothing); });
}

void inter_exchange_of_leaders(Schedule& schedule, Member self, Count bytes) {
  if (self.rank == 0) {
    schedule.receive(kResult + bytes, bytes, ElementType::kBytes, 0);
    schedule.send(kResult, bytes, ElementType::kBytes, 0);
  }
  const Elements both{.element = ElementType::kBytes, .count = 2 * bytes};
  locally(schedule, [&] { bcast_binomial(schedule, self, 0, both); });
}

void inter_exchange(Schedule& schedule, Member self, const Blocks& out, const Blocks& in, int remote_size) {
  for (int turn = 0; turn < remote_size; ++turn) {
    const int peer = (self.rank + turn) % remote_size;
    if (in.bytes_of(peer) > 0) schedule.receive(in.place_of(peer), in.count_of(peer), in.element, peer);
  }
  for (int turn = 0; turn < remote_size; ++turn) {
    const int peer = (self.rank + turn) % remote_size;
    if (out.bytes_of(peer) > 0) schedule.send(out.place_of(peer), out.count_of(peer), out.element, peer);
  }
  schedule.end_round();
}

void write_ends(Schedule& ends, const Blocks& out, const Blocks& in, int size, int self) {
  const Blocks& sent = out.in_place ? in : out;
  for (int peer = 0; peer < size; ++peer) {
    if (peer != self) {
      ends.receive(in.place_of(peer), in.count_of(peer), in.element, peer);
      ends.send(sent.place_of(peer), sent.count_of(peer), sent.element, peer);
    } else if (!out.in_place) {
      ends.copy(out.place_of(peer), out.count_of(peer), out.element, in.place_of(peer), in.count_of(peer),
                in.element, peer);
    }
  }
}

Place inter_local_sum(Schedule& schedule, Member self, const Reduction& data) {
  const Place sum = schedule.scratch_elements(data.count, data.type);
  const auto reduce =
      data.repeatable == Repeatable::kExact ? allreduce_collect : allreduce_recursive_doubling;
  locally(schedule, [&] { reduce(schedule, self, data, sum); });
  return sum;
}

Code plan_inter_barrier(Execution& execution) {
  inter_barrier(execution.schedule, execution.self());
  return 0;
}

/// The root to rank 0 of the other group, then down a tree. Steps: 1 + ceil(log2 P) (or as the algorithm that
/// MPI_Bcast chooses has).
Code plan_inter_bcast(Execution& execution, void* buffer, Count count, Datatype* datatype, int root) {
  if (root == kProcNull) return 0;
  Process& process = execution.process();
  if (const Code code = check_not_in_place(process, "buffer", buffer, "nowhere in MPI_Bcast"); code != 0)
    return code;
  const Elements data{.type = shape_of(*datatype), .count = count};
  if (const Code code = check_count(process, "count", count, data.type); code != 0) return code;
  execution.arguments = {.receive = buffer, .receive_type = datatype};
  Schedule& schedule = execution.schedule;
  const Member self = execution.self();
  if (root == kRoot) {
    schedule.send(data.place(), count, data.element, 0);
    schedule.end_round();
    return 0;
  }
  if (self.rank == 0) schedule.receive(data.place(), count, data.element, root);
  const Problem problem = execution.problem(Operation::kBcast, data.bytes());
  locally(schedule, [&] { plan_chosen(execution, problem, 0, {.elements = data}); });
  return 0;
}

/// Every rank sends to the root. Steps: Q.
Code plan_inter_gather(Execution& execution, const void* sendbuf, Count sendcount, Datatype* sendtype,
                       void* recvbuf, Datatype* recvtype, int root, const Blocks& all) {
  if (root == kProcNull) return 0;
  Process& process = execution.process();
  Schedule& schedule = execution.schedule;
  if (root == kRoot) {
    const int size = execution.comm().peers().size();
    if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, kNotOnInter); code != 0)
      return code;
    if (const Code code = check_blocks(process, "recvcount", all, size); code != 0) return code;
    execution.arguments = {.receive = recvbuf, .receive_type = recvtype};
    for (int peer = 0; peer < size; ++peer)
      schedule.receive(all.place_of(peer), all.count_of(peer), all.element, peer);
  } else {
    if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, kNotOnInter); code != 0)
      return code;
    if (const Code code = check_count(process, "sendcount", sendcount, shape_of(*sendtype)); code != 0)
      return code;
    execution.arguments = {.send = sendbuf, .send_type = sendtype};
    schedule.send({Space::kSend, 0}, sendcount, ElementType::kSendType, root);
  }
  schedule.end_round();
  return 0;
}

/// The root sends to every rank. Steps: Q.
Code plan_inter_scatter(Execution& execution, const void* sendbuf, Datatype* sendtype, void* recvbuf,
                        Count recvcount, Datatype* recvtype, int root, const Blocks& all) {
  if (root == kProcNull) return 0;
  Process& process = execution.process();
  Schedule& schedule = execution.schedule;
  if (root == kRoot) {
    const int size = execution.comm().peers().size();
    if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, kNotOnInter); code != 0)
      return code;
    if (const Code code = check_blocks(process, "sendcount", all, size); code != 0) return code;
    execution.arguments = {.send = sendbuf, .send_type = sendtype};
    for (int peer = 0; peer < size; ++peer)
      schedule.send(all.place_of(peer), all.count_of(peer), all.element, peer);
  } else {
    if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, kNotOnInter); code != 0)
      return code;
    if (const Code code = check_count(process, "recvcount", recvcount, shape_of(*recvtype)); code != 0)
      return code;
    execution.arguments = {.receive = recvbuf, .receive_type = recvtype};
    schedule.receive(kResult, recvcount, ElementType::kReceiveType, root);
  }
  schedule.end_round();
  return 0;
}

/// An exchange in which every block that a rank sends is the same one. No rank receives a byte that it does
/// not keep.
Code plan_inter_allgather(Execution& execution, const void* sendbuf, Count sendcount, Datatype* sendtype,
                          void* recvbuf, Datatype* recvtype, const Blocks& all) {
  Process& process = execution.process();
  const int size = execution.comm().peers().size();
  if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, kNotOnInter); code != 0) return code;
  if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, kNotOnInter); code != 0) return code;
  const TypeShape type = shape_of(*sendtype);
  if (const Code code = check_count(process, "sendcount", sendcount, type); code != 0) return code;
  if (const Code code = check_blocks(process, "recvcount", all, size); code != 0) return code;
  execution.arguments = {
      .send = sendbuf, .receive = recvbuf, .send_type = sendtype, .receive_type = recvtype};
  const Blocks mine{.space = Space::kSend,
                    .element = ElementType::kSendType,
                    .type = type,
                    .count = sendcount,
                    .one_for_all = true};  // one block, for all
  if (const Code code = check_distinct(process, sendbuf, mine, 1, recvbuf, all, size); code != 0) return code;
  execution.describe_ends([&](Schedule& ends) { write_ends(ends, mine, all, size); });
  inter_exchange(execution.schedule, execution.self(), mine, all, size);
  return 0;
}

/// The local sum, which rank 0 hands to the root. Steps: ceil(log2 P) + 1 (+ 2); bytes: n (ceil(log2 P) + 1).
Code plan_inter_reduce(Execution& execution, const void* sendbuf, void* recvbuf, Count count,
                       Datatype* datatype, Op* op, int root) {
  if (root == kProcNull) return 0;
  const void* const send = root == kRoot ? nullptr : sendbuf;
  void* const receive = root == kRoot ? recvbuf : nullptr;
  const Code code = check_inter_reduction(execution, send, receive, count, *datatype, *op);
  if (code != 0) return code;
  execution.arguments = {.send = send, .receive = receive, .receive_type = datatype, .op = op};
  Schedule& schedule = execution.schedule;
  if (root == kRoot) {
    schedule.receive(kResult, count, kReduced, 0);
  } else {
    const Reduction data = vector_of(execution.comm(), sendbuf, count, *datatype, *op);
    const Place sum = inter_local_sum(schedule, execution.self(), data);
    if (execution.self().rank == 0) schedule.send(sum, count, kReduced, root);
  }
  schedule.end_round();
  return 0;
}

/// The local sum, which each rank hands to those of the other group whose number is its own, modulo P. Steps:
/// ceil(log2 P) + max(1, ceil(Q/P)) (+ 2).
Code plan_inter_allreduce(Execution& execution, const void* sendbuf, void* recvbuf, Count count,
                          Datatype* datatype, Op* op) {
  Code code = check_inter_reduction(execution, sendbuf, recvbuf, count, *datatype, *op);
  if (code == 0) code = check_result(execution.process(), sendbuf, recvbuf, *datatype, count);
  if (code != 0) return code;
  execution.arguments = {.send = sendbuf, .receive = recvbuf, .receive_type = datatype, .op = op};
  Schedule& schedule = execution.schedule;
  const Member self = execution.self();
  const int remote_size = execution.comm().peers().size();
  const Reduction data = vector_of(execution.comm(), sendbuf, count, *datatype, *op);
  const Place sum = inter_local_sum(schedule, self, data);
  schedule.receive(kResult, count, kReduced, self.rank % remote_size);
  for (int peer = self.rank; peer < remote_size; peer += self.size) schedule.send(sum, count, kReduced, peer);
  schedule.end_round();
  return 0;
}

/// The local sums, which the ranks 0 exchange and scatter. Steps: ceil(log2 P) + P (+ 2).
Code plan_inter_reduce_scatter(Execution& execution, const void* sendbuf, void* recvbuf, Count count,
                               const Blocks& parts, Datatype* datatype, Op* op) {
  const Member self = execution.self();
  Code code = check_inter_reduction(execution, sendbuf, recvbuf, count, *datatype, *op);
  if (code == 0)
    code = check_result(execution.process(), sendbuf, recvbuf, *datatype, parts.count_of(self.rank));
  if (code != 0) return code;
  execution.arguments = {.send = sendbuf, .receive = recvbuf, .receive_type = datatype, .op = op};
  Schedule& schedule = execution.schedule;
  const Reduction data = vector_of(execution.comm(), sendbuf, count, *datatype, *op);
  const Place sum = inter_local_sum(schedule, self, data);
  const Count own = parts.count_of(self.rank);
  if (self.rank != 0) {
    locally(schedule, [&] { schedule.receive(kResult, own, kReduced, 0); });
    return 0;
  }
  const Place remote_sum = schedule.scratch_elements(count, data.type);
  schedule.receive(remote_sum, count, kReduced, 0);
  schedule.send(sum, count, kReduced, 0);
  locally(schedule, [&] {
    schedule.copy(remote_sum, own, kReduced, kResult, own, kReduced);
    Place part = remote_sum;
    for (int rank = 0; rank < self.size; ++rank) {
      if (rank != 0) schedule.send(part, parts.count_of(rank), kReduced, rank);
      part = part + parts.count_of(rank) * data.type.extent;
    }
  });
  return 0;
}

}  // namespace tasuki
