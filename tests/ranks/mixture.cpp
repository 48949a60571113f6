// Random collectives, mixed, against a serial oracle: blocking, nonblocking and persistent ones, any number
// of them under way, on communicators that come and go (also while something is under way on them), of any
// size around the places where ways change, from all kinds of memory, by any algorithm.
//
//   mixture SEED SECONDS THREADS
//
// All ranks draw the same steps from the seed; when a rank completes what is under way, and how it dawdles,
// it draws by itself. With several threads each has communicators of its own, and nothing is forced, since
// the settings are the process's. What goes wrong is told with the seed and the step; the same seed repeats
// it.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>

#include "oracle.hpp"
#include "setting.hpp"

namespace {

using oracle::Buffer;
using oracle::input;
using oracle::Kind;
using oracle::mixed;
using oracle::reduced;

/// Numbers out of a seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t word() { return mixed(seed_, ++count_); }
  int below(int limit) { return static_cast<int>(word() % static_cast<std::uint64_t>(limit)); }
  bool one_in(int times) { return below(times) == 0; }

 private:
  std::uint64_t seed_, count_ = 0;
};

enum Operation {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kOperations
};
constexpr const char* kNames[kOperations] = {
    "barrier",        "bcast",    "gather",    "gatherv",   "scatter", "scatterv",  "allgather",
    "allgatherv",     "alltoall", "alltoallv", "alltoallw", "reduce",  "allreduce", "reduce_scatter_block",
    "reduce_scatter", "scan",     "exscan"};
enum Form { kBlocking, kNonblocking, kPersistent };
constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent"};

bool has_blocks(Operation operation) {
  return operation >= kGather && operation <= kAlltoallw;
}
bool is_rooted(Operation operation) {
  return (operation >= kBcast && operation <= kScatterv) || operation == kReduce;
}
bool is_variable(Operation operation) {
  return operation == kGatherv || operation == kScatterv || operation == kAllgatherv ||
         operation == kAlltoallv || operation == kAlltoallw || operation == kReduceScatter;
}

struct Team {
  MPI_Comm comm = MPI_COMM_NULL;  // of the ranks that are not in it
  int rank = -1, size = 0;
};

/// One collective: its arguments, its buffers, and what they must hold.
class Work {
 public:
  Work(const Team& team, Operation operation, Form form, const Kind& kind, int count, int root, bool in_place,
       std::uint64_t seed, std::string text)
      : text(std::move(text)),
        team_(team),
        operation_(operation),
        form_(form),
        kind_(kind),
        count_(count),
        root_(root),
        in_place_(in_place && (!is_rooted(operation) || team.rank == root) && operation != kBcast),
        seed_(seed) {
    prepare();
  }

  std::string text;
  MPI_Request request = MPI_REQUEST_NULL;
  Form form() const { return form_; }
  /// Calls it; a persistent one is made only.
  void call();
  void restart() {
    if (out_) out_->restore();
    if (in_) in_->restore();
    MPI_Start(&request);
  }
  /// Once it is complete: whether its buffers hold what they must; if not, tells it.
  bool is_right();

 private:
  void prepare();
  void prepare_blocks();
  void prepare_vectors();
  void call_blocks();
  void call_reduction();
  template <class Blocking, class Nonblocking, class Init, class... Arguments>
  void perform(Blocking blocking, Nonblocking nonblocking, Init init, Arguments... arguments);

