// The lowest rank with an error tells it to all.
#include "agree.hpp"

#include <limits>

#include "error.hpp"

namespace spam {

void agree(MPI_Comm comm, const std::string& trouble) {
  constexpr int kNobody = std::numeric_limits<int>::max();
  int rank;
  MPI_Comm_rank(comm, &rank);
  int teller = trouble.empty() ? kNobody : rank;
  MPI_Allreduce(MPI_IN_PLACE, &teller, 1, MPI_INT, MPI_MIN, comm);
  if (teller == kNobody) return;
  int length = static_cast<int>(trouble.size());
  MPI_Bcast(&length, 1, MPI_INT, teller, comm);
  std::string text = trouble;
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, teller, comm);
  throw Error(text);
}

}  // namespace spam
