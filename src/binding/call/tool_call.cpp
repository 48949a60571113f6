// Calls of the functions that a tool registered.
#include "binding/call/tool_call.hpp"

#include "binding/call/in_callback.hpp"

namespace tasuki {
namespace {

MPI_T_cb_safety safety_of(Safety safety) {
  return static_cast<MPI_T_cb_safety>(abi::cb_safety_from_core(static_cast<int>(safety)));
}

}  // namespace

void AbiToolCallbacks::event(AnyFunction function, ToolHandle instance, ToolHandle registration,
                             Safety safety, void* user_data) {
  const InCallback inside;
  reinterpret_cast<MPI_T_event_cb_function*>(function)(pointer_of<MPI_T_event_instance>(instance),
                                                       pointer_of<MPI_T_event_registration>(registration),
                                                       safety_of(safety), user_data);
}

void AbiToolCallbacks::dropped(AnyFunction function, Count count, ToolHandle registration, int source,
                               Safety safety, void* user_data) {
  const InCallback inside;
  reinterpret_cast<MPI_T_event_dropped_cb_function*>(function)(
      count, pointer_of<MPI_T_event_registration>(registration), source, safety_of(safety), user_data);
}

void AbiToolCallbacks::freed(AnyFunction function, ToolHandle registration, Safety safety, void* user_data) {
  const InCallback inside;
  reinterpret_cast<MPI_T_event_free_cb_function*>(function)(
      pointer_of<MPI_T_event_registration>(registration), safety_of(safety), user_data);
}

}  // namespace tasuki
