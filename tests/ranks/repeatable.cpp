// Repeatable reductions: the bits of every reduction by every algorithm, blocking, nonblocking and
// persistent, in place or not, against what docs/collectives.md promises, which is written down here once
// more: one order, or results that are exact.
//
//   repeatable            as TASUKI_REPEATABLE_REDUCTIONS says
//   repeatable VALUE      on communicators that are asked by an info key with this value
//
// Rank 0 says how many results were compared and how many had other bits: "allreduce ring 96 12"; and what
// the sum of the same few vectors is, which lie on some of the ranks: "spread of 3 vectors 0123456789abcdef".
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "setting.hpp"

namespace {

using Word = std::uint64_t;  // an element, of whatever type

Word mixed(Word a, Word b) {
  Word word = (a + 1) * 0x9e3779b97f4a7c15U + (b + 1) * 0xc2b2ae3d27d4eb4fU;
  word ^= word >> 29;
  word *= 0xbf58476d1ce4e5b9U;
  return word ^ word >> 32;
}
template <class T>
T as(Word word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
template <class T>
Word word_of(T value) {
  static_assert(sizeof value == sizeof(Word));
  Word word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

struct Complex {
  float real, imaginary;
};

/// What is reduced, and how.
struct Kind {
  MPI_Datatype type;
  MPI_Op op;
  Word (*input)(Word random);
  Word (*combine)(Word left, Word right);
  Word (*exact)(const std::vector<Word>& operands);  // null: there is only an order
};

/// The inputs' exponents are so near that 113 binary digits hold their sum.
Word exact_sum(const std::vector<Word>& operands) {
  __float128 sum = 0;
  for (const Word operand : operands) sum += static_cast<__float128>(as<double>(operand));
  return word_of(static_cast<double>(sum));
}
Word exact_maximum(const std::vector<Word>& operands) {
  Word best = operands[0];
  for (const Word operand : operands) {
    const bool beats = as<double>(operand) > as<double>(best);
    if (beats || (as<double>(operand) == as<double>(best) && std::signbit(as<double>(best)))) best = operand;
  }
  return best;
}

Word combine_users(Word left, Word right) {
  return mixed(left, right);
}
void users_function(void* in, void* inout, int* count, MPI_Datatype*) {
  const Word* left = static_cast<const Word*>(in);
  Word* right = static_cast<Word*>(inout);
  for (int i = 0; i < *count; ++i) right[i] = combine_users(left[i], right[i]);
}

/// Sums that are rounded, products that could be contracted, maxima of zeros of either sign, and an operation
/// that is not associative and does not commute.
std::vector<Kind> make_kinds() {
  MPI_Op op;
  MPI_Op_create(users_function, 0, &op);
  return {
      {MPI_DOUBLE, MPI_SUM,
       [](Word random) {
         const double fraction = 1 + static_cast<double>(random >> 12) * 0x1p-52;
         return word_of(std::ldexp(random % 2 == 0 ? fraction : -fraction, static_cast<int>(random / 2 % 9)));
       },
       [](Word left, Word right) { return word_of(as<double>(left) + as<double>(right)); }, exact_sum},
      {MPI_C_FLOAT_COMPLEX, MPI_PROD,
       [](Word random) {
         const auto part = [](Word bits) { return 0.5F + static_cast<float>(bits & 0xffffff) * 0x1p-24F; };
         return word_of(Complex{part(random), part(random >> 32)});
       },
       [](Word left, Word right) {
         const auto a = as<Complex>(left), b = as<Complex>(right);
         return word_of(Complex{a.real * b.real - a.imaginary * b.imaginary,
                                a.real * b.imaginary + a.imaginary * b.real});
       },
       nullptr},
      {MPI_DOUBLE, MPI_MAX, [](Word random) { return word_of(random % 2 == 0 ? 0.0 : -0.0); },
       [](Word left, Word right) { return as<double>(left) > as<double>(right) ? left : right; },
       exact_maximum},
      {MPI_UINT64_T, op, [](Word random) { return random; }, combine_users, nullptr}};
}

/// One element over all ranks: pairs first, where the ranks are no power of two.
Word of_all(const Kind& kind, const std::vector<Word>& inputs) {
  std::size_t workers = 1;
  while (2 * workers <= inputs.size()) workers *= 2;
  std::vector<Word> level;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    const bool is_second = rank % 2 == 1 && rank < 2 * (inputs.size() - workers);
    if (is_second) {
      level.back() = kind.combine(level.back(), inputs[rank]);
    } else {
      level.push_back(inputs[rank]);
    }
  }
  for (; level.size() > 1; level.resize(level.size() / 2)) {
    for (std::size_t i = 0; i < level.size(); i += 2) level[i / 2] = kind.combine(level[i], level[i + 1]);
  }
  return level[0];
}

/// One element over the ranks of a scan, by doubling.
Word of_scan(const Kind& kind, const std::vector<Word>& inputs) {
  std::vector<Word> sums = inputs;
  for (std::size_t distance = 1; distance < sums.size(); distance *= 2) {
    for (std::size_t rank = sums.size() - 1; rank >= distance; --rank)
      sums[rank] = kind.combine(sums[rank - distance], sums[rank]);
  }
  return sums.back();
}

/// What the communicator says of its key.
std::string hint_of(MPI_Comm comm) {
  MPI_Info info;
  char value[32] = "";
  int length = sizeof value, found = 0;
  MPI_Comm_get_info(comm, &info);
  MPI_Info_get_string(info, "tasuki_repeatable_reductions", &length, value, &found);
  MPI_Info_free(&info);
  return value;
}

struct Team {
  MPI_Comm comm;
  int rank, size;
  bool is_exact = false;
};
enum Form { kBlocking, kNonblocking, kPersistent };
struct Case {
  const Team& team;
  const Kind& kind;
  int count;
  int root;
  bool in_place;
  Form form;

  Word input(int rank, int element) const {
    return kind.input(mixed(static_cast<Word>(rank), static_cast<Word>(element)));
  }
  std::vector<Word> inputs(int end, int element) const {
    std::vector<Word> all;
    for (int rank = 0; rank < end; ++rank) all.push_back(input(rank, element));
    return all;
  }
  /// Of the first ranks, combined as `order` says, or exactly.
  Word result(int end, int element, Word (*order)(const Kind&, const std::vector<Word>&)) const {
    const bool exactly = team.is_exact && kind.exact != nullptr;
    return exactly ? kind.exact(inputs(end, element)) : order(kind, inputs(end, element));
  }
};

template <class Blocking, class Nonblocking, class Init, class... Arguments>
void perform(const Case& at, Blocking blocking, Nonblocking nonblocking, Init init, Arguments... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (at.form == kBlocking) {
    blocking(arguments..., at.team.comm);
  } else if (at.form == kNonblocking) {
    nonblocking(arguments..., at.team.comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    init(arguments..., at.team.comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}

enum Operation { kReduce, kAllreduce, kReduceScatter, kScan, kExscan };
constexpr const char* kNames[] = {"reduce", "allreduce", "reduce_scatter", "scan", "exscan"};
constexpr const char* kSettings[] = {"REDUCE", "ALLREDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN"};

/// This rank's result in the one order; computed once.
const std::vector<Word>& expected(Operation operation, const Case& at) {
  static std::map<std::tuple<Operation, const Kind*, int, int>, std::vector<Word>> known;
  std::vector<Word>& result = known[{operation, &at.kind, at.team.rank, at.count}];
  const int first = operation == kReduceScatter ? at.team.rank * at.count : 0;
  for (int i = first; result.size() < static_cast<std::size_t>(at.count); ++i) {
    if (operation == kScan || operation == kExscan) {
      const int end = at.team.rank + (operation == kScan ? 1 : 0);
      result.push_back(end > 0 ? at.result(end, i, of_scan) : 0);
    } else {
      result.push_back(at.result(at.team.size, i, of_all));
    }
  }
  return result;
}

/// Whether this rank's result has the bits of the one order.
bool is_right(Operation operation, const Case& at) {
  const Team& team = at.team;
  const MPI_Datatype type = at.kind.type;
  const MPI_Op op = at.kind.op;
  const int total = operation == kReduceScatter ? at.count * team.size : at.count;
  std::vector<Word> out(static_cast<std::size_t>(total)), in(out.size());
  const bool in_place = at.in_place && (operation != kReduce || team.rank == at.root);
  for (int i = 0; i < total; ++i) (in_place ? in : out)[static_cast<std::size_t>(i)] = at.input(team.rank, i);
  const void* send = in_place ? MPI_IN_PLACE : out.data();
  switch (operation) {
    case kReduce:
      perform(at, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, send, in.data(), at.count, type, op, at.root);
      break;
    case kAllreduce:
      perform(at, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, send, in.data(), at.count, type, op);
      break;
    case kReduceScatter:
      perform(at, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, send,
              in.data(), at.count, type, op);
      break;
    case kScan:
      perform(at, MPI_Scan, MPI_Iscan, MPI_Scan_init, send, in.data(), at.count, type, op);
      break;
    case kExscan:
      perform(at, MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, send, in.data(), at.count, type, op);
      break;
  }
  if ((operation == kReduce && team.rank != at.root) || (operation == kExscan && team.rank == 0)) return true;
  in.resize(static_cast<std::size_t>(at.count));
  return in == expected(operation, at);
}

constexpr int kCounts[] = {1, 7, 300, 1500, 131072};
constexpr int kBytesMaxOfAllKinds = 4096;

/// Of one operation by one algorithm: the results, and those of other bits.
struct Score {
  int compared = 0, other = 0;
};
Score score_of(Operation operation, const std::vector<Team>& teams, const std::vector<Kind>& kinds) {
  Score score;
  for (const Team& team : teams) {
    for (const Kind& kind : kinds) {
      for (int count : kCounts) {
        if (count > kBytesMaxOfAllKinds && (&kind != &kinds[0] || &team != &teams[0])) continue;
        if (operation == kReduceScatter) count = (count + team.size - 1) / team.size;
        for (const Form form : {kBlocking, kNonblocking, kPersistent}) {
          if (count > kBytesMaxOfAllKinds && form == kPersistent) continue;
          const int root = (count + form) % team.size;
          const bool in_place = (count / 2 + form) % 2 == 0;
          ++score.compared;
          score.other += is_right(operation, {team, kind, count, root, in_place, form}) ? 0 : 1;
        }
      }
    }
  }
  int other = 0;
  MPI_Allreduce(&score.other, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  score.other = other;
  return score;
}

/// Both groups of an intercommunicator get the sum of the other one.
bool is_right_between(const Team& world, const Kind& kind, MPI_Info info) {
  if (world.size < 2) return true;
  Team half{MPI_COMM_NULL, 0, 0};
  const int lower = world.size / 2;
  const bool is_low = world.rank < lower;
  MPI_Comm local;
  MPI_Comm_split(world.comm, is_low ? 0 : 1, world.rank, &local);
  MPI_Intercomm_create(local, 0, world.comm, is_low ? lower : 0, 7, &half.comm);
  MPI_Comm_set_info(half.comm, info);
  half.is_exact = hint_of(half.comm) == "exact";
  MPI_Comm_rank(local, &half.rank);
  MPI_Comm_remote_size(half.comm, &half.size);
  const Case at{half, kind, 5, 0, false, kBlocking};
  bool right = true;
  std::vector<Word> out, in(5);
  for (int i = 0; i < 5; ++i) out.push_back(at.input(half.rank, i));
  MPI_Allreduce(out.data(), in.data(), 5, kind.type, kind.op, half.comm);
  for (int i = 0; i < 5; ++i) right &= in[static_cast<std::size_t>(i)] == at.result(half.size, i, of_all);
  MPI_Comm_free(&half.comm);
  MPI_Comm_free(&local);
  return right;
}

/// The last ranks have these vectors, the others zeros of either sign: a digest of the sum.
void try_spread(const Team& team, int vectors) {
  constexpr int kCount = 1000;
  std::vector<double> out, in(kCount);
  const int number = team.size - 1 - team.rank;
  for (int i = 0; i < kCount; ++i) {
    const Word random = mixed(static_cast<Word>(number), static_cast<Word>(i));
    const double some = std::ldexp(static_cast<double>(random >> 11) - 0x1p52, static_cast<int>(random % 60));
    out.push_back(number < vectors ? some : random % 2 == 0 ? 0.0 : -0.0);
  }
  MPI_Allreduce(out.data(), in.data(), kCount, MPI_DOUBLE, MPI_SUM, team.comm);
  Word digest = 0;
  for (const double sum : in) digest = mixed(digest, word_of(sum));
  if (team.rank == 0)
    std::printf("spread of %d vectors %016llx\n", vectors, static_cast<unsigned long long>(digest));
}

/// The hint as MPI has it: a value that is none is ignored, and a duplicate does not inherit it.
void try_hints() {
  MPI_Info info;
  MPI_Comm comm, duplicate;
  MPI_Info_create(&info);
  MPI_Info_set(info, "tasuki_repeatable_reductions", "order");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_set(info, "tasuki_repeatable_reductions", "always");
  MPI_Comm_set_info(comm, info);
  MPI_Comm_dup(comm, &duplicate);
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0)
    std::printf("hints %s %s %s\n", hint_of(MPI_COMM_WORLD).c_str(), hint_of(comm).c_str(),
                hint_of(duplicate).c_str());
  MPI_Comm_free(&duplicate);
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int provided, rank, size;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info info;
  MPI_Info_create(&info);
  if (argc > 1) MPI_Info_set(info, "tasuki_repeatable_reductions", argv[1]);
  std::vector<Kind> kinds = make_kinds();
  std::vector<Team> teams;
  for (const int key : {rank, -rank}) {  // as the ranks are, and in reverse
    Team team{MPI_COMM_NULL, 0, size};
    MPI_Comm_split(MPI_COMM_WORLD, 0, key, &team.comm);
    MPI_Comm_set_info(team.comm, info);
    team.is_exact = hint_of(team.comm) == "exact";
    MPI_Comm_rank(team.comm, &team.rank);
    teams.push_back(team);
  }
  for (const Operation operation : {kReduce, kAllreduce, kReduceScatter, kScan, kExscan}) {
    Setting setting(std::string("TASUKI_") + kSettings[operation] + "_ALGORITHM");
    for (const auto& [algorithm, value] : setting.items()) {
      setting.set(value);
      const Score score = score_of(operation, teams, kinds);
      setting.set(0);
      if (rank == 0)
        std::printf("%s %s %d %d\n", kNames[operation], algorithm.c_str(), score.compared, score.other);
    }
  }
  int between = 0, right = 1;
  for (const Kind& kind : kinds) right &= is_right_between(teams[0], kind, info) ? 1 : 0;
  MPI_Allreduce(&right, &between, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) std::printf("between groups 1 %d\n", 1 - between);
  for (int vectors = 1; vectors <= std::min(size, 3); ++vectors) try_spread(teams[0], vectors);
  if (argc > 1) try_hints();
  for (Team& team : teams) MPI_Comm_free(&team.comm);
  MPI_Op_free(&kinds.back().op);
  MPI_Info_free(&info);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
