// What the user can set, by TASUKI_* environment variables or as control variables of MPI_T. The table that
// says what each of them is lies in base/variables/settings.hpp.
#pragma once

#include <cstdint>
#include <string>

namespace tasuki {

/// What MPI_COMM_WORLD, MPI_COMM_SELF and what belongs to no object begin with (MPI 9.3.1).
enum InitialErrhandler : std::int64_t { kAreFatalFirst = 0, kAbortFirst = 1, kReturnFirst = 2 };

/// Which ranks say what way their messages take.
enum Explain : std::int64_t { kExplainNothing = 0, kExplainRank0 = 1, kExplainAll = 2 };

/// What carries packets between virtual nodes (TASUKI_NETWORK).
enum Network : std::int64_t { kNetworkModel = 0, kNetworkFabric = 1 };

/// What is checked beyond what every call checks (TASUKI_CHECK); each level does what the lower ones do.
enum CheckLevel : std::int64_t {
  kCheckNothing = 0,
  kCheckLocal = 1,    // what a rank can tell by itself, without a message more
  kCheckCompare = 2,  // what ranks say of the same collective or message
  kCheckBuffers = 3,  // buffers of operations that are not over, conflicting accesses to windows, leaks
};

inline constexpr std::int64_t kEagerBytesMaxDefault = 16 * 1024;
inline constexpr std::int64_t kTurnBytesMaxDefault = 256 * 1024;

/// Each setting is a number: of bytes, of something else, a flag (0 or 1), or the index of a choice; but for
/// the texts at the end, which environment variables alone set.
struct Config {
  std::int64_t eager_bytes_max = kEagerBytesMaxDefault;  // above it a message waits for its receive
  std::int64_t unexpected_bytes_max = 64 << 20;  // that a rank keeps of messages before their receives
  std::int64_t sender_write_bytes_min = 0;       // receives from here on are advertised; 0: by distance
  std::int64_t waiting_get_bytes_min = 0;        // a waiting receiver gets from here on; 0: by distance
  std::int64_t cooperative_bytes_min = 0;        // from here on both ranks copy; 0: by distance
  std::int64_t stream_bytes_min = 0;             // from here on past the caches; 0: by distance
  std::int64_t distance = 0;                     // 1 + the Distance that all ranks count as; 0: as they are
  std::int64_t processor = 0;                    // whose built-in parameters: of kProcessorItems
  std::int64_t advertised_receives = 1;          // each protocol: whether it is used
  std::int64_t get = 1;
  std::int64_t cooperative = 1;
  std::int64_t put = 1;
  std::int64_t ring_bytes = 0;          // bulk bytes per pair of ranks; 0: by the number of ranks
  std::int64_t spin_count = -1;         // polls before yielding; -1: by the processors available
  std::int64_t explain = 0;             // an Explain
  std::int64_t initial_errhandler = 0;  // an InitialErrhandler
  std::int64_t heap = 0;                // of the heap library, which reads the environment itself
  std::int64_t static_data = 0;         // likewise
  std::int64_t check = 0;               // a CheckLevel
  std::int64_t handles_max = 0;         // in use at once; 0: as memory allows

  // Between virtual nodes (mpiexec --nodes).
  std::int64_t network_latency_ns = 2000;
  std::int64_t network_mb_per_second = 5000;    // from one rank to another; 0: no limit
  std::int64_t network_node_mb_per_second = 0;  // out of a node, and into it; 0: no limit

  // Between nodes, where libfabric carries the packets.
  std::int64_t network = 0;  // a Network
  std::int64_t net_connect_seconds = 10;
  std::int64_t net_probe = 1;
  std::int64_t net_copy_bytes_min = 0;
  std::int64_t net_copy_bytes_max = 0;
  std::int64_t net_register = 0;  // an ofi::Naming (link/ofi/choice/copying.hpp)
  std::int64_t net_tell = 0;      // an ofi::Tell
  std::int64_t net_atomics = 0;
  std::int64_t net_wait = 0;  // a WaitBy (link/ofi/sleeping/sleeper.hpp)

  // The algorithm of each collective operation: 0 for the cheapest, else 1 + its place among those of the
  // operation in base/variables/algorithm_table.hpp.
  std::int64_t allgather_algorithm = 0;
  std::int64_t allreduce_algorithm = 0;
  std::int64_t alltoall_algorithm = 0;
  std::int64_t alltoallv_algorithm = 0;
  std::int64_t barrier_algorithm = 0;
  std::int64_t bcast_algorithm = 0;
  std::int64_t exscan_algorithm = 0;
  std::int64_t gather_algorithm = 0;
  std::int64_t gatherv_algorithm = 0;
  std::int64_t reduce_algorithm = 0;
  std::int64_t reduce_scatter_algorithm = 0;
  std::int64_t scan_algorithm = 0;
  std::int64_t scatter_algorithm = 0;
  std::int64_t scatterv_algorithm = 0;
  std::int64_t repeatable_reductions = 0;  // a Repeatable
  std::int64_t segment_bytes = 0;  // of the algorithms that cut a message in segments; 0: the cheapest

  std::string tuning_file;  // with the machine's parameters (tuning/table.hpp); empty: the built-in ones
  std::string
      io_times_file;  // where the phases of collective access go (io/file/phase_spans.hpp); empty: nowhere
  std::string net_library;          // the file that libfabric is; empty: as the system finds it
  std::string net_provider;         // of libfabric's; empty: it is chosen
  std::string net_interface;        // a name, an address or a subnet; empty: it is chosen
  std::int64_t tuning_foreign = 0;  // 1: also those that were made on another machine

  bool checks(CheckLevel level) const { return check >= level; }
};

}  // namespace tasuki
