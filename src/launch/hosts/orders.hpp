// What stands in the frames between mpiexec and its agents (channel.hpp), as data, and its bytes.
//
// What a decode() takes may be anything: it returns false for what encode() never made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job/local/job_segment.hpp"
#include "launch/mapping/placement.hpp"
#include "launch/options/options.hpp"

namespace tasuki::launch {

/// What an agent says of itself.
struct Hello {
  std::string version;         // of Tasuki
  std::string host;            // as the machine calls itself
  std::string address;         // by which it was reached, as ssh tells it there; empty: unknown
  std::string caller_address;  // of the host that reached it, the same
  std::uint32_t processors = 0;
  std::uint32_t pid = 0;
};

/// Start the ranks of `placement.here`.
struct StartOrder {
  std::uint32_t world = 0;
  std::uint64_t job_id = 0;
  std::string parent_port;  // of those that are spawned
  Placement placement;
  Options options;                       // what concerns the start of ranks
  std::vector<std::string> environment;  // "NAME=value", for all ranks
  std::string directory;                 // of ranks that have none of their own
  std::string address;                   // of this host; empty: unknown
  std::uint32_t host_processors = 0;     // the fewest that a host of the job has
  bool has_tuning = false;
  std::string tuning;
  int family_hosts = 1;  // Preparation::set_family()
  int family_slots = 0;
  double silence_seconds = 0;  // after which a host is taken for dead
};

/// What all hosts, or mpiexec alone, are to know of a rank elsewhere.
struct RankState {
  local::Life life = local::Life::kStarted;
  bool claimed = false;  // a process is the rank
  bool in_world = false;
  std::int32_t abort_code = 0;
  std::string abort_message;
  RunStatistics statistics;
};

std::string encode(const Hello& hello);
bool decode(std::string_view bytes, Hello* hello);
std::string encode(const StartOrder& order);
bool decode(std::string_view bytes, StartOrder* order);

/// Of the rank as it stands in this host's memory.
RankState state_of(const local::RankBlock& block);
std::string encode(const RankState& state);
bool decode(std::string_view bytes, RankState* state);
/// Writes it where it is looked for: the rank is elsewhere, so its processes have the number -1. Returns
/// whether it aborts the job.
void store(const RankState& state, local::RankBlock* block);

/// Writes a host's address where its ranks look for it.
void set_address(const std::string& address, local::JobHeader* header);

/// The variables that are sent to another host: all of `inherited` (null-terminated, like environ) but what
/// belongs to this machine, this login or this terminal.
std::vector<std::string> variables_to_send(const char* const* inherited);

}  // namespace tasuki::launch
