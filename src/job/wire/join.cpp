// A rank of a job that another launcher started. It meets the others by the wire: each tells where it is, the
// lowest of those that may share memory gives it, and all learn who has mapped it. From then on the ranks of
// a node have the same as those of our mpiexec: doorbells, pages, heaps, rings.
#include "job/wire/join.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "base/system/own_address.hpp"
#include "base/system/process_state.hpp"
#include "base/system/random_number.hpp"
#include "job/network.hpp"
#include "job/wire/node_memory.hpp"
#include "job/wire/node_watch.hpp"
#include "job/wire/peer_watch.hpp"
#include "job/wire/pmi1_wire.hpp"
#include "job/wire/pmix_wire.hpp"
#include "job/wire/rank_card.hpp"
#include "job/wire/wire_directory.hpp"
#include "job/wire/wire_launcher.hpp"
#include "link/shm/shm_link.hpp"
#include "memory/heap_library.hpp"
#include "memory/mapped_heaps.hpp"
#include "node/processors.hpp"
#include "node/shared_node.hpp"

namespace tasuki::wire {
namespace {

constexpr char kCardKey[] = "card";
constexpr char kMappedKey[] = "mapped";
constexpr char kWatchKey[] = "watch";
constexpr char kSilenceVariable[] = "TASUKI_HOST_SILENCE_SECONDS";  // as for our mpiexec
constexpr std::int64_t kSilenceSeconds = 5;

RankCard own_card() {
  RankCard card;
  card.machine = local::machine_number();
  card.process = ProcessIdentity::own();
  struct stat network {};
  if (stat("/proc/self/ns/net", &network) == 0) card.network_namespace = network.st_ino;
  card.user = geteuid();
  card.job_id = random_number();
  card.quota = local::processors_in_quota("/sys/fs/cgroup", local::read_text("/proc/self/cgroup"));
  card.processors = local::affinity_mask();
  char host[65] = "";
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') std::strcpy(host, "?");
  card.host = host;
  return card;
}

/// What the launcher calls this host, and what it calls itself.
std::vector<std::string> own_names(const std::string& host) {
  std::vector<std::string> names;
  for (const char* variable : {"SLURMD_NODENAME", "PMIX_HOSTNAME"}) {
    if (const char* name = std::getenv(variable); name != nullptr) names.emplace_back(name);
  }
  names.push_back(host);
  return names;
}

bool read_silence(std::int64_t* seconds, std::string* error) {
  const char* const text = std::getenv(kSilenceVariable);
  *seconds = kSilenceSeconds;
  if (text == nullptr) return true;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(number > 0 && number < 86400)) {
    *error = std::string(kSilenceVariable) + " = \"" + text + "\", expected a number of seconds above 0";
    return false;
  }
  *seconds = std::max<std::int64_t>(2, std::llround(number));
  return true;
}

// --- before the others are known -----------------------------------------------------------------------

constexpr std::int64_t kLooksAfterNs = 2'000'000'000;
constexpr std::int64_t kLookEachNs = 500'000'000;
constexpr std::int64_t kNoteAfterNs = 30'000'000'000;

/// The processes that the launcher started on this machine.
struct Siblings {
  int launcher = 0;      // their parent; 0: unknown
  const char* variable;  // which all of them have
  int count = -1;        // of ranks; -1: unknown
};

Siblings siblings_of(const WireFacts& facts, const WireChoice& choice, const Place& place) {
  if (choice.joining == Joining::kPmix) return {facts.pmix.launcher, "PMIX_RANK", place.local};
  Siblings siblings{facts.pmi_fd.launcher, "PMI_RANK", -1};
  if (choice.joining == Joining::kPmiPort) siblings = {facts.pmi_port.launcher, "PMI_ID", -1};
  const char* const local = facts.get("MPI_LOCALNRANKS");
  if (local != nullptr) siblings.count = std::atoi(local);
  const std::string launcher = state_of_process(siblings.launcher).name;
  const char* const tasks = facts.get("SLURM_STEP_TASKS_PER_NODE");
  const char* const node = facts.get("SLURM_NODEID");
  if (launcher == "slurmstepd" && tasks != nullptr && node != nullptr)
    siblings.count = local_tasks(tasks, std::atoi(node));
  // It starts all ranks itself, and does not say so.
  if (launcher == "mpiexec.gforker") siblings.count = place.size;
  return siblings;
}

/// Looks after ranks of this machine that end before they tell who they are: not all launchers care for one
/// that ends without a word.
class MissingRanks {
 public:
  MissingRanks(const Siblings& siblings, const Place& place) : siblings_(siblings), place_(place) {}

