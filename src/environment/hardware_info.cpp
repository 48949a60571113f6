// What a program asks about the hardware that it runs on (MPI 9.1.3).
#include <string>

#include "environment/api.hpp"
#include "node/hardware.hpp"
#include "object/comm.hpp"

namespace tasuki::api {

Code get_hw_resource_info(Process&, Info** hw_info) {
  const HardwarePlace place = hardware_place();
  Info* made = new Info;
  set_info(made, "mpi_shared_memory", "true");
  for (int level = 0; level < kHardwareLevels; ++level) {
    set_info(made, std::string(hardware_name(static_cast<HardwareLevel>(level))),
             place[static_cast<std::size_t>(level)] >= 0 ? "true" : "false");
  }
  *hw_info = made;
  return kSuccess;
}

}  // namespace tasuki::api
