// What the library's own cost formulas say, for many problems and many tables of parameters: how
// tasuki.tuning asks, so that no formula is written a second time.
//
// Standard input: a problem a line, "OPERATION BYTES RANKS PROCESSORS ALGORITHM", in the library's own terms
// (tuning/problem.hpp); an empty line; then a table a line, JSON as in TASUKI_TUNING_FILE, which counts from
// the built-in parameters. For each table a line comes back with a time in nanoseconds for each problem, "-"
// where the algorithm is not possible. An algorithm that cuts the data in segments takes the best of them, or
// that of "ALGORITHM/BYTES". An ALGORITHM "*" stands for the choice: its name, segments and time, as
// "NAME:TIME" or "NAME/BYTES:TIME". RANKS of one node are a number; "2x4" is 2 nodes of 4 ranks each, which
// follow one another. PROCESSORS are those of a node, for its ranks: a number, which need not be whole.
//
// With the word "parameters": the table of parameters, "PATH VALUE MIN MAX DESCRIPTION" a line; with
// "parameters tcp" the row of the network is that of jobs over hosts (tuning/networks.hpp); with "parameters
// LATENCY_NS MB_PER_SECOND NODE_MB_PER_SECOND" that which virtual nodes imitate when it is set so. With
// "algorithms": "OPERATION ALGORITHM SEGMENTS" a line, the segments worth trying with commas between, or "-".
// With "thresholds": "PATH VALUE" a line, what is built in where a table says 0.
// What is built in is for this machine's processor, or for that which TASUKI_PROCESSOR names.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/distance_tables.hpp"
#include "base/system/processor_maker.hpp"
#include "base/variables/algorithm_table.hpp"
#include "base/variables/config.hpp"
#include "base/variables/settings.hpp"
#include "coll/choice/flag_limits.hpp"
#include "coll/choice/registry.hpp"
#include "tuning/choose.hpp"
#include "tuning/networks.hpp"
#include "tuning/processors.hpp"
#include "tuning/table.hpp"

