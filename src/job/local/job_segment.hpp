// The job segment: the one piece of memory that mpiexec and all ranks of a job on this node share.
//
// mpiexec makes it as a memfd, so it has no name that could leak and does not count against /dev/shm. It
// holds a header page, one control block, one CallBoard and one page of values (job/value_table.hpp) per
// rank, and the link's region, whose size the ranks agree on (they, not mpiexec, know the library's
// configuration). The ranks inherit the descriptor;
// see map_job_segment.hpp.
//
// Ownership: every field names its writer. mpiexec fills the header before it starts the first rank.
//
// Invariants:
//  1. `claimed_pid` goes from 0 to the process that is this rank, once; no other process ever is this rank.
//  2. `life` only grows, but for kFinalized: a rank that uses sessions may be kInitialized again.
//  3. Either a rank that sets `in_world` sees `absent_rank` of a rank that ended without being in the
//     world, or mpiexec, which sets it, sees `in_world` afterwards (both seq_cst): no rank waits for
//     an absent one.
//  4. The layout is that of kJobVersion: a change of it needs a new number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/calls/call_board.hpp"
#include "base/system/process_state.hpp"
#include "base/variables/statistics.hpp"
#include "job/pages.hpp"
#include "job/value_table.hpp"
#include "memory/mapped_heaps.hpp"

