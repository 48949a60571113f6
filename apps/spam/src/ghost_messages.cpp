// Packing, sending, looking for, receiving: how is told in the header.
#include "ghost_messages.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <string>

#include "error.hpp"

namespace spam {
namespace {

std::size_t counts_bytes(const std::vector<int>& columns, const Grid& grid) {
  const std::size_t bytes = columns.size() * static_cast<std::size_t>(grid.rows + 1) * sizeof(int);
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

/// Grows only, and then by a quarter more than asked for.
void make_room(Array<std::byte>* buffer, std::size_t bytes) {
  if (buffer->size() < bytes) buffer->resize(bytes + bytes / 4);
}

int message_bytes(std::size_t bytes) {
  if (bytes > INT_MAX)
    throw RankError("a message of " + std::to_string(bytes) + " bytes to a neighbour: at most " +
                    std::to_string(INT_MAX) + " are possible; more ranks or smaller cells are needed");
  return static_cast<int>(bytes);
}

std::byte* append(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return to + bytes;
}

}  // namespace

GhostMessages::~GhostMessages() {
  if (std::uncaught_exceptions() > 0) return;  // a partner may never answer: the job is about to end
  for (MPI_Request& request : receives_)       // after a run's last stage 0: of the stage that never comes
    if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
  MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE);
  for (auto& sends : sends_) MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
}

void GhostMessages::set_partners(const std::vector<Border>& partners) {
  for (auto& sends : sends_) {
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    sends.assign(partners.size(), MPI_REQUEST_NULL);
  }
  receives_.assign(partners.size(), MPI_REQUEST_NULL);
  partners_.resize(partners.size());
  for (std::size_t p = 0; p < partners.size(); ++p) partners_[p].border = partners[p];
}

void GhostMessages::start(int stage, const Domain& domain, const StageState& state) {
  auto& sends = sends_[stage % 2];
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
  for (std::size_t p = 0; p < partners_.size(); ++p) {
    pack(stage, domain, state, &partners_[p]);
    if (stage == 0) partners_[p].came = false;
  }
  open_ = stage;
  complete_ = partners_.empty();
}

/// Packs and sends.
void GhostMessages::pack(int stage, const Domain& domain, const StageState& state, Partner* partner) {
  const std::span<const int> begin = domain.column_begin();
  const auto first_of = [&](int column) {
    return static_cast<std::size_t>(begin[static_cast<std::size_t>(domain.owned_number(column))]);
  };
  const auto after = [&](int column) {
    return static_cast<std::size_t>(begin[static_cast<std::size_t>(domain.owned_number(column)) + 1]);
  };
  const std::vector<int>& shown = partner->border.shown;
  std::size_t particles = 0;
  for (const int column : shown) particles += after(column) - first_of(column);
  const std::size_t counts = stage == 0 ? counts_bytes(shown, domain.grid()) : 0;
  const std::size_t bytes = counts + particles * static_cast<std::size_t>(arrays()) * sizeof(double);
  Array<std::byte>& buffer = partner->outgoing[stage % 2];
  make_room(&buffer, bytes);

  std::byte* at = buffer.data();
  if (stage == 0) {
    for (const int column : shown) {
      const std::span<const int> rows = domain.row_begin(domain.owned_number(column));
      at = append(at, rows.data(), rows.size_bytes());
    }
    at = std::fill_n(at, buffer.data() + counts - at, std::byte{0});
  }
  const double* const values[] = {state.x, state.y, state.vx, state.vy};
  for (const int column : shown)
    for (int a = 0; a < arrays(); ++a)
      at = append(at, values[a] + first_of(column), (after(column) - first_of(column)) * sizeof(double));

  const auto number = static_cast<std::size_t>(partner - partners_.data());
  MPI_Isend(buffer.data(), message_bytes(bytes), MPI_BYTE, partner->border.rank, stage, comm_,
            &sends_[stage % 2][number]);
  ++sent_.messages;
  sent_.bytes += static_cast<std::int64_t>(bytes);
}

/// Whether the message of stage 0 has come; begins to receive it.
bool GhostMessages::look_for_first(std::size_t number, bool wait) {
  Partner& partner = partners_[number];
  if (partner.came) return true;
  int there = 1;
  MPI_Message message;
  MPI_Status status;
  if (wait)
    MPI_Mprobe(partner.border.rank, 0, comm_, &message, &status);
  else
    MPI_Improbe(partner.border.rank, 0, comm_, &there, &message, &status);
  if (there) receive_first(number, &message, status);
  return there != 0;
}

void GhostMessages::receive_first(std::size_t number, MPI_Message* message, const MPI_Status& status) {
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  Array<std::byte>& buffer = partners_[number].incoming[0];
  make_room(&buffer, static_cast<std::size_t>(bytes));
  MPI_Imrecv(buffer.data(), bytes, MPI_BYTE, message, &receives_[number]);
  partners_[number].came = true;
}

void GhostMessages::progress() {
  if (complete_) return;
  bool all_came = true;
  if (open_ == 0)
    for (std::size_t p = 0; p < partners_.size(); ++p)
      if (!look_for_first(p, false)) all_came = false;
  int done = 0;
  MPI_Testall(static_cast<int>(receives_.size()), receives_.data(), &done, MPI_STATUSES_IGNORE);
  complete_ = all_came && done != 0;
}

void GhostMessages::finish(int stage, const Grid& grid, GhostTable* ghosts) {
  if (stage == 0)
    for (std::size_t p = 0; p < partners_.size(); ++p) look_for_first(p, true);
  MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE);
  complete_ = true;
  if (stage == 0) {
    ghost_particles_ = 0;
    for (Partner& partner : partners_) read_counts(grid, &partner, ghosts);
  }
  if (stage + 1 < kStages) post_receives(stage + 1, grid);
}

