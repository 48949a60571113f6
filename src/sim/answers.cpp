// What came of a case, in JSON: see sim/answers.hpp.
#include "sim/answers.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "io/plan/aggregators.hpp"
#include "io/plan/file_domains.hpp"
#include "sim/collective.hpp"
#include "sim/exchange.hpp"
#include "sim/flow_queued.hpp"
#include "sim/goal.hpp"
#include "sim/program_case.hpp"

namespace tasuki::sim {
namespace {

using nlohmann::json;

/// What the links carried, and the busiest of them.
void add_links(json& answer, const std::vector<LinkLoad>& loads, double seconds, bool each) {
  double carried = 0, bound = 0;
  const LinkLoad* busiest = nullptr;
  json links = json::array();
  for (const LinkLoad& load : loads) {
    const double busy = load.bytes / load.bytes_per_second;
    carried += load.bytes;
    if (busy > bound) {
      bound = busy;
      busiest = &load;
    }
    links.push_back({{"name", load.name}, {"bytes", load.bytes}, {"busy", seconds > 0 ? busy / seconds : 0}});
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

/// [rank, kind, begin, end, peer] of each.
json spans_of(const std::vector<Span>& all) {
  constexpr const char* kNames[] = {"send", "compute", "transfer", "program", "recorded"};
  json spans = json::array();
  for (const Span& span : all)
    spans.push_back({span.rank, kNames[static_cast<int>(span.kind)], span.begin, span.end, span.peer});
  return spans;
}

/// What a rank has of a file in which the ranks' regions lie in turn, with a gap behind each.
struct Regions {
  Count ranks, bytes, gap, number;

  Count period() const { return ranks * (bytes + gap); }
  Count file_bytes() const { return number * period(); }
  Count before(int rank, Offset end) const {
    const Count whole = std::min(end / period(), number);
    const Count rest = whole == number ? 0 : end % period() - rank * (bytes + gap);
    return whole * bytes + std::clamp(rest, Count{0}, bytes);
  }
  Count in(int rank, FileRange range) const { return before(rank, range.end) - before(rank, range.begin); }
};

bool is_round_robin(const json& exchange, const char* field) {
  const auto text = exchange.at(field).get<std::string>();
  if (text != "block" && text != "round_robin")
    throw std::invalid_argument(std::string(field) + " = \"" + text + "\", expected block or round_robin");
  return text == "round_robin";
}

NodeMap placed(const Request& request, bool round_robin) {
  const int hosts = request.ranks / request.ranks_per_host;
  std::vector<int> host_of;
  for (int rank = 0; rank < request.ranks; ++rank)
    host_of.push_back(round_robin ? rank % hosts : rank / request.ranks_per_host);
  return {host_of, 0};
}

}  // namespace

json answer_collective(const Request& request, const json& one) {
  const Collective collective(request, one);
  const auto flows = make_flows(request.topology);
  const Outcome outcome = run(collective.job(), *flows);
  if (!outcome.complete) throw std::logic_error("the schedules did not come to their end");
  json answer = {{"algorithm", collective.algorithm_name()},
                 {"segment_bytes", collective.selection().segment_bytes},
                 {"formula_seconds", collective.selection().predicted_ns / 1e9},
                 {"seconds", outcome.seconds},
                 {"messages", outcome.traffic.messages},
                 {"sent_bytes", outcome.traffic.bytes},
                 {"received_bytes", outcome.traffic.received_bytes},
                 {"network_bytes", outcome.traffic.network_bytes},
                 {"processor_busy_seconds", outcome.processor_busy_seconds}};
  add_links(answer, flows->loads(), outcome.seconds, one.value("links", false));
  if (collective.job().records) answer["spans"] = spans_of(outcome.spans);
  return answer;
}

json answer_goal(const Request& request, const json& one) {
  const Collective collective(request, one);
  const auto path = one.at("goal").get<std::string>();
  std::FILE* out = std::fopen(path.c_str(), "wb");
  if (out == nullptr) throw std::invalid_argument(path + ": cannot be written");
  const GoalForm form =
      one.value("goal_form", "text") == std::string("binary") ? GoalForm::kBinary : GoalForm::kText;
  const double messages = write_goal(collective.job(), form, out);
  if (std::fclose(out) != 0 || messages < 0) throw std::runtime_error(path + ": is not whole: no space?");
  return {{"algorithm", collective.algorithm_name()},
          {"segment_bytes", collective.selection().segment_bytes},
          {"messages", messages}};
}

json answer_program(const Request& request, const json& one) {
  const ProgramCase asked(request, one);
  const auto flows = make_flows(request.topology);
  const ProgramOutcome outcome = run_program(asked.program(), *flows);
  if (!outcome.complete) return {{"stuck", outcome.stuck}};
  json answer = {{"seconds", outcome.seconds},
                 {"messages", outcome.traffic.messages},
                 {"sent_bytes", outcome.traffic.bytes},
                 {"received_bytes", outcome.traffic.received_bytes},
                 {"network_bytes", outcome.traffic.network_bytes},
                 {"timeline_seconds", outcome.timeline_seconds},
                 {"computing_seconds", outcome.computing_seconds},
                 {"processor_busy_seconds", outcome.processor_busy_seconds}};
  json chosen = json::array();
  for (const auto& collective : asked.collectives())
    chosen.push_back({{"algorithm", collective->algorithm_name()},
                      {"segment_bytes", collective->selection().segment_bytes},
                      {"formula_seconds", collective->selection().predicted_ns / 1e9}});
  answer["collectives"] = chosen;
  if (one.value("ends", false)) answer["ends"] = outcome.ends;
  add_links(answer, flows->loads(), outcome.seconds, one.value("links", false));
  if (asked.program().records) answer["spans"] = spans_of(outcome.spans);
  return answer;
}

json answer_exchange(const Request& request, const json& one) {
  const json& asked = one.at("exchange");
  const NodeMap map = placed(request, is_round_robin(asked, "placement"));
  ExchangeJob job;
  job.map = &map;
  const auto order = asked.at("order").get<std::string>();
  if (!parse_order(order.c_str(), &job.order))
    throw std::invalid_argument("order = \"" + order +
                                "\", expected rank, pairwise, nd_shift, nd_rank_shift or weighted");
  job.aggregators = choose_aggregators(
      map,
      {.per_node = asked.at("aggregators_per_node"),
       .placement = is_round_robin(asked, "aggregator_layout") ? AggregatorPlacement::kRoundRobin
                                                               : AggregatorPlacement::kBlock},
      nullptr);
  job.cycles = asked.value("cycles", Count{1});
  job.cycles_at_a_time = asked.value("cycles_at_a_time", Count{2});
  job.messages_under_way = asked.value("messages_under_way", 0);
  job.receive_seconds = asked.value("receive_seconds", 0.0);
  job.handover_seconds = asked.value("handover_seconds", 0.0);
  job.costs = request.costs;
  job.targets = request.topology.storage.targets;
  const auto number = static_cast<int>(job.aggregators.size());
  const Count even_bytes = asked.value("even_bytes", Count{0});
  Regions regions{request.ranks, asked.value("region_bytes", Count{0}), asked.value("gap_bytes", Count{0}),
                  asked.value("regions", Count{0})};
  const Count buffer_bytes = asked.value("buffer_bytes", Count{1} << 20);
  FileDomains domains;
  if (even_bytes > 0) {
    job.bytes = [even_bytes](int, int, Count) { return even_bytes; };
    job.target = [](int, Count) { return -1; };
  } else {
    if (job.targets == 0)
      throw std::invalid_argument("storage: not given, expected one for an exchange of files");
    domains = FileDomains::stripes({0, regions.file_bytes()}, number, buffer_bytes, buffer_bytes);
    job.cycles = std::min(job.cycles, domains.cycles());
    job.bytes = [&](int rank, int aggregator, Count cycle) {
      return regions.in(rank, domains.window(aggregator, cycle));
    };
    job.target = [&](int aggregator, Count cycle) {
      return static_cast<int>(domains.window(aggregator, cycle).begin / buffer_bytes % job.targets);
    };
  }
  auto flows = make_flows(request.topology);
  if (request.topology.kind == Topology::Kind::kCrossbar)
    flows = queue_short(std::move(flows), request.topology, asked.value("queued_bytes_max", 0.0),
                        asked.value("gap_seconds", 0.0));
  const ExchangeOutcome outcome = run_exchange(job, *flows);
  if (!outcome.complete) throw std::logic_error("the exchange did not come to its end");
  json answer = {{"aggregators", number},
                 {"cycles", job.cycles},
                 {"cycles_of_file", even_bytes > 0 ? 1 : domains.cycles()},
                 {"seconds", outcome.seconds},
                 {"messages", outcome.messages},
                 {"sent_bytes", outcome.bytes},
                 {"received_bytes", outcome.received_bytes},
                 {"network_bytes", outcome.network_bytes},
                 {"written_bytes", outcome.written_bytes},
                 {"exchange_seconds", outcome.exchange_seconds},
                 {"write_seconds", outcome.write_seconds},
                 {"rank_seconds", outcome.rank_seconds},
                 {"target_busy_seconds", outcome.target_busy_seconds},
                 {"processor_busy_seconds", outcome.processor_busy_seconds}};
  add_links(answer, flows->loads(), outcome.seconds, one.value("links", false));
  return answer;
}

}  // namespace tasuki::sim