  oracle::Memory memory(int which) const {
    return static_cast<oracle::Memory>(
        mixed(seed_, 7, static_cast<std::uint64_t>(team_.rank), static_cast<std::uint64_t>(which)) %
        oracle::kMemories);
  }
  /// Elements of the block from one rank for another one; of the forms where it is the same for all, for 0.
  int count_of(int from, int to) const {
    if (!is_variable(operation_)) return count_;
    const bool to_each = operation_ == kAlltoallv || operation_ == kAlltoallw;
    if (!to_each) to = 0;
    if (to_each && in_place_ && from > to) std::swap(from, to);
    const auto word = mixed(seed_, 11, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
    if (word % 4 == 0) return 0;
    return static_cast<int>(word / 4 % static_cast<std::uint64_t>(count_ + 1));
  }
  int place_of(int rank) const {
    return is_variable(operation_) ? (team_.size - 1 - rank) * (count_ + 1) : rank * count_;
  }
  long room() const { return static_cast<long>(team_.size) * (count_ + 1); }
  bool is_root() const { return team_.rank == root_; }
  const void* send() { return in_place_ ? MPI_IN_PLACE : static_cast<const void*>(out_->data()); }

  Team team_;
  Operation operation_;
  Form form_;
  const Kind& kind_;
  int count_, root_;
  bool in_place_;
  std::uint64_t seed_;
  std::unique_ptr<Buffer> out_, in_;
  std::vector<int> out_counts_, in_counts_, places_;
  std::vector<MPI_Datatype> types_;
};

void Work::prepare() {
  if (operation_ == kBarrier) return;
  if (operation_ == kBcast) {
    in_ = std::make_unique<Buffer>(kind_, count_, memory(0));
    for (int e = 0; e < count_; ++e) {
      if (is_root()) in_->set(e, input(seed_, root_, e));
      in_->expect(e, input(seed_, root_, e));
    }
  } else if (has_blocks(operation_)) {
    prepare_blocks();
  } else {
    prepare_vectors();
  }
}

void Work::prepare_blocks() {
  const int me = team_.rank;
  const bool to_each = operation_ >= kAlltoall || operation_ == kScatter || operation_ == kScatterv;
  const bool from_each = operation_ != kScatter && operation_ != kScatterv;
  const bool sends = from_each || is_root();
  const bool receives = !is_rooted(operation_) || !from_each || is_root();
  out_ = std::make_unique<Buffer>(kind_, room(), memory(0));
  in_ = std::make_unique<Buffer>(kind_, room(), memory(1));
  // What `from` has for `to` begins at this element of its buffer, which also names it.
  const auto first_of = [&](int to) { return to_each ? place_of(to) : 0; };
  const auto elements = [&](int from, int to) {
    return operation_ == kScatter || operation_ == kScatterv ? count_of(to, 0) : count_of(from, to);
  };
  for (int rank = 0; rank < team_.size; ++rank) {
    out_counts_.push_back(elements(me, rank));
    in_counts_.push_back(elements(rank, me));
    places_.push_back(place_of(rank));
    for (int e = 0; sends && (to_each || rank == 0) && e < elements(me, rank); ++e)
      out_->set(first_of(rank) + e, input(seed_, me, first_of(rank) + e));
    const int source = from_each ? rank : root_;
    if (!receives || (!from_each && rank != 0)) continue;
    const long to = from_each ? place_of(rank) : 0;
    if (in_place_ && !from_each) continue;  // the root's own block stays where it is
    for (int e = 0; e < elements(source, me); ++e) {
      // In place a rank's receive buffer is what it sends: from there, for an all-to-all, what goes to
      // `rank`.
      if (in_place_ && operation_ >= kAlltoall) in_->set(to + e, input(seed_, me, place_of(rank) + e));
      if (in_place_ && operation_ < kAlltoall && rank == me) in_->set(to + e, input(seed_, me, e));
      in_->expect(to + e, input(seed_, source, first_of(me) + e));
    }
  }
}

void Work::prepare_vectors() {
  const int me = team_.rank, last = team_.size - 1;
  const bool scatters = operation_ == kReduceScatter || operation_ == kReduceScatterBlock;
  long elements = scatters ? 0 : count_, first = 0;
  for (int rank = 0; scatters && rank < team_.size; ++rank) {
    if (rank == me) first = elements;
    in_counts_.push_back(count_of(rank, 0));
    elements += in_counts_.back();
  }
  out_ = std::make_unique<Buffer>(kind_, elements, memory(0));
  in_ = std::make_unique<Buffer>(kind_, elements, memory(1));
  for (long e = 0; e < elements; ++e) (in_place_ ? in_ : out_)->set(e, input(seed_, me, e));
  if (operation_ == kReduce && !is_root()) return;
  const long results = scatters ? in_counts_[static_cast<std::size_t>(me)] : elements;
  const int until = operation_ == kScan ? me : operation_ == kExscan ? me - 1 : last;
  for (long e = 0; until >= 0 && e < results; ++e) in_->expect(e, reduced(kind_, seed_, until, first + e));
}

template <class Blocking, class Nonblocking, class Init, class... Arguments>
void Work::perform(Blocking blocking, Nonblocking nonblocking, Init init, Arguments... arguments) {
  if (form_ == kBlocking) blocking(arguments..., team_.comm);
  if (form_ == kNonblocking) nonblocking(arguments..., team_.comm, &request);
  if (form_ == kPersistent) init(arguments..., team_.comm, MPI_INFO_NULL, &request);
}

void Work::call() {
  if (operation_ == kBarrier) {
    perform(MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init);
  } else if (operation_ == kBcast) {
    perform(MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, static_cast<void*>(in_->data()), count_, kind_.type,
            root_);
  } else if (has_blocks(operation_)) {
    call_blocks();
  } else {
    call_reduction();
  }
}

void Work::call_blocks() {
  const MPI_Datatype type = kind_.type;
  void* const in = in_->data();
  void* const receive = in_place_ ? MPI_IN_PLACE : in;
  const void* const out = out_->data();
  const auto me = static_cast<std::size_t>(team_.rank);
  const int *outs = out_counts_.data(), *ins = in_counts_.data(), *places = places_.data();
  switch (operation_) {
    case kGather:
      return perform(MPI_Gather, MPI_Igather, MPI_Gather_init, send(), count_, type, in, count_, type, root_);
    case kGatherv:
      return perform(MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, send(), outs[0], type, in, ins, places,
                     type, root_);
    case kScatter:
      return perform(MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, out, count_, type, receive, count_, type,
                     root_);
    case kScatterv:
      return perform(MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, out, outs, places, type, receive,
                     ins[me], type, root_);
    case kAllgather:
      return perform(MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, send(), count_, type, in, count_,
                     type);
    case kAllgatherv:
      return perform(MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, send(), outs[0], type, in, ins,
                     places, type);
    case kAlltoall:
      return perform(MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, send(), count_, type, in, count_, type);
    case kAlltoallv:
      return perform(MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, send(), outs, places, type, in, ins,
                     places, type);
    default:
      types_.assign(places_.size(), type);
      for (int& place : places_) place *= kind_.extent_words * static_cast<int>(sizeof(oracle::Word));
      return perform(MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, send(), outs, places, types_.data(),
                     in, ins, places, types_.data());
  }
}

void Work::call_reduction() {
  const MPI_Datatype type = kind_.type;
  const MPI_Op op = kind_.op;
  void* const in = in_->data();
  switch (operation_) {
    case kReduce:
      return perform(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, send(), in, count_, type, op, root_);
    case kAllreduce:
      return perform(MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, send(), in, count_, type, op);
    case kReduceScatterBlock:
      return perform(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init,
                     send(), in, count_, type, op);
    case kReduceScatter:
      return perform(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, send(), in,
                     in_counts_.data(), type, op);
    case kScan:
      return perform(MPI_Scan, MPI_Iscan, MPI_Scan_init, send(), in, count_, type, op);
    default:
      return perform(MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, send(), in, count_, type, op);
  }
}

bool Work::is_right() {
  // What MPI leaves open: rank 0's result of an exscan, and in place what follows a rank's part.
  if (operation_ == kExscan && team_.rank == 0) {
    for (int e = 0; e < count_; ++e) in_->accept(e);
  }
  if (in_place_ && (operation_ == kReduceScatter || operation_ == kReduceScatterBlock)) {
    long elements = 0;
    for (const int count : in_counts_) elements += count;
    for (long e = in_counts_[static_cast<std::size_t>(team_.rank)]; e < elements; ++e) in_->accept(e);
  }
  for (const auto& [name, buffer] : {std::pair{"send", out_.get()}, std::pair{"receive", in_.get()}}) {
    if (buffer == nullptr) continue;
    const long wrong = buffer->wrong_word();
    if (wrong == Buffer::kRight) continue;
    std::fprintf(stderr, "%s: rank %d of %d: word %ld of the %s buffer is %08x, expected %08x\n",
                 text.c_str(), team_.rank, team_.size, wrong, name, buffer->word(wrong),
                 buffer->expected_word(wrong));
    return false;
  }
  return true;
}

/// The settings that force algorithms, with the values that they may have.
struct Forcing {
  struct Entry {
    Setting setting;
    std::vector<std::pair<std::string, int>> items;
  };
  std::vector<Entry> entries;
  Setting segment{"TASUKI_SEGMENT_BYTES"};

