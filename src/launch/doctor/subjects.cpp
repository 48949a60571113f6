// From the ranks that we started to what can be looked at.
#include "launch/doctor/subjects.hpp"

namespace tasuki::launch {

Subject subject_of(const WorldRank& one) {
  const Rank& rank = one.rank();
  return {.board = &one.world->segment.board(one.number),
          .block = &one.block(),
          .ended = rank.ended,
          .wait_status = rank.ended ? rank.wait_status : -1};
}

std::vector<SubjectWorld> subjects_of(const Worlds& worlds) {
  std::vector<SubjectWorld> subjects;
  for (const auto& world : worlds) {
    SubjectWorld& taken = subjects.emplace_back();
    taken.number = world->number;
    for (int rank = 0; rank < world->size(); ++rank) taken.ranks.push_back(subject_of({world.get(), rank}));
  }
  return subjects;
}

}  // namespace tasuki::launch
