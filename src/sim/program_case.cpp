// A program of a case: see sim/program_case.hpp.
#include "sim/program_case.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace tasuki::sim {
namespace {

using nlohmann::json;
using Operation = Program::Operation;

/// A number from 0 to `end` - 1.
int index_of(const json& found, std::size_t end, const char* what) {
  const auto number = found.get<long long>();
  if (number < 0 || number >= static_cast<long long>(end))
    throw std::invalid_argument(std::string("program: ") + what + " " + std::to_string(number) +
                                ", expected one from 0 to " + std::to_string(end) + " - 1");
  return static_cast<int>(number);
}

Operation::Kind kind_of(const std::string& name) {
  constexpr const char* kNames[] = {"compute", "send", "receive", "collective", "meet", "join"};
  for (int kind = 0; kind <= static_cast<int>(Operation::Kind::kLast); ++kind) {
    if (name == kNames[kind]) return static_cast<Operation::Kind>(kind);
  }
  throw std::invalid_argument("program: operation \"" + name +
                              "\", expected compute, send, receive, collective, meet or join");
}

std::size_t numbers_of(Operation::Kind kind, const Program& program) {
  using enum Operation::Kind;
  if (kind == kSend || kind == kReceive) return program.messages.size();
  if (kind == kCollective) return program.calls.size();
  return kind == kMeet ? program.meetings.size() : 1;
}

Operation operation_of(const json& found, std::size_t index, const Program& program) {
  Operation operation;
  operation.kind = kind_of(found.at(0));
  operation.seconds = found.at(2);
  operation.number = index_of(found.at(1), numbers_of(operation.kind, program), "number of an operation");
  for (std::size_t i = 3; i < found.size(); ++i)
    operation.requires_these.push_back(index_of(found[i], index, "required operation"));
  return operation;
}

}  // namespace

ProgramCase::ProgramCase(const Request& request, const json& one) {
  const json& told = one.at("program");
  program_.costs = request.costs;
  program_.control_seconds = told.value("control_seconds", 0.0);
  program_.messages_under_way = told.value("messages_under_way", 0);
  program_.records = one.value("spans", false);
  const auto hosts = static_cast<std::size_t>(request.topology.hosts());
  for (const json& host : told.at("hosts")) program_.hosts.push_back(index_of(host, hosts, "host"));
  const std::size_t timelines = program_.hosts.size();
  for (const json& message : told.at("messages"))
    program_.messages.push_back({.from = index_of(message.at(0), timelines, "sender"),
                                 .to = index_of(message.at(1), timelines, "receiver"),
                                 .bytes = message.at(2),
                                 .waits_for_receive = message.at(3) == "rendezvous"});
  for (const json& collective : told.at("collectives")) {
    std::vector<int> those, where;
    for (const json& member : collective.at("members")) {
      those.push_back(index_of(member, timelines, "member"));
      where.push_back(program_.hosts[static_cast<std::size_t>(those.back())]);
    }
    collectives_.push_back(std::make_unique<Collective>(request, where, collective));
    members_.push_back(std::move(those));
  }
  for (const json& call : told.at("calls")) {
    const auto number = static_cast<std::size_t>(index_of(call, collectives_.size(), "collective"));
    program_.calls.push_back({&members_[number], &collectives_[number]->job()});
  }
  program_.meetings = told.at("meetings").get<std::vector<int>>();
  for (const json& timeline : told.at("timelines")) {
    std::vector<Operation>& operations = program_.timelines.emplace_back();
    for (const json& operation : timeline)
      operations.push_back(operation_of(operation, operations.size(), program_));
  }
  if (program_.timelines.size() != timelines)
    throw std::invalid_argument("program: " + std::to_string(program_.timelines.size()) +
                                " timelines, expected a host for each");
}

}  // namespace tasuki::sim
