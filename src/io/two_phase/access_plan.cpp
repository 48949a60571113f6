// Two-phase access that needs no message: see access_plan.hpp.
#include "io/two_phase/access_plan.hpp"

#include <vector>

#include "io/two_phase/window_mover.hpp"

namespace tasuki {

Task move_offered(Course& course, File& file, const AccessPlan& plan, const PhasePlace& place,
                  Outcome* outcome) {
  if (plan.own_number < 0) co_return kSuccess;
  WindowMover mover(course, file, plan, place);
  std::vector<WindowPart> parts;
  for (Count cycle = 0; cycle < plan.domains.cycles(); ++cycle) {
    const FileRange window = plan.domains.window(plan.own_number, cycle);
    if (window.bytes() == 0) break;
    parts.clear();
    for (int rank = 0; rank < static_cast<int>(plan.parts.size()); ++rank) {
      const PositionRange here = plan.range_in(rank, window);
      if (here.bytes() == 0) continue;
      const RankPart& part = plan.parts[static_cast<std::size_t>(rank)];
      const SymmetricAddress at = part.data + static_cast<SymmetricAddress>(here.begin - part.range.begin);
      parts.push_back({part.map, here, reinterpret_cast<std::byte*>(at)});
    }
    co_await mover.move(cycle, window, parts);
    if (mover.outcome().error != 0) break;
  }
  *outcome = mover.outcome();
  co_return kSuccess;
}

}  // namespace tasuki
