// Flows: bytes on their way through the links of a simulated machine, which share the links fairly. This is
// the seam to the engine: flow_simgrid.cpp alone knows which one it is.
//
// Times in seconds, rates in bytes per second. One object a process: the engine allows no second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tasuki::sim {

/// What connects the hosts. Latencies are not the links': the driver of a flow waits for them first, so that
/// flows of different lengths share a link alike.
struct Topology {
  enum class Kind : std::uint8_t { kTorus, kCrossbar, kFatTree, kDragonfly };
  /// One link on the way from a host to another one that is slower than the others.
  struct SlowLink {
    int from = 0, to = 0;  // neighbours
    double factor = 1;     // of the rate
  };
  /// Where files are: targets behind servers, which the hosts reach by a network of their own, a crossbar.
  struct Storage {
    int targets = 0;  // 0: there is none
    int targets_per_server = 1;
    double host_bytes_per_second = 0, server_bytes_per_second = 0, target_bytes_per_second = 0;
  };
  Kind kind = Kind::kCrossbar;
  std::vector<int> shape;  // torus: the last dimension counts fastest; crossbar: the number of hosts
  /// Fat tree: for each level, what is below a switch, above one, and links to each.
  /// Dragonfly: groups, chassis, routers; and links between these; `shape[0]` hosts at a router.
  std::vector<int> down, up, links;
  double bytes_per_second = 0;  // of a link, in each direction
  std::vector<SlowLink> slow;
  Storage storage;

  int hosts() const;
};

/// What one link carried.
struct LinkLoad {
  std::string name;
  double bytes = 0;
  double bytes_per_second = 0;
  int pairs = 0;  // of hosts whose flows went through it
};

class Flows {
 public:
  virtual ~Flows() = default;

  /// Calls `done` when `bytes` have gone from a host to another one. REQUIRES: from != to, bytes > 0.
  virtual void start(int from, int to, double bytes, std::function<void()> done) = 0;
  /// The same, from a host to a target of the storage.
  virtual void start_write(int host, int target, double bytes, std::function<void()> done) = 0;
  /// Calls `what` at that date, which is not before now().
  virtual void at(double date, std::function<void()> what) = 0;
  virtual double now() const = 0;
  /// Until nothing is under way.
  virtual void run() = 0;
  /// Of the links that carried something, in the order of their names.
  virtual std::vector<LinkLoad> loads() const = 0;
};

std::unique_ptr<Flows> make_flows(const Topology& topology);

/// The engine's name and version.
std::string engine_name();

/// How many hosts a machine may have: more would not fit in the memory of a small computer.
int hosts_max();

}  // namespace tasuki::sim
