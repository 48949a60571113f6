// What the files of the group collectives share: an Operation is a collective of MPI with what goes into it
// and comes out of it; Arguments are those of its calls at one size. Each operation has one line that names
// its blocking, nonblocking and persistent call; issue() makes one of them. Root is rank 0, reductions are
// sums of doubles. One thread.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "suite.hpp"

namespace mbl::collective {

/// Before MPI 4 there were no persistent collectives (Open MPI 5 has them and calls itself 3.1).
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
inline constexpr bool kPersistentCollectives = true;
#else
inline constexpr bool kPersistentCollectives = false;
struct Absent {};
inline constexpr Absent MPI_Barrier_init, MPI_Bcast_init, MPI_Gather_init, MPI_Gatherv_init, MPI_Scatter_init,
    MPI_Scatterv_init, MPI_Allgather_init, MPI_Allgatherv_init, MPI_Alltoall_init, MPI_Alltoallv_init,
    MPI_Alltoallw_init, MPI_Reduce_init, MPI_Allreduce_init, MPI_Reduce_scatter_init,
    MPI_Reduce_scatter_block_init, MPI_Scan_init, MPI_Exscan_init, MPI_Neighbor_allgather_init,
    MPI_Neighbor_allgatherv_init, MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoallv_init,
    MPI_Neighbor_alltoallw_init;
#endif

/// kOverlap is kNonblocking with computing between the call and its end. kUsed and kCold are kBlocking, alone
/// in its sample: the ranks used the buffers before, and then other memory, of the size of a processor's own
/// caches, or of all of them.
enum class Form { kBlocking, kUsed, kCold, kNonblocking, kOverlap, kPersistent };
inline constexpr Form kForms[] = {Form::kBlocking,    Form::kUsed,    Form::kCold,
                                  Form::kNonblocking, Form::kOverlap, Form::kPersistent};
inline constexpr bool is_alone(Form form) {
  return form == Form::kUsed || form == Form::kCold;
}
const char* name_of(Form form);

struct Member {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  std::vector<int> neighbors;  // of the Cartesian grid, (dimension 0, down), (dimension 0, up), …
};

/// What a rank has to send or to receive: no block, one, or one for each rank (or neighbour).
enum class Shape { kNone, kOne, kEach };

/// Whose numbers a reduction adds.
enum class Sum { kNone, kOfAll, kUpToThis, kBelowThis };

struct Arguments {
  Arguments(Member of, Blocks blocks_out, Blocks blocks_in)
      : member(std::move(of)), out(std::move(blocks_out)), in(std::move(blocks_in)) {}

  Member member;
  Blocks out, in;
  int words = 0;  // of a block, where all are the same
  bool in_place = false;
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<int> out_bytes, in_bytes;               // offsets for MPI_Alltoallw
  std::vector<MPI_Aint> out_addresses, in_addresses;  // the same for MPI_Neighbor_alltoallw
  std::vector<MPI_Datatype> types;

  const void* from() { return in_place ? MPI_IN_PLACE : out.data(); }
  void* into() { return in.data(); }
  MPI_Comm comm() const { return member.comm; }

  /// Makes the call of this form; all but the blocking one give `request`.
  template <class Blocking, class Nonblocking, class Persistent, class... Given>
  void issue(Form form, Blocking blocking, Nonblocking nonblocking, Persistent persistent, Given... given) {
    if (form == Form::kBlocking || is_alone(form)) {
      blocking(given...);
    } else if (form != Form::kPersistent) {
      nonblocking(given..., &request);
    } else if constexpr (std::is_invocable_v<Persistent, Given..., MPI_Info, MPI_Request*>) {
      persistent(given..., MPI_INFO_NULL, &request);
    }
  }
};

/// Which data go where.
struct Flow {
  Shape out = Shape::kNone, in = Shape::kNone;
  bool root_sends = false, root_receives = false;  // and no other rank does
  Sum sum = Sum::kNone;
  /// The message that a block of out (of in) is; null: there is none to tell.
  Route (*sends)(const Member& member, int block) = nullptr;
  Route (*receives)(const Member& member, int block) = nullptr;
  /// What some MPI has in `in` instead (Arguments::swapped).
  Route (*receives_swapped)(const Member& member, int block) = nullptr;
};

/// A collective may be measured in more than its four forms with equal blocks.
enum class Also { kNothing, kInPlace, kUneven };

struct Operation {
  const char* name;
  const char* doc;
  void (*call)(Form form, Arguments& at);
  Flow flow;
  double (*factor)(int size);
  Also also = Also::kNothing;
  std::vector<std::int64_t> quick_bytes;         // of the blocking form
  std::vector<std::int64_t> quick_bytes_others;  // of each of the other forms
};

/// Barrier to exscan; then those on neighbours.
const std::vector<Operation>& operations();
const std::vector<Operation>& neighbor_operations();

}  // namespace mbl::collective
