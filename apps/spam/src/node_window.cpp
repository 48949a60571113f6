// A part of the window: rows 0, rows 1, stage 0 (x, y, vx, vy), stage 1, each array a number of cache lines.
#include "node_window.hpp"

#include <exception>

#include "aligned.hpp"

namespace spam {
namespace {

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

NodeWindow::~NodeWindow() {
  if (std::uncaught_exceptions() == 0) free();  // collective: only if all ranks come here
}

void NodeWindow::free() {
  if (window_ == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

/// Memory that is not touched costs address space alone, so room may be generous.
void NodeWindow::allocate(const NodeRoom& room) {
  free();
  room_ = room;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");  // every rank's part near its processor
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "64");
  const auto bytes = static_cast<MPI_Aint>(2 * rows_bytes() + 8 * values_bytes());
  std::byte* own;
  MPI_Win_allocate_shared(bytes, 1, info, node_, &own, &window_);
  MPI_Info_free(&info);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);

  int ranks;
  MPI_Comm_size(node_, &ranks);
  base_.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    MPI_Aint size;
    int unit;
    MPI_Win_shared_query(window_, rank, &size, &unit, &base_[static_cast<std::size_t>(rank)]);
  }
}

std::size_t NodeWindow::rows_bytes() const {
  return whole_lines(room_.row_numbers * sizeof(int));
}

std::size_t NodeWindow::values_bytes() const {
  return whole_lines(room_.particles * sizeof(double));
}

int* NodeWindow::rows(int node_rank, int copy) const {
  std::byte* const base = base_[static_cast<std::size_t>(node_rank)];
  return reinterpret_cast<int*>(base + static_cast<std::size_t>(copy) * rows_bytes());
}

StageState NodeWindow::stage(int node_rank, int parity) const {
  std::byte* const first =
      base_[static_cast<std::size_t>(node_rank)] + 2 * rows_bytes() + (parity ? 4 * values_bytes() : 0);
  const auto values = [&](std::size_t number) {
    return reinterpret_cast<double*>(first + number * values_bytes());
  };
  return {values(0), values(1), values(2), values(3)};
}

}  // namespace spam
