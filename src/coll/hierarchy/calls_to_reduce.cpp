// The hierarchical calls that reduce: see coll/hierarchy/calls.hpp.
#include <algorithm>
#include <vector>

#include "coll/hierarchy/part_calls.hpp"
#include "datatype/datatype.hpp"
#include "reduction/op.hpp"

namespace tasuki::hierarchy {
namespace {

constexpr Place kResult{Space::kReceive, 0};

}  // namespace

Code reduce(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  Datatype* type = call.type(kReduced);
  const bool is_root = call.is_root();
  const void* send = is_root && data.in_place ? kInPlace : call.send_buffer();
  std::byte* result = is_root ? call.at(kResult) : nullptr;
  std::byte* sum = result;  // the node's
  if (call.carries() && !is_root && !hierarchy.is_alone()) {
    const Place room = bound.schedule.scratch_elements(data.count, data.type);
    if (const Code code = bound.take_scratch(); code != 0) return code;
    sum = call.at(room);
  }
  call.on_node([&] {
    return api::reduce(process, send, sum, data.count, type, call.op(), call.carrier(), call.node());
  });
  if (!call.carries()) return call.error();
  if (!hierarchy.is_alone()) send = is_root ? kInPlace : sum;
  call(api::reduce(process, send, result, data.count, type, call.op(), call.root_node(), call.lane()));
  return call.error();
}

Code allreduce(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  Datatype* type = call.type(kReduced);
  std::byte* result = call.at(kResult);
  const void* send = call.send_buffer();
  // In place counts at the root of a reduction only: elsewhere the input is a send buffer.
  if (data.in_place && !call.carries()) send = result;
  call.on_node([&] {
    return api::reduce(process, send, result, data.count, type, call.op(), call.carrier(), call.node());
  });
  if (call.carries()) {
    if (!hierarchy.is_alone()) send = kInPlace;
    call(api::allreduce(process, send, result, data.count, type, call.op(), call.lane()));
  }
  call.on_node([&] { return api::bcast(process, result, data.count, type, call.carrier(), call.node()); });
  return call.error();
}

Code allreduce_by_lanes(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  Datatype* type = call.type(kReduced);
  const Count parts = call.node()->size();
  const auto own = static_cast<std::size_t>(call.node()->rank);
  std::vector<Count> counts, firsts;  // elements of each slice, and before it
  for (Count part = 0; part < parts; ++part) {
    firsts.push_back(data.count / parts * part + std::min(part, data.count % parts));
    counts.push_back(data.count / parts + (part < data.count % parts ? 1 : 0));
  }
  // The node's sum of the own slice goes to where the sum of all will be, unless an input is there.
  const Place slice = kResult + firsts[own] * data.type.extent;
  const Place room = data.in_place ? bound.schedule.scratch_elements(counts[own], data.type) : slice;
  if (const Code code = bound.take_scratch(); code != 0) return code;
  call(api::reduce_scatter(process, call.at(data.input()), call.at(room), CountArray(counts.data()), type,
                           call.op(), call.node()));
  call(api::allreduce(process, data.in_place ? call.at(room) : kInPlace, call.at(slice), counts[own], type,
                      call.op(), call.lane()));
  call(api::allgatherv(process, kInPlace, 0, nullptr, call.at(kResult), CountArray(counts.data()),
                       CountArray(firsts.data()), type, call.node()));
  return call.error();
}

/// Uniform nodes. Each rank of the node gets the node's sum of the parts that its lane is to have.
Code reduce_scatter(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data,
                    const Blocks& parts) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  const NodeMap& map = call.map();
  Datatype* type = call.type(kReduced);
  std::vector<Count> of_ranks, of_lane;  // elements, of each rank of the node and of the own lane
  for (int number = 0; number < call.node()->size(); ++number) {
    of_ranks.push_back(0);
    for (int node = 0; node < map.nodes(); ++node) {
      const Count count = parts.count_of(map.ranks_of(node)[static_cast<std::size_t>(number)]);
      of_ranks.back() += count;
      if (number == call.node()->rank) of_lane.push_back(count);
    }
  }
  const Place vector = bound.schedule.scratch_elements(data.count, data.type);
  const Place sums =
      bound.schedule.scratch_elements(of_ranks[static_cast<std::size_t>(call.node()->rank)], data.type);
  if (const Code code = bound.take_scratch(); code != 0) return code;
  std::vector<Count> firsts{0};  // elements before each rank's part
  for (int rank = 0; rank < map.size(); ++rank) firsts.push_back(firsts.back() + parts.count_of(rank));
  Place to = vector;
  for (int number = 0; number < call.node()->size(); ++number) {
    for (int node = 0; node < map.nodes(); ++node) {
      const int rank = map.ranks_of(node)[static_cast<std::size_t>(number)];
      const Place part = data.input() + firsts[static_cast<std::size_t>(rank)] * data.type.extent;
      copy_typed(call.at(part), parts.count_of(rank), *type, call.at(to), parts.count_of(rank), *type);
      to = to + parts.count_of(rank) * data.type.extent;
    }
  }
  call(api::reduce_scatter(process, call.at(vector), call.at(sums), CountArray(of_ranks.data()), type,
                           call.op(), call.node()));
  call(api::reduce_scatter(process, call.at(sums), call.at(kResult), CountArray(of_lane.data()), type,
                           call.op(), call.lane()));
  return call.error();
}

