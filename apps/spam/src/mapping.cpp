// The mappings that there are, by name; what users write, and what a mapping answers, is checked here.
#include "mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "error.hpp"

namespace spam {
namespace {

struct Kind {
  std::string name;
  Mapping mapping;
  int parameter;
  std::string about;

  std::string shown() const { return parameter > 0 ? name + "(k)" : name; }
};

/// Filled before main() by the MappingKind objects, in an order that is nobody's choice: kept by name.
std::vector<Kind>& kinds() {
  static std::vector<Kind> all;
  return all;
}

std::string names_of_kinds() {
  std::string names;
  for (const Kind& kind : kinds()) names += (names.empty() ? "" : ", ") + kind.shown();
  return names;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(fmt::format("mapping \"{}\": {}; there are {}", text, why, names_of_kinds()));
}

/// The k of "(k)".
int parse_parameter(const std::string& text, std::size_t open) {
  int parameter = 0;
  const char* begin = text.data() + open + 1;
  const char* end = text.data() + text.size() - 1;
  const auto [stopped, error] = std::from_chars(begin, std::max(begin, end), parameter);
  if (*end != ')' || error != std::errc() || stopped != end || parameter < 1)
    refuse(text, "a positive number in brackets was expected at the end");
  return parameter;
}

}  // namespace

MappingKind::MappingKind(const char* name, Mapping mapping, int parameter, const char* about) {
  std::vector<Kind>& all = kinds();
  const auto behind =
      std::find_if(all.begin(), all.end(), [&](const Kind& kind) { return kind.name > name; });
  all.insert(behind, {name, mapping, parameter, about});
}

ChosenMapping parse_mapping(const std::string& text) {
  const std::size_t open = text.find('(');
  const std::string name = text.substr(0, open);
  const auto kind =
      std::find_if(kinds().begin(), kinds().end(), [&](const Kind& k) { return k.name == name; });
  if (kind == kinds().end()) refuse(text, "there is no such mapping");
  if (open == std::string::npos) return {text, kind->mapping, kind->parameter};
  if (kind->parameter == 0) refuse(text, "it takes no number");
  return {text, kind->mapping, parse_parameter(text, open)};
}

Owners ChosenMapping::operator()(int ranks, std::span<const double> cost) const {
  if (cost.size() < static_cast<std::size_t>(ranks))
    throw Error(
        fmt::format("{} ranks, but only {} columns of cells (space.width / space.cell_size): fewer ranks, a "
                    "larger space.width or a smaller space.cell_size is needed",
                    ranks, cost.size()));
  Owners owners = mapping({ranks, parameter, cost});
  if (owners.size() != cost.size())
    throw Error(fmt::format("mapping \"{}\" dealt out {} of {} columns", name, owners.size(), cost.size()));
  std::vector<int> columns_of(static_cast<std::size_t>(ranks));
  for (int owner : owners) {
    if (owner < 0 || owner >= ranks)
      throw Error(fmt::format("mapping \"{}\" gave a column to rank {} of {}", name, owner, ranks));
    ++columns_of[static_cast<std::size_t>(owner)];
  }
  const auto without = std::find(columns_of.begin(), columns_of.end(), 0);
  if (without != columns_of.end())
    throw Error(fmt::format("mapping \"{}\" gave no column to rank {} of {}", name,
                            without - columns_of.begin(), ranks));
  return owners;
}

std::string mappings_help() {
  std::string help;
  for (const Kind& kind : kinds()) help += fmt::format("{}: {}\n", kind.shown(), kind.about);
  return help;
}

}  // namespace spam
