// The hierarchical calls that move data: see coll/hierarchy/calls.hpp.
#include "coll/hierarchy/part_calls.hpp"

namespace tasuki::hierarchy {

Code barrier(BoundSchedule& bound, Hierarchy& hierarchy, int root) {
  Calls call(bound, hierarchy, root);
  call.on_node([&] { return api::barrier(call.process(), call.node()); });
  if (call.carries()) call(api::barrier(call.process(), call.lane()));
  call.on_node([&] { return api::barrier(call.process(), call.node()); });
  return call.error();
}

Code bcast(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Elements& data) {
  Calls call(bound, hierarchy, root);
  std::byte* buffer = call.at(data.place());
  Datatype* type = call.type(data.element);
  if (call.carries())
    call(api::bcast(call.process(), buffer, data.count, type, call.root_node(), call.lane()));
  call.on_node(
      [&] { return api::bcast(call.process(), buffer, data.count, type, call.carrier(), call.node()); });
  return call.error();
}

}  // namespace tasuki::hierarchy
