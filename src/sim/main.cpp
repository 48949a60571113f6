// tasuki-simulate: what `tasuki simulate` runs. Standard input: a JSON document, a machine and cases;
// standard output: one with an answer for each case. Each case runs in a process of its own: the engine's
// clock and its links begin anew.
//
//   {"topology": {"kind": "torus", "shape": [8, 6, 8], "bytes_per_second": 5e9, "slow": []},
//    "ranks_per_host": 1, "shape": [8, 6, 8],
//    "software_seconds": 1e-6, "hardware_seconds": 6e-7, "reduced_bytes_per_second": 4e9,
//    "copied_bytes_per_second": 0,
//    "cases": [{"operation": "bcast", "algorithm": "grid_3", "bytes": 1048576, "segment_bytes": 16384,
//               "way": "rounds"}]}
//
// An algorithm "*" is the library's choice; segments of 0 bytes are those that its formulas prefer. With
// "only_names" the answer is the valid algorithms of each case.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/variables/algorithm_table.hpp"
#include "coll/choice/registry.hpp"
#include "sim/run.hpp"

namespace {

using namespace tasuki;
using nlohmann::json;

struct Request {
  json document;
  sim::Topology topology;
  sim::Costs costs;
  Parameters parameters;
  int ranks = 1, ranks_per_host = 1;
  std::array<int, 3> extents = {};
};

std::vector<int> whole_numbers(const json& from, const char* name) {
  return from.value(name, std::vector<int>());
}

Request request_of(json document) {
  Request request;
  const json& topology = document.at("topology");
  const auto kind = topology.at("kind").get<std::string>();
  using Kind = sim::Topology::Kind;
  if (kind == "torus") {
    request.topology.kind = Kind::kTorus;
  } else if (kind == "crossbar") {
    request.topology.kind = Kind::kCrossbar;
  } else if (kind == "fat_tree") {
    request.topology.kind = Kind::kFatTree;
  } else if (kind == "dragonfly") {
    request.topology.kind = Kind::kDragonfly;
  } else {
    throw std::invalid_argument("topology.kind = \"" + kind +
                                "\", expected torus, crossbar, fat_tree or dragonfly");
  }
  request.topology.shape = whole_numbers(topology, "shape");
  request.topology.down = whole_numbers(topology, "down");
  request.topology.up = whole_numbers(topology, "up");
  request.topology.links = whole_numbers(topology, "links");
  request.topology.bytes_per_second = topology.at("bytes_per_second");
  for (const json& slow : topology.value("slow", json::array()))
    request.topology.slow.push_back({slow.at("from"), slow.at("to"), slow.at("factor")});
  request.ranks_per_host = document.value("ranks_per_host", 1);
  request.ranks = document.value("ranks", request.topology.hosts() * request.ranks_per_host);
  const auto shape = whole_numbers(document, "shape");
  for (std::size_t i = 0; i < shape.size() && i < request.extents.size(); ++i) request.extents[i] = shape[i];
  sim::Costs& costs = request.costs;
  costs.software_seconds = document.at("software_seconds");
  costs.hardware_seconds = document.at("hardware_seconds");
  costs.reduced_bytes_per_second = document.value("reduced_bytes_per_second", 0.0);
  costs.copied_bytes_per_second = document.value("copied_bytes_per_second", 0.0);
  const double rate = request.topology.bytes_per_second / 1e9;
  request.parameters.network = {costs.software_seconds * 1e9, costs.hardware_seconds * 1e9, rate, rate, 0};
  if (costs.reduced_bytes_per_second > 0)
    request.parameters.reduced_bytes_per_ns = costs.reduced_bytes_per_second / 1e9;
  if (costs.copied_bytes_per_second > 0)
    request.parameters.copied_bytes_per_ns = costs.copied_bytes_per_second / 1e9;
  request.document = std::move(document);
  return request;
}

Operation operation_of(const std::string& name) {
  for (std::size_t number = 0; number < kAlgorithms; ++number) {
    const Operation operation = algorithm_table()[number].operation;
    if (name == operation_row(operation).name) return operation;
  }
  throw std::invalid_argument("operation = \"" + name + "\", expected a collective, as bcast");
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
    if (name == "*" || name == algorithm_table()[static_cast<std::size_t>(candidate.algorithm)].name)
      contest.enter(candidate);
  }
  if (contest.choice().place == Selection::kNone)
    throw std::invalid_argument("algorithm = \"" + name + "\", expected one of " +
                                operation_row(problem.operation).name + " that these ranks allow");
  return contest.choice();
}