  /// Whether two looks, one after the other, have found less processes than there are to be.
  bool found(std::string* error) {
    const std::int64_t now_ns = clock_ns();
    if (now_ns - begin_ns_ > kNoteAfterNs && !noted_) {
      noted_ = true;
      std::fprintf(stderr, "tasuki: rank %d has waited %lld s for all %d ranks of the job to call MPI_Init\n",
                   place_.rank, static_cast<long long>(kNoteAfterNs / 1'000'000'000), place_.size);
    }
    if (siblings_.launcher == 0 || siblings_.count < 2 || now_ns - begin_ns_ < kLooksAfterNs ||
        now_ns - looked_ns_ < kLookEachNs)
      return false;
    looked_ns_ = now_ns;
    const int there = count_started(siblings_.launcher, siblings_.variable);
    const bool less = there > 0 && there < siblings_.count;
    if (!std::exchange(less_, less) || !less) return false;
    *error = "of the " + std::to_string(siblings_.count) + " ranks that process " +
             std::to_string(siblings_.launcher) + " started on this machine " +
             std::to_string(siblings_.count - there) +
             " ended before all ranks of the job had called MPI_Init or MPI_Session_init";
    return true;
  }

 private:
  Siblings siblings_;
  Place place_;
  std::int64_t begin_ns_ = clock_ns();
  std::int64_t looked_ns_ = 0;
  bool less_ = false;
  bool noted_ = false;
};

/// As Directory::wait_at_fence(), with an eye on ranks that never come.
bool meet(WireDirectory& directory, MissingRanks missing, std::string* error) {
  directory.enter_fence();
  for (long pause_ns = 20'000;; pause_ns = std::min(2 * pause_ns, 2'000'000L)) {
    const Directory::Fence fence = directory.look_at_fence(error);
    if (fence != Directory::Fence::kOpen) return fence == Directory::Fence::kOver;
    if (missing.found(error)) return false;
    const timespec pause{0, pause_ns};
    nanosleep(&pause, nullptr);
  }
}

bool get_cards(const WireDirectory& directory, std::vector<RankCard>* cards, std::string* error) {
  for (int rank = 0; rank < directory.size(); ++rank) {
    std::string text;
    RankCard card;
    if (!directory.get(rank, kCardKey, &text) || !decode(text, &card)) {
      *error = "rank " + std::to_string(rank) + " does not tell where it is" +
               (text.empty() ? std::string() : ": \"" + text + "\", expected a card of this version");
      return false;
    }
    cards->push_back(std::move(card));
  }
  return true;
}

// --- the rank ------------------------------------------------------------------------------------------

class WireNode final : public SharedNode {
 public:
  WireNode(std::vector<int> ranks, int rank, const std::vector<RankCard>& cards, NodeMemory& memory,
           int fewest_processors)
      : SharedNode(std::move(ranks), rank),
        cards_(cards),
        memory_(memory),
        processors_(processors_of(cards, this->ranks())),
        fewest_processors_(fewest_processors),
        home_(home()) {
    local::visit_processor(home_);
  }

  int process_id(int rank) const override { return card(rank).process.pid; }
  bool has_died(int rank) const override {
    return has_ended(card(rank).process, card(this->rank()).process.numbering);
  }
  int processors_available() const override { return processors_; }
  double processors_per_node() const override { return fewest_processors_; }
  int ranks_on_machine() const override {
    const std::uint64_t machine = cards_[static_cast<std::size_t>(rank())].machine;
    return static_cast<int>(std::count_if(cards_.begin(), cards_.end(),
                                          [&](const RankCard& card) { return card.machine == machine; }));
  }
  int home_processor() const override { return home_; }

  std::unique_ptr<SymmetricHeap> make_symmetric_heap() override {
    std::vector<MappedHeaps::OfRank> heaps;
    for (const int rank : ranks()) heaps.push_back({rank, &memory_.part(number(rank)).symmetric_heap});
    return std::make_unique<MappedHeaps>(rank(), heaps, find_heap());
  }

 private:
  /// None where the launcher has bound the ranks to processors of their own.
  int home() const {
    const std::vector<int>& mine = cards_[static_cast<std::size_t>(rank())].processors;
    const bool alike = std::all_of(ranks().begin(), ranks().end(), [&](int other) {
      return cards_[static_cast<std::size_t>(other)].processors == mine;
    });
    return alike ? local::home_of(mine, self(), size()) : -1;
  }

  const RankCard& card(int rank) const { return cards_[static_cast<std::size_t>(rank)]; }

  const std::vector<RankCard>& cards_;
  NodeMemory& memory_;
  int processors_;
  int fewest_processors_;  // of any node: what all ranks know alike
  int home_;
};

class WireStarter final : public Starter {
 public:
  WireStarter(std::unique_ptr<Wire> wire, const std::string& reason, const Siblings& siblings)
      : wire_(std::move(wire)),
        reason_(reason),
        siblings_(siblings),
        watch_([this](const std::string& sentence) { launcher_.abort(1, sentence); }),
        directory_(*wire_),
        launcher_(*wire_, peers_, watch_) {}

  Directory& directory() override { return directory_; }
  Launcher& launcher() override { return launcher_; }
  Node& node() override { return *node_; }

  std::string explanation() const override {
    return "rank " + std::to_string(directory_.rank()) + " of " + std::to_string(directory_.size()) +
           " joined by " + wire_->name() + ", because " + reason_ +
           (directory_.nodes() == 1 ? std::string()
                                    : "; its ranks make " + std::to_string(directory_.nodes()) +
                                          " nodes on " + hosts_text(cards_));
  }

  /// Meets the others. To be called first.
  bool join(std::string* error);

  std::unique_ptr<Link> make_link(const Config& config) override {
    const std::size_t own = round_to_page(Doorbells::bytes_needed(directory_.size()));
    const std::size_t rings = own + round_to_page(SharedNode::bytes_needed(node_->size()));
    std::string error;
    if (!memory_.map_region(rings + round_to_page(ShmLink::bytes_needed(node_->size(), config)), &error))
      launcher_.abort(1, "MPI_Init: " + error);
    const SharedRegion& region = memory_.region();
    node_->share(std::make_unique<Doorbells>(region, directory_.size(), directory_.rank(), true),
                 region.base + own);
    auto link = std::make_unique<ShmLink>(
        region.base + rings, node_->doorbells(),
        ShmLink::Job{directory_.job_id(), node_->ranks(), directory_.rank(), directory_.size()}, config);
    return directory_.nodes() == 1 ? std::move(link) : link_over_network(std::move(link), config);
  }

  bool add_network(const Config& config, std::unique_ptr<Link>* link, std::string* error) override {
    return add_network_link(link, node_->doorbells(), config.network == kNetworkFabric, "", directory_,
                            launcher_, config, clock(), error);
  }

  std::unique_ptr<Waiter> make_waiter(Link& link) override {
    return std::make_unique<WatchingWaiter>(link, peers_, [this](int rank) { end_after(rank); });
  }

 private:
  bool map_node(std::string* error);
  std::vector<PeerWatch::Peer> others_of_node();
  std::unique_ptr<Link> link_over_network(std::unique_ptr<Link> link, const Config& config);
  bool watch_nodes(const std::string& address, const Config& config, std::string* error);
  bool get_neighbour(int node, NodeWatch::Neighbour* neighbour) const;
  bool meet_all(std::string* error) {
    return meet(directory_, MissingRanks(siblings_, wire_->place()), error);
  }

  /// The launcher ends the job, for which abort() gives it the time, or this rank does.
  [[noreturn]] void end_after(int rank) {
    launcher_.abort(1, "rank " + std::to_string(rank) + " (process " +
                           std::to_string(cards_[static_cast<std::size_t>(rank)].process.pid) +
                           ") has ended without MPI_Finalize");
  }

  std::unique_ptr<Wire> wire_;
  const std::string reason_;
  const Siblings siblings_;
  std::vector<RankCard> cards_;
  PeerWatch peers_;
  NodeWatch watch_;
  WireDirectory directory_;
  WireLauncher launcher_;
  NodeMemory memory_;
  std::unique_ptr<WireNode> node_;
};

bool WireStarter::join(std::string* error) {
  RankCard card = own_card();
  if (!memory_.make(&card, error) || !directory_.put(kCardKey, encode(card), error) || !meet_all(error) ||
      !get_cards(directory_, &cards_, error))
    return false;
  const std::vector<int> hosts = possible_hosts(cards_);
  const int host = hosts[static_cast<std::size_t>(directory_.rank())];
  const bool mapped = host == directory_.rank() || memory_.open(cards_[static_cast<std::size_t>(host)]);
  if (!directory_.put(kMappedKey, mapped ? "1" : "0", error) || !meet_all(error)) return false;
  std::vector<bool> all_mapped;
  for (int rank = 0; rank < directory_.size(); ++rank) {
    std::string text;
    if (!directory_.get(rank, kMappedKey, &text)) {
      *error = "rank " + std::to_string(rank) + " does not tell whether it shares memory";
      return false;
    }
    all_mapped.push_back(text == "1");
  }
  directory_.set_places(cards_[0].job_id, card.machine, nodes_of(hosts, all_mapped));
  return map_node(error);
}

bool WireStarter::map_node(std::string* error) {
  std::vector<std::vector<int>> of_nodes(static_cast<std::size_t>(directory_.nodes()));
  for (int rank = 0; rank < directory_.size(); ++rank)
    of_nodes[static_cast<std::size_t>(directory_.node(rank))].push_back(rank);
  int fewest_processors = INT_MAX;
  for (const std::vector<int>& of_node : of_nodes)
    fewest_processors = std::min(fewest_processors, processors_of(cards_, of_node));
  std::vector<int> ranks = of_nodes[static_cast<std::size_t>(directory_.node(directory_.rank()))];
  const auto count = static_cast<int>(ranks.size());
  const bool one_node = directory_.nodes() == 1;
  if (!memory_.map(count, one_node ? count : 0, error)) return false;
  node_ = std::make_unique<WireNode>(std::move(ranks), directory_.rank(), cards_, memory_, fewest_processors);
  launcher_.set_part(memory_.part(node_->self()), !one_node);
  peers_.start(others_of_node());
  directory_.set_ended([this] { return peers_.first_ended(); });
  directory_.set_before_asking([this](int rank) {
    if (!launcher_.told()) return;
    launcher_.abort(1, "where rank " + std::to_string(rank) +
                           " is has not been asked before MPI_Finalize, and the launcher tells no more now");
  });
  if (one_node) {
    directory_.use(std::make_unique<ValueTable>(memory_.values(), directory_.rank(), count, [this](int rank) {
      return memory_.part(rank).finalized.load(std::memory_order_acquire) != 0 || node_->has_died(rank);
    }));
  }
  return true;
}

std::vector<PeerWatch::Peer> WireStarter::others_of_node() {
  std::vector<PeerWatch::Peer> peers;
  for (const int rank : node_->ranks()) {
    if (rank == directory_.rank()) continue;
    const RankCard& card = cards_[static_cast<std::size_t>(rank)];
    peers.push_back({rank, card.process, &memory_.part(node_->number(rank)).finalized});
  }
  return peers;
}

/// Puts the link to other nodes before `link`, which reaches those of this one. Returns once all ranks have
/// done so.
std::unique_ptr<Link> WireStarter::link_over_network(std::unique_ptr<Link> link, const Config& config) {
  const bool one_machine = share_interfaces(cards_);
  const RankCard& own = cards_[static_cast<std::size_t>(directory_.rank())];
  const std::string address = one_machine ? std::string() : own_address(own_names(own.host));
  std::vector<int> nodes;
  for (int rank = 0; rank < directory_.size(); ++rank) nodes.push_back(directory_.node(rank));
  std::unique_ptr<Link> outer =
      make_network_link(std::move(link), node_->doorbells(), std::move(nodes), one_machine, address,
                        directory_, launcher_, config, clock());
  std::string error;
  if (!watch_nodes(address, config, &error)) launcher_.abort(1, "MPI_Init: " + error);
  return outer;
}

/// The lowest rank of each node watches the next one, at the address that packets take, where it has one.
bool WireStarter::watch_nodes(const std::string& address, const Config& config, std::string* error) {
  const bool lowest = node_->self() == 0;
  NetworkEnd own;
  NodeWatch::Ring ring;
  ring.rank = directory_.rank();
  ring.connect_seconds = config.net_connect_seconds;
  if (lowest && get_network_end(directory_, ring.rank, &own)) {
    if (own.address.empty()) own.address = address;
    const int port = own.address.empty() ? 0 : watch_.listen(own.address, error);
    const std::string place = own.address + " " + std::to_string(port);
    if (port < 0 || (port > 0 && !directory_.put(kWatchKey, place, error))) return false;
  }
  if (!read_silence(&ring.silence_seconds, error) || !meet_all(error)) return false;
  if (!lowest) return true;
  ring.text = own.text;
  const int nodes = directory_.nodes();
  const int node = directory_.node(ring.rank);
  const bool complete = get_neighbour((node + 1) % nodes, &ring.next) &&
                        get_neighbour((node + nodes - 1) % nodes, &ring.previous) &&
                        get_network_secret(directory_, &ring.secret);
  return !complete || watch_.start(std::move(ring), others_of_node(), error);
}

bool WireStarter::get_neighbour(int node, NodeWatch::Neighbour* neighbour) const {
  int rank = 0;
  while (directory_.node(rank) != node) ++rank;
  NetworkEnd end;
  std::string place;
  if (!directory_.get(rank, kWatchKey, &place) || !get_network_end(directory_, rank, &end)) return false;
  const std::size_t blank = place.find(' ');
  neighbour->rank = rank;
  neighbour->address = place.substr(0, blank);
  neighbour->port = blank != std::string::npos ? std::atoi(place.c_str() + blank) : 0;
  neighbour->text = end.text;
  return true;
}

}  // namespace

std::unique_ptr<Wire> open_wire(const WireFacts& facts, const WireChoice& choice, std::string* error) {
  if (choice.joining == Joining::kPmix) return make_pmix_wire(facts.pmix.launcher, error);
  if (choice.joining == Joining::kPmiPort) {
    const int fd = connect_to_pmi_port(facts.get("PMI_PORT"), error);
    return fd >= 0 ? make_pmi1_wire(fd, Place{}, facts.get("PMI_ID"), error) : nullptr;
  }
  const int fd = take_pmi_fd(facts);
  if (fd < 0) {
    *error = std::string("cannot get the descriptor of process ") + std::to_string(facts.pmi_fd_holder) +
             ": " + std::strerror(errno) + "; keep descriptor PMI_FD open in what starts this program";
    return nullptr;
  }
  // Programs that share the socket would get each other's answers.
  const int owner = fcntl(fd, F_GETOWN);
  if (owner > 0 && owner != getpid()) {
    *error = std::string("rank ") + facts.get("PMI_RANK") + " of the launcher's job is process " +
             std::to_string(owner) +
             ", so this one cannot be it (TASUKI_SINGLETON=1 makes it a job of its own)";
    return nullptr;
  }
  fcntl(fd, F_SETOWN, getpid());
  const Place told{.rank = std::atoi(facts.get("PMI_RANK")), .size = std::atoi(facts.get("PMI_SIZE"))};
  return make_pmi1_wire(fd, told, {}, error);
}

std::unique_ptr<Starter> make_wire_starter(std::unique_ptr<Wire> wire, const WireFacts& facts,
                                           const WireChoice& choice, std::string* error) {
  const Siblings siblings = siblings_of(facts, choice, wire->place());
  auto starter = std::make_unique<WireStarter>(std::move(wire), choice.reason, siblings);
  if (!starter->join(error)) return nullptr;
  return starter;
}

}  // namespace tasuki::wire
