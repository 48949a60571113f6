// The machine of a request: see sim/request.hpp.
#include "sim/request.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tasuki::sim {
namespace {

std::vector<int> whole_numbers(const nlohmann::json& from, const char* name) {
  return from.value(name, std::vector<int>());
}

Topology::Storage storage_of(const nlohmann::json& from) {
  Topology::Storage storage;
  storage.targets = from.at("targets");
  storage.targets_per_server = from.at("targets_per_server");
  storage.host_bytes_per_second = from.at("node_bytes_per_second");
  storage.server_bytes_per_second = from.at("server_bytes_per_second");
  storage.target_bytes_per_second = from.at("target_bytes_per_second");
  return storage;
}

}  // namespace

Request request_of(const nlohmann::json& document) {
  Request request;
  const nlohmann::json& topology = document.at("topology");
  const auto kind = topology.at("kind").get<std::string>();
  using Kind = Topology::Kind;
  if (kind == "torus") {
    request.topology.kind = Kind::kTorus;
  } else if (kind == "crossbar") {
    request.topology.kind = Kind::kCrossbar;
  } else if (kind == "fat_tree") {
    request.topology.kind = Kind::kFatTree;
  } else if (kind == "dragonfly") {
    request.topology.kind = Kind::kDragonfly;
  } else {
    throw std::invalid_argument("topology.kind = \"" + kind +
                                "\", expected torus, crossbar, fat_tree or dragonfly");
  }
  request.topology.shape = whole_numbers(topology, "shape");
  request.topology.down = whole_numbers(topology, "down");
  request.topology.up = whole_numbers(topology, "up");
  request.topology.links = whole_numbers(topology, "links");
  request.topology.bytes_per_second = topology.at("bytes_per_second");
  for (const nlohmann::json& slow : topology.value("slow", nlohmann::json::array()))
    request.topology.slow.push_back({slow.at("from"), slow.at("to"), slow.at("factor")});
  if (document.contains("storage")) request.topology.storage = storage_of(document["storage"]);
  request.ranks_per_host = document.value("ranks_per_host", 1);
  request.ranks = document.value("ranks", request.topology.hosts() * request.ranks_per_host);
  const auto shape = whole_numbers(document, "shape");
  for (std::size_t i = 0; i < shape.size() && i < request.extents.size(); ++i) request.extents[i] = shape[i];
  Costs& costs = request.costs;
  costs.software_seconds = document.at("software_seconds");
  costs.hardware_seconds = document.at("hardware_seconds");
  costs.reduced_bytes_per_second = document.value("reduced_bytes_per_second", 0.0);
  costs.copied_bytes_per_second = document.value("copied_bytes_per_second", 0.0);
  const double rate = request.topology.bytes_per_second / 1e9;
  request.parameters.network = {costs.software_seconds * 1e9, costs.hardware_seconds * 1e9, rate, rate, 0};
  if (request.topology.kind != Kind::kTorus) request.parameters.network_node_bytes_per_ns = rate;
  if (costs.reduced_bytes_per_second > 0)
    request.parameters.reduced_bytes_per_ns = costs.reduced_bytes_per_second / 1e9;
  if (costs.copied_bytes_per_second > 0)
    request.parameters.copied_bytes_per_ns = costs.copied_bytes_per_second / 1e9;
  return request;
}

}  // namespace tasuki::sim
