// Every algorithm of every collective against a serial oracle: forced by name through MPI_T's control
// variables, on elements of three kinds, blocking, nonblocking and persistent, in place or not, from memory
// that the others reach or not, with every rank as root, on the world as it is, reversed, and on every other
// rank of it.
//
//   algorithms CASES WORDS_MAX SEED   so many random cases for each algorithm, kind and communicator
//
// All ranks draw the same cases from the seed. At the end rank 0 says how often each algorithm ran:
// "ran bcast_binomial 36". A case that goes wrong is told with all that it takes to see it again.
#include <map>
#include <string>

#include "oracle.hpp"
#include "setting.hpp"

namespace {

using oracle::Buffer;
using oracle::Element;
using oracle::input;
using oracle::Kind;
using oracle::mixed;
using oracle::reduced;

struct Team {
  const char* name;
  MPI_Comm comm;
  int rank, size;
};

enum Form { kBlocking, kNonblocking, kPersistent };

struct Case {
  const Team& team;
  const Kind& kind;
  std::uint64_t seed;
  int count;
  int root;
  bool in_place;
  Form form;

  /// Some ranks' buffers are private; which ones differs from case to case.
  bool is_private() const { return mixed(seed, 7, static_cast<std::uint64_t>(team.rank)) % 3 == 0; }
  bool is_root() const { return team.rank == root; }
  /// The counts of the v forms, from `from` for `to`: known to all, some of them 0.
  int count_of(int from, int to) const {
    const std::uint64_t word =
        mixed(seed, 11, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
    return static_cast<int>(word % static_cast<std::uint64_t>(count + 1));
  }
  /// Where blocks of the v forms lie: in another order than that of ranks, with room between them.
  int place_of(int rank) const { return (team.size - 1 - rank) * (count + 1); }
  long room() const { return static_cast<long>(team.size) * (count + 1); }
};

/// Calls one of the three forms; a persistent one twice, on the same data.
template <class Blocking, class Nonblocking, class Init, class... Arguments>
void perform(const Case& at, std::initializer_list<Buffer*> buffers, Blocking blocking,
             Nonblocking nonblocking, Init init, Arguments... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (at.form) {
    case kBlocking:
      blocking(arguments..., at.team.comm);
      return;
    case kNonblocking:
      nonblocking(arguments..., at.team.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    case kPersistent:
      init(arguments..., at.team.comm, MPI_INFO_NULL, &request);
      for (int round = 0; round < 2; ++round) {
        for (Buffer* buffer : buffers) buffer->restore();
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      MPI_Request_free(&request);
      return;
  }
}

std::string current;  // the case, in words

void check(const Case& at, const char* name, const Buffer& buffer) {
  const long wrong = buffer.wrong_word();
  if (wrong == Buffer::kRight) return;
  std::fprintf(stderr, "%s: rank %d of %d: word %ld of the %s buffer is %08x, expected %08x\n",
               current.c_str(), at.team.rank, at.team.size, wrong, name, buffer.word(wrong),
               buffer.expected_word(wrong));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void barrier(const Case& at) {
  perform(at, {}, MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init);
}

void bcast(const Case& at) {
  Buffer data(at.kind, at.count, at.is_private());
  for (int e = 0; e < at.count; ++e) {
    if (at.is_root()) data.set(e, input(at.seed, at.root, e));
    data.expect(e, input(at.seed, at.root, e));
  }
  perform(at, {&data}, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, data.data(), at.count, at.kind.type, at.root);
  check(at, "data", data);
}

/// The moves of data: out of `out`, whose elements are all set, into `in`, or all in `in`.
struct Buffers {
  Buffer out, in;
  const void* send;

  Buffers(const Case& at, long out_elements, long in_elements, bool in_place)
      : out(at.kind, out_elements, at.is_private()),
        in(at.kind, in_elements, !at.is_private()),
        send(in_place ? MPI_IN_PLACE : out.data()) {
    for (long e = 0; e < out_elements; ++e) out.set(e, input(at.seed, at.team.rank, e));
  }
  void check_both(const Case& at) {
    check(at, "send", out);
    check(at, "receive", in);
  }
};

template <bool kVariable>
void gather(const Case& at) {
  const bool in_place = at.in_place && at.is_root();
  const auto count_of = [&](int rank) { return kVariable ? at.count_of(rank, 0) : at.count; };
  const auto place_of = [&](int rank) { return kVariable ? at.place_of(rank) : rank * at.count; };
  std::vector<int> counts, places;
  Buffers data(at, count_of(at.team.rank), at.room(), in_place);
  for (int rank = 0; rank < at.team.size; ++rank) {
    counts.push_back(count_of(rank));
    places.push_back(place_of(rank));
    for (int e = 0; at.is_root() && e < count_of(rank); ++e) {
      if (in_place && rank == at.root) data.in.set(place_of(rank) + e, input(at.seed, rank, e));
      data.in.expect(place_of(rank) + e, input(at.seed, rank, e));
    }
  }
  if constexpr (kVariable) {
    perform(at, {&data.in}, MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, data.send,
            counts[static_cast<std::size_t>(at.team.rank)], at.kind.type, data.in.data(), counts.data(),
            places.data(), at.kind.type, at.root);
  } else {
    perform(at, {&data.in}, MPI_Gather, MPI_Igather, MPI_Gather_init, data.send, at.count, at.kind.type,
            data.in.data(), at.count, at.kind.type, at.root);
  }
  data.check_both(at);
}

template <bool kVariable>
void scatter(const Case& at) {
  const auto count_of = [&](int rank) { return kVariable ? at.count_of(rank, 0) : at.count; };
  const auto place_of = [&](int rank) { return kVariable ? at.place_of(rank) : rank * at.count; };
  const int own = count_of(at.team.rank);
  std::vector<int> counts, places;
  for (int rank = 0; rank < at.team.size; ++rank) {
    counts.push_back(count_of(rank));
    places.push_back(place_of(rank));
  }
  Buffers data(at, at.is_root() ? at.room() : 0, own, false);
  const bool in_place = at.in_place && at.is_root();
  for (int e = 0; !in_place && e < own; ++e)
    data.in.expect(e, input(at.seed, at.root, place_of(at.team.rank) + e));
  void* const receive = in_place ? MPI_IN_PLACE : data.in.data();
  if constexpr (kVariable) {
    perform(at, {&data.in}, MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, data.out.data(), counts.data(),
            places.data(), at.kind.type, receive, own, at.kind.type, at.root);
  } else {
    perform(at, {&data.in}, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, data.out.data(), at.count,
            at.kind.type, receive, own, at.kind.type, at.root);
  }
  data.check_both(at);
}

template <bool kVariable>
void allgather(const Case& at) {
  const auto count_of = [&](int rank) { return kVariable ? at.count_of(rank, 0) : at.count; };
  const auto place_of = [&](int rank) { return kVariable ? at.place_of(rank) : rank * at.count; };
  const int own = count_of(at.team.rank);
  std::vector<int> counts, places;
  Buffers data(at, own, at.room(), at.in_place);
  for (int rank = 0; rank < at.team.size; ++rank) {
    counts.push_back(count_of(rank));
    places.push_back(place_of(rank));
    for (int e = 0; e < count_of(rank); ++e) {
      if (at.in_place && rank == at.team.rank) data.in.set(place_of(rank) + e, input(at.seed, rank, e));
      data.in.expect(place_of(rank) + e, input(at.seed, rank, e));
    }
  }
  if constexpr (kVariable) {
    perform(at, {&data.in}, MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, data.send, own,
            at.kind.type, data.in.data(), counts.data(), places.data(), at.kind.type);
  } else {
    perform(at, {&data.in}, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, data.send, own, at.kind.type,
            data.in.data(), at.count, at.kind.type);
  }
  data.check_both(at);
}

enum Alltoall { kEqual, kV, kW };

/// In place the blocks between two ranks must be of one size: that of the lower one for the higher.
template <Alltoall kWhich>
void alltoall(const Case& at) {
  const int me = at.team.rank;
  const auto count_of = [&](int from, int to) {
    if (kWhich == kEqual) return at.count;
    return at.in_place ? at.count_of(std::min(from, to), std::max(from, to)) : at.count_of(from, to);
  };
  const auto place_of = [&](int rank) { return kWhich == kEqual ? rank * at.count : at.place_of(rank); };
  std::vector<int> out_counts, in_counts, places;
  Buffers data(at, at.in_place ? 0 : at.room(), at.room(), at.in_place);
  for (int rank = 0; rank < at.team.size; ++rank) {
    out_counts.push_back(count_of(me, rank));
    in_counts.push_back(count_of(rank, me));
    places.push_back(place_of(rank));
    // A rank's element for another one is named by its place in the sender's buffer.
    for (int e = 0; at.in_place && e < count_of(me, rank); ++e)
      data.in.set(place_of(rank) + e, input(at.seed, me, place_of(rank) + e));
    for (int e = 0; e < count_of(rank, me); ++e)
      data.in.expect(place_of(rank) + e, input(at.seed, rank, place_of(me) + e));
  }
  if constexpr (kWhich == kEqual) {
    perform(at, {&data.in}, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, data.send, at.count, at.kind.type,
            data.in.data(), at.count, at.kind.type);
  } else if constexpr (kWhich == kV) {
    perform(at, {&data.in}, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, data.send, out_counts.data(),
            places.data(), at.kind.type, data.in.data(), in_counts.data(), places.data(), at.kind.type);
  } else {
    const std::vector<MPI_Datatype> types(places.size(), at.kind.type);
    for (int& place : places) place *= at.kind.extent_words * static_cast<int>(sizeof(oracle::Word));
    perform(at, {&data.in}, MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, data.send, out_counts.data(),
            places.data(), types.data(), data.in.data(), in_counts.data(), places.data(), types.data());
  }
  data.check_both(at);
}

/// Vectors to be reduced: the input lies in `out` or, in place, in `in`.
struct Vectors : Buffers {
  Vectors(const Case& at, long elements, bool in_place)
      : Buffers(at, in_place ? 0 : elements, elements, in_place) {
    for (long e = 0; in_place && e < elements; ++e) in.set(e, input(at.seed, at.team.rank, e));
  }
};

void reduce(const Case& at) {
  Vectors data(at, at.count, at.in_place && at.is_root());
  for (int e = 0; at.is_root() && e < at.count; ++e)
    data.in.expect(e, reduced(at.kind, at.seed, at.team.size - 1, e));
  perform(at, {&data.in}, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, data.send, data.in.data(), at.count,
          at.kind.type, at.kind.op, at.root);
  data.check_both(at);
}

void allreduce(const Case& at) {
  Vectors data(at, at.count, at.in_place);
  for (int e = 0; e < at.count; ++e) data.in.expect(e, reduced(at.kind, at.seed, at.team.size - 1, e));
  perform(at, {&data.in}, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, data.send, data.in.data(),
          at.count, at.kind.type, at.kind.op);
  data.check_both(at);
}

void scan(const Case& at) {
  Vectors data(at, at.count, at.in_place);
  for (int e = 0; e < at.count; ++e) data.in.expect(e, reduced(at.kind, at.seed, at.team.rank, e));
  perform(at, {&data.in}, MPI_Scan, MPI_Iscan, MPI_Scan_init, data.send, data.in.data(), at.count,
          at.kind.type, at.kind.op);
  data.check_both(at);
}

/// At rank 0 the result is not defined, so nothing is looked at there but the send buffer.
void exscan(const Case& at) {
  Vectors data(at, at.count, at.in_place);
  for (int e = 0; at.team.rank > 0 && e < at.count; ++e)
    data.in.expect(e, reduced(at.kind, at.seed, at.team.rank - 1, e));
  perform(at, {&data.in}, MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, data.send, data.in.data(), at.count,
          at.kind.type, at.kind.op);
  check(at, "send", data.out);
  if (at.team.rank > 0) check(at, "receive", data.in);
}

template <bool kVariable>
void reduce_scatter(const Case& at) {
  std::vector<int> counts;
  long elements = 0, first = 0;
  for (int rank = 0; rank < at.team.size; ++rank) {
    if (rank == at.team.rank) first = elements;
    counts.push_back(kVariable ? at.count_of(rank, 0) : at.count);
    elements += counts.back();
  }
  const int own = counts[static_cast<std::size_t>(at.team.rank)];
  Vectors data(at, elements, at.in_place);
  for (int e = 0; e < own; ++e) data.in.expect(e, reduced(at.kind, at.seed, at.team.size - 1, first + e));
  if constexpr (kVariable) {
    perform(at, {&data.in}, MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, data.send,
            data.in.data(), counts.data(), at.kind.type, at.kind.op);
  } else {
    perform(at, {&data.in}, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
            MPI_Reduce_scatter_block_init, data.send, data.in.data(), at.count, at.kind.type, at.kind.op);
  }
  check(at, "send", data.out);
  // In place the rest of the vector may hold anything.
  if (!at.in_place) return check(at, "receive", data.in);
  for (int e = 0; e < own; ++e) {
    const Element is = oracle::element_at(at.kind, data.in.data(), e);
    const Element expected = reduced(at.kind, at.seed, at.team.size - 1, first + e);
    data.in.set(e, is);
    data.in.expect(e, expected);
  }
  for (long e = own; e < elements; ++e) data.in.set(e, oracle::element_at(at.kind, data.in.data(), e));
  check(at, "receive", data.in);
}

struct Operation {
  const char* name;
  const char* setting;  // TASUKI_<setting>_ALGORITHM
  void (*run)(const Case& at);
  bool blocks;  // a buffer has a block of each rank: of fewer words, so that a case takes as long as others
};

constexpr Operation kOperations[] = {
    {"barrier", "BARRIER", barrier, false},
    {"bcast", "BCAST", bcast, false},
    {"gather", "GATHER", gather<false>, true},
    {"gatherv", "GATHERV", gather<true>, true},
    {"scatter", "SCATTER", scatter<false>, true},
    {"scatterv", "SCATTERV", scatter<true>, true},
    {"allgather", "ALLGATHER", allgather<false>, true},
    {"allgatherv", "ALLGATHER", allgather<true>, true},
    {"alltoall", "ALLTOALL", alltoall<kEqual>, true},
    {"alltoallv", "ALLTOALLV", alltoall<kV>, true},
    {"alltoallw", "ALLTOALLV", alltoall<kW>, true},
    {"reduce", "REDUCE", reduce, false},
    {"allreduce", "ALLREDUCE", allreduce, false},
    {"reduce_scatter_block", "REDUCE_SCATTER", reduce_scatter<false>, true},
    {"reduce_scatter", "REDUCE_SCATTER", reduce_scatter<true>, true},
    {"scan", "SCAN", scan, false},
    {"exscan", "EXSCAN", exscan, false},
};

/// What the counter of this name says; -1: there is none.
long long counter(const std::string& name) {
  static MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  if (session == MPI_T_PVAR_SESSION_NULL) MPI_T_pvar_session_create(&session);
  static std::map<std::string, MPI_T_pvar_handle> handles;
  if (!handles.contains(name)) {
    int index, count;
    if (MPI_T_pvar_get_index(name.c_str(), MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) return -1;
    MPI_T_pvar_handle_alloc(session, index, nullptr, &handles[name], &count);
    MPI_T_pvar_start(session, handles[name]);  // an error where it always counts
  }
  unsigned long long value = 0;
  MPI_T_pvar_read(session, handles[name], &value);
  return static_cast<long long>(value);
}

struct Size {
  int cases;
  int words_max;
  std::uint64_t seed;
};

/// Sizes at which things change: none, one, fewer than ranks, one line, a page of a node segment, an eager
/// message.
int draw_count(std::uint64_t word, int words_max) {
  constexpr int kCounts[] = {0, 1, 3, 7, 13, 64, 500, 1000, 1025, 5000};
  const auto kinds = std::size(kCounts) + 1;
  if (word % kinds == kinds - 1)
    return static_cast<int>(mixed(word) % static_cast<std::uint64_t>(words_max + 1));
  return std::min(kCounts[word % kinds], words_max);
}

void run_cases(const Operation& operation, const std::string& algorithm, const Team& team, const Kind& kind,
               const Size& size, Setting& segment, std::uint64_t* draws) {
  for (int i = 0; i < size.cases; ++i) {
    const std::uint64_t seed = mixed(size.seed, ++*draws);
    const int words_max = size.words_max / (operation.blocks ? team.size : 1);
    const Case at{team,
                  kind,
                  seed,
                  draw_count(mixed(seed, 1), words_max / kind.extent_words),
                  static_cast<int>(mixed(seed, 2) % static_cast<std::uint64_t>(team.size)),
                  mixed(seed, 3) % 3 == 0,
                  static_cast<Form>(mixed(seed, 4) % 3)};
    constexpr long kSegments[] = {0, 0, 64, 1000, 4096};  // 0: the cheapest
    const long segment_bytes = kSegments[mixed(seed, 5) % std::size(kSegments)];
    segment.set(segment_bytes);
    constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent"};
    char text[240];
    std::snprintf(text, sizeof text, "%s by %s on %s, %s, count %d, root %d, %s%s, segment %ld, seed %llu",
                  operation.name, algorithm.c_str(), team.name, kind.name, at.count, at.root, kForms[at.form],
                  at.in_place ? ", in place" : "", segment_bytes, static_cast<unsigned long long>(size.seed));
    current = text;
    operation.run(at);
  }
}

std::vector<Team> make_teams() {
  std::vector<Team> teams;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto add = [&](const char* name, int color, int key) {
    Team team{name, MPI_COMM_NULL, 0, 0};
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &team.comm);
    MPI_Comm_rank(team.comm, &team.rank);
    MPI_Comm_size(team.comm, &team.size);
    teams.push_back(team);
  };
  add("the world", 0, rank);
  add("the reversed world", 0, -rank);
  add("every other rank", rank % 2, rank);
  return teams;
}

void run_all(const Size& size) {
  std::vector<Team> teams = make_teams();
  Setting segment("TASUKI_SEGMENT_BYTES");
  std::map<std::string, long long> ran;  // what was counted before
  std::uint64_t draws = 0;
  for (const Operation& operation : kOperations) {
    Setting setting("TASUKI_" + std::string(operation.setting) + "_ALGORITHM");
    std::string lower = operation.setting;
    for (char& letter : lower) letter = static_cast<char>(std::tolower(letter));
    for (const auto& [algorithm, value] : setting.items()) {
      setting.set(value);
      const std::string name = lower + "_" + algorithm;
      const long long before = value == 0 ? 0 : counter(name);
      for (const Team& team : teams) {
        for (int kind = 0; kind < oracle::kUsualKinds; ++kind)
          run_cases(operation, algorithm, team, oracle::kinds()[static_cast<std::size_t>(kind)], size,
                    segment, &draws);
      }
      if (value != 0) ran[name] += counter(name) - before;
    }
    setting.set(0);
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const auto& [name, times] : ran)
    if (rank == 0) std::printf("ran %s %lld\n", name.c_str(), times);
  for (Team& team : teams) MPI_Comm_free(&team.comm);
}

/// A variable that is written takes effect at once, also where the last collective went another way.
void check_forcing() {
  Setting setting("TASUKI_BCAST_ALGORITHM");
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const auto& [algorithm, number] : setting.items()) {
    if (algorithm != "binomial" && algorithm != "scatter_ring") continue;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    setting.set(number);
    const long long before = counter("bcast_" + algorithm);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    setting.set(0);
    if (counter("bcast_" + algorithm) == before + 1) continue;
    std::fprintf(stderr, "rank %d: a bcast by %s did not go that way\n", rank, algorithm.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (argc != 4) {
    std::fprintf(stderr, "algorithms: expected CASES WORDS_MAX SEED\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  check_forcing();
  oracle::make_kinds();
  run_all({std::atoi(argv[1]), std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10)});
  oracle::free_kinds();
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