namespace tasuki::local {

inline constexpr std::uint64_t kJobMagic = 0x626f6a696b757361;  // "asukijob"
inline constexpr std::uint32_t kJobVersion = 18;
inline constexpr std::size_t kAbortMessageBytes = 1024;
inline constexpr std::size_t kPortBytes = 256;    // a port's name, with the final NUL
inline constexpr std::size_t kAddressBytes = 64;  // of a network interface, with the final NUL
inline constexpr std::size_t kSocketBytes = 64;   // an abstract socket's name, with the final NUL

/// How far a rank is in its life.
enum class Life : std::uint32_t {
  kStarted = 0,      // its program runs, MPI has not been initialised
  kJoined = 1,       // inside MPI_Init or its first MPI_Session_init
  kInitialized = 2,  // that is done
  kFinalized = 3,    // MPI and all sessions are finalised
  kAborting = 4,     // it asked for the end of the job: abort_code and abort_message are valid
};

struct alignas(64) JobHeader {
  std::uint64_t magic;                 // writer of this and the next lines: mpiexec
  std::uint32_t version;               //
  std::int32_t size;                   // ranks
  std::uint64_t job_id;                // random; tells this job's segment from another's
  std::int32_t launcher_pid;           // mpiexec
  std::int32_t applications;           // programs of an MPMD job
  std::int32_t processors_available;   // to all ranks together; a rank's own mask tells only its binding
  std::int32_t host_processors;        // the fewest of any host of the job, the same on all; 0: one host
  std::int32_t universe_size;          // MPI_UNIVERSE_SIZE, if larger than the job
  std::int32_t nodes;                  // virtual nodes, or hosts, at least 1
  std::int32_t hosts;                  // that the ranks are on; above 1: a node is a host
  std::int32_t family_hosts;           // that mpiexec may start ranks on
  std::int32_t spawn_number;           // 0: the command line's ranks; else those of that MPI_Comm_spawn
  std::uint64_t ranks_offset;          // of RankBlock[size]
  std::uint64_t region_offset;         // of the link's region, which ends the segment
  char launcher_socket[kSocketBytes];  // where mpiexec takes requests; see spawn_request.hpp
  char address[kAddressBytes];         // of this host, by which others of the job reach it; or empty: unknown
  char parent_port[kPortBytes];        // where the processes that spawned this job wait; or empty
  std::atomic<std::uint64_t> region_bytes;  // writer: the first rank to get there; 0 before
  std::atomic<std::int32_t> first_abort;    // writer: the first rank that aborts, its rank + 1
  std::atomic<std::int32_t> absent_rank;    // writer: mpiexec; rank + 1 of one that ended without MPI_Init
  std::atomic<std::uint32_t> job_over;      // writer: mpiexec; 1: it ended the job itself
  std::uint32_t wants_statistics;           // writer: mpiexec, before the ranks start; 1: see RankBlock
};
static_assert(sizeof(JobHeader) <= kPageBytes);

struct alignas(64) RankBlock {
  std::int32_t application;  // writer: mpiexec, before the rank starts
  std::int32_t node;         // writer: mpiexec, before the rank starts; 0 .. JobHeader::nodes - 1
  std::atomic<std::int32_t> started_pid;  // writer: mpiexec; the program, and its process group
  std::atomic<std::int32_t> claimed_pid;  // writer: the rank; differs from started_pid under a wrapper script
  std::atomic<std::uint64_t>
      start_ticks;                       // writer: the rank, once it has claimed its place: with claimed_pid
  std::atomic<std::uint64_t> numbering;  // and this one its ProcessIdentity; this one is stored last
  std::atomic<std::uint32_t> in_world;   // writer: the rank; 1: it has called MPI_Init
  std::atomic<Life> life;                // writer: the rank
  std::atomic<std::int32_t> abort_code;  // writer: the rank, before life = kAborting
  char abort_message[kAbortMessageBytes];  // writer: the rank, before life = kAborting; ends with NUL
  PublishedHeap symmetric_heap;            // writer: the rank
  RunStatistics statistics;  // writer: the rank, through store(), where they are wanted; valid at any time
};
static_assert(std::atomic<Life>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// The process that is the rank: the one that called MPI_Init, which a script may have started; until one
/// has, the program that was started. 0: none yet.
inline std::int32_t pid_of(const RankBlock& block) {
  const std::int32_t claimed = block.claimed_pid.load(std::memory_order_seq_cst);
  return claimed != 0 ? claimed : block.started_pid.load(std::memory_order_acquire);
}

/// The same of the process that is the rank, for good; none before it has claimed its place.
inline ProcessIdentity identity_of(const RankBlock& block) {
  const std::uint64_t numbering = block.numbering.load(std::memory_order_acquire);
  return {block.claimed_pid.load(std::memory_order_seq_cst),
          block.start_ticks.load(std::memory_order_relaxed), numbering};
}

/// A rank's board has pages of its own: those of its report are touched only once a report was asked for.
inline constexpr std::size_t kBoardBytes = round_to_page(sizeof(CallBoard));

inline constexpr std::size_t boards_offset(int size) {
  return kPageBytes + round_to_page(static_cast<std::size_t>(size) * sizeof(RankBlock));
}

inline constexpr std::size_t values_offset(int size) {
  return boards_offset(size) + static_cast<std::size_t>(size) * kBoardBytes;
}

/// Where the link's region begins, which is also the segment's size before the ranks agreed on more.
inline constexpr std::size_t region_offset(int size) {
  return values_offset(size) + ValueTable::bytes_needed(size);
}

/// Where they are. (The header has the offset for readers that do not know the layout, and is not trusted
/// here.)
inline RankBlock* rank_blocks(JobHeader* header) {
  return reinterpret_cast<RankBlock*>(reinterpret_cast<std::byte*>(header) + kPageBytes);
}

/// The board of one of `size` ranks, as it has always been there: in a memory of zeros no call has been made.
inline CallBoard* board_of_rank(JobHeader* header, int size, int rank) {
  return reinterpret_cast<CallBoard*>(reinterpret_cast<std::byte*>(header) + boards_offset(size) +
                                      static_cast<std::size_t>(rank) * kBoardBytes);
}

/// What the ranks give one another by the Directory.
inline std::byte* values_of(JobHeader* header, int size) {
  return reinterpret_cast<std::byte*>(header) + values_offset(size);
}

/// The name of the memory file.
inline constexpr char kSegmentName[] = "tasuki-job";

/// The names by which a rank learns of its job.
inline constexpr const char* kJobFdName = "TASUKI_JOB_FD";    // the segment's descriptor, here and in mpiexec
inline constexpr const char* kJobPidName = "TASUKI_JOB_PID";  // mpiexec
inline constexpr const char* kJobIdName = "TASUKI_JOB_ID";    // hexadecimal
inline constexpr const char* kLauncherIdName =
    "TASUKI_LAUNCHER_ID";  // random: marks all that mpiexec started
inline constexpr const char* kRankName = "TASUKI_RANK";
inline constexpr const char* kSizeName = "TASUKI_SIZE";
// The table of the machine's parameters, for all ranks alike; empty: the built-in ones.
inline constexpr const char* kTuningTableName = "TASUKI_TUNING_TABLE";

}  // namespace tasuki::local
