// Borders follow from the owners of the columns alone, so neighbours need no message to agree about them.
#include "borders.hpp"

#include <algorithm>
#include <map>

namespace spam {
namespace {

void sort_once(std::vector<int>* columns) {
  std::sort(columns->begin(), columns->end());
  columns->erase(std::unique(columns->begin(), columns->end()), columns->end());
}

}  // namespace

std::vector<Border> find_borders(const Owners& owners, int rank, bool periodic_x) {
  const int columns = static_cast<int>(owners.size());
  std::map<int, Border> by_rank;
  for (int column = 0; column < columns; ++column) {
    if (owners[static_cast<std::size_t>(column)] != rank) continue;
    for (int next : {column - 1, column + 1}) {
      if (periodic_x) next = (next + columns) % columns;
      if (next < 0 || next >= columns) continue;
      const int owner = owners[static_cast<std::size_t>(next)];
      if (owner == rank) continue;
      Border& border = by_rank[owner];
      border.rank = owner;
      border.shown.push_back(column);
      border.seen.push_back(next);
    }
  }
  std::vector<Border> borders;
  for (auto& [owner, border] : by_rank) {
    sort_once(&border.shown);
    sort_once(&border.seen);
    borders.push_back(std::move(border));
  }
  return borders;
}

void GhostTable::reset(const Owners& owners, const std::vector<Border>& borders) {
  number_of_.assign(owners.size(), -1);
  int ghosts = 0;
  for (const Border& border : borders)
    for (const int column : border.seen) number_of_[static_cast<std::size_t>(column)] = ghosts++;
  for (auto& views : views_) views.assign(static_cast<std::size_t>(ghosts), ColumnView{});
}

}  // namespace spam
