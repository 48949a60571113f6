// HandleHolders: what fills the table of handles, for the error when there are no more.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "binding/handles/handle_origins.hpp"
#include "binding/handles/handle_table.hpp"

namespace tasuki {

class Launcher;

struct HandleHolders {
  struct Place {
    Origin origin;
    std::uint32_t count = 0;
  };
  std::uint32_t total = 0;    // handles in use
  Kind kind{};                // of most of them
  std::uint32_t count = 0;    // of that kind
  std::vector<Place> places;  // that they are from, the one of most first, known ones only
};

/// Counts the handles in use.
inline HandleHolders find_holders(const HandleTable& table, const Origins& origins) {
  HandleHolders holders;
  std::array<std::uint32_t, 16> counts{};  // by Kind
  table.for_each([&](const Object* object, std::uint32_t, std::uint64_t) {
    ++holders.total;
    ++counts[static_cast<std::size_t>(object->kind)];
  });
  const auto most = std::max_element(counts.begin(), counts.end());
  holders.kind = static_cast<Kind>(most - counts.begin());
  holders.count = *most;
  std::map<std::pair<std::uint64_t, const char*>, std::uint32_t> places;
  table.for_each([&](const Object* object, std::uint32_t value, std::uint64_t) {
    const Origin origin = origins.find(value, table);
    if (object->kind == holders.kind && origin.function != nullptr) ++places[{origin.site, origin.function}];
  });
  for (const auto& [call, count] : places) holders.places.push_back({{call.second, call.first}, count});
  std::sort(holders.places.begin(), holders.places.end(),
            [](const auto& one, const auto& other) { return one.count > other.count; });
  return holders;
}

/// "all 1000 handles are in use, of which 998 are datatypes, most of them from MPI_Type_contiguous at
/// solver+0x12af (990), ...".
std::string describe(const HandleHolders& holders, const HandleTable& table);

/// The same for the launcher, which knows the source lines.
void report(const HandleHolders& holders, Launcher& launcher);

}  // namespace tasuki
