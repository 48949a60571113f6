// Dealing ranks, and knowing oneself.
#include "launch/hosts/place_ranks.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "launch/base/format.hpp"
#include "launch/host/host_name.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

constexpr int kBadUsage = 2;

bool is_own_address(const std::string& name) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  bool found = false;
  for (const ifaddrs* one = all; one != nullptr && !found; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (one->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(one->ifa_addr)->sin6_addr, text, sizeof text);
    }
    found = name == text;
  }
  freeifaddrs(all);
  return found;
}

std::string until_dot(const std::string& name) {
  return name.substr(0, name.find('.'));
}

/// What several hosts have no form of yet.
const char* impossible(const Options& options) {
  if (options.nodes_given && options.nodes > 1) return "--nodes, which makes virtual nodes of one machine,";
  return nullptr;
}

}  // namespace

bool is_this_machine(const std::string& name) {
  if (name == "localhost" || name == "::1" || name.rfind("127.", 0) == 0) return true;
  const std::string own = host_name();
  const bool is_number =
      name.find_first_not_of("0123456789.") == std::string::npos || name.find(':') != std::string::npos;
  if (is_number) return is_own_address(name);
  // A short name is that of the machine which is called so in full; two full names must be the same.
  const bool both_full = name.find('.') != std::string::npos && own.find('.') != std::string::npos;
  return both_full ? name == own : until_dot(name) == until_dot(own);
}

Family::Family(const Options& options) : hosts_(options.hosts), order_(options.node_order) {
  for (std::size_t number = 0; number < hosts_.size(); ++number) {
    HostSlots& host = hosts_[number];
    if (options.slots_per_host > 0) host.slots = options.slots_per_host;
    const bool is_here = is_this_machine(host.name);
    if (is_here && here_ < 0) here_ = static_cast<int>(number);
    elsewhere_ += is_here ? 0 : 1;
    slots_ += host.slots;
    names_.push_back(host.name);
  }
}

Placement Family::place(std::vector<int> of_rank) const {
  const auto is_here = [this](int host) { return is_this_machine(names_[static_cast<std::size_t>(host)]); };
  if (std::all_of(of_rank.begin(), of_rank.end(), is_here)) return {};
  return {names_, std::move(of_rank), here_};
}

/// All programs together, unless some name hosts of their own.
std::vector<int> Family::plan_first(const Options& options) const {
  const std::vector<Application>& all = options.applications;
  const auto names_hosts = [](const Application& application) { return !application.hosts.empty(); };
  if (std::none_of(all.begin(), all.end(), names_hosts)) return plan_hosts(hosts_, options.ranks(), order_);
  std::vector<int> of_rank;
  for (const Application& application : all) {
    std::vector<HostSlots> named;
    std::string unused;  // the list has been read before
    add_host_list(application.hosts, &named, &unused);
    for (HostSlots& host : named) {
      if (options.slots_per_host > 0) host.slots = options.slots_per_host;
    }
    plan_on(application.hosts.empty() ? hosts_ : named, application.ranks, &of_rank);
  }
  return of_rank;
}

/// `named` are among the job's hosts.
void Family::plan_on(const std::vector<HostSlots>& named, int ranks, std::vector<int>* of_rank) const {
  for (const int host : plan_hosts(named, ranks, order_))
    of_rank->push_back(find(named[static_cast<std::size_t>(host)].name));
}

bool Family::place_first(const Options& options, Placement* placement, Refusal* refusal) const {
  *placement = {};
  const int slots = hosts_.empty() ? local::processors_available() : slots_;
  if (options.fills_slots_only && options.ranks() > slots) {
    *refusal = {format("--nooversubscribe: %d ranks on %d %s", options.ranks(), slots,
                       hosts_.empty() ? "processors" : "slots"),
                kBadUsage};
    return false;
  }
  if (hosts_.empty()) return true;
  *placement = place(plan_first(options));
  const char* const option = placement->spread() ? impossible(options) : nullptr;
  if (option == nullptr) return true;
  *refusal = {format("%s works with the ranks of one host so far, and these are on several: %s, ...", option,
                     names_[static_cast<std::size_t>(placement->of_rank.front())].c_str()),
              kBadUsage};
  return false;
}

/// The number of a host of the job that has that name, or is the same machine; -1: there is none.
int Family::find(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return static_cast<int>(found - names_.begin());
  return is_this_machine(name) ? here_ : -1;
}

/// As `list` says, which a program's info names.
bool Family::plan_named(const std::string& list, int ranks, std::vector<int>* of_rank,
                        std::string* error) const {
  std::vector<HostSlots> named;
  if (!add_host_list(list, &named, error)) {
    *error = "info: host = \"" + list + "\": " + *error;
    return false;
  }
  for (const HostSlots& host : named) {
    if (find(host.name) >= 0) continue;
    *error = "info: host = \"" + list + "\": " + host.name + " is none of this job's hosts (";
    for (const std::string& name : names_) *error += (&name == &names_.front() ? "" : ", ") + name;
    *error += ")";
    return false;
  }
  plan_on(named, ranks, of_rank);
  return true;
}

/// On slots that no rank has, where there are enough of them; else on all alike.
void Family::plan_free(int ranks, std::vector<int> busy, std::vector<int>* of_rank) const {
  for (const int host : *of_rank) ++busy[static_cast<std::size_t>(host)];
  std::vector<HostSlots> free;
  std::vector<int> numbers;
  int room = 0;
  for (std::size_t number = 0; number < hosts_.size(); ++number) {
    const int left = hosts_[number].slots - busy[number];
    if (left <= 0) continue;
    free.push_back(hosts_[number]);
    free.back().slots = left;
    numbers.push_back(static_cast<int>(number));
    room += left;
  }
  if (room < ranks) {
    free = hosts_;
    numbers.resize(hosts_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
  }
  for (const int host : plan_hosts(free, ranks, order_))
    of_rank->push_back(numbers[static_cast<std::size_t>(host)]);
}

bool Family::place_spawned(const SpawnRequest& request, const Worlds& worlds, Placement* placement,
                           std::string* error) const {
  *placement = {};
  if (hosts_.empty()) return true;
  std::vector<int> busy(hosts_.size(), 0);
  worlds.for_each_rank([&busy, this](WorldRank one) {
    const Placement& its = one.world->placement;
    const int host = its.spread() ? its.host(one.number) : here_;
    if (host >= 0 && one.rank().running()) ++busy[static_cast<std::size_t>(host)];
  });
  std::vector<int> of_rank;
  for (const SpawnProgram& program : request.programs) {
    if (program.hosts.empty()) {
      plan_free(program.ranks, busy, &of_rank);
    } else if (!plan_named(program.hosts, program.ranks, &of_rank, error)) {
      return false;
    }
  }
  *placement = place(std::move(of_rank));
  return true;
}

}  // namespace tasuki::launch
