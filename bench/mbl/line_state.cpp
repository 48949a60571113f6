// The state of the machine (see line_state.hpp).
#include "line_state.hpp"

#include <algorithm>

#include "../shared_pair.h"
#include "suite.hpp"

namespace mbl {

LineState::LineState(MPI_Comm comm) : comm_(comm) {
  MPI_Comm node = MPI_COMM_NULL, two = MPI_COMM_NULL;
  int rank = 0, size = 0, place = 0, neighbors = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  require(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  MPI_Comm_rank(node, &place);
  MPI_Comm_size(node, &neighbors);
  int leader = neighbors > 1 ? rank : size;
  require(MPI_Bcast(&leader, 1, MPI_INT, 0, node), "MPI_Bcast");
  require(MPI_Allreduce(&leader, &first_, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  const bool takes_part = leader == first_ && first_ < size && place < 2;
  require(MPI_Comm_split(node, takes_part ? 0 : MPI_UNDEFINED, place, &two), "MPI_Comm_split");
  MPI_Comm_free(&node);
  if (!takes_part) return;
  pair_ = std::make_unique<SharedPair>();
  if (pair_open(pair_.get(), kLineBytes, two) != 0) pair_.reset();  // alike at both
  MPI_Comm_free(&two);
}

LineState::~LineState() {
  if (pair_) pair_close(pair_.get());
}

double LineState::seconds() {
  constexpr int kTries = 5, kRounds = 50;
  int rank = 0, size = 0;
  MPI_Comm_rank(comm_, &rank);
  MPI_Comm_size(comm_, &size);
  double best = pair_ ? 1 : 0;
  for (int attempt = 0; pair_ && attempt < kTries; ++attempt) {
    const double begin = now_seconds();
    for (int round = 0; round < kRounds; ++round) {
      pair_message(pair_.get(), 0, 0, kPush);
      pair_message(pair_.get(), 1, 0, kPush);
    }
    best = std::min(best, (now_seconds() - begin) / kRounds);
  }
  if (first_ > 0 && first_ < size) {
    if (rank == first_) require(MPI_Send(&best, 1, MPI_DOUBLE, 0, 0, comm_), "MPI_Send");
    if (rank == 0) {
      require(MPI_Recv(&best, 1, MPI_DOUBLE, first_, 0, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    }
  }
  return rank == 0 ? best : 0;
}

}  // namespace mbl