namespace {

/// On the last lane, whose ranks have their nodes' sums at `sum`: those over the nodes before this one go to
/// `before`, at all ranks of the node, but for the first node. Returns whether they did.
bool sum_of_nodes_before(Calls& call, const std::byte* sum, std::byte* before, Count count) {
  Datatype* type = call.type(kReduced);
  if (call.carries()) call(api::exscan(call.process(), sum, before, count, type, call.op(), call.lane()));
  if (call.map().own_node() == 0) return false;
  call(api::bcast(call.process(), before, count, type, call.carrier(), call.node()));
  return true;
}

}  // namespace

Code scan(BoundSchedule& bound, Hierarchy& hierarchy, int, const Reduction& data) {
  Calls call(bound, hierarchy, hierarchy.map().ranks_of(0).back());
  Datatype* type = call.type(kReduced);
  const Place room = bound.schedule.scratch_elements(data.count, data.type);
  if (const Code code = bound.take_scratch(); code != 0) return code;
  std::byte* result = call.at(kResult);
  call(api::scan(call.process(), call.send_buffer(), result, data.count, type, call.op(), call.node()));
  if (sum_of_nodes_before(call, result, call.at(room), data.count))
    reduce_local(call.process(), *call.op(), call.at(room), result, data.count, *type);
  return call.error();
}

Code exscan(BoundSchedule& bound, Hierarchy& hierarchy, int, const Reduction& data) {
  Calls call(bound, hierarchy, hierarchy.map().ranks_of(0).back());
  Process& process = call.process();
  Datatype* type = call.type(kReduced);
  const Place before = bound.schedule.scratch_elements(data.count, data.type);
  const Place sum = bound.schedule.scratch_elements(data.count, data.type);
  if (const Code code = bound.take_scratch(); code != 0) return code;
  std::byte* result = call.at(kResult);
  // The node's last rank adds its own vector to those before it.
  if (call.carries()) copy_typed(call.at(data.input()), data.count, *type, call.at(sum), data.count, *type);
  call(api::exscan(process, call.send_buffer(), result, data.count, type, call.op(), call.node()));
  if (call.carries()) reduce_local(process, *call.op(), result, call.at(sum), data.count, *type);
  if (!sum_of_nodes_before(call, call.at(sum), call.at(before), data.count)) return call.error();
  if (call.node()->rank == 0) {
    copy_typed(call.at(before), data.count, *type, result, data.count, *type);
  } else {
    reduce_local(process, *call.op(), call.at(before), result, data.count, *type);
  }
  return call.error();
}

}  // namespace tasuki::hierarchy
