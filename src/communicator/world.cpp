// The communicators, attributes and hints that exist from the start.
#include "communicator/world.hpp"

#include <numeric>
#include <utility>

#include "job/directory.hpp"
#include "object/info.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

constexpr Context kWorldContext = 1 << 2;  // the low two bits are the plane
constexpr Context kSelfContext = 2 << 2;
constexpr Context kMeetingContext = 3 << 2;
constexpr Context kFileOwnersContext = 4 << 2;

Comm* make_predefined_comm(Process& process, Predefined number, Context context, std::vector<int> endpoints,
                           const char* name) {
  Comm* comm = new Comm(process);
  comm->predefined = number;
  comm->context = context;
  comm->group = Ref<Group>(make_group(process, std::move(endpoints)));
  comm->rank = comm->group->rank;
  comm->name = name;
  comm->errhandler = process.objects->initial_errhandler;
  return comm;
}

/// The world once more, for the library's own messages.
Ref<Comm> hidden_world(Process& process, Context context) {
  const Comm& world = *process.objects->world;
  Ref<Comm> hidden(new Comm(process, true));
  hidden->context = context;
  hidden->group = world.group;
  hidden->rank = world.rank;
  hidden->errhandler = world.errhandler;
  return hidden;
}

}  // namespace

void make_world(Process& process) {
  Objects& objects = *process.objects;
  std::vector<int> everybody(static_cast<std::size_t>(process.size));
  std::iota(everybody.begin(), everybody.end(), 0);
  objects.world =
      make_predefined_comm(process, kMpiCommWorld, kWorldContext, std::move(everybody), "MPI_COMM_WORLD");
  objects.self = make_predefined_comm(process, kMpiCommSelf, kSelfContext, {process.rank}, "MPI_COMM_SELF");
  objects.attributes.appnum = process.directory.application_number();
  objects.attributes.universe_size = process.directory.universe_size();
}

void publish_world(Process& process) {
  Objects& objects = *process.objects;
  for (Comm* comm : {objects.world, objects.self}) objects.predefined[comm->predefined] = comm;
  fill_environment_info(process, predefined_object<Info>(objects, kMpiInfoEnv));
}

void hide_world(Process& process) {
  Objects& objects = *process.objects;
  for (const Comm* comm : {objects.world, objects.self}) objects.predefined[comm->predefined] = nullptr;
}

Ref<Comm> meeting_of_world(Process& process) {
  Comm& world = *process.objects->world;
  if (process.config.checks(kCheckCompare)) return Ref<Comm>::share(&world);
  Ref<Comm> meeting = hidden_world(process, kMeetingContext);
  meeting->recurring = true;
  return meeting;
}

Ref<Comm> file_owners_of_world(Process& process) {
  return hidden_world(process, kFileOwnersContext);
}

}  // namespace tasuki
