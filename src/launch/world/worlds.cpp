// Counting ranks, and letting go of worlds.
#include "launch/world/worlds.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tasuki::launch {

bool World::checks() const {
  return std::any_of(environments.begin(), environments.end(), [](const RankEnvironment& environment) {
    const char* level = environment.get("TASUKI_CHECK");
    return level != nullptr && std::atoi(level) > 0;
  });
}

int World::ranks_here() const {
  return static_cast<int>(
      std::count_if(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.here; }));
}

bool World::over() const {
  if (starting) return false;
  bool over = std::none_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.running(); });
  for_each_stream([&over](const RankStream& stream) { over = over && !stream.open(); });
  return over;
}

World& Worlds::add(std::unique_ptr<World> world) {
  next_ = world->number + 1;
  checking_ = checking_ || world->checks();
  return *worlds_.emplace_back(std::move(world));
}

void Worlds::remove(const World& world) {
  connections_.forget(world.job());
  std::erase_if(worlds_, [&world](const auto& one) { return one.get() == &world; });
}

World* Worlds::find(std::uint32_t number) const {
  for (const auto& world : worlds_) {
    if (static_cast<std::uint32_t>(world->number) == number) return world.get();
  }
  return nullptr;
}

int World::running() const {
  return static_cast<int>(
      std::count_if(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.running(); }));
}

int Worlds::running() const {
  int count = 0;
  for (const auto& world : worlds_) count += world->running();
  return count;
}

bool Worlds::any_has_joined() const {
  bool any = false;
  for_each_rank(
      [&any](WorldRank one) { any = any || one.block().claimed_pid.load(std::memory_order_acquire) != 0; });
  return any;
}

}  // namespace tasuki::launch
