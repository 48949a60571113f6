// The price of a cost: see tuning/cost.hpp.
#include "tuning/cost.hpp"

#include <algorithm>
#include <cmath>

namespace tasuki {

const MessageParameters& message_within(const Parameters& parameters, Distance distance) {
  switch (distance) {
    case Distance::kCache:
      return parameters.cache;
    case Distance::kPackage:
      return parameters.package;
    case Distance::kMachine:
      return parameters.machine;
    case Distance::kNetwork:
      break;
  }
  return parameters.network;
}

namespace {

/// The bytes in the buffers of the rank that has the most.
double buffer_bytes(const Problem& problem) {
  const auto bytes = static_cast<double>(problem.bytes);
  const double ranks = problem.size;
  switch (problem.operation) {
    case Operation::kBarrier:
    case Operation::kBcast:
      return bytes;
    case Operation::kAllgather:
    case Operation::kReduceScatter:
      return bytes + bytes / ranks;
    case Operation::kGather:
    case Operation::kScatter:
    case Operation::kGatherv:
    case Operation::kScatterv:
      return (ranks + 1) * bytes;
    case Operation::kAlltoall:
    case Operation::kAlltoallv:
      return 2 * ranks * bytes;
    default:  // allreduce, reduce, scan, exscan
      return 2 * bytes;
  }
}

/// The bytes in the buffers of a processor's ranks.
double used_bytes(const Problem& problem) {
  return buffer_bytes(problem) * ranks_per_processor(problem);
}

}  // namespace

double processors_at_work(const Problem& problem) {
  return problem.size / ranks_per_processor(problem);
}

double uncached_share(const Problem& problem, const Parameters& parameters) {
  const double used = used_bytes(problem);
  return used <= parameters.cache_bytes ? 0 : 1 - parameters.cache_bytes / used;
}

double travelling_share(const Problem& problem, const Parameters& parameters) {
  // On the EPYC of the built-in parameters 32 MiB still travel; more was not measured.
  constexpr double kLastLevelCaches = 8;
  return std::min(1.0, kLastLevelCaches * parameters.cache_bytes / std::max(used_bytes(problem), 1.0));
}

double turns_ns(const Problem& problem, const Parameters& parameters) {
  return (ranks_per_processor(problem) - 1) * parameters.turn_ns;
}

double ranks_away(const Problem& problem) {
  return std::max(0.0, problem.size - ranks_per_processor(problem));
}

double flags_of_all_ns(const Problem& problem, const Parameters& parameters) {
  return std::max(0.0, ranks_away(problem) - 1) * parameters.flag_read_ns;
}

double travel_ns(double bytes, const Parameters& parameters) {
  return bytes / parameters.travelled_bytes_per_ns;
}

bool is_streamed(double run_bytes, const Problem& problem, const Parameters& parameters) {
  const CopyThresholds& thresholds = problem.distance == Distance::kCache     ? parameters.cache_copies
                                     : problem.distance == Distance::kPackage ? parameters.package_copies
                                                                              : parameters.machine_copies;
  return thresholds.stream_bytes_min > 0 && run_bytes >= thresholds.stream_bytes_min;
}

double stream_ns(double bytes, const Parameters& parameters) {
  return bytes / parameters.streamed_bytes_per_ns;
}

namespace {

/// What the nodes' ways to each other take, which those that send at the same time share: all ranks of a node
/// do, or, in a part between nodes, as many lanes as there are. The busiest way has at least the bytes of the
/// busiest rank.
double shared_way_ns(const Cost& cost, const Problem& problem, const Parameters& parameters) {
  const double lanes =
      std::max(1.0, static_cast<double>(problem.nodes) * problem.node_ranks_max / problem.size);
  const double bytes = std::max(cost.bytes, cost.total_bytes / problem.nodes);
  return lanes * std::max(cost.messages / problem.nodes * parameters.network_gap_ns,
                          bytes / parameters.network_node_bytes_per_ns);
}

/// Of the ranks that a rank sends to, how many are on other nodes, if it is as often any of them as another.
double share_between_nodes(const Problem& problem) {
  if (problem.nodes <= 1) return 0;
  return (problem.size - static_cast<double>(problem.size) / problem.nodes) / (problem.size - 1);
}

/// Whether each message answers one of the rank's that it goes to, so that packets pass between the two.
bool answers(const Cost& cost, const Problem& problem) {
  return cost.in_pairs || (problem.size == 2 && !cost.one_way);
}

/// What messages of one kind take of the processors, and between nodes of the nodes' ways; `share`: of all.
double way_ns(const Cost& cost, double share, bool is_network, bool is_long, const Problem& problem,
              const Parameters& parameters) {
  if (share == 0) return 0;
  const MessageParameters& message =
      is_network ? parameters.network : message_within(parameters, problem.distance);
  const double processors = processors_at_work(problem);
  const double messages = std::max(cost.steps, 2 * cost.messages / processors);
  double software_ns = message.software_ns;
  // Short messages that wait for nothing leave together.
  if (is_network && cost.one_way && !is_long && parameters.network_gap_ns > 0)
    software_ns = std::min(software_ns, parameters.network_gap_ns);
  double ns = messages * (software_ns + (is_long ? message.long_ns : 0));
  if (is_network) {  // which carries both ways at once
    const double bytes = std::max(cost.bytes, cost.total_bytes / processors);
    ns += bytes / (is_long ? message.bytes_per_ns : message.eager_bytes_per_ns);
    return share * std::max(ns, shared_way_ns(cost, problem, parameters));
  }
  const double away = ranks_away(problem) / std::max(1, problem.size - 1);
  const double received_bytes = std::max(cost.bytes, cost.total_bytes / processors);
  if (is_long && is_streamed(cost.total_bytes / std::max(cost.messages, 1.0), problem, parameters))
    return share * (ns + stream_ns(received_bytes, parameters));
  if (is_long) {
    // A rank alone copies no faster than it gets; where messages are faster, both ranks copy.
    const double alone_bytes_per_ns = std::min(message.bytes_per_ns, parameters.get_bytes_per_ns);
    ns += std::max(cost.bytes / message.bytes_per_ns, cost.total_bytes / processors / alone_bytes_per_ns) +
          travel_ns(travelling_share(problem, parameters) * away * received_bytes, parameters);
    return share * ns;
  }
  // The sender copies a short message, and the receiver. It goes through packets, which travel where their
  // ranks have different processors, the first line of each on its own: there and back where nothing comes in
  // return. What two ranks send to each other goes in packets that the one has just read (docs/protocols.md).
  const double bytes = std::max(cost.bytes, 2 * cost.total_bytes / processors);
  const double received = std::max(cost.steps, cost.messages / processors);
  const double travelling = answers(cost, problem) ? 0 : bytes;
  ns += bytes / message.eager_bytes_per_ns + travel_ns(away * travelling, parameters) +
        away * received * parameters.flag_read_ns;
  return share * ns;
}

/// How many short messages of so many bytes a rank can send to one that is not there to take them: as many as
/// a ring has room for (link/shm/ring.hpp), which is lines, and bulk room for longer ones. It goes on when
/// half of that is free. Those between a few lines and 2 KiB are less: here each size has no more than a
/// smaller one.
double messages_ahead(double bytes) {
  constexpr double kLines = 128, kLineBytes = 60, kLinesEachMax = 5, kBulkBytes = 256 * 1024;
  const double lines = std::min(1 + std::floor(bytes / kLineBytes), kLinesEachMax);
  return std::min(kLines / lines, kBulkBytes / std::max(bytes, 1.0));
}

}  // namespace

double cost_ns(const Cost& cost, const Problem& problem, const Parameters& parameters) {
  const double crowd = ranks_per_processor(problem);
  const double processors = processors_at_work(problem);
  const double between = share_between_nodes(problem);
  const bool is_network = between > 0;
  const double bytes_each = cost.messages > 0 ? cost.total_bytes / cost.messages : 0;
  const bool is_long = bytes_each > (is_network ? parameters.network_long_bytes : parameters.long_bytes);
  constexpr double kAnswerFactor = 4;  // an answer goes at once up to so many times as many bytes
  const double long_bytes = (answers(cost, problem) ? kAnswerFactor : 1) * parameters.long_bytes;
  const double reduced = std::max(cost.reduced_bytes, cost.total_reduced_bytes / processors);
  const double total = cost.total_bytes + cost.total_reduced_bytes + problem.size * cost.copied_bytes;
  const double work =
      crowd * (parameters.plan_ns + cost.copied_bytes / parameters.copied_bytes_per_ns) +
      way_ns(cost, between, true, is_long, problem, parameters) +
      way_ns(cost, 1 - between, false, bytes_each > long_bytes, problem, parameters) +
      reduced / parameters.reduced_bytes_per_ns +
      uncached_share(problem, parameters) * total / problem.nodes / parameters.node_bytes_per_ns;
  const double turns = turns_ns(problem, parameters);
  // Each step waits for the slowest of its messages.
  const double latency_ns =
      is_network ? parameters.network.latency_ns : message_within(parameters, problem.distance).latency_ns;
  const double waits = cost.unordered && is_network ? std::min(cost.steps, 1.0) : cost.steps;
  if (!cost.one_way) return work + waits * (latency_ns + turns);
  if (!is_long && is_network) return work;
  if (!is_long) return work + 2 * rounds_of_turns(cost.levels) / messages_ahead(bytes_each) * turns;
  // Those that wait for one rank's long messages, or that one for theirs, wait at the same time; and while
  // the ranks further down a tree wait for a turn, those above are at the next call.
  return work + std::min(cost.steps, std::log2(problem.size)) * latency_ns + turns;
}

}  // namespace tasuki
