// What fills the table of handles, in words.
#include "binding/handles/handle_holders.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "binding/handles/handle_kinds.hpp"
#include "job/launcher.hpp"

namespace tasuki {

std::string describe(const HandleHolders& holders, const HandleTable& table) {
  const bool full = holders.total >= table.limit();
  std::string text = (full ? "all " : "memory is short for more than the ") + std::to_string(holders.total) +
                     " handles" + (full ? " are in use" : " in use") + ", of which " +
                     std::to_string(holders.count) + " are " + noun_of(holders.kind) + "s";
  constexpr std::size_t kPlacesMax = 3;
  const char* before = ", most of them from ";
  for (std::size_t i = 0; i < std::min(kPlacesMax, holders.places.size()); ++i) {
    const auto& [origin, count] = holders.places[i];
    const std::string place = module_place(origin.site);
    text += std::exchange(before, ", ") + std::string(origin.function) +
            (place.empty() ? "" : " at " + place) + " (" + std::to_string(count) + ")";
  }
  return text + "; hint: free what is no longer needed";
}

void report(const HandleHolders& holders, Launcher& launcher) {
  constexpr std::size_t kPlacesMax = 10;
  std::vector<Leak> leaks;
  for (std::size_t i = 0; i < std::min(kPlacesMax, holders.places.size()); ++i) {
    const auto& [origin, count] = holders.places[i];
    leaks.push_back({noun_of(holders.kind), "made", origin.function, "held when there were no more handles",
                     origin.site, count});
  }
  if (!leaks.empty()) launcher.report_leaks(leaks);
}

}  // namespace tasuki
