// From a request to a world, and the way back.
#include "launch/job/spawner.hpp"

#include <algorithm>
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

/// Returns why it cannot be made, or nothing: then it is ready to be started.
std::string Spawner::make_world(const SpawnRequest& request, World** made) {
  if (!ending_.job_runs()) return "the job is ending";
  auto world = std::make_unique<World>();
  world->number = worlds_.next_number(true);
  std::string wrong = applications_of(request, &world->applications);
  if (!wrong.empty() || !family_.place_spawned(request, worlds_, &world->placement, &wrong)) return wrong;
  Refusal refusal;
  if (!preparation_.prepare(world.get(), &refusal)) return refusal.text;
  std::snprintf(world->segment.header().parent_port, local::kPortBytes, "%s", request.parent_port.c_str());
  *made = &worlds_.add(std::move(world));
  const auto is_spawner = [&request](const auto& one) { return one->job() == request.spawner; };
  if (std::none_of(worlds_.begin(), worlds_.end(), is_spawner)) worlds_.set_owner(request.spawner);
  worlds_.connections().spawned(request.spawner, (*made)->job(), (*made)->size());
  return {};
}

void Spawner::spawn(const SpawnRequest& request, Reply reply) {
  World* world = nullptr;
  const std::string wrong = make_world(request, &world);
  if (world == nullptr) return reply({wrong, {}});
  const auto begin_here = [this, world](Refusal* refusal) { return starter_.start(world, refusal); };
  Refusal refusal;
  if (!world->placement.spread()) {
    if (!begin_here(&refusal)) drop_world(*world);
    return reply({refusal.text, {}});
  }
  world->starting = true;
  hosts_.start(*world, preparation_, begin_here,
               [this, world, reply = std::move(reply)](const Refusal* why_not) {
                 world->starting = false;
                 if (why_not != nullptr) drop_world(*world);
                 reply({why_not != nullptr ? why_not->text : std::string(), {}});
               });
}

/// Ranks of it that run must not wait for those that could not be started.
void Spawner::drop_world(World& world) {
  hosts_.end_world(world, SIGKILL);
  processes_.end_world(world, SIGKILL);
  worlds_.remove(world);
}

void Spawner::ask_about_name(const NameRequest& request, const Reply& reply) {
  const auto known = names_.find(request.service);
  const bool is_known = known != names_.end();
  switch (request.verb) {
    case NameRequest::Verb::kPublish:
      if (is_known) return reply({"it is published already by a job of this mpiexec", {}});
      names_[request.service] = request.port;
      break;
    case NameRequest::Verb::kUnpublish:
      if (is_known && known->second == request.port) names_.erase(known);
      break;
    case NameRequest::Verb::kLookUp:
      return reply({{}, is_known ? known->second : std::string()});
  }
  reply({});
}

void Spawner::take_connections(const ConnectionReport& report, const Reply& reply) {
  worlds_.connections().take(report);
  reply({});
}

void Spawner::retire_worlds() {
  std::vector<World*> over;
  for (const auto& world : worlds_) {
    if (world->spawned() && world->over()) over.push_back(world.get());
  }
  for (World* world : over) {
    reports_.take_statistics(*world);
    hosts_.end_world(*world, SIGTERM);
    processes_.end_world(*world, SIGTERM);
    worlds_.remove(*world);
  }
}

void Spawner::owner_gone(bool in_order) {
  const std::uint64_t owner = worlds_.owner();
  worlds_.set_owner(0);
  if (in_order || !ending_.job_runs()) return worlds_.connections().forget(owner);
  ending_.end_connected(owner, "mpiexec: the program that spawned these ranks has died; ending them");
}

}  // namespace tasuki::launch
