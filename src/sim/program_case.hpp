// A program as a case of tasuki-simulate's document tells it, with the schedules of its collectives.
//
//   {"program": {"hosts": [0, 1],                        of each timeline
//                "messages": [[0, 1, 4096, "eager"]],    from, to, bytes; or "rendezvous"
//                "timelines": [[["compute", 0, 1e-3], ["send", 0, 0, 0]],      kind, number, seconds, and the
//                              [["receive", 0, 0], ["collective", 0, 0, 0]]],  earlier operations it requires
//                "collectives": [{"members": [0, 1], "operation": "bcast", …}],  as sim/collective.hpp has
//                them "calls": [0],                           the collective of each "meetings": [2]}, how
//                many come to each
//    "ends": false, "links": false, "spans": false}
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sim/collective.hpp"
#include "sim/program.hpp"

namespace tasuki::sim {

class ProgramCase {
 public:
  /// Throws what is wrong with the case. `request` lives as long as this.
  ProgramCase(const Request& request, const nlohmann::json& one);

  const Program& program() const { return program_; }
  const std::vector<std::unique_ptr<Collective>>& collectives() const { return collectives_; }

 private:
  Program program_;
  std::vector<std::unique_ptr<Collective>> collectives_;
  std::vector<std::vector<int>> members_;  // of each
};

}  // namespace tasuki::sim
