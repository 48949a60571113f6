// The parts of a report that need more than the line: what is open, what has come and was not received, which
// ranks a wait lacks. Used by rank_reporter.cpp alone.
//
// Thread safety: the process lock guards it all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/calls/call_board.hpp"
#include "base/process.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// The communicator, window or file at that address, if there is one.
const ErrorOwner* find_owner(const Process& process, std::uint64_t address);

/// Itself, or that of a window or file; null for other objects.
const Comm* comm_of(const ErrorOwner& owner);

/// The rank of the world of a process of this job, or kForeign.
std::int32_t world_rank(const Process& process, int endpoint);
/// The same of a rank that messages of `comm` name; kAnybody, kNobody.
std::int32_t peer_in(const Comm& comm, int rank);

/// Ranks of the world that fit the set; others are left out.
void add(std::int32_t rank, RankSet* set);

template <std::size_t kBytes>
void put_text(const std::string& text, char (&to)[kBytes]) {
  std::snprintf(to, kBytes, "%s", text.c_str());
}

/// Requests that are not over; those that the present call waits for come first.
void add_open(Process& process, RankReport* report);
/// Messages that no receive has taken.
void add_unexpected(Process& process, RankReport* report);
/// Ranks without which a collective or a synchronization of windows that is under way cannot go on.
void add_lacks(Process& process, RankReport* report);
/// What has gone to and come from ranks on other hosts.
void add_pairs(Process& process, RankReport* report);

/// Whether an access to a file is under way that waits for no other rank.
bool has_transfers(const Process& process);

/// Whether another thread of this process may call MPI while one waits.
bool may_go_on_elsewhere(const Process& process);

}  // namespace tasuki
