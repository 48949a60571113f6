// Calling a part of a hierarchical collective: see coll/hierarchy/calls.hpp.
#include "coll/hierarchy/calls.hpp"

#include "coll/api.hpp"

namespace tasuki::hierarchy {
namespace {

/// What the parts' data is in the bound call.
struct Binding {
  const BoundSchedule& bound;
  const Buffers& buffers;

  std::byte* at(Space space) const { return bound.address(buffers.of_call({space, 0})); }
  /// Null where the call has none of this kind at this rank, whose part then does not look at it.
  Datatype* type(ElementType element) const {
    if (element == ElementType::kSendType) return bound.arguments.send_type;
    if (element == ElementType::kReceiveType) return bound.arguments.receive_type;
    return &bound.datatype(ElementType::kBytes, -1);
  }
};

/// Of those that reduce.
Code call_reduction(const Binding& binding, const Part& part, Comm* comm) {
  Process& process = binding.bound.process();
  const Reduction& vector = part.data.vector;
  const void* send = vector.in_place ? kInPlace : binding.at(Space::kSend);
  void* receive = binding.at(Space::kReceive);
  Datatype* type = binding.type(kReduced);
  Op* op = const_cast<Op*>(binding.bound.arguments.op);  // calls take it so, and keep none
  switch (part.operation) {
    case Operation::kReduce:
      return api::reduce(process, send, receive, vector.count, type, op, part.root, comm);
    case Operation::kReduceScatter:
      return api::reduce_scatter(process, send, receive, part.data.blocks.counts, type, op, comm);
    case Operation::kScan:
      return api::scan(process, send, receive, vector.count, type, op, comm);
    case Operation::kExscan:
      return api::exscan(process, send, receive, vector.count, type, op, comm);
    default:
      return api::allreduce(process, send, receive, vector.count, type, op, comm);
  }
}

}  // namespace

Code call_part(const BoundSchedule& bound, const Hierarchy& hierarchy, const Part& part) {
  Process& process = bound.process();
  Comm* comm = part.among == Among::kNode ? &hierarchy.node() : &hierarchy.lane();
  const Binding binding{bound, part.buffers};
  const auto& [mine, out, all, vector] = part.data;
  void* own = mine.in_place ? kInPlace : binding.at(mine.space);
  Datatype* own_type = binding.type(mine.element);
  void* blocks = binding.at(all.space);
  Datatype* type = binding.type(all.element);
  switch (part.operation) {
    case Operation::kBarrier:
      return api::barrier(process, comm);
    case Operation::kBcast:
      return api::bcast(process, own, mine.count, own_type, part.root, comm);
    case Operation::kGather:
      return api::gather(process, own, mine.count, own_type, blocks, all.count, type, part.root, comm);
    case Operation::kGatherv:
      return api::gatherv(process, own, mine.count, own_type, blocks, all.counts, all.displacements, type,
                          part.root, comm);
    case Operation::kScatter:
      return api::scatter(process, blocks, all.count, type, own, mine.count, own_type, part.root, comm);
    case Operation::kScatterv:
      return api::scatterv(process, blocks, all.counts, all.displacements, type, own, mine.count, own_type,
                           part.root, comm);
    case Operation::kAllgather:
      if (all.uniform())
        return api::allgather(process, own, mine.count, own_type, blocks, all.count, type, comm);
      return api::allgatherv(process, own, mine.count, own_type, blocks, all.counts, all.displacements, type,
                             comm);
    case Operation::kAlltoall:
      return api::alltoall(process, binding.at(out.space), out.count, binding.type(out.element), blocks,
                           all.count, type, comm);
    case Operation::kAlltoallv:
      return api::alltoallv(process, binding.at(out.space), out.counts, out.displacements,
                            binding.type(out.element), blocks, all.counts, all.displacements, type, comm);
    default:
      return call_reduction(binding, part, comm);
  }
}

}  // namespace tasuki::hierarchy
