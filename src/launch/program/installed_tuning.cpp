// Reading it, and whether it may be used here.
#include "launch/program/installed_tuning.hpp"

#include <unistd.h>

#include "launch/program/rank_environment.hpp"
#include "tuning/table.hpp"

namespace tasuki::launch {

InstalledTuning read_installed_tuning(bool foreign_allowed) {
  using State = InstalledTuning::State;
  InstalledTuning found;
  found.path = configuration_path("tuning.json");
  if (found.path.empty() || access(found.path.c_str(), F_OK) != 0) return found;
  Table table;
  if (!read_table(found.path, &found.text, &found.reason) ||
      !parse_table(found.text, &table, &found.reason)) {
    found.state = State::kBad;
    return found;
  }
  if (!foreign_allowed) found.reason = foreign_by(table.made_on, this_machine());
  found.state = found.reason.empty() ? State::kUsed : State::kForeign;
  return found;
}

}  // namespace tasuki::launch
