// MPI_COMM_TYPE_SHARED says what a node is. A table of rows has for each owned column the place of its first
// particle, and then where its rows begin, counted from there (rows + 1 numbers).
#include "halo_shared.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <string>

#include "error.hpp"

namespace spam {
namespace {

constexpr int kSignalTag = kStages;  // + stage; GhostMessages has the tags below

std::vector<int> ranks_in(MPI_Comm node, MPI_Comm comm) {
  int ranks;
  MPI_Comm_size(comm, &ranks);
  std::vector<int> all(static_cast<std::size_t>(ranks)), found(all.size());
  std::iota(all.begin(), all.end(), 0);
  MPI_Group of_comm, of_node;
  MPI_Comm_group(comm, &of_comm);
  MPI_Comm_group(node, &of_node);
  MPI_Group_translate_ranks(of_comm, ranks, all.data(), of_node, found.data());
  MPI_Group_free(&of_comm);
  MPI_Group_free(&of_node);
  return found;
}

void wait_all(std::vector<MPI_Request>* requests) {
  MPI_Waitall(static_cast<int>(requests->size()), requests->data(), MPI_STATUSES_IGNORE);
}

}  // namespace

SharedHalo::SharedHalo(MPI_Comm comm, bool with_velocities, bool periodic_x)
    : with_velocities_(with_velocities), periodic_x_(periodic_x) {
  MPI_Comm_dup(comm, &comm_);
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
  MPI_Comm_rank(node_, &node_rank_);
  node_ranks_ = ranks_in(node_, comm_);
  window_ = std::make_unique<NodeWindow>(node_);
  messages_ = std::make_unique<GhostMessages>(comm_, with_velocities);
}

SharedHalo::~SharedHalo() {
  const bool all_ranks_end = std::uncaught_exceptions() == 0;
  if (all_ranks_end) {
    for (MPI_Request& request : signals_in_)  // after a run's last stage 0: of the stage that never comes
      if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    wait_all(&signals_in_);
    wait_all(&signals_out_);
    MPI_Wait(&agreement_, MPI_STATUS_IGNORE);
  }
  messages_.reset();
  window_.reset();
  if (!all_ranks_end) return;
  MPI_Comm_free(&node_);
  MPI_Comm_free(&comm_);
}

void SharedHalo::plan(const Domain& domain) {
  domain_ = &domain;
  MPI_Wait(&agreement_, MPI_STATUS_IGNORE);
  const bool new_owners = owners_ != domain.owners();
  if (new_owners) set_neighbours(domain);
  make_room(domain, new_owners);
  write_rows(domain);
  post_signals(0);
}

void SharedHalo::set_neighbours(const Domain& domain) {
  owners_ = domain.owners();
  std::vector<int> number_of(owners_.size()), owned(static_cast<std::size_t>(domain.ranks()), 0);
  for (std::size_t column = 0; column < owners_.size(); ++column)
    number_of[column] = owned[static_cast<std::size_t>(owners_[column])]++;
  columns_max_ = static_cast<std::size_t>(*std::max_element(owned.begin(), owned.end()));

  const std::vector<Border> borders = find_borders(owners_, domain.rank(), periodic_x_);
  ghosts_.reset(owners_, borders);
  near_.clear();
  std::vector<Border> far;
  for (const Border& border : borders) {
    const int node_rank = node_ranks_[static_cast<std::size_t>(border.rank)];
    if (node_rank == MPI_UNDEFINED) {
      far.push_back(border);
      continue;
    }
    near_.push_back({border, node_rank, {}});
    for (const int column : border.seen)
      near_.back().seen_numbers.push_back(number_of[static_cast<std::size_t>(column)]);
  }
  messages_->set_partners(far);
  wait_all(&signals_out_);
  signals_in_.assign(near_.size(), MPI_REQUEST_NULL);
  signals_out_.assign(near_.size(), MPI_REQUEST_NULL);
}

/// Invariants 5 to 7.
void SharedHalo::make_room(const Domain& domain, bool new_owners) {
  if (new_owners) {
    particles_max_ = domain.particles.size();
    MPI_Allreduce(MPI_IN_PLACE, &particles_max_, 1, MPI_INT64_T, MPI_MAX, node_);
  }
  const NodeRoom needed{static_cast<std::size_t>(particles_max_), columns_max_ * numbers_per_column()};
  const NodeRoom& room = window_->room();
  if (needed.particles > room.particles || needed.row_numbers > room.row_numbers)
    window_->allocate({std::max(room.particles, needed.particles + needed.particles / 4 + 1),
                       std::max(room.row_numbers, needed.row_numbers)});
  const auto particles = static_cast<std::size_t>(domain.particles.size());
  if (particles > room.particles)
    throw RankError("rank " + std::to_string(domain.rank()) + " got " + std::to_string(particles) +
                    " particles, and its and its neighbours' columns had no more than " +
                    std::to_string(particles_max_) +
                    ": some moved by more than a column's width in a step; a smaller integration.time_step "
                    "is needed");
}

void SharedHalo::write_rows(const Domain& domain) {
  rows_copy_ ^= 1;
  int* const rows = window_->rows(node_rank_, rows_copy_);
  for (const Near& near : near_)
    for (const int column : near.border.shown) {
      const int number = domain.owned_number(column);
      int* const at = rows + static_cast<std::size_t>(number) * numbers_per_column();
      at[0] = domain.column_begin()[static_cast<std::size_t>(number)];
      std::ranges::copy(domain.row_begin(number), at + 1);
    }
}

StageState SharedHalo::stage(int stage) {
  return window_->stage(node_rank_, stage % 2);
}

void SharedHalo::post_signals(int stage) {
  for (std::size_t n = 0; n < near_.size(); ++n)
    MPI_Irecv(nullptr, 0, MPI_BYTE, near_[n].border.rank, kSignalTag + stage, comm_, &signals_in_[n]);
}

void SharedHalo::start(int stage) {
  window_->sync();
  wait_all(&signals_out_);
  for (std::size_t n = 0; n < near_.size(); ++n)
    MPI_Isend(nullptr, 0, MPI_BYTE, near_[n].border.rank, kSignalTag + stage, comm_, &signals_out_[n]);
  signals_ += static_cast<std::int64_t>(near_.size());
  signals_came_ = near_.empty();
  messages_->start(stage, *domain_, this->stage(stage));
}

/// Looking also gives neighbours that share the processor their turn: they may be what this rank will wait
/// for.
void SharedHalo::progress() {
  if (!signals_came_) {
    int all = 0;
    MPI_Testall(static_cast<int>(signals_in_.size()), signals_in_.data(), &all, MPI_STATUSES_IGNORE);
    signals_came_ = all != 0;
  }
  messages_->progress();
}

void SharedHalo::finish(int stage) {
  wait_all(&signals_in_);
  window_->sync();
  if (stage == 0) look_at_ghosts();
  messages_->finish(stage, domain_->grid(), &ghosts_);
  if (stage == 0) agree_on_particles();
  if (stage + 1 < kStages) post_signals(stage + 1);
  parity_ = stage % 2;
}

/// Where the ghosts of this node lie, at this step's stages.
void SharedHalo::look_at_ghosts() {
  near_particles_ = 0;
  for (const Near& near : near_)
    for (std::size_t c = 0; c < near.seen_numbers.size(); ++c) {
      const int* const rows = window_->rows(near.node_rank, rows_copy_) +
                              static_cast<std::size_t>(near.seen_numbers[c]) * numbers_per_column();
      const int first = rows[0];
      near_particles_ += rows[1 + domain_->grid().rows];
      for (int parity = 0; parity < 2; ++parity) {
        const StageState state = window_->stage(near.node_rank, parity);
        ColumnView& view = ghosts_.view(near.border.seen[c], parity);
        view = {state.x + first, state.y + first, nullptr, nullptr, rows + 1};
        if (with_velocities_) view.vx = state.vx + first, view.vy = state.vy + first;
      }
    }
}

/// Invariant 6.
void SharedHalo::agree_on_particles() {
  particles_bound_ = domain_->particles.size() + near_particles_ + messages_->ghost_particles();
  MPI_Iallreduce(&particles_bound_, &particles_max_, 1, MPI_INT64_T, MPI_MAX, node_, &agreement_);
}

ColumnView SharedHalo::ghost(int column) const {
  return ghosts_.view(column, parity_);
}

Halo::Sent SharedHalo::sent() const {
  Sent sent = messages_->sent();
  sent.messages += signals_;
  return sent;
}

}  // namespace spam