/// Where the ghosts of a partner lie, at this step's stages.
void GhostMessages::read_counts(const Grid& grid, Partner* partner, GhostTable* ghosts) {
  const std::vector<int>& seen = partner->border.seen;
  const std::size_t counts = counts_bytes(seen, grid);
  const auto row_numbers = static_cast<std::size_t>(grid.rows + 1);
  const int* const rows = reinterpret_cast<const int*>(partner->incoming[0].data());
  std::int64_t particles = 0;
  for (std::size_t c = 0; c < seen.size(); ++c) particles += rows[(c + 1) * row_numbers - 1];
  ghost_particles_ += particles;
  partner->incoming_particles_bytes =
      static_cast<std::size_t>(particles) * static_cast<std::size_t>(arrays()) * sizeof(double);
  make_room(&partner->incoming[1], counts + partner->incoming_particles_bytes);

  for (int parity = 0; parity < 2; ++parity) {
    const auto* values = reinterpret_cast<const double*>(partner->incoming[parity].data() + counts);
    for (std::size_t c = 0; c < seen.size(); ++c) {
      ColumnView& view = ghosts->view(seen[c], parity);
      view.row_begin = rows + c * row_numbers;
      const double** const pieces[] = {&view.x, &view.y, &view.vx, &view.vy};
      for (int a = 0; a < arrays(); ++a) {
        *pieces[a] = values;
        values += view.row_begin[grid.rows];
      }
    }
  }
}

void GhostMessages::post_receives(int stage, const Grid& grid) {
  for (std::size_t p = 0; p < partners_.size(); ++p) {
    Partner& partner = partners_[p];
    std::byte* const to = partner.incoming[stage % 2].data() + counts_bytes(partner.border.seen, grid);
    MPI_Irecv(to, message_bytes(partner.incoming_particles_bytes), MPI_BYTE, partner.border.rank, stage,
              comm_, &receives_[p]);
  }
}

}  // namespace spam
