// Comparing calls (TASUKI_CHECK): before a collective runs, its ranks tell each other what they are in, and
// where that does not fit together every rank gets the same error ("rank 2 is in MPI_Bcast root 1, the others
// root 0") instead of a hang, of cut data or of wrong sums.
//
// A plan says what it is (Execution::describe); the record travels as a prefix of the collective's schedule
// (prepend_comparison), so nonblocking and persistent collectives are compared too. What is compared is what
// MPI wants to be the same at all ranks: the function, its root and operation, the amount of data (level 1),
// and the types of the data (level 2). In the forms where each rank knows its own counts only (gatherv,
// scatterv, alltoallv and alltoallw, neighbourhoods) data are not compared; on intercommunicators nothing is.
//
// Pure but for describe(); any thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "base/types.hpp"

namespace tasuki {

struct Datatype;
struct Op;
struct Schedule;
struct Member;

enum class CollectiveCall : std::uint8_t {
  kInternal,  // an exchange that another call needs, like MPI_Comm_dup
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};

/// What a plan says of its call, as far as all ranks must say the same.
struct CallFacts {
  int root = -1;                   // none
  const Op* op = nullptr;          // none
  const Datatype* type = nullptr;  // null where the amount of data differs from rank to rank
  Count count = 0;                 // elements; with `counts`: how many counts there are
  CountArray counts = {};          // an array that is the same at all ranks
  Count bytes = -1;                // where there is no datatype
};

/// What travels. Equal calls have equal records, but for `types` where that is 0, and for `within`.
struct CallRecord {
  static constexpr std::uint16_t kUserOp = 0xfffe;  // of `op`: one that does not commute is one less
  static constexpr std::uint16_t kMixedTypes = 0;   // of `basic`

  CollectiveCall call = CollectiveCall::kInternal;
  std::uint8_t form = 0;  // a CollectiveForm
  std::uint16_t op = 0;   // a predefined operation's number, or kUserOp; 0: none
  std::int32_t root = -1;
  std::int64_t bytes = -1;   // -1: not compared
  std::uint64_t types = 0;   // a hash of the sequence of basic types; 0: not compared
  std::uint64_t counts = 0;  // a hash of the array of counts
  std::uint16_t basic = 0;   // the type, where there is but one
  char within[38] = {};      // of an internal exchange: the function that needs it
};
static_assert(sizeof(CallRecord) == 72 && std::has_unique_object_representations_v<CallRecord>);

/// The record of a call; `level` is that of Config::check. `within` may be null.
CallRecord record_call(CollectiveCall call, std::uint8_t form, const CallFacts& facts, std::int64_t level,
                       const char* within);

/// What does not fit together in the records of the ranks, in order; empty if all does. `error_class` gets
/// the class of that error.
std::string compare_records(std::span<const CallRecord> records, int* error_class);

/// Puts the exchange of records and the comparison before the schedule: ceil(log2 P) more steps.
void prepend_comparison(Schedule& schedule, Member self);

}  // namespace tasuki