/// What the links carried, and the busiest of them.
void add_links(json& answer, const std::vector<sim::LinkLoad>& loads, double seconds, bool each) {
  double carried = 0, bound = 0;
  const sim::LinkLoad* busiest = nullptr;
  json links = json::array();
  for (const sim::LinkLoad& load : loads) {
    const double busy = load.bytes / load.bytes_per_second;
    carried += load.bytes;
    if (busy > bound) {
      bound = busy;
      busiest = &load;
    }
    links.push_back({{"name", load.name}, {"bytes", load.bytes}, {"busy", busy / seconds}});
  }
  answer["carried_bytes"] = carried;
  answer["bound_seconds"] = std::max(bound, answer["processor_busy_seconds"].get<double>());
  if (each) answer["links"] = links;
  if (busiest == nullptr) return;
  answer["busiest_link"] = {{"name", busiest->name},
                            {"bytes", busiest->bytes},
                            {"bytes_per_second", busiest->bytes_per_second},
                            {"pairs", busiest->pairs},
                            {"busy", bound / seconds}};
}

json run_case(const Request& request, const json& one) {
  const Operation operation = operation_of(one.at("operation"));
  const Count bytes = one.at("bytes");
  const Problem problem = problem_of(request, operation, bytes);
  const Selection selection =
      choose(request, problem, one.at("algorithm"), one.value("segment_bytes", Count{0}));
  const Algorithm& algorithm =
      candidates_of(operation)[static_cast<std::size_t>(selection.algorithm - first_algorithm_of(operation))];
  std::vector<int> nodes(static_cast<std::size_t>(request.ranks));
  for (int rank = 0; rank < request.ranks; ++rank)
    nodes[static_cast<std::size_t>(rank)] = rank / request.ranks_per_host;
  const NodeMap map(nodes, 0);

  sim::Job job;
  job.ranks = request.ranks;
  job.ranks_per_host = request.ranks_per_host;
  job.way = one.value("way", std::string("rounds")) == "data" ? sim::Way::kData : sim::Way::kRounds;
  job.costs = request.costs;
  job.reduced_element_bytes = reduces(operation) ? 8 : 1;
  job.write = [&](int rank, Schedule& schedule) {
    const Team team{.self = {.rank = rank, .size = request.ranks},
                    .root = 0,
                    .segment_bytes = selection.segment_bytes,
                    .nodes = &map,
                    .problem = &problem,
                    .parameters = &request.parameters};
    algorithm.schedule(schedule, team, data_of(operation, bytes, request.ranks));
    schedule.end_round();
  };
  const auto flows = sim::make_flows(request.topology);
  const sim::Outcome outcome = sim::run(job, *flows);
  if (!outcome.complete) throw std::logic_error("the schedules did not come to their end");
  json answer = {{"algorithm", algorithm_table()[static_cast<std::size_t>(selection.algorithm)].name},
                 {"segment_bytes", selection.segment_bytes},
                 {"formula_seconds", selection.predicted_ns / 1e9},
                 {"seconds", outcome.seconds},
                 {"messages", outcome.messages},
                 {"sent_bytes", outcome.bytes},
                 {"received_bytes", outcome.received_bytes},
                 {"network_bytes", outcome.network_bytes},
                 {"processor_busy_seconds", outcome.processor_busy_seconds}};
  add_links(answer, flows->loads(), outcome.seconds, one.value("links", false));
  return answer;
}

json names_of(const Request& request, const json& one) {
  const Operation operation = operation_of(one.at("operation"));
  const Problem problem = problem_of(request, operation, one.at("bytes"));
  json names = json::array();
  for (const Algorithm& candidate : candidates_of(operation)) {
    if (writes_messages(candidate, problem))
      names.push_back(algorithm_table()[static_cast<std::size_t>(candidate.algorithm)].name);
  }
  return names;
}

/// What `body` answers in a process of its own.
template <class Body>
json in_child(Body&& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    close(ends[0]);
    json answer;
    try {
      answer = body();
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    const std::string text = answer.dump();
    std::FILE* out = fdopen(ends[1], "w");
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || text.empty())
    throw std::runtime_error("the simulation ended early: out of memory?");
  json answer = json::parse(text);
  if (answer.is_object() && answer.contains("error"))
    throw std::invalid_argument(answer["error"].get<std::string>());
  return answer;
}

}  // namespace

int main() {
  try {
    const Request request = request_of(json::parse(std::cin));
    if (request.topology.hosts() > sim::hosts_max())
      throw std::invalid_argument(std::to_string(request.topology.hosts()) + " hosts, expected at most " +
                                  std::to_string(sim::hosts_max()) + " with " + sim::engine_name());
    json answers = json::array();
    for (const json& one : request.document.at("cases")) {
      if (request.document.value("only_names", false)) {
        answers.push_back(names_of(request, one));
      } else {
        answers.push_back(in_child([&] { return run_case(request, one); }));
      }
    }
    std::cout << json({{"engine", sim::engine_name()}, {"answers", answers}}).dump() << std::endl;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tasuki-simulate: %s\n", error.what());
    return 2;
  }
  return 0;
}