  Forcing() {
    for (const char* name :
         {"BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLTOALL",
          "ALLTOALLV", "REDUCE", "ALLREDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN"}) {
      Setting setting("TASUKI_" + std::string(name) + "_ALGORITHM");
      entries.push_back({setting, setting.items()});
    }
  }
  /// The first value is "the cheapest".
  void draw(Draw& draw) {
    for (Entry& entry : entries) {
      const auto item = static_cast<std::size_t>(draw.below(static_cast<int>(entry.items.size())));
      entry.setting.set(entry.items[draw.one_in(2) ? 0 : item].second);
    }
    constexpr long kSegments[] = {0, 0, 64, 1000, 4096, 20000};
    segment.set(kSegments[draw.below(std::size(kSegments))]);
  }
  void end() {
    for (Entry& entry : entries) entry.setting.set(entry.items[0].second);
    segment.set(0);
  }
};

/// What one thread of each rank does.
class Player {
 public:
  Player(MPI_Comm world, std::uint64_t seed, Forcing* forcing)
      : world_(world), seed_(seed), forcing_(forcing), common_(seed), own_(0) {
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    own_ = Draw(mixed(seed, 99, static_cast<std::uint64_t>(rank_)));
    for (Team& team : teams_) make_team(&team);
  }
  ~Player() {
    while (!under_way_.empty()) complete(0);
    for (Slot& slot : slots_) free_slot(slot);
    for (Team& team : teams_)
      if (team.comm != MPI_COMM_NULL) MPI_Comm_free(&team.comm);
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void step();
  long steps() const { return step_; }

 private:
  static constexpr int kTeams = 4, kSlots = 4;
  static constexpr std::size_t kUnderWayMax = 8;
  /// A persistent collective.
  struct Slot {
    int team = -1;               // none
    std::unique_ptr<Work> work;  // null at the ranks that are not in the team
    bool active = false;
  };

  void make_team(Team* team);
  void replace_team(int number);
  std::unique_ptr<Work> draw_work(int team, bool persistent);
  void start_slot(Slot& slot);
  void finish_slot(Slot& slot);
  void free_slot(Slot& slot);
  void complete(std::size_t index);
  void require(bool is_right) {
    if (!is_right) MPI_Abort(MPI_COMM_WORLD, 1);
  }

  MPI_Comm world_;
  std::uint64_t seed_;
  Forcing* forcing_;
  Draw common_, own_;
  int rank_, size_;
  long step_ = 0;
  std::array<Team, kTeams> teams_;
  std::array<Slot, kSlots> slots_;
  std::vector<std::unique_ptr<Work>> under_way_;  // nonblocking
};

/// All ranks, or some, in any order.
void Player::make_team(Team* team) {
  const int way = common_.below(5);
  const std::uint64_t order = common_.word();
  if (way == 0) {
    MPI_Comm_dup(world_, &team->comm);
  } else {
    const auto me = static_cast<std::uint64_t>(rank_);
    const bool is_in = way < 3 || mixed(order, me) % 3 != 0;
    const int key = way == 1 ? -rank_ : static_cast<int>(mixed(order, me, 1) % 1000);
    MPI_Comm_split(world_, is_in ? (way == 4 ? rank_ % 2 : 0) : MPI_UNDEFINED, key, &team->comm);
  }
  if (team->comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(team->comm, &team->rank);
  MPI_Comm_size(team->comm, &team->size);
}

/// What is under way on the old communicator goes on.
void Player::replace_team(int number) {
  for (Slot& slot : slots_)
    if (slot.team == number) free_slot(slot);
  Team& team = teams_[static_cast<std::size_t>(number)];
  if (team.comm != MPI_COMM_NULL) MPI_Comm_free(&team.comm);
  team = {};
  make_team(&team);
}

/// Sizes around which ways change: none, one, a line of a cell, a cell, a short and an eager message.
int draw_words(Draw& draw) {
  constexpr int kWords[] = {0,   1,   2,    8,    14,   15,   16,   60,   250,
                            256, 500, 1000, 1022, 1024, 1100, 2048, 4096, 9000};
  if (draw.one_in(60)) return 60000 + draw.below(60000);
  if (draw.one_in(4)) return draw.below(3000);
  return kWords[draw.below(std::size(kWords))] + draw.below(2);
}

/// Draws the same at all ranks, also at those that are not in the team, where it is null.
std::unique_ptr<Work> Player::draw_work(int number, bool persistent) {
  const auto operation = static_cast<Operation>(common_.below(kOperations));
  const Form form = persistent ? kPersistent : common_.one_in(3) ? kNonblocking : kBlocking;
  const Kind& kind =
      oracle::kinds()[static_cast<std::size_t>(common_.below(static_cast<int>(oracle::kinds().size())))];
  const int words = draw_words(common_), root_word = common_.below(1 << 20);
  const bool in_place = common_.one_in(3), whole = common_.one_in(2);
  const std::uint64_t seed = common_.word();
  const Team& team = teams_[static_cast<std::size_t>(number)];
  if (team.comm == MPI_COMM_NULL) return nullptr;
  const bool parts = has_blocks(operation) || operation == kReduceScatter || operation == kReduceScatterBlock;
  int count = words / std::abs(kind.extent_words);
  if (parts && (whole || count > 3000)) count /= team.size;
  const int root = root_word % team.size;
  char text[200];
  std::snprintf(text, sizeof text, "seed %llu, step %ld: %s, %s, %s, count %d, root %d%s",
                static_cast<unsigned long long>(seed_), step_, kNames[operation], kForms[form], kind.name,
                count, root, in_place ? ", in place" : "");
  return std::make_unique<Work>(team, operation, form, kind, count, root, in_place, seed, text);
}

void Player::complete(std::size_t index) {
  Work& work = *under_way_[index];
  MPI_Wait(&work.request, MPI_STATUS_IGNORE);
  require(work.is_right());
  under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Player::finish_slot(Slot& slot) {
  if (slot.work && slot.active) {
    MPI_Wait(&slot.work->request, MPI_STATUS_IGNORE);
    require(slot.work->is_right());
  }
  slot.active = false;
}

void Player::start_slot(Slot& slot) {
  finish_slot(slot);
  if (slot.work) slot.work->restart();
  slot.active = true;
}

void Player::free_slot(Slot& slot) {
  finish_slot(slot);
  if (slot.work) MPI_Request_free(&slot.work->request);
  slot.work.reset();
  slot.team = -1;
}

void Player::step() {
  ++step_;
  const int team = common_.below(kTeams), kind = common_.below(100);
  Slot& slot = slots_[static_cast<std::size_t>(common_.below(kSlots))];
  if (forcing_ != nullptr && common_.one_in(5)) forcing_->draw(common_);
  if (kind == 0) {
    replace_team(team);
  } else if (kind < 15 && slot.team < 0) {
    slot.team = team;
    slot.work = draw_work(team, true);
    if (slot.work) slot.work->call();
    start_slot(slot);
  } else if (kind < 15) {
    if (kind < 3) {
      free_slot(slot);
    } else {
      start_slot(slot);
    }
  } else if (std::unique_ptr<Work> work = draw_work(team, false)) {
    work->call();
    if (work->form() == kBlocking) {
      require(work->is_right());
    } else {
      under_way_.push_back(std::move(work));
    }
  }
  // What this rank does by itself.
  while (under_way_.size() > kUnderWayMax || (!under_way_.empty() && own_.one_in(3)))
    complete(static_cast<std::size_t>(own_.below(static_cast<int>(under_way_.size()))));
  if (!under_way_.empty() && own_.one_in(3)) {
    int flag;
    MPI_Request_get_status(under_way_[0]->request, &flag, MPI_STATUS_IGNORE);
  }
  if (own_.one_in(50)) std::this_thread::sleep_for(std::chrono::microseconds(own_.below(2000)));
}

/// Plays until rank 0 says that it is enough.
void play(MPI_Comm world, std::uint64_t seed, double seconds, Forcing* forcing, std::atomic<long>* steps) {
  Player player(world, seed, forcing);
  const double end = MPI_Wtime() + seconds;
  int go_on = 1;
  while (go_on) {
    for (int i = 0; i < 50; ++i) player.step();
    go_on = MPI_Wtime() < end;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, world);
  }
  *steps += player.steps();
}

}  // namespace

/// How often this rank slept although what it waited for had come; -1 where that is not counted.
long late_wakes() {
  int index, count;
  unsigned long value = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  if (MPI_T_pvar_get_index("late_wakes", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) return -1;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count);
  MPI_T_pvar_read(session, handle, &value);
  MPI_T_pvar_handle_free(session, &handle);
  MPI_T_pvar_session_free(&session);
  return static_cast<long>(value);
}

int main(int argc, char** argv) {
  int provided, rank;
  const int threads = argc == 4 ? std::atoi(argv[3]) : 0;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (threads < 1) {
    std::fprintf(stderr, "mixture: expected SEED SECONDS THREADS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const double seconds = std::atof(argv[2]);
  oracle::make_kinds();
  std::atomic<long> steps = 0;
  std::vector<MPI_Comm> worlds(static_cast<std::size_t>(threads));
  for (MPI_Comm& world : worlds) MPI_Comm_dup(MPI_COMM_WORLD, &world);
  if (threads == 1) {
    Forcing forcing;
    play(worlds[0], seed, seconds, &forcing, &steps);
    forcing.end();
  } else {
    std::vector<std::thread> players;
    for (std::size_t i = 0; i < worlds.size(); ++i)
      players.emplace_back([&, i] { play(worlds[i], seed + i, seconds, nullptr, &steps); });
    for (std::thread& player : players) player.join();
  }
  for (MPI_Comm& world : worlds) MPI_Comm_free(&world);
  if (const long late = late_wakes(); late != 0) {
    std::fprintf(stderr, "mixture: rank %d: %ld wake-ups were lost\n", rank, late);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (rank == 0) std::printf("right: %ld steps\n", steps.load());
  oracle::free_kinds();
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