namespace {

using tasuki::Operation;
using tasuki::Parameters;
using tasuki::Problem;
using tasuki::Table;

constexpr int kTheChoice = -1;

/// As a job has it.
tasuki::ProcessorMaker maker() {
  tasuki::Config config;
  std::string error, warning;
  if (!tasuki::read_settings(environ, &config, &error, &warning)) {
    std::fprintf(stderr, "price: %s\n", error.c_str());
    std::exit(2);
  }
  return tasuki::processor_maker(config.processor);
}

struct Question {
  Problem problem;
  int algorithm;                    // its number, or kTheChoice
  tasuki::Count segment_bytes = 0;  // 0: the cheapest
};

struct Shape {
  int nodes = 1;
  int ranks = 1;  // of each
};

/// Of "8" or "2x4".
bool parse_shape(const std::string& text, Shape* shape) {
  std::istringstream words(text);
  char mark = 0;
  if (text.find('x') == std::string::npos) {
    words >> shape->ranks;
  } else if (!(words >> shape->nodes >> mark >> shape->ranks) || mark != 'x') {
    return false;
  }
  constexpr int kEachMax = 1 << 15;  // so that their product is an int
  return words && words.peek() == EOF && shape->nodes >= 1 && shape->nodes <= kEachMax && shape->ranks >= 1 &&
         shape->ranks <= kEachMax;
}

/// Blocking, of sums of doubles: as coll/run/execution.cpp has it of such a communicator.
Problem problem_of(Operation operation, tasuki::Count bytes, const Shape& shape, double processors) {
  Problem problem{.operation = operation, .size = shape.nodes * shape.ranks, .bytes = bytes};
  problem.blocking = true;
  problem.nodes = shape.nodes;
  problem.node_ranks_max = shape.ranks;
  problem.processors = processors;
  problem.node_segment = shape.nodes == 1;
  problem.composed = shape.nodes > 1 && shape.ranks > 1;
  problem.flags = problem.node_segment && tasuki::shown_bytes(problem) <= tasuki::kInlineBytes;
  return problem;
}

bool parse(const std::string& line, Question* question) {
  std::istringstream words(line);
  std::string operation, ranks, algorithm;
  tasuki::Count bytes = 0;
  double processors = 0;
  Shape shape;
  if (!(words >> operation >> bytes >> ranks >> processors >> algorithm)) return false;
  if (bytes < 0 || processors < 0 || !parse_shape(ranks, &shape)) return false;
  if (const auto mark = algorithm.find('/'); mark != std::string::npos) {
    char* end = nullptr;
    question->segment_bytes = std::strtoll(algorithm.c_str() + mark + 1, &end, 10);
    if (*end != '\0' || question->segment_bytes <= 0) return false;
    algorithm.resize(mark);
  }
  for (std::size_t number = 0; number < tasuki::kAlgorithms; ++number) {
    const tasuki::AlgorithmRow& row = tasuki::algorithm_table()[number];
    if (operation != tasuki::operation_row(row.operation).name) continue;
    if (algorithm != "*" && algorithm != row.name) continue;
    question->problem = problem_of(row.operation, bytes, shape, processors);
    question->algorithm = algorithm == "*" ? kTheChoice : static_cast<int>(number);
    return true;
  }
  return false;
}

tasuki::Selection answer(const Question& question, const Table& table) {
  const Problem& problem = question.problem;
  tasuki::Wanted wanted{.algorithm = -1, .segment_bytes = question.segment_bytes};
  const auto* measured = tasuki::measured_for(problem, table.choices);
  if (question.algorithm == kTheChoice && measured != nullptr)
    wanted = {.algorithm = measured->algorithm, .segment_bytes = measured->segment_bytes};
  tasuki::Contest contest(problem, table.parameters, wanted);
  if (question.algorithm != kTheChoice) {
    contest.enter(tasuki::candidate_of(question.algorithm));
    return contest.choice();
  }
  const int first = tasuki::first_algorithm_of(problem.operation);
  const auto count = static_cast<int>(tasuki::algorithms_of(problem.operation).size());
  for (int number = first; number < first + count; ++number) contest.enter(tasuki::candidate_of(number));
  return contest.choice();
}

void print(const Question& question, const tasuki::Selection& selection) {
  if (selection.place == tasuki::Selection::kNone) {
    std::printf("- ");
  } else if (question.algorithm == kTheChoice) {
    std::printf("%s", tasuki::algorithm_table()[static_cast<std::size_t>(selection.algorithm)].name);
    if (selection.segment_bytes != 0) std::printf("/%lld", static_cast<long long>(selection.segment_bytes));
    std::printf(":%.6g ", selection.predicted_ns);
  } else {
    std::printf("%.6g ", selection.predicted_ns);
  }
}

/// `network`: the words after "parameters"; with none the row is of what virtual nodes imitate when nothing
/// is set.
Parameters built_in(std::span<char*> network) {
  Parameters parameters = tasuki::parameters_of(maker());
  const auto imitate = [&](double latency_ns, double mb_per_second, double node_mb_per_second) {
    tasuki::take_imitated_network(latency_ns, mb_per_second, node_mb_per_second, &parameters);
  };
  const tasuki::Config config;
  if (network.size() == 1) {
    tasuki::take_tcp_network(&parameters);
  } else if (network.size() == 3) {
    imitate(std::atof(network[0]), std::atof(network[1]), std::atof(network[2]));
  } else {
    imitate(static_cast<double>(config.network_latency_ns), static_cast<double>(config.network_mb_per_second),
            static_cast<double>(config.network_node_mb_per_second));
  }
  return parameters;
}

int print_parameters(Parameters parameters) {
  for (const tasuki::ParameterRow& row : tasuki::parameter_table())
    std::printf("%s %.6g %g %g %s\n", row.path, row.field(parameters), row.min, row.max, row.description);
  return 0;
}

int print_thresholds() {
  const tasuki::DistanceTables& tables = tasuki::distance_tables(maker());
  constexpr const char* kRows[tasuki::kDistances] = {"cache", "package", "machine"};
  for (std::size_t i = 0; i < tasuki::kDistances; ++i) {
    const auto print = [&](const char* name, tasuki::Count bytes) {
      std::printf("messages.%s.%s %lld\n", kRows[i], name, static_cast<long long>(bytes));
    };
    print("sender_write_bytes_min", tables[i].sender_write_bytes_min);
    print("waiting_get_bytes_min", tables[i].waiting_get_bytes_min);
    print("cooperative_bytes_min", tables[i].cooperative_bytes_min);
    print("stream_bytes_min", std::min(tables[i].stream_bytes_min, tasuki::Count{1} << 30));  // never
  }
  return 0;
}

int print_algorithms() {
  for (std::size_t number = 0; number < tasuki::kAlgorithms; ++number) {
    const tasuki::AlgorithmRow& row = tasuki::algorithm_table()[number];
    std::printf("%s %s ", tasuki::operation_row(row.operation).name, row.name);
    const auto segments = tasuki::candidate_of(static_cast<int>(number)).segments;
    for (std::size_t i = 0; i < segments.size(); ++i)
      std::printf("%s%lld", i == 0 ? "" : ",", static_cast<long long>(segments[i]));
    std::printf("%s\n", segments.empty() ? "-" : "");
  }
  return 0;
}

int refuse(const std::string& line, const std::string& why) {
  std::fprintf(stderr, "price: %s: \"%s\"\n", why.c_str(), line.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> network(argv + std::min(argc, 2), argv + argc);
  const bool knows_network = argc == 2 || argc == 5 || (argc == 3 && std::strcmp(argv[2], "tcp") == 0);
  if (knows_network && std::strcmp(argv[1], "parameters") == 0) return print_parameters(built_in(network));
  if (argc == 2 && std::strcmp(argv[1], "algorithms") == 0) return print_algorithms();
  if (argc == 2 && std::strcmp(argv[1], "thresholds") == 0) return print_thresholds();
  if (argc != 1)
    return refuse(
        argv[1], "expected nothing, or \"parameters\", \"parameters tcp\", \"algorithms\" or \"thresholds\"");
  std::vector<Question> questions;
  std::string line;
  while (std::getline(std::cin, line) && !line.empty()) {
    Question question{};
    if (!parse(line, &question)) return refuse(line, "expected OPERATION BYTES RANKS PROCESSORS ALGORITHM");
    questions.push_back(question);
  }
  while (std::getline(std::cin, line)) {
    Table table;
    table.parameters = built_in({});
    std::string error;
    if (!tasuki::parse_table(line, &table, &error)) return refuse(line, error);
    for (const Question& question : questions) print(question, answer(question, table));
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
