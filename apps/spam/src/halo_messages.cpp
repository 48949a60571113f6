// Messages do it all; here are the two copies of the state of stages.
#include "halo_messages.hpp"

#include <exception>

namespace spam {

MessageHalo::MessageHalo(MPI_Comm comm, bool with_velocities, bool periodic_x) : periodic_x_(periodic_x) {
  MPI_Comm_dup(comm, &comm_);
  messages_ = std::make_unique<GhostMessages>(comm_, with_velocities);
}

MessageHalo::~MessageHalo() {
  messages_.reset();
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);  // collective: only if all ranks come here
}

void MessageHalo::plan(const Domain& domain) {
  domain_ = &domain;
  if (owners_ != domain.owners()) {
    owners_ = domain.owners();
    const std::vector<Border> borders = find_borders(owners_, domain.rank(), periodic_x_);
    ghosts_.reset(owners_, borders);
    messages_->set_partners(borders);
  }
  const auto particles = static_cast<std::size_t>(domain.particles.size());
  for (Copy& copy : copies_)
    for (Array<double>* values : {&copy.x, &copy.y, &copy.vx, &copy.vy})
      if (values->size() < particles) {
        values->clear();  // nothing in it is worth copying
        values->resize(particles + particles / 4);
      }
}

StageState MessageHalo::stage(int stage) {
  Copy& copy = copies_[stage % 2];
  return {copy.x.data(), copy.y.data(), copy.vx.data(), copy.vy.data()};
}

void MessageHalo::start(int stage) {
  messages_->start(stage, *domain_, this->stage(stage));
}

void MessageHalo::progress() {
  messages_->progress();
}

void MessageHalo::finish(int stage) {
  messages_->finish(stage, domain_->grid(), &ghosts_);
  parity_ = stage % 2;
}

ColumnView MessageHalo::ghost(int column) const {
  return ghosts_.view(column, parity_);
}

Halo::Sent MessageHalo::sent() const {
  return messages_->sent();
}

}  // namespace spam
