// The schedules of a collective that is asked for: see sim/collective.hpp.
#include "sim/collective.hpp"

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

Problem problem_of(const Request& request, Operation operation, Count bytes) {
  Problem problem{.operation = operation, .size = request.ranks, .bytes = bytes};
  if (operation == Operation::kAllgather) problem.bytes *= request.ranks;  // of all blocks together
  problem.blocking = true;
  problem.nodes = (request.ranks + request.ranks_per_host - 1) / request.ranks_per_host;
  problem.node_ranks_max = request.ranks_per_host;
  problem.extents = request.extents;
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

Selection choose(const Request& request, const Problem& problem, const std::string& name,
                 Count segment_bytes) {
  const Wanted wanted{.algorithm = -1, .segment_bytes = segment_bytes};
  Contest contest(problem, request.parameters, wanted);
  for (const Algorithm& candidate : candidates_of(problem.operation)) {
    if (!writes_messages(candidate, problem)) continue;
    if (name == "*" || name == name_of(candidate.algorithm)) contest.enter(candidate);
  }
  if (contest.choice().place == Selection::kNone)
    throw std::invalid_argument("algorithm = \"" + name + "\", expected one of " +
                                operation_row(problem.operation).name + " that these ranks allow");
  return contest.choice();
}

/// The host of each rank.
std::vector<int> hosts_of(const Request& request) {
  std::vector<int> hosts(static_cast<std::size_t>(request.ranks));
  for (int rank = 0; rank < request.ranks; ++rank)
    hosts[static_cast<std::size_t>(rank)] = rank / request.ranks_per_host;
  return hosts;
}

}  // namespace

Collective::Collective(const Request& request, const json& one)
    : request_(request),
      operation_(operation_of(one.at("operation"))),
      bytes_(one.at("bytes")),
      problem_(problem_of(request, operation_, bytes_)),
      selection_(choose(request, problem_, one.at("algorithm"), one.value("segment_bytes", Count{0}))),
      map_(hosts_of(request), 0) {
  job_.ranks = request.ranks;
  job_.ranks_per_host = request.ranks_per_host;
  job_.way = one.value("way", std::string("rounds")) == "data" ? Way::kData : Way::kRounds;
  job_.costs = request.costs;
  job_.records = one.value("spans", false);
  job_.reduced_element_bytes = reduces(operation_) ? 8 : 1;
  job_.write = [this](int rank, Schedule& schedule) { write(rank, schedule); };
}

const char* Collective::algorithm_name() const {
  return name_of(selection_.algorithm);
}

void Collective::write(int rank, Schedule& schedule) const {
  const Team team{.self = {.rank = rank, .size = request_.ranks},
                  .root = 0,
                  .segment_bytes = selection_.segment_bytes,
                  .nodes = &map_,
                  .problem = &problem_,
                  .parameters = &request_.parameters};
  const auto number = static_cast<std::size_t>(selection_.algorithm - first_algorithm_of(operation_));
  candidates_of(operation_)[number].schedule(schedule, team, data_of(operation_, bytes_, request_.ranks));
  schedule.end_round();
}

std::vector<std::string> algorithm_names(const Request& request, const json& one) {
  const Operation operation = operation_of(one.at("operation"));
  const Problem problem = problem_of(request, operation, one.at("bytes"));
  std::vector<std::string> names;
  for (const Algorithm& candidate : candidates_of(operation)) {
    if (writes_messages(candidate, problem)) names.emplace_back(name_of(candidate.algorithm));
  }
  return names;
}

}  // namespace tasuki::sim
