// Comparing calls (TASUKI_CHECK=2): before a collective runs, its ranks exchange which call they are in, and
// where that does not fit together every rank gets the same error ("rank 2 is in MPI_Bcast root 1, the others
// root 0") instead of a hang, of cut data or of wrong sums.
//
// A plan says what it is (Execution::describe) and, where the ranks need not say the same of their data, what
// goes from whom to whom (describe_ends). That travels as a prefix of the collective's schedule
// (prepend_comparison), so nonblocking collectives are compared too, and persistent ones by their
// initialisations, which MPI puts in order with the other collectives, as it does not put their starts:
//  1. Every rank gets the records of all calls, and compares what MPI wants to be the same: the function, its
//     root and operation, MPI_IN_PLACE, the amount of data and its types.
//  2. Where an amount is known to its two ends alone (gatherv, scatterv, alltoallv and alltoallw,
//     neighbourhoods, blocks to oneself, the other group of an intercommunicator), the sender announces to
//     the receiver what it will send, and the receiver compares that with what it expects.
//  3. Every rank gets the verdicts of all.
// On an intercommunicator each step is among the ranks of both groups.
//
// Pure but for what is a member of Execution (coll/run/comparison_steps.cpp); any thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

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

/// The forms never match each other (MPI 6.12), and each is numbered by itself: a program that starts a
/// nonblocking one before a blocking one at one rank and behind it at another runs here as it does elsewhere
/// (unless calls are compared: then blocking and nonblocking ones, and initialisations, are numbered
/// together).
enum class CollectiveForm : std::uint8_t { kBlocking, kNonblocking, kPersistent };

/// What a plan says of its call, as far as all ranks must say the same.
struct CallFacts {
  int root = -1;                   // none
  const Op* op = nullptr;          // none
  const Datatype* type = nullptr;  // null where the amount of data differs from rank to rank
  Count count = 0;                 // elements; with `counts`: how many counts there are
  CountArray counts = {};          // an array that is the same at all ranks
  Count bytes = -1;                // where there is no datatype
  int blocks = 1;                  // how often `count`
  bool in_place = false;           // where MPI wants it at all ranks or at none
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
  std::uint8_t in_place = 0;
  char within[37] = {};  // of an internal exchange: the function that needs it
};
static_assert(sizeof(CallRecord) == 72 && std::has_unique_object_representations_v<CallRecord>);

/// The record of a call. `within` may be null.
CallRecord record_call(CollectiveCall call, std::uint8_t form, const CallFacts& facts, const char* within);

/// What does not fit together in the records of the ranks, in order; empty if all does. `remote`: of the
/// other group, on an intercommunicator. `error_class` gets the class of that error.
std::string compare_records(std::span<const CallRecord> local, std::span<const CallRecord> remote,
                            int* error_class);

/// Data that goes from one rank to another.
struct Amount {
  std::int64_t bytes = 0;
  std::uint64_t types = 0;  // as in CallRecord
  std::uint64_t basic = 0;
};
Amount amount_of(const Datatype& type, Count count);

/// One end of a message: the rank at the other one, and what is to go.
struct End {
  int peer = -1;
  Amount amount;
};

/// What a rank has to say of the data that it receives: the first that is not as it should be.
struct Verdict {
  std::int64_t from = -1;  // the rank that sends it; -1: all is as it should be
  Amount sent, expected;
};
static_assert(sizeof(Verdict) == 56 && std::has_unique_object_representations_v<Verdict>);

/// What the verdicts say, empty if all is well; the arguments are those of compare_records.
std::string compare_verdicts(const CallRecord& call, std::span<const Verdict> local,
                             std::span<const Verdict> remote, int* error_class);

/// All that a rank says of its call.
struct CallEvidence {
  CallRecord record;
  bool has_ends = false;  // the same at all ranks that are in the same call
  std::vector<End> sent, expected;
  std::vector<End> own_sent, own_expected;  // blocks to oneself, in pairs

  void clear();
};

/// The first of what comes that is not what is expected; `sent` goes with evidence.expected.
Verdict judge(const CallEvidence& evidence, std::span<const Amount> sent, int self);

/// What one step of a comparison looks at: in order.
enum class Evidence : std::uint8_t { kRecords, kAmounts, kVerdicts };

/// Puts the exchange of evidence and the comparison before the schedule: ceil(log2 P) more steps, and as many
/// and one more where there are ends. `remote_size`: 0 on an intracommunicator.
void prepend_comparison(Schedule& schedule, Member self, int remote_size, const CallEvidence& evidence);

}  // namespace tasuki
