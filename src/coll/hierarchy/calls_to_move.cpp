// The collectives on levels that move data: see coll/hierarchy/calls.hpp.
#include "coll/hierarchy/part_calls.hpp"

namespace tasuki::levels {

Code barrier(BoundSchedule& bound, Levels& levels, int root) {
  Calls call(bound, levels, root);
  call.on_node([&] { return api::barrier(call.process(), call.node()); });
  if (call.carries()) call(api::barrier(call.process(), call.lane()));
  call.on_node([&] { return api::barrier(call.process(), call.node()); });
  return call.error();
}

Code bcast(BoundSchedule& bound, Levels& levels, int root, const Elements& data) {
  Calls call(bound, levels, root);
  std::byte* buffer = call.at(data.place());
  Datatype* type = call.type(data.element);
  if (call.carries())
    call(api::bcast(call.process(), buffer, data.count, type, call.root_node(), call.lane()));
  call.on_node(
      [&] { return api::bcast(call.process(), buffer, data.count, type, call.carrier(), call.node()); });
  return call.error();
}

}  // namespace tasuki::levels
