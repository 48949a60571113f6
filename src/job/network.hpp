// The network of a job whose ranks are on several nodes: how ranks learn of each other's ends of it.
//
// Each rank puts its card under a key of the Directory, and rank 0 the job's secret besides; both are got
// when the first packet needs them. So the link can be made before the first fence.
//
// Thread safety: none; called once by a starter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/system/clock.hpp"
#include "base/variables/config.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "link/link.hpp"
#include "node/doorbells.hpp"

namespace tasuki {

/// The link between the nodes of a job, over libfabric, before `behind`, that of the own node. `nodes[rank]`
/// is the node of each rank; `one_machine`: they are virtual ones; `address`: by which other hosts reach this
/// one, or empty. Directory, launcher and doorbells outlive the link. Ends the job with a sentence when there
/// is no network.
std::unique_ptr<Link> make_network_link(std::unique_ptr<Link> behind, Doorbells& doorbells,
                                        std::vector<int> nodes, bool one_machine, const std::string& address,
                                        Directory& directory, Launcher& launcher, const Config& config,
                                        const Clock& clock);

/// What a rank has told of its end of the network.
struct NetworkEnd {
  std::string address;  // of the internet; empty: it has none
  std::string text;     // "rank 1 on node2 (interface eth0, address 10.77.0.2:41234)"
};

/// Returns false when that rank has told nothing yet.
bool get_network_end(const Directory& directory, int rank, NetworkEnd* end);

/// Returns false when there is no secret of the job yet.
bool get_network_secret(const Directory& directory, std::string* text);

/// The same late, for a job whose ranks are on one host: puts a link before `*link` that reaches processes of
/// other jobs. Returns false, with one line in `error`, where there is no network; then nothing has happened.
bool add_network_link(std::unique_ptr<Link>* link, Doorbells& doorbells, bool one_machine,
                      const std::string& address, Directory& directory, Launcher& launcher,
                      const Config& config, const Clock& clock, std::string* error);

/// A number that processes have in common which can share memory: they are on one machine, and see each
/// other's processes. With a network between virtual nodes jobs are apart, too.
std::uint64_t place_of(const Directory& directory, const Config& config);

}  // namespace tasuki
