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
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "base/system/process_state.hpp"
#include "base/system/random_number.hpp"
#include "job/wire/node_memory.hpp"
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

std::size_t round_to_page(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

RankCard own_card() {
  RankCard card;
  card.machine = local::machine_number();
  struct stat info {};
  if (stat("/proc/self/ns/pid", &info) == 0) card.pid_namespace = info.st_ino;
  card.user = geteuid();
  card.pid = getpid();
  card.start_ticks = state_of_process(card.pid).start_ticks;
  card.job_id = random_number();
  card.quota = local::processors_in_quota("/sys/fs/cgroup", local::read_text("/proc/self/cgroup"));
  card.processors = local::affinity_mask();
  char host[65] = "";
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') std::strcpy(host, "?");
  card.host = host;
  return card;
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
  WireNode(std::vector<int> ranks, int rank, const std::vector<RankCard>& cards, NodeMemory& memory)
      : SharedNode(std::move(ranks), rank),
        cards_(cards),
        memory_(memory),
        processors_(processors_of(cards, this->ranks())),
        home_(home()) {
    local::visit_processor(home_);
  }

  int process_id(int rank) const override { return cards_[static_cast<std::size_t>(rank)].pid; }
  int processors_available() const override { return processors_; }
  int ranks_on_machine() const override {
    const std::uint64_t machine = cards_[static_cast<std::size_t>(rank())].machine;
    return static_cast<int>(std::count_if(cards_.begin(), cards_.end(),
                                          [&](const RankCard& card) { return card.machine == machine; }));
  }
  int home_processor() const override { return home_; }

  std::unique_ptr<SymmetricHeap> make_symmetric_heap() override {
    std::vector<PublishedHeap*> heaps(cards_.size(), nullptr);
    for (const int rank : ranks())
      heaps[static_cast<std::size_t>(rank)] = &memory_.part(number(rank)).symmetric_heap;
    return std::make_unique<MappedHeaps>(rank(), std::move(heaps), find_heap());
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

  const std::vector<RankCard>& cards_;
  NodeMemory& memory_;
  int processors_;
  int home_;
};

class WireStarter final : public Starter {
 public:
  WireStarter(std::unique_ptr<Wire> wire, const std::string& reason)
      : wire_(std::move(wire)), reason_(reason), directory_(*wire_), launcher_(*wire_, peers_) {}

  Directory& directory() override { return directory_; }
  Launcher& launcher() override { return launcher_; }
  Node& node() override { return *node_; }

  std::string explanation() const override {
    return "rank " + std::to_string(directory_.rank()) + " of " + std::to_string(directory_.size()) +
           " joined by " + wire_->name() + ", because " + reason_;
  }

  /// Meets the others. To be called first.
  bool join(const WireFacts& facts, const WireChoice& choice, std::string* error);

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
    return directory_.nodes() == 1 ? std::move(link) : link_over_network(std::move(link));
  }

  std::unique_ptr<Waiter> make_waiter(Link& link) override {
    return std::make_unique<WatchingWaiter>(link, peers_, [this](int rank) { end_after(rank); });
  }

 private:
  bool map_node(std::string* error);
  void watch_peers();

  /// Puts the link to other nodes before `link`, which reaches those of this one.
  std::unique_ptr<Link> link_over_network(std::unique_ptr<Link> /*link*/) {
    launcher_.abort(1, "MPI_Init: the ranks are on " + std::to_string(directory_.nodes()) + " nodes (" +
                           hosts_text(cards_) + "), and the network link is not there yet");
  }

  /// The launcher ends the job, for which abort() gives it the time, or this rank does.
  [[noreturn]] void end_after(int rank) {
    launcher_.abort(1, "rank " + std::to_string(rank) + " (process " +
                           std::to_string(cards_[static_cast<std::size_t>(rank)].pid) +
                           ") has ended without MPI_Finalize");
  }

  std::unique_ptr<Wire> wire_;
  const std::string reason_;
  std::vector<RankCard> cards_;
  PeerWatch peers_;
  WireDirectory directory_;
  WireLauncher launcher_;
  NodeMemory memory_;
  std::unique_ptr<WireNode> node_;
};

bool WireStarter::join(const WireFacts& facts, const WireChoice& choice, std::string* error) {
  const Place& place = wire_->place();
  const Siblings siblings = siblings_of(facts, choice, place);
  RankCard card = own_card();
  if (!memory_.make(&card, error) || !directory_.put(kCardKey, encode(card), error) ||
      !meet(directory_, MissingRanks(siblings, place), error) || !get_cards(directory_, &cards_, error))
    return false;
  const std::vector<int> hosts = possible_hosts(cards_);
  const int host = hosts[static_cast<std::size_t>(directory_.rank())];
  const bool mapped = host == directory_.rank() || memory_.open(cards_[static_cast<std::size_t>(host)]);
  if (!directory_.put(kMappedKey, mapped ? "1" : "0", error) ||
      !meet(directory_, MissingRanks(siblings, place), error))
    return false;
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
  std::vector<int> ranks;
  for (int rank = 0; rank < directory_.size(); ++rank) {
    if (directory_.node(rank) == directory_.node(directory_.rank())) ranks.push_back(rank);
  }
  const auto count = static_cast<int>(ranks.size());
  const bool one_node = directory_.nodes() == 1;
  if (!memory_.map(count, one_node ? count : 0, error)) return false;
  node_ = std::make_unique<WireNode>(std::move(ranks), directory_.rank(), cards_, memory_);
  launcher_.set_part(memory_.part(node_->self()));
  watch_peers();
  if (one_node) {
    directory_.use(std::make_unique<ValueTable>(memory_.values(), directory_.rank(), count, [this](int rank) {
      return memory_.part(rank).finalized.load(std::memory_order_acquire) != 0 ||
             state_of_process(cards_[static_cast<std::size_t>(rank)].pid).ended();
    }));
  }
  return true;
}

void WireStarter::watch_peers() {
  std::vector<PeerWatch::Peer> peers;
  for (const int rank : node_->ranks()) {
    if (rank == directory_.rank()) continue;
    const RankCard& card = cards_[static_cast<std::size_t>(rank)];
    peers.push_back({rank, card.pid, card.start_ticks, &memory_.part(node_->number(rank)).finalized});
  }
  peers_.start(std::move(peers));
  directory_.set_ended([this] { return peers_.first_ended(); });
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
  auto starter = std::make_unique<WireStarter>(std::move(wire), choice.reason);
  if (!starter->join(facts, choice, error)) return nullptr;
  return starter;
}

}  // namespace tasuki::wire
