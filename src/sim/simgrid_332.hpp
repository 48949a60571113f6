// What flow_simgrid.cpp asks of the remedy in simgrid_332.cpp.
#pragma once

namespace tasuki::sim {

/// Whether a flow was started without entering the engine's list of flows: asked after the first one.
bool list_of_flows_is_empty();

}  // namespace tasuki::sim
