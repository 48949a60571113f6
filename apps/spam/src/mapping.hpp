// Which rank owns which column of cells. A mapping is a function of the number of columns, the number of
// ranks and what each column costs; the simulation works with any. A new one takes one file: define the
// function and a MappingKind object (mapping_flat.cpp is the shortest example).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace spam {

struct MappingRequest {
  int ranks = 1;
  int parameter = 0;             // the k of "cyclic(k)"
  std::span<const double> cost;  // of each column, > 0: what its force loops took, as counted (force.hpp)
};

using Owners = std::vector<int>;  // the rank that owns each column

/// REQUIRES: at least as many columns as ranks. Every rank gets a column. Pure: all ranks call it with the
/// same request and get the same answer.
using Mapping = Owners (*)(const MappingRequest&);

/// Registers a mapping at program start, under a name. `parameter`: what "name" without "(k)" means; 0: it
/// takes none.
class MappingKind {
 public:
  MappingKind(const char* name, Mapping mapping, int parameter, const char* about);
};

/// A mapping as users write it: "flat", "cyclic(4)". Throws Error with the names that there are.
struct ChosenMapping {
  std::string name;
  Mapping mapping = nullptr;
  int parameter = 0;

  /// Throws Error if there are fewer columns than ranks, or the mapping forgot a column or a rank.
  Owners operator()(int ranks, std::span<const double> cost) const;
};
ChosenMapping parse_mapping(const std::string& text);

/// One line for each, for --help.
std::string mappings_help();

}  // namespace spam
