// Flows on SimGrid: see sim/flow.hpp. Communications without actors, and dates by its timers.
#include "sim/flow.hpp"

#include <xbt/base.h>  // whose macros the next ones need

#include <simgrid/s4u.hpp>

#include <simgrid/version.h>
#include <simgrid/kernel/Timer.hpp>

#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#if SIMGRID_VERSION < 33400
#include "sim/simgrid_332.hpp"
#endif

namespace tasuki::sim {
namespace {

namespace s4u = simgrid::s4u;

constexpr auto kBothWays = s4u::Link::SharingPolicy::SPLITDUPLEX;

/// A network that is no TCP: rates as given, windows without end, nothing on the way back.
s4u::Engine& made_engine() {
  static char name[] = "tasuki-simulate", quiet[] = "--log=xbt_cfg.thresh:warning";
  static char* arguments[] = {name, quiet, nullptr};
  static int count = 2;
  static s4u::Engine engine(&count, arguments);
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "surf/precision:1e-12"})
    s4u::Engine::set_config(setting);
  return engine;
}

std::vector<unsigned> unsigned_of(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

class SimgridFlows final : public Flows {
 public:
  explicit SimgridFlows(const Topology& topology) : engine_(made_engine()) {
    hosts_.reserve(static_cast<std::size_t>(topology.hosts()));
    s4u::NetZone* all = topology.storage.targets > 0 ? s4u::create_full_zone("all") : nullptr;
    s4u::NetZone* zone = build(topology, all);
    for (const Topology::SlowLink& slow : topology.slow) {
      for (s4u::Link* link : route(slow.from, slow.to))
        link->set_bandwidth(topology.bytes_per_second * slow.factor);
    }
    zone->seal();
    if (all != nullptr) {
      first_port_ = static_cast<int>(hosts_.size());
      build_storage(topology, all)->seal();
      all->seal();
    }
    s4u::Comm::on_completion_cb([this](const s4u::Activity& activity) {
      const auto found = under_way_.find(&activity);
      if (found == under_way_.end()) return;
      // The communication must live until this has returned.
      Flow flow = std::move(found->second);
      under_way_.erase(found);
      ended_.push_back(flow.comm);
      flow.done();
    });
  }

  void start(int from, int to, double bytes, std::function<void()> done) override {
    if (ended_.size() > kEndedMax) clear_ended();
    s4u::CommPtr comm = s4u::Comm::sendto_init(host(from), host(to));
    comm->set_payload_size(static_cast<std::uint64_t>(bytes));
    under_way_.emplace(comm.get(), Flow{comm, std::move(done)});
    carried_[{from, to}] += bytes;
    comm->start();
#if SIMGRID_VERSION < 33400
    if (hosts_.size() > kHostsWithList && !list_of_flows_is_empty())
      throw std::runtime_error(std::to_string(hosts_.size()) + " hosts, expected at most " +
                               std::to_string(kHostsWithList) + " with " + engine_name() +
                               ", whose list of flows could not be kept empty");
#endif
  }

  void start_write(int host, int target, double bytes, std::function<void()> done) override {
    start(first_port_ + host, 2 * first_port_ + target, bytes, std::move(done));
  }

  void at(double date, std::function<void()> what) override {
    // What is due at one date shares a timer: schedules have many equal dates.
    const auto [found, is_new] = due_.try_emplace(date);
    found->second.push_back(std::move(what));
    if (is_new) simgrid::kernel::timer::Timer::set(date, [this, date] { fire(date); });
  }

  double now() const override {
    return s4u::Engine::get_clock();
  }

  void run() override {
    engine_.run();
    ended_.clear();
  }

  std::vector<LinkLoad> loads() const override {
    std::map<std::string, LinkLoad> found;
    for (const auto& [pair, bytes] : carried_) {
      for (s4u::Link* link : route(pair.first, pair.second)) {
        LinkLoad& load = found[link->get_name()];
        load.name = link->get_name();
        load.bytes += bytes;
        load.bytes_per_second = link->get_bandwidth();
        ++load.pairs;
      }
    }
    std::vector<LinkLoad> loads;
    for (auto& [name, load] : found) loads.push_back(std::move(load));
    return loads;
  }

 private:
  struct Flow {
    s4u::CommPtr comm;
    std::function<void()> done;
  };
  static constexpr std::size_t kEndedMax = 4096;
  static constexpr std::size_t kHostsWithList = 1536;  // beyond, searching the list takes all the time

  void fire(double date) {
    const auto node = due_.extract(date);
    for (const auto& what : node.mapped()) what();
  }

  /// All but the last, whose callback may be the one that starts a flow.
  void clear_ended() {
    ended_.erase(ended_.begin(), ended_.end() - 1);
  }

  s4u::Host* host(int number) const {
    return hosts_[static_cast<std::size_t>(number)];
  }

  std::vector<s4u::Link*> route(int from, int to) const {
    std::vector<s4u::Link*> links;
    double latency = 0;
    host(from)->route_to(host(to), links, &latency);
    return links;
  }

  /// Inside `parent`, or null.
  s4u::NetZone* build(const Topology& topology, s4u::NetZone* parent) {
    const double rate = topology.bytes_per_second;
    if (topology.kind == Topology::Kind::kCrossbar) {
      s4u::NetZone* zone = s4u::create_star_zone("machine");
      if (parent != nullptr) zone->set_parent(parent);
      for (int number = 0; number < topology.hosts(); ++number) {
        const std::string name = std::to_string(number);
        s4u::Host* made = zone->create_host(name, 1e9);
        s4u::Link* out = zone->create_link(name + " out", rate)->seal();
        s4u::Link* in = zone->create_link(name + " in", rate)->seal();
        zone->add_route(made->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(out)}, false);
        zone->add_route(nullptr, made->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(in)}, false);
        hosts_.push_back(made);
      }
      return zone;
    }
    const s4u::ClusterCallbacks callbacks([this](s4u::NetZone* zone, const std::vector<unsigned long>&,
                                                 unsigned long number) {
      s4u::Host* made = zone->create_host(std::to_string(number), 1e9)->seal();
      hosts_.push_back(made);
      return std::make_pair(made->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
    });
    if (topology.kind == Topology::Kind::kTorus) {
      // Here the first dimension counts fastest.
      const std::vector<unsigned long> dimensions(topology.shape.rbegin(), topology.shape.rend());
      return s4u::create_torus_zone("machine", parent, dimensions, callbacks, rate, 0, kBothWays);
    }
    const std::vector<unsigned> down = unsigned_of(topology.down), links = unsigned_of(topology.links);
    if (topology.kind == Topology::Kind::kFatTree) {
      const s4u::FatTreeParams levels(static_cast<unsigned>(down.size()), down, unsigned_of(topology.up),
                                      links);
      return s4u::create_fatTree_zone("machine", parent, levels, callbacks, rate, 0, kBothWays);
    }
    const s4u::DragonflyParams parts({down[0], links[0]}, {down[1], links[1]}, {down[2], links[2]},
                                     static_cast<unsigned>(topology.shape[0]));
    return s4u::create_dragonfly_zone("machine", parent, parts, callbacks, rate, 0, kBothWays);
  }

  /// A port of each host, and the targets, each with a link of its own behind that of its server.
  s4u::NetZone* build_storage(const Topology& topology, s4u::NetZone* parent) {
    const Topology::Storage& storage = topology.storage;
    s4u::NetZone* zone = s4u::create_star_zone("storage")->set_parent(parent);
    for (int number = 0; number < topology.hosts(); ++number) {
      const std::string name = std::to_string(number) + " to the storage";
      s4u::Host* port = zone->create_host(name, 1e9);
      const s4u::LinkInRoute out(zone->create_link(name, storage.host_bytes_per_second)->seal());
      zone->add_route(port->get_netpoint(), nullptr, nullptr, nullptr, {out}, false);
      hosts_.push_back(port);
    }
    s4u::Link* server = nullptr;
    for (int number = 0; number < storage.targets; ++number) {
      if (number % storage.targets_per_server == 0) {
        const std::string name = "server " + std::to_string(number / storage.targets_per_server);
        server = zone->create_link(name, storage.server_bytes_per_second)->seal();
      }
      const std::string name = "target " + std::to_string(number);
      s4u::Host* target = zone->create_host(name, 1e9);
      const s4u::LinkInRoute in(zone->create_link(name, storage.target_bytes_per_second)->seal());
      zone->add_route(nullptr, target->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(server), in},
                      false);
      hosts_.push_back(target);
    }
    return zone;
  }

  s4u::Engine& engine_;
  std::vector<s4u::Host*> hosts_;  // then, where there is storage, their ports to it, and its targets
  int first_port_ = 0;
  std::unordered_map<double, std::vector<std::function<void()>>> due_;
  std::unordered_map<const s4u::Activity*, Flow> under_way_;
  std::vector<s4u::CommPtr> ended_;
  std::map<std::pair<int, int>, double> carried_;
};

}  // namespace

int Topology::hosts() const {
  int product = 1;
  if (kind == Kind::kTorus || kind == Kind::kCrossbar) {
    for (int extent : shape) product *= extent;
    return product;
  }
  for (int number : down) product *= number;
  return kind == Kind::kDragonfly ? product * shape[0] : product;
}

std::unique_ptr<Flows> make_flows(const Topology& topology) {
  return std::make_unique<SimgridFlows>(topology);
}

std::string engine_name() {
  std::string name =
      "SimGrid " + std::to_string(SIMGRID_VERSION_MAJOR) + "." + std::to_string(SIMGRID_VERSION_MINOR);
#if SIMGRID_VERSION < 33400
  name += ", its list of flows kept empty";
#endif
  return name;
}

int hosts_max() {
  return 200000;
}

}  // namespace tasuki::sim
