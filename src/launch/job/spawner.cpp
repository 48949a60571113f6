// From a request to a world, and the way back.
#include "launch/job/spawner.hpp"

#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "launch/base/format.hpp"

namespace tasuki::launch {

std::string applications_of(const SpawnRequest& request, std::vector<Application>* applications) {
  std::size_t ranks = 0;
  for (const SpawnProgram& program : request.programs) {
    Application& application = applications->emplace_back();
    application.ranks = program.ranks;
    application.command = program.command;
    application.directory = program.directory;
    application.path = program.path;
    if (!program.initial_errhandler.empty()) {
      application.environment.push_back({"TASUKI_INITIAL_ERRHANDLER", program.initial_errhandler});
    }
    ranks += static_cast<std::size_t>(program.ranks);
  }
  if (ranks == 0 || ranks > static_cast<std::size_t>(kRanksMax)) {
    return format("cannot start %zu ranks at once, expected 1 to %d", ranks, kRanksMax);
  }
  if (request.parent_port.size() >= local::kPortBytes) return "the port's name is too long";
  return {};
}

std::string Spawner::spawn(const SpawnRequest& request) {
  if (!ending_.job_runs()) return "the job is ending";
  if (hosts_.any()) return "a job on several hosts cannot spawn yet";
  auto world = std::make_unique<World>();
  world->number = worlds_.next_number(true);
  const std::string wrong = applications_of(request, &world->applications);
  if (!wrong.empty()) return wrong;
  Refusal refusal;
  if (!preparation_.prepare(world.get(), &refusal)) return refusal.text;
  std::snprintf(world->segment.header().parent_port, local::kPortBytes, "%s", request.parent_port.c_str());
  World& started = worlds_.add(std::move(world));
  if (starter_.start(&started, &refusal)) return {};
  processes_.end_world(started, SIGKILL);  // those that run must not wait for the others
  worlds_.remove(started);
  return refusal.text;
}

void Spawner::retire_worlds() {
  std::vector<World*> over;
  for (const auto& world : worlds_) {
    if (world->spawned() && world->over()) over.push_back(world.get());
  }
  for (World* world : over) {
    reports_.take_statistics(*world);
    processes_.end_world(*world, SIGTERM);
    worlds_.remove(*world);
  }
}

void Spawner::owner_gone(bool in_order) {
  if (in_order || !ending_.job_runs() || worlds_.running() == 0) return;
  ending_.end_with(1, "mpiexec: the program that spawned these ranks has died; ending them");
}

}  // namespace tasuki::launch
