// Opening the network, and its cards and secret in the Directory.
#include "job/network.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#if TASUKI_FABRIC
#include <cinttypes>
#include <cstdio>

#include "base/system/random_number.hpp"
#include "job/network_offers.hpp"
#include "link/ofi/ofi_link.hpp"
#endif

namespace tasuki {

#if TASUKI_FABRIC
namespace {

constexpr const char* kCardKey = "network";
constexpr const char* kSecretKey = "network_secret";

std::string secret_text(const ofi::Secret& secret) {
  char text[40];
  std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, secret.words[0], secret.words[1]);
  return text;
}

bool read_secret(const std::string& text, ofi::Secret* secret) {
  return text.size() == 32 &&
         std::sscanf(text.c_str(), "%16" SCNx64 "%16" SCNx64, &secret->words[0], &secret->words[1]) == 2;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// What the link is told of the others, and does when it cannot go on.
OfiLink::Wiring wiring_of(Directory& directory, Launcher& launcher, const Config& config) {
  OfiLink::Wiring wiring;
  wiring.card = [&directory](int rank, std::string* card) { return directory.get(rank, kCardKey, card); };
  wiring.secret = [&directory](ofi::Secret* secret) {
    std::string text;
    return directory.get(0, kSecretKey, &text) && read_secret(text, secret);
  };
  wiring.fail = [&launcher](const std::string& sentence) {
    launcher.wait_to_be_ended();  // where a process has died, the launcher says so
    launcher.abort(1, sentence);
  };
  wiring.connect_seconds = config.net_connect_seconds;
  wiring.try_network = config.net_probe != 0;
  wiring.wait_by = static_cast<ofi::WaitBy>(config.net_wait);
  wiring.host = host_name();
  wiring.place = place_of(directory, config);
  return wiring;
}

void explain(const OfiLink& link, int rank, const Config& config) {
  if (config.explain == kExplainAll || (config.explain != kExplainNothing && rank == 0))
    std::fprintf(stderr, "tasuki: rank %d: %s\n", rank, link.description().c_str());
}

}  // namespace

std::unique_ptr<Link> make_network_link(std::unique_ptr<Link> behind, Doorbells& doorbells,
                                        std::vector<int> nodes, bool one_machine, const std::string& address,
                                        Directory& directory, Launcher& launcher, const Config& config,
                                        const Clock& clock) {
  const int rank = behind->self();
  std::string error;
  std::unique_ptr<OfiLink> link;
  const auto own = nodes.begin() + rank;
  const auto place = static_cast<int>(std::count(nodes.begin(), own, *own));
  auto fabric = OfiLink::open(config.net_library, network_wish(config, address, one_machine, place), &error);
  if (fabric != nullptr) {
    link = OfiLink::make(&behind, doorbells, std::move(nodes), std::move(fabric),
                         wiring_of(directory, launcher, config), clock, &error);
  }
  if (link == nullptr || !directory.put(kCardKey, link->card(), &error) ||
      (rank == 0 && !directory.put(kSecretKey, secret_text({{random_number(), random_number()}}), &error)))
    launcher.abort(1, "MPI_Init: rank " + std::to_string(rank) + ": " + error);
  explain(*link, rank, config);
  return link;
}

bool get_network_end(const Directory& directory, int rank, NetworkEnd* end) {
  std::string text;
  ofi::Card card;
  if (!directory.get(rank, kCardKey, &text) || !ofi::from_text(text, &card)) return false;
  *end = {ofi::internet_address(card.name), ofi::text_of(rank, card)};
  return true;
}

bool get_network_secret(const Directory& directory, std::string* text) {
  return directory.get(0, kSecretKey, text);
}

bool add_network_link(std::unique_ptr<Link>* link, Doorbells& doorbells, bool one_machine,
                      const std::string& address, Directory& directory, Launcher& launcher,
                      const Config& config, const Clock& clock, std::string* error) {
  auto fabric =
      OfiLink::open(config.net_library, network_wish(config, address, one_machine, directory.rank()), error);
  if (fabric == nullptr) return false;
  OfiLink::Wiring wiring = wiring_of(directory, launcher, config);
  wiring.card = [](int, std::string*) { return false; };  // the link behind reaches all ranks of the job
  wiring.secret = [secret = ofi::Secret{{random_number(), random_number()}}](ofi::Secret* own) {
    *own = secret;
    return true;
  };
  const std::vector<int> one_node(static_cast<std::size_t>(directory.size()), 0);
  auto made = OfiLink::make(link, doorbells, one_node, std::move(fabric), std::move(wiring), clock, error);
  if (made == nullptr) return false;
  explain(*made, directory.rank(), config);
  *link = std::move(made);
  (*link)->ring();  // a thread that sleeps waits for the network, too
  return true;
}

#else

std::unique_ptr<Link> make_network_link(std::unique_ptr<Link>, Doorbells&, std::vector<int>, bool,
                                        const std::string&, Directory&, Launcher& launcher, const Config&,
                                        const Clock&) {
  launcher.abort(1,
                 "MPI_Init: this job is to send over a network, and this Tasuki was built without "
                 "libfabric's headers (libfabric-dev)");
  __builtin_unreachable();  // gcc does not see that a virtual function never returns
}

bool get_network_end(const Directory&, int, NetworkEnd*) {
  return false;
}

bool get_network_secret(const Directory&, std::string*) {
  return false;
}

bool add_network_link(std::unique_ptr<Link>*, Doorbells&, bool, const std::string&, Directory&, Launcher&,
                      const Config&, const Clock&, std::string* error) {
  *error = "this Tasuki was built without libfabric's headers (libfabric-dev)";
  return false;
}

#endif

std::uint64_t place_of(const Directory& directory, const Config& config) {
  char space[64] = "";  // "pid:[4026531836]": whose processes this one sees
  const ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
  const std::string name(space, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::uint64_t machine = directory.machine() ^ std::hash<std::string>{}(name);
  if (config.network != kNetworkFabric) return machine;
  const auto node = static_cast<std::uint64_t>(directory.node(directory.rank())) + 1;
  return (machine ^ directory.job_id()) + node * 0x9e3779b97f4a7c15u;
}

}  // namespace tasuki
