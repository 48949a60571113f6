// Comparing settings among ranks.
#include "environment/agreed_settings.hpp"

#include <functional>
#include <sstream>

#include "base/variables/settings.hpp"

namespace tasuki {
namespace {

constexpr const char* kKey = "settings";

/// The line of `text` that sets what `line` sets, or "" where none does.
std::string line_like(const std::string& text, const std::string& line) {
  const std::string name = line.substr(0, line.find('=') + 1);
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) {
    if (one.compare(0, name.size(), name) == 0) return one;
  }
  return {};
}

/// The first line of `text` that `other` has not so.
std::string first_unlike(const std::string& text, const std::string& other) {
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) {
    if (line_like(other, one) != one) return one;
  }
  return {};
}

std::string value_in(const std::string& line) {
  return line.empty() ? "not set" : line.substr(line.find('=') + 1);
}

}  // namespace

std::string agreed_settings(const Config& config) {
  const Config untouched;
  std::string text;
  for (const Setting& setting : settings()) {
    const std::int64_t value = config.*setting.value;
    if (setting.scope != Scope::kAllEqual || value == untouched.*setting.value) continue;
    text += std::string(setting.name) + "=" + setting_text(setting, value) + "\n";
  }
  if (text.size() <= kValueBytesMax) return text;
  return "#" + std::to_string(std::hash<std::string>{}(text)) + "\n";
}

std::string difference_of_settings(int rank, const std::string& its, const std::string& of_first) {
  if (its == of_first) return {};
  const std::string where = "rank " + std::to_string(rank);
  if (its[0] == '#' || of_first[0] == '#')
    return "the settings of rank 0 and of " + where + " that must be the same for all ranks differ";
  std::string mine = first_unlike(its, of_first);
  const std::string name = mine.empty() ? first_unlike(of_first, its) : mine;
  mine = line_like(its, name);
  return name.substr(0, name.find('=')) + " is " + value_in(line_like(of_first, name)) + " at rank 0 and " +
         value_in(mine) + " at " + where + "; it must be the same for all ranks";
}

bool put_settings(Directory& directory, const Config& config, std::string* error) {
  return directory.put(kKey, agreed_settings(config), error);
}

bool settings_agree(const Directory& directory, const Config& config, std::string* error) {
  std::string of_first;
  if (!directory.get(0, kKey, &of_first)) {
    *error = "rank 0 has not published its settings";
    return false;
  }
  *error = difference_of_settings(directory.rank(), agreed_settings(config), of_first);
  return error->empty();
}

}  // namespace tasuki
