// Collective access: see collective_access.hpp.
#include "io/two_phase/collective_access.hpp"

#include <algorithm>
#include <vector>

#include "base/system/clock.hpp"
#include "io/access/read_modify_write.hpp"
#include "io/file/agreement.hpp"
#include "io/file/explain_file.hpp"
#include "io/file/phase_times.hpp"
#include "io/file/view_table.hpp"
#include "io/two_phase/access_plan.hpp"
#include "io/two_phase/cost_model.hpp"
#include "io/two_phase/exchange.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "memory/symmetric_heap.hpp"
#include "node/node.hpp"
#include "placement/node_map.hpp"

namespace tasuki {
namespace {

// Of what travels in messages, a window is to be so small that there are several, which overlap, but to have
// so much for each rank that a message pays.
constexpr Count kTravelWindowBytes = 2 << 20;
constexpr Count kTravelPartBytes = 64 << 10;

/// What a rank sends the others about its part.
struct Facts {
  Count position = 0;         // of its view's data; bytes
  Count bytes = 0;            //
  SymmetricAddress data = 0;  // where its packed bytes are or will be; 0: private
  FileRange hull{};           // of the file: from the first byte to the last
  Count runs = 0;             // about
  std::int32_t processors = 0;
  std::uint8_t ordered = 1;         // its places ascend
  std::uint8_t staged = 0;          // `data` is no memory of the user's
  std::uint8_t writes_beside = 0;   // its file driver writes well while others do
  std::uint8_t can_fill_holes = 0;  // read and write back what lies between its windows' data
};

/// Symmetric memory for data that the aggregators cannot address where it is.
class Staging {
 public:
  explicit Staging(SymmetricHeap& memory) : memory_(memory) {}
  ~Staging() {
    if (at_ != nullptr) memory_.deallocate(at_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void allocate(Count bytes) {
    at_ = static_cast<std::byte*>(memory_.allocate_symmetric(static_cast<std::size_t>(bytes), 64));
  }
  std::byte* at() const { return at_; }

 private:
  SymmetricHeap& memory_;
  std::byte* at_ = nullptr;
};

HintSwitch collective_hint(const File& file, bool write) {
  return write ? file.hints.collective_write : file.hints.collective_read;
}

/// Whether the ranks have to meet at all: else each moves its own without hearing of the others.
bool may_be_two_phase(const File& file, bool write) {
  return file.comm->size() > 1 && collective_hint(file, write) != HintSwitch::kDisable &&
         file.view.representation->form == DataRepresentation::Form::kNative;
}

/// A collective access, from what the ranks send each other to how it went.
class Meeting {
 public:
  Meeting(Course& course, const Access& access, const ViewTable& views)
      : course_(course),
        access_(access),
        file_(access.file),
        comm_(*file_.comm),
        views_(views),
        staging_(*file_.process.symmetric_heap),
        facts_(static_cast<std::size_t>(comm_.size())) {}

  Task tell(bool takes_part);
  CollectiveChoice choose();
  void plan(const CollectiveChoice& choice);
  /// In two phases; collective.
  Task move(const PhasePlace& place, Status* status);

  bool all_told() const { return all_told_; }
  int own_number() const { return plan_.own_number; }
  Count cycles() const { return plan_.domains.cycles(); }

 private:
  void describe(Facts* mine);
  void check(int rank) const;
  AccessShape shape() const;
  Count window_bytes() const;
  void reach_data() const;
  Task meet();
  Task settle(const Outcome& outcome, Code code, Status* status);

  Course& course_;
  const Access& access_;
  File& file_;
  Comm& comm_;
  const ViewTable& views_;
  Staging staging_;
  std::vector<Facts> facts_;  // by rank
  bool all_offered_ = false;
  bool all_told_ = true;
  AccessPlan plan_;
};

/// Where this rank's part lies.
void Meeting::describe(Facts* mine) {
  const FileMap* map = views_.map_of(comm_.rank);
  if (map == nullptr) map = &map_of_view(file_);
  mine->position = access_.offset * file_.view.etype_in_file->size;
  mine->bytes = access_.file_bytes;
  mine->ordered = map->is_ordered(mine->position + mine->bytes) ? 1 : 0;
  if (mine->ordered == 0) return;
  mine->hull = {map->offset_of(mine->position), map->offset_of(mine->position + mine->bytes - 1) + 1};
  mine->runs = mine->hull.bytes() == mine->bytes ? 1 : 1 + (mine->bytes - 1) / map->run_bytes();
}

Task Meeting::tell(bool takes_part) {
  SymmetricHeap& memory = *file_.process.symmetric_heap;
  Facts mine;
  mine.processors = std::max(1, static_cast<int>(file_.process.node.processors_per_node()));
  mine.can_fill_holes = can_fill_holes(file_) ? 1 : 0;
  const bool shared = file_.hints.exchange != ExchangeBy::kMessages && file_.shares_memory;
  if (takes_part && access_.file_bytes > 0) describe(&mine);
  mine.writes_beside = access_.write && file_.driver->writes_beside_others(mine.hull.end) ? 1 : 0;
  if (shared && mine.bytes > 0) {
    const auto bytes = static_cast<std::size_t>(mine.bytes);
    const std::byte* dense = dense_data(access_);
    if (dense != nullptr) mine.data = memory.locate(dense, bytes).address;
    if (mine.data == 0 && mine.bytes <= file_.hints.collective_buffer_bytes) {
      staging_.allocate(mine.bytes);
      if (staging_.at() != nullptr) mine.data = memory.locate(staging_.at(), bytes).address;
      mine.staged = mine.data != 0 ? 1 : 0;
    }
  }
  if (const Code code = co_await gather_bytes(course_, comm_, &mine, facts_.data(), sizeof mine))
    co_return code;
  for (int rank = 0; rank < comm_.size(); ++rank) check(rank);
  co_return kSuccess;
}

/// What others have sent lay in shared memory: it must be possible.
void Meeting::check(int rank) const {
  const Facts& facts = facts_[static_cast<std::size_t>(rank)];
  Count end = 0;
  if (facts.position < 0 || facts.bytes < 0 || __builtin_add_overflow(facts.position, facts.bytes, &end) ||
      facts.ordered > 1 || facts.staged > 1 || facts.runs < 0 || facts.hull.begin < 0 ||
      facts.hull.end < facts.hull.begin)
    file_.process.launcher.end_damaged(comm_.endpoint(rank), "its part of a collective access to a file");
}

AccessShape Meeting::shape() const {
  AccessShape shape;
  shape.write = access_.write;
  shape.ranks = 0;
  shape.hull = {INT64_MAX, 0};
  shape.nodes = node_map(comm_).nodes();
  shape.processors = INT32_MAX;
  shape.offered = all_offered_;
  std::vector<FileRange> hulls;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const Facts& facts = facts_[static_cast<std::size_t>(rank)];
    shape.processors = std::min(shape.processors, facts.processors);
    shape.fills_holes = shape.fills_holes && facts.can_fill_holes != 0;
    shape.side_by_side = shape.side_by_side && facts.writes_beside != 0;
    if (facts.bytes == 0) continue;
    ++shape.ranks;
    shape.bytes += facts.bytes;
    shape.runs += facts.runs;
    if (views_.map_of(rank) == nullptr) shape.oversized_runs += facts.runs;
    shape.hull = {std::min(shape.hull.begin, facts.hull.begin), std::max(shape.hull.end, facts.hull.end)};
    hulls.push_back(facts.hull);
  }
  if (file_.striping.targets > 0) shape.rank_bytes_max = file_.hints.lustre_collective_bytes_max;
  std::sort(hulls.begin(), hulls.end(),
            [](const FileRange& one, const FileRange& other) { return one.begin < other.begin; });
  shape.apart = std::adjacent_find(hulls.begin(), hulls.end(), [](const auto& one, const auto& next) {
                  return one.end > next.begin;
                }) == hulls.end();
  return shape;
}

CollectiveChoice Meeting::choose() {
  const NodeMap& nodes = node_map(comm_);
  CollectiveChoice choice;
  all_offered_ = nodes.nodes() == 1;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const Facts& facts = facts_[static_cast<std::size_t>(rank)];
    if (facts.bytes == 0) continue;
    if (facts.ordered == 0) {
      choice.why = "the view of a rank does not ascend";
      return choice;
    }
    all_offered_ = all_offered_ && facts.data != 0;
    all_told_ = all_told_ && views_.map_of(rank) != nullptr;
  }
  const AggregatorRequest& request = file_.hints.aggregators;
  int per_node = request.per_node;
  if (request.number > 0) per_node = (request.number - 1) / nodes.nodes() + 1;
  return choose_collective(shape(), collective_hint(file_, access_.write), per_node);
}

/// At most, of the windows that an aggregator goes through.
Count Meeting::window_bytes() const {
  const IoHints& hints = file_.hints;
  Count bytes = hints.collective_buffer_bytes;
  if (!all_offered_ && !hints.collective_buffer_given)
    bytes = std::min(bytes, std::max(kTravelWindowBytes, kTravelPartBytes * comm_.size()));
  // The descriptions of a window may be as large as its data, or larger.
  return all_told_ ? bytes : std::max<Count>(bytes / 8, 1);
}

void Meeting::plan(const CollectiveChoice& choice) {
  const NodeMap& nodes = node_map(comm_);
  plan_.write = access_.write;
  plan_.by_runs = choice.by_runs;
  FileRange hull{INT64_MAX, 0};
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const Facts& facts = facts_[static_cast<std::size_t>(rank)];
    RankPart part;
    if (facts.bytes > 0) {
      part.map = views_.map_of(rank);
      part.is_told = part.map != nullptr;
      if (!part.is_told && rank == comm_.rank) part.map = &map_of_view(file_);
      part.hull = facts.hull;
      part.range = {facts.position, facts.position + facts.bytes};
      part.data = facts.data;
      hull = {std::min(hull.begin, facts.hull.begin), std::max(hull.end, facts.hull.end)};
    }
    plan_.parts.push_back(part);
  }
  const Striping& striping = file_.striping;
  plan_.aggregators =
      choose_aggregators(nodes, request_aggregators(file_.hints, choice, striping, nodes), nullptr);
  file_.aggregators = plan_.aggregators;
  const auto own = std::find(plan_.aggregators.begin(), plan_.aggregators.end(), comm_.rank);
  if (own != plan_.aggregators.end()) plan_.own_number = static_cast<int>(own - plan_.aggregators.begin());
  const int number = static_cast<int>(plan_.aggregators.size());
  IoHints hints = file_.hints;
  hints.collective_buffer_bytes = window_bytes();
  plan_.domains = divide_file(hull, number, hints, striping);
}

/// Maps what the ranks of this node offer.
void Meeting::reach_data() const {
  const NodeMap& nodes = node_map(comm_);
  SymmetricHeap& memory = *file_.process.symmetric_heap;
  for (const int rank : nodes.own_ranks()) {
    const Facts& facts = facts_[static_cast<std::size_t>(rank)];
    const auto bytes = static_cast<std::size_t>(facts.bytes);
    if (facts.data != 0 && !memory.locate(comm_.endpoint(rank), facts.data, bytes).is_shared())
      file_.process.launcher.end_damaged(comm_.endpoint(rank), "where its part of a file's data is");
  }
}

Task Meeting::move(const PhasePlace& place, Status* status) {
  const auto self = static_cast<std::size_t>(comm_.rank);
  PackCursor cursor(*access_.datatype, access_.count);
  const bool any_staged =
      std::any_of(facts_.begin(), facts_.end(), [](const Facts& facts) { return facts.staged != 0; });
  if (access_.write && any_staged) {
    if (facts_[self].staged != 0)
      cursor.pack(access_.buffer, staging_.at(), static_cast<std::size_t>(facts_[self].bytes));
    if (const Code code = co_await meet()) co_return code;
  }
  if (plan_.own_number >= 0) reach_data();
  Outcome outcome;
  Code code = kSuccess;
  if (all_offered_ && all_told_) {
    code = co_await move_offered(course_, file_, plan_, place, &outcome);
  } else {
    code = co_await exchange(course_, access_, plan_, place, &outcome);
  }
  if (plan_.write && outcome.bytes > 0) file_.written = true;
  if (plan_.write) file_.written_together = true;
  if (code == kSuccess && outcome.error != 0) {
    const std::string doing = std::string(plan_.write ? "write" : "read") + " at offset " +
                              std::to_string(outcome.reached) + " of the file, for all ranks (" +
                              std::to_string(outcome.bytes) + " bytes moved) of";
    code = fail_system(file_.process, outcome.error, doing.c_str(), file_.name);
  }
  code = co_await settle(outcome, code, status);
  if (!access_.write && facts_[self].staged != 0)
    cursor.unpack(access_.buffer, staging_.at(), static_cast<std::size_t>(status->bytes));
  co_return code;
}

/// Until all ranks have come here. (As a part of move() it had clang 14 to 16 take the end of that one for no
/// suspension: its frame was freed while its caller still looked at it.)
Task Meeting::meet() {
  std::uint8_t ready = 1;
  std::vector<std::uint8_t> all_ready(facts_.size());
  co_return co_await gather_bytes(course_, comm_, &ready, all_ready.data(), 1);
}

/// All ranks agree on how it went: on the first error, and on how far the file was read.
Task Meeting::settle(const Outcome& outcome, Code code, Status* status) {
  std::vector<Ballot> ballots;
  code = co_await agree(course_, comm_, code, outcome.reached, &ballots);
  Offset reached = INT64_MAX;
  for (const Ballot& ballot : ballots) reached = std::min(reached, ballot.value);
  const RankPart& own = plan_.parts[static_cast<std::size_t>(comm_.rank)];
  status->bytes = own.range.bytes();
  if (own.range.bytes() > 0 && reached != INT64_MAX)
    status->bytes = own.map->range_in(own.range, 0, std::max<Offset>(reached, 0)).bytes();
  co_return code;
}

/// Each rank's own data, by itself.
Task move_own(Course& course, const Access& access, const PhasePlace& place, Code code, Status* status) {
  if (code != kSuccess) co_return code;
  const std::int64_t begin_ns = clock_ns();
  if (course.waits()) {
    code = transfer(access, status);
  } else {
    code = co_await transfer(course, access, status);
  }
  note_phase(access.file.process, place, access.write ? Phase::kWrite : Phase::kRead, begin_ns,
             status->bytes);
  co_return code;
}

/// Whether each rank's own access is the choice, whatever the ranks bring. Alike at all ranks.
bool is_own_best(const File& file, const ViewTable& views, bool write) {
  return views.are_all_dense() && file.striping.targets == 0 && node_map(*file.comm).nodes() == 1 &&
         is_own_always_best(file.comm->size(), collective_hint(file, write));
}

void explain_way(const Access& access, const CollectiveOutcome& outcome, const char* why,
                 bool all_told = true) {
  const bool window_by_window = outcome.two_phase && !all_told;
  explain_file(access.file, "%s together: %s: %s%s", access.write ? "writes" : "reads",
               outcome.two_phase ? "two phases" : "each rank its own", why,
               window_by_window ? "; views too irregular to be sent at once are sent window by window" : "");
}

}  // namespace

