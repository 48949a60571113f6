// The schedules of a collective that is asked for: see sim/collective.hpp.
#include "sim/collective.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/variables/algorithm_table.hpp"

namespace tasuki::sim {
namespace {

using nlohmann::json;

Operation operation_of(const std::string& name) {
  for (std::size_t number = 0; number < kAlgorithms; ++number) {
    const Operation operation = algorithm_table()[number].operation;
    if (name == operation_row(operation).name) return operation;
  }
  throw std::invalid_argument("operation = \"" + name + "\", expected a collective, as bcast");
}

const char* name_of(int algorithm) {
  return algorithm_table()[static_cast<std::size_t>(algorithm)].name;
}

bool reduces(Operation operation) {
  using enum Operation;
  return operation == kAllreduce || operation == kReduce || operation == kReduceScatter ||
         operation == kScan || operation == kExscan;
}

/// `hosts`: of each rank.
Problem problem_of(const Request& request, const std::vector<int>& hosts, Operation operation, Count bytes) {
  const auto ranks = static_cast<int>(hosts.size());
  Problem problem{.operation = operation, .size = ranks, .bytes = bytes};
  if (operation == Operation::kAllgather) problem.bytes *= ranks;  // of all blocks together
  problem.blocking = true;
  std::map<int, int> ranks_of;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const int here = ++ranks_of[hosts[rank]];
    problem.node_ranks_max = std::max(problem.node_ranks_max, here);
    if (here > 1 && hosts[rank] != hosts[rank - 1]) problem.consecutive = false;
  }
  problem.nodes = static_cast<int>(ranks_of.size());
  if (hosts == blocks_of(request)) problem.extents = request.extents;
  return problem;
}

/// The data of a call of raw bytes, or of a reduction of doubles.
CallData data_of(Operation operation, Count bytes, int size) {
  using enum Operation;
  constexpr TypeShape kDouble{.size = 8, .extent = 8, .true_lb = 0, .true_extent = 8, .contiguous = true};
  CallData data;
  if (reduces(operation)) {
    data.vector = {.count = bytes / 8, .type = kDouble};
    data.blocks = {.type = kDouble, .count = bytes / 8 / size};
    return data;
  }
  constexpr auto kRaw = ElementType::kBytes;
  const bool is_bcast = operation == kBcast;
  const Space mine = is_bcast || operation == kScatter ? Space::kReceive : Space::kSend;
  const Space all = operation == kScatter ? Space::kSend : Space::kReceive;
  data.elements = {.space = mine, .element = kRaw, .count = bytes};
  data.blocks = {.space = all, .element = kRaw, .count = bytes};
  data.out = {.space = Space::kSend, .element = kRaw, .count = bytes};
  return data;
}

bool writes_messages(const Algorithm& one, const Problem& problem) {
  return one.schedule != nullptr && one.collective == nullptr && one.valid(problem);
}

/// `or_chosen`: where that algorithm is none of messages that is valid here, the library's choice.
Selection choose(const Request& request, const Problem& problem, const std::string& name, bool or_chosen,
                 Count segment_bytes) {
  const Wanted wanted{.algorithm = -1, .segment_bytes = segment_bytes};
  Contest contest(problem, request.parameters, wanted);
  for (const Algorithm& candidate : candidates_of(problem.operation)) {
    if (!writes_messages(candidate, problem)) continue;
    if (name == "*" || name == name_of(candidate.algorithm)) contest.enter(candidate);
  }
  if (contest.choice().place == Selection::kNone && or_chosen && name != "*")
    return choose(request, problem, "*", false, segment_bytes);
  if (contest.choice().place == Selection::kNone)
    throw std::invalid_argument("algorithm = \"" + name + "\", expected one of " +
                                operation_row(problem.operation).name + " that these ranks allow");
  return contest.choice();
}

}  // namespace

std::vector<int> blocks_of(const Request& request) {
  std::vector<int> hosts(static_cast<std::size_t>(request.ranks));
  for (int rank = 0; rank < request.ranks; ++rank)
    hosts[static_cast<std::size_t>(rank)] = rank / request.ranks_per_host;
  return hosts;
}

Collective::Collective(const Request& request, const json& one)
    : Collective(request, blocks_of(request), one) {}

Collective::Collective(const Request& request, const std::vector<int>& hosts, const json& one)
    : request_(request),
      operation_(operation_of(one.at("operation"))),
      bytes_(one.at("bytes")),
      root_(one.value("root", 0)),
      problem_(problem_of(request, hosts, operation_, bytes_)),
      selection_(choose(request, problem_, one.at("algorithm"), one.value("or_chosen", false),
                        one.value("segment_bytes", Count{0}))),
      map_(hosts, 0) {
  job_.hosts = hosts;
  job_.way = one.value("way", std::string("rounds")) == "data" ? Way::kData : Way::kRounds;
  job_.costs = request.costs;
  job_.eager_bytes_max = one.value("eager_bytes_max", -1.0);
  job_.records = one.value("spans", false);
  job_.reduced_element_bytes = reduces(operation_) ? 8 : 1;
  job_.write = [this](int rank, Schedule& schedule) { write(rank, schedule); };
}

const char* Collective::algorithm_name() const {
  return name_of(selection_.algorithm);
}

void Collective::write(int rank, Schedule& schedule) const {
  const Team team{.self = {.rank = rank, .size = problem_.size},
                  .root = root_,
                  .segment_bytes = selection_.segment_bytes,
                  .nodes = &map_,
                  .problem = &problem_,
                  .parameters = &request_.parameters};
  const auto number = static_cast<std::size_t>(selection_.algorithm - first_algorithm_of(operation_));
  candidates_of(operation_)[number].schedule(schedule, team, data_of(operation_, bytes_, problem_.size));
  schedule.end_round();
}

std::vector<std::string> algorithm_names(const Request& request, const json& one) {
  const Operation operation = operation_of(one.at("operation"));
  const Problem problem = problem_of(request, blocks_of(request), operation, one.at("bytes"));
  std::vector<std::string> names;
  for (const Algorithm& candidate : candidates_of(operation)) {
    if (writes_messages(candidate, problem)) names.emplace_back(name_of(candidate.algorithm));
  }
  return names;
}

}  // namespace tasuki::sim
