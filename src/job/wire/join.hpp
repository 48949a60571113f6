// How a rank comes into being that a launcher which is not ours started.
#pragma once

#include <memory>
#include <string>

#include "job/starter.hpp"
#include "job/wire/lineage.hpp"
#include "job/wire/wire.hpp"

namespace tasuki::wire {

/// Opens the wire that was chosen. Returns null and one line in `error` when it does not lead anywhere.
/// REQUIRES: `choice` is one of a wire.
std::unique_ptr<Wire> open_wire(const WireFacts& facts, const WireChoice& choice, std::string* error);

/// Meets the other ranks of the job: returns once all of them have come here, with null and one line in
/// `error` when that cannot be: this process is then to end, which ends the job.
std::unique_ptr<Starter> make_wire_starter(std::unique_ptr<Wire> wire, const WireFacts& facts,
                                           const WireChoice& choice, std::string* error);

}  // namespace tasuki::wire