Task place_in_order(Course& course, Access* access, Code code) {
  File& file = access->file;
  Comm& comm = *file.comm;
  const Offset mine = code == kSuccess ? access->etypes() : 0;
  std::vector<Offset> all(static_cast<std::size_t>(comm.size()));
  if (const Code failed = co_await gather_bytes(course, comm, &mine, all.data(), sizeof mine))
    co_return failed;
  Offset before = 0;
  Offset total = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank) before = total;
    if (all[static_cast<std::size_t>(rank)] < 0 ||
        __builtin_add_overflow(total, all[static_cast<std::size_t>(rank)], &total))
      file.process.launcher.end_damaged(comm.endpoint(rank), "how much it moves in the order of ranks");
  }
  Offset begin = 0;
  if (comm.rank == 0) begin = file.shared->advance(total);
  if (const Code failed = co_await spread_bytes(course, comm, &begin, sizeof begin, 0)) co_return failed;
  access->offset = begin + before;
  co_return code;
}

Task transfer_collectively(Course& course, const Access& access, Code code, Status* status) {
  File& file = access.file;
  const std::int64_t begin_ns = clock_ns();
  const PhasePlace place = begin_collective(file);
  CollectiveOutcome outcome{.bytes = code == kSuccess ? access.file_bytes : 0};
  if (!may_be_two_phase(file, access.write)) {
    code = co_await move_own(course, access, place, code, status);
    end_collective(file, place, course.function(), begin_ns, outcome);
    co_return code;
  }
  const ViewTable* views = file.views.get();
  if (views == nullptr) {
    if (const Code failed = co_await tell_views(course, file, &views)) co_return failed;
  }
  if (is_own_best(file, *views, access.write)) {
    code = co_await move_own(course, access, place, code, status);
    explain_way(access, outcome, "each rank has one run, and the ranks are few");
    end_collective(file, place, course.function(), begin_ns, outcome);
    co_return code;
  }
  Meeting meeting(course, access, *views);
  if (const Code failed = co_await meeting.tell(code == kSuccess)) co_return failed;
  const CollectiveChoice choice = meeting.choose();
  if (!choice.two_phase) {
    code = co_await move_own(course, access, place, code, status);
  } else {
    meeting.plan(choice);
    outcome.two_phase = true;
    outcome.aggregator = meeting.own_number();
    outcome.cycles = meeting.cycles();
    Status done{};
    done.source = file.comm->rank;
    done.tag = 0;
    const Code moved = co_await meeting.move(place, &done);
    if (code == kSuccess) {
      code = moved;
      *status = done;
    }
  }
  explain_way(access, outcome, choice.why, meeting.all_told());
  end_collective(file, place, course.function(), begin_ns, outcome);
  co_return code;
}

}  // namespace tasuki
