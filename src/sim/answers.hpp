// A case's answer: runs it on a machine and says in JSON what came of it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/request.hpp"

namespace tasuki::sim {

/// Of a collective (sim/collective.hpp).
nlohmann::json answer_collective(const Request& request, const nlohmann::json& one);

/// Writes a collective's schedules to the file that the case names as "goal" (sim/goal.hpp); "goal_form":
/// "text" or "binary".
nlohmann::json answer_goal(const Request& request, const nlohmann::json& one);

/// Of a program (sim/program_case.hpp).
nlohmann::json answer_program(const Request& request, const nlohmann::json& one);

/// Of a collective write: {"exchange": {"order", "placement": "block" or "round_robin",
/// "aggregators_per_node", "aggregator_layout": "block" or "round_robin", "cycles", "cycles_at_a_time",
/// "messages_under_way", "receive_seconds", "handover_seconds", "queued_bytes_max", "gap_seconds" (both:
/// flow_queued.hpp), and either "even_bytes" of each rank for each aggregator, which is not written, or
/// "region_bytes", "gap_bytes", "regions" of a rank, "buffer_bytes": the ranks' regions lie in turn in a file
/// whose stripes, as large as the buffer, go round the targets}}.
nlohmann::json answer_exchange(const Request& request, const nlohmann::json& one);

}  // namespace tasuki::sim
