// Links that short messages pass one after the other: see sim/flow_queued.hpp.
#include "sim/flow_queued.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace tasuki::sim {
namespace {

class QueuedFlows final : public Flows {
 public:
  QueuedFlows(std::unique_ptr<Flows> flows, const Topology& topology, double bytes_max, double gap_seconds)
      : flows_(std::move(flows)),
        rate_(topology.bytes_per_second),
        bytes_max_(bytes_max),
        gap_seconds_(gap_seconds),
        out_(static_cast<std::size_t>(topology.hosts())),
        in_(out_.size()) {}

  void start(int from, int to, double bytes, std::function<void()> done) override {
    if (bytes > bytes_max_) return flows_->start(from, to, bytes, std::move(done));
    Link& out = out_[static_cast<std::size_t>(from)];
    const double leaves = std::max(out.free_at, now());
    out.take(leaves + gap_seconds_, bytes, rate_, to);
    at(leaves, [this, from, to, bytes, done = std::move(done)]() mutable {
      Link& in = in_[static_cast<std::size_t>(to)];
      in.take(std::max(in.free_at, now()) + gap_seconds_, bytes, rate_, from);
      at(in.free_at, std::move(done));
    });
  }
  void start_write(int host, int target, double bytes, std::function<void()> done) override {
    flows_->start_write(host, target, bytes, std::move(done));
  }
  void at(double date, std::function<void()> what) override { flows_->at(date, std::move(what)); }
  double now() const override { return flows_->now(); }
  void run() override { flows_->run(); }

  std::vector<LinkLoad> loads() const override {
    std::vector<LinkLoad> loads = flows_->loads();
    add(out_, " out", &loads);
    add(in_, " in", &loads);
    std::sort(loads.begin(), loads.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return loads;
  }

 private:
  struct Link {
    double free_at = 0;
    double bytes = 0;
    std::unordered_set<int> others;  // the hosts at the other end

    void take(double begin, double more, double rate, int other) {
      free_at = begin + more / rate;
      bytes += more;
      others.insert(other);
    }
  };

  void add(const std::vector<Link>& links, const char* suffix, std::vector<LinkLoad>* loads) const {
    for (std::size_t host = 0; host < links.size(); ++host) {
      if (links[host].bytes == 0) continue;
      const std::string name = std::to_string(host) + suffix;
      const auto found =
          std::find_if(loads->begin(), loads->end(), [&](const LinkLoad& load) { return load.name == name; });
      LinkLoad& load = found != loads->end() ? *found : loads->emplace_back(LinkLoad{name, 0, rate_, 0});
      load.bytes += links[host].bytes;
      load.pairs += static_cast<int>(links[host].others.size());
    }
  }

  std::unique_ptr<Flows> flows_;
  double rate_, bytes_max_, gap_seconds_;
  std::vector<Link> out_, in_;  // of each host
};

}  // namespace

std::unique_ptr<Flows> queue_short(std::unique_ptr<Flows> flows, const Topology& topology, double bytes_max,
                                   double gap_seconds) {
  return std::make_unique<QueuedFlows>(std::move(flows), topology, bytes_max, gap_seconds);
}

}  // namespace tasuki::sim
