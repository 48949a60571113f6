// Makes the halo that is asked for.
#include "halo.hpp"

#include "halo_messages.hpp"
#include "halo_shared.hpp"

namespace spam {

std::unique_ptr<Halo> make_halo(HaloKind kind, MPI_Comm comm, bool with_velocities, bool periodic_x) {
  if (kind == HaloKind::kShared) return std::make_unique<SharedHalo>(comm, with_velocities, periodic_x);
  return std::make_unique<MessageHalo>(comm, with_velocities, periodic_x);
}

std::unique_ptr<Halo> make_halo(const Settings& settings, MPI_Comm comm) {
  return make_halo(settings.parallel.halo, comm, settings.material.viscosity > 0,
                   settings.space.x.periodic());
}

}  // namespace spam
