// Carries out what was chosen.
#include "job/start/make_starter.hpp"

#include "job/local/local.hpp"
#include "job/wire/join.hpp"

namespace tasuki {
namespace {

std::unique_ptr<Starter> make_own(std::string* error) {
  local::JobAddress address;
  local::MappedJob mapped;
  if (!local::read_address(&address, error) || !local::map_job_segment(address, &mapped, error))
    return nullptr;
  return local::make_job_starter(mapped);
}

std::unique_ptr<Starter> make_joined(const wire::WireFacts& facts, const wire::WireChoice& choice,
                                     std::string* error) {
  std::unique_ptr<wire::Wire> wire = wire::open_wire(facts, choice, error);
  return wire != nullptr ? wire::make_wire_starter(std::move(wire), facts, choice, error) : nullptr;
}

}  // namespace

std::unique_ptr<Starter> make_starter(std::string* error) {
  const wire::WireFacts facts = wire::gather_wire_facts();
  const wire::WireChoice choice = wire::choose_wire(facts);
  switch (choice.joining) {
    case wire::Joining::kAlone:
      return local::make_singleton();
    case wire::Joining::kOwnJob:
      return make_own(error);
    case wire::Joining::kRefused:
      *error = choice.reason;
      return nullptr;
    default:
      return make_joined(facts, choice, error);
  }
}

}  // namespace tasuki
