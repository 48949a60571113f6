// The one decision: whose child is this program?
#include <strings.h>

#include <cstdlib>

#include "job/local/local.hpp"
#include "job/other_launchers.hpp"

namespace tasuki {
namespace {

bool is_set(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return false;
  for (const char* no : {"", "0", "no", "false", "off"}) {
    if (strcasecmp(text, no) == 0) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Starter> make_starter(std::string* error) {
  if (is_set("TASUKI_SINGLETON")) return local::make_singleton();
  if (local::started_by_mpiexec()) {
    local::JobAddress address;
    local::MappedJob mapped;
    if (!local::read_address(&address, error) || !local::map_job_segment(address, &mapped, error))
      return nullptr;
    return local::make_job_starter(mapped);
  }
  const std::string launcher = other_launcher(std::getenv);
  if (!launcher.empty()) {
    *error =
        "this program was started by " + launcher +
        ", which Tasuki cannot join yet; start it by Tasuki's own mpiexec (TASUKI_SINGLETON=1 makes each "
        "process a job of its own)";
    return nullptr;
  }
  return local::make_singleton();
}

}  // namespace tasuki
