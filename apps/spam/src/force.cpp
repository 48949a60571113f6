// Which engine the settings name.
#include "force.hpp"

namespace spam {

std::unique_ptr<ForceEngine> make_engine(const Settings& settings) {
  return settings.parallel.engine == Engine::kList ? make_list_engine(settings)
                                                   : make_blocked_engine(settings);
}

}  // namespace spam
