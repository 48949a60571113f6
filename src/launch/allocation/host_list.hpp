// The hosts that a job may use: read from a command line, a host file, or the allocation of a batch system;
// and which rank is on which of them. Pure, but for reading the files that an allocation names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/mapping/virtual_nodes.hpp"

namespace tasuki::launch {

/// A machine on which ranks may run.
struct HostSlots {
  std::string name;  // as it was given: what the launcher (ssh, srun) is told
  std::string user;  // empty: the launcher's own choice
  int slots = 1;     // ranks that it gets before the next host does

  bool operator==(const HostSlots&) const = default;
};

inline constexpr int kSlotsMax = 1 << 16;  // of a host
inline constexpr std::size_t kHostsMax = 4096;

/// What white space separates.
std::vector<std::string> words_of(const std::string& text);

/// Adds "a:2,b,[2001:db8::1]:4" to `hosts`: without a number 1 slot; a host that is named again gets more.
/// Returns false and one line in `error`.
bool add_host_list(const std::string& list, std::vector<HostSlots>* hosts, std::string* error);

/// Adds what a host file holds, in MPICH's form ("host:2 user=name") or Open MPI's ("name@host slots=2"),
/// line by line, # begins a comment. Returns false and one line in `error`, which begins with the line's
/// number.
bool add_host_file(const std::string& text, std::vector<HostSlots>* hosts, std::string* error);

/// What a batch system gave to this job.
struct Allocation {
  std::string system;  // "Slurm"; empty: there is none
  std::string source;  // the variables that tell, for messages
  std::vector<HostSlots> hosts;
};

using GetEnvironment = std::function<const char*(const char*)>;
using ReadFile = std::function<bool(const std::string& path, std::string* text)>;

/// Finds the allocation of Slurm, PBS, LSF or Grid Engine. Returns false and one line in `error` when there
/// is one that cannot be read.
bool find_allocation(const GetEnvironment& get, const ReadFile& read, Allocation* found, std::string* error);

/// "node[1-2,07-09],head" as names. Returns false when it is no such list.
bool expand_names(const std::string& list, std::vector<std::string>* names);

/// The host of each rank: as many rounds over all slots as there must be, each host's ranks together
/// (kBlock), or one rank to each host in turn while it has room (kCyclic). REQUIRES: there is a host; ranks
/// >= 0.
std::vector<int> plan_hosts(const std::vector<HostSlots>& hosts, int ranks, NodeOrder order);

}  // namespace tasuki::launch
