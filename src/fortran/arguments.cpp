// Strings, and the lengths of arrays that Fortran does not tell.
#include "fortran/arguments.hpp"

#include <algorithm>

namespace tasuki::fortran {

std::int64_t peers(Fint comm) {
  const auto communicator = c_handle<MPI_Comm>(comm);
  int is_inter = 0;
  int size = 0;
  if (comm == number(MPI_COMM_NULL) || PMPI_Comm_test_inter(communicator, &is_inter) != MPI_SUCCESS) return 0;
  is_inter != 0 ? PMPI_Comm_remote_size(communicator, &size) : PMPI_Comm_size(communicator, &size);
  return size;
}

std::int64_t peers_sent_to(const void* sendbuf, Fint comm) {
  return sendbuf == MPI_IN_PLACE ? 0 : peers(comm);
}

std::int64_t peers_at_root(Fint root, Fint comm) {
  const auto communicator = c_handle<MPI_Comm>(comm);
  int is_inter = 0;
  int rank = 0;
  if (comm == number(MPI_COMM_NULL) || PMPI_Comm_test_inter(communicator, &is_inter) != MPI_SUCCESS) return 0;
  PMPI_Comm_rank(communicator, &rank);
  return root == (is_inter != 0 ? MPI_ROOT : rank) ? peers(comm) : 0;
}

Degrees neighbors(Fint comm) {
  const auto communicator = c_handle<MPI_Comm>(comm);
  int topology = MPI_UNDEFINED;
  int in = 0;
  int out = 0;
  if (comm == number(MPI_COMM_NULL) || PMPI_Topo_test(communicator, &topology) != MPI_SUCCESS) return {0, 0};
  if (topology == MPI_CART) {
    PMPI_Cartdim_get(communicator, &in);
    in = out = 2 * in;
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    PMPI_Comm_rank(communicator, &rank);
    PMPI_Graph_neighbors_count(communicator, rank, &in);
    out = in;
  } else if (topology == MPI_DIST_GRAPH) {
    int is_weighted = 0;
    PMPI_Dist_graph_neighbors_count(communicator, &in, &out, &is_weighted);
  }
  return {in, out};
}

Text::Text(const char* text, std::size_t length, bool leading) {
  while (length > 0 && text[length - 1] == ' ') --length;
  while (leading && length > 0 && *text == ' ') {
    ++text;
    --length;
  }
  char* to = inline_;
  if (length >= sizeof inline_) {
    more_ = std::make_unique<char[]>(length + 1);
    to = more_.get();
  }
  if (length > 0) std::memcpy(to, text, length);
  to[length] = '\0';
}

void give_text(const char* from, char* to, std::size_t length) {
  const std::size_t bytes = std::min(std::strlen(from), length);
  std::memcpy(to, from, bytes);
  std::memset(to + bytes, ' ', length - bytes);
}

}  // namespace tasuki::fortran
