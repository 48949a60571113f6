// OversizedViews: see oversized_views.hpp.
#include "io/two_phase/oversized_views.hpp"

#include <algorithm>
#include <utility>

#include "datatype/layout.hpp"
#include "io/two_phase/start_message.hpp"
#include "job/launcher.hpp"

namespace tasuki {
namespace {

bool meet(const FileRange& one, const FileRange& other) {
  return std::max(one.begin, other.begin) < std::min(one.end, other.end);
}

/// Whether the aggregator has to be sent what this part has in the window.
bool is_to_be_told(const RankPart& part, const FileRange& window) {
  return !part.is_told && part.range.bytes() > 0 && meet(part.hull, window);
}

FileMap map_of(const std::vector<FileRun>& runs) {
  LayoutBuilder builder;
  const LayoutRef byte = layout_run(0, 1);
  for (const FileRun& run : runs) builder.add(run.offset - runs.front().offset, run.bytes, 1, byte);
  return {runs.front().offset, runs.back().offset + runs.back().bytes - runs.front().offset,
          builder.finish()};
}

}  // namespace

OversizedViews::OversizedViews(Course& course, const AccessPlan& plan, Comm& comm)
    : course_(course), plan_(plan), comm_(comm) {
  for (const RankPart& part : plan.parts) any_ = any_ || !part.is_told;
}

/// What other ranks say of their runs lay in shared memory: it must be possible. Data ascend, so there are no
/// more than the window has bytes.
void OversizedViews::check_sizes(const Window& other, const FileRange& window) const {
  const Sizes& sizes = other.sizes;
  if (sizes.runs >= 0 && sizes.runs <= sizes.bytes && sizes.bytes <= window.bytes() && sizes.position >= 0 &&
      (sizes.runs == 0) == (sizes.bytes == 0))
    return;
  comm_.process.launcher.end_damaged(comm_.endpoint(other.peer), "the number of runs of its view");
}

void OversizedViews::check_runs(const Window& other, const FileRange& window) const {
  Offset end = window.begin;
  Count bytes = 0;
  bool right = true;
  for (const FileRun& run : other.runs) {
    right = right && run.offset >= end && run.bytes > 0 && run.bytes <= window.end - run.offset;
    if (!right) break;
    end = run.offset + run.bytes;
    bytes += run.bytes;
  }
  if (right && bytes == other.sizes.bytes) return;
  comm_.process.launcher.end_damaged(comm_.endpoint(other.peer), "the runs of its view");
}

FileRange OversizedViews::own_window(Count cycle) const {
  return plan_.own_number < 0 ? FileRange{} : plan_.domains.window(plan_.own_number, cycle);
}

Task OversizedViews::wait(Window* window) {
  if (window->request == nullptr) co_return kSuccess;
  const Code code = co_await end_of(course_, std::exchange(window->request, nullptr), nullptr);
  if (code_ == kSuccess) code_ = code;
  co_return kSuccess;
}

void OversizedViews::find_runs(const FileRange& window, Window* own) const {
  const FileMap& map = *plan_.parts[static_cast<std::size_t>(comm_.rank)].map;
  const PositionRange range = plan_.range_in(comm_.rank, window);
  own->sizes = {0, range.bytes(), range.begin};
  if (range.bytes() == 0) return;
  const Layout& tile = *map.layout();
  const PlacedElements tiles{static_cast<std::uintptr_t>(map.displacement()), INT64_MAX / tile.size,
                             map.extent(), tile};
  const auto add = [](void* runs, std::byte* place, Count bytes) {
    auto& all = *static_cast<std::vector<FileRun>*>(runs);
    const auto offset = static_cast<Offset>(reinterpret_cast<std::uintptr_t>(place));
    if (!all.empty() && all.back().offset + all.back().bytes == offset) {
      all.back().bytes += bytes;
    } else {
      all.push_back({offset, bytes});
    }
  };
  visit_runs(tiles, range.begin, range.end, add, &own->runs);
  own->sizes.runs = static_cast<Count>(own->runs.size());
}

Task OversizedViews::announce(Count cycle) {
  if (!any_ || cycle >= plan_.domains.cycles()) co_return kSuccess;
  Cycle& now = of(cycle);
  for (Window& own : now.own) co_await wait(&own);  // of three cycles ago
  now.own.clear();
  now.others.clear();
  const FileRange window_here = own_window(cycle);
  for (std::size_t rank = 0; rank < plan_.parts.size(); ++rank) {
    const int peer = static_cast<int>(rank);
    if (peer != comm_.rank && is_to_be_told(plan_.parts[rank], window_here)) now.others.push_back({peer});
  }
  for (std::size_t number = 0; number < plan_.aggregators.size(); ++number) {
    const FileRange window = plan_.domains.window(static_cast<int>(number), cycle);
    const int peer = plan_.aggregators[number];
    if (peer == comm_.rank || !is_to_be_told(plan_.parts[static_cast<std::size_t>(comm_.rank)], window))
      continue;
    now.own.push_back({peer});
    find_runs(window, &now.own.back());
  }
  // From here on nothing moves in memory.
  for (Window& other : now.others)
    other.request = start_message(comm_, false, &other.sizes, sizeof other.sizes, other.peer,
                                  ExchangeMessage::kRunNumber, cycle);
  for (Window& own : now.own)
    own.request = start_message(comm_, true, &own.sizes, sizeof own.sizes, own.peer,
                                ExchangeMessage::kRunNumber, cycle);
  co_return kSuccess;
}

Task OversizedViews::start_runs(Count cycle, bool send, Window* window) {
  co_await wait(window);
  if (!send) check_sizes(*window, own_window(cycle));
  if (window->sizes.runs == 0) co_return kSuccess;
  window->runs.resize(static_cast<std::size_t>(window->sizes.runs));
  window->request = start_message(comm_, send, window->runs.data(),
                                  window->sizes.runs * static_cast<Count>(sizeof(FileRun)), window->peer,
                                  ExchangeMessage::kRuns, cycle);
  co_return kSuccess;
}

Task OversizedViews::open(Count cycle, const ExchangeParts& travelling, std::vector<ExchangePart>* parts) {
  if (!any_) co_return kSuccess;
  Cycle& now = of(cycle);
  for (Window& other : now.others) {
    co_await start_runs(cycle, false, &other);
    if (other.sizes.bytes == 0) continue;
    const bool travels = travelling.travels(other.peer, plan_.own_number);
    parts->push_back({other.peer, plan_.own_number, {0, other.sizes.bytes}, travels});
  }
  for (Window& own : now.own) co_await start_runs(cycle, true, &own);
  std::sort(parts->begin(), parts->end(),
            [](const ExchangePart& one, const ExchangePart& other) { return one.rank < other.rank; });
  co_return kSuccess;
}

Task OversizedViews::take(Count cycle) {
  if (!any_) co_return kSuccess;
  for (Window& other : of(cycle).others) {
    if (other.request == nullptr) continue;
    co_await wait(&other);
    check_runs(other, own_window(cycle));
    other.map = map_of(other.runs);
    other.runs = {};
  }
  co_return kSuccess;
}

const OversizedViews::Window& OversizedViews::find(Count cycle, int rank) const {
  const std::vector<Window>& others = cycles_[static_cast<std::size_t>(cycle % kCycles)].others;
  return *std::find_if(others.begin(), others.end(), [rank](const Window& one) { return one.peer == rank; });
}

Task OversizedViews::finish() {
  for (Cycle& cycle : cycles_) {
    for (Window& own : cycle.own) co_await wait(&own);
  }
  co_return code_;
}

}  // namespace tasuki
