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
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "sim/answers.hpp"
#include "sim/collective.hpp"

namespace {

using namespace tasuki;
using nlohmann::json;

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

/// The answer to a case.
json answer_of(const sim::Request& request, const json& one, bool only_names) {
  if (only_names) return sim::algorithm_names(request, one);
  return in_child([&] {
    if (one.contains("goal")) return sim::answer_goal(request, one);
    if (one.contains("program")) return sim::answer_program(request, one);
    return one.contains("exchange") ? sim::answer_exchange(request, one)
                                    : sim::answer_collective(request, one);
  });
}

}  // namespace

int main() {
  try {
    const json document = json::parse(std::cin);
    const sim::Request request = sim::request_of(document);
    if (request.topology.hosts() > sim::hosts_max())
      throw std::invalid_argument(std::to_string(request.topology.hosts()) + " hosts, expected at most " +
                                  std::to_string(sim::hosts_max()));
    json answers = json::array();
    for (const json& one : document.at("cases"))
      answers.push_back(answer_of(request, one, document.value("only_names", false)));
    std::cout << json({{"engine", sim::engine_name()}, {"answers", answers}}).dump() << std::endl;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tasuki-simulate: %s\n", error.what());
    return 2;
  }
  return 0;
}
