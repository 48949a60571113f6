// Collects leaks: see collect_leaks.hpp.
#include "binding/collect_leaks.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "binding/call/call.hpp"
#include "io/file/file.hpp"
#include "job/launcher.hpp"
#include "object/attribute.hpp"
#include "p2p/unreceived.hpp"
#include "rma/window.hpp"

namespace tasuki {
namespace {

std::string quoted(const char* noun, const std::string& name) {
  return name.empty() ? noun : noun + (" '" + name + "'");
}

/// What the object is and what should have become of it.
Leak describe(const Object& object) {
  switch (object.kind) {
    case Kind::kComm:
      return {quoted("communicator", static_cast<const Comm&>(object).name), "made", {}, "not freed"};
    case Kind::kDatatype:
      return {quoted("datatype", static_cast<const Datatype&>(object).name), "made", {}, "not freed"};
    case Kind::kWin:
      return {quoted("window", static_cast<const Win&>(object).name), "made", {}, "not freed"};
    case Kind::kFile:
      return {quoted("file", static_cast<const File&>(object).name), "opened", {}, "not closed"};
    case Kind::kMessage:
      return {"message", "matched", {}, "not received"};
    case Kind::kRequest: {
      const auto& request = static_cast<const Request&>(object);
      if (request.persistent) {
        return {
            "persistent request", "made", {}, request.active ? "not completed and not freed" : "not freed"};
      }
      return {"request", "begun", {}, "not completed"};
    }
    default:
      return {noun_of(object.kind), "made", {}, "not freed"};
  }
}

bool is_users_to_free(const Objects& objects, const Object* object, const Origin& origin) {
  if (object == objects.parent || object->kind == Kind::kSession) return false;
  for (const Ref<Object>& unnamed : objects.unnamed) {
    if (unnamed.get() == object) return false;
  }
  // Made outside MPI_Init .. MPI_Finalize, where it may be freed too.
  return origin.function != nullptr || (object->kind != Kind::kInfo && object->kind != Kind::kErrhandler);
}

void add_keyvals(const Objects& objects, std::vector<Leak>* leaks) {
  for (const auto& [number, keyval] : objects.keyvals) {
    if (keyval->freed) continue;
    add_leak(leaks, {"attribute key", "made", keyval->maker, "not freed"});
  }
}

/// The names of the communicators that the program can receive from, by their contexts.
std::map<Context, std::string> comm_names(const Objects& objects) {
  std::map<Context, std::string> names;
  const auto add = [&names](const Comm& comm) {
    names[comm.context] = comm.name.empty() ? "a communicator without a name" : comm.name;
  };
  add(*objects.world);
  add(*objects.self);
  binding.handles.for_each([&add](const Object* object, std::uint32_t, std::uint64_t) {
    if (object->kind == Kind::kComm) add(*static_cast<const Comm*>(object));
  });
  return names;
}

void report(const std::vector<Leak>& leaks) {
  if (!leaks.empty()) binding.process->launcher.report_leaks(leaks);
}

}  // namespace

void report_leaked_handles() {
  const Objects& objects = *binding.process->objects;
  std::vector<Leak> leaks;
  binding.handles.for_each([&](const Object* object, std::uint32_t value, std::uint64_t uses) {
    const Origin origin = binding.origins.find(value);
    if (!is_users_to_free(objects, object, origin)) return;
    Leak leak = describe(*object);
    leak.function = origin.function != nullptr ? origin.function : "a call before MPI_Init";
    leak.site = origin.site;
    leak.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(uses, UINT32_MAX));
    add_leak(&leaks, std::move(leak));
  });
  add_keyvals(objects, &leaks);
  report(leaks);
}

void report_unreceived_messages() {
  const std::map<Context, std::string> names = comm_names(*binding.process->objects);
  std::vector<Leak> leaks;
  for (const UnreceivedMessage& message : unreceived_messages(*binding.process)) {
    const auto name = names.find(message.context);
    const std::string comm = name != names.end()    ? name->second
                             : message.comm.empty() ? "a communicator that has been freed"
                                                    : message.comm + ", which has been freed";
    add_leak(&leaks,
             {"message from rank " + std::to_string(message.source) + " (tag " + std::to_string(message.tag) +
                  ", " + std::to_string(message.bytes) + " bytes, " + comm + ")",
              {},
              {},
              "not received"});
  }
  report(leaks);
}

}  // namespace tasuki
