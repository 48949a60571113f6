// Fields, one behind the other.
#include "launch/hosts/orders.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "job/message_fields.hpp"

namespace tasuki::launch {
namespace {

void add(FieldWriter& to, const std::vector<std::string>& texts) {
  to.number(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) to.text(text);
}

void add(FieldWriter& to, const std::vector<Assignment>& assignments) {
  to.number(static_cast<std::uint32_t>(assignments.size()));
  for (const Assignment& assignment : assignments) {
    to.text(assignment.name);
    to.text(assignment.value);
  }
}

void add(FieldWriter& to, const Application& application) {
  to.number(static_cast<std::uint32_t>(application.ranks));
  add(to, application.command);
  to.text(application.directory);
  to.text(application.path);
  add(to, application.environment);
  to.number(static_cast<std::uint32_t>(application.inherit));
  add(to, application.inherited);
}

std::vector<std::string> read_texts(FieldReader& from) {
  std::vector<std::string> texts(from.length());
  for (std::string& text : texts) text = from.text();
  return texts;
}

std::vector<Assignment> read_assignments(FieldReader& from) {
  std::vector<Assignment> assignments(from.length());
  for (Assignment& assignment : assignments) {
    assignment.name = from.text();
    assignment.value = from.text();
  }
  return assignments;
}

Application read_application(FieldReader& from) {
  Application application;
  application.ranks = static_cast<int>(from.number());
  application.command = read_texts(from);
  application.directory = from.text();
  application.path = from.text();
  application.environment = read_assignments(from);
  application.inherit = static_cast<Inherit>(from.number());
  application.inherited = read_texts(from);
  return application;
}

void add(FieldWriter& to, const Options& options) {
  to.number(static_cast<std::uint32_t>(options.applications.size()));
  for (const Application& application : options.applications) add(to, application);
  add(to, options.environment);
  for (const std::string* text :
       {&options.output_directory, &options.output_pattern, &options.error_pattern}) {
    to.text(*text);
  }
  for (const int number : {options.stdin_rank, options.universe_size, static_cast<int>(options.bind_to),
                           static_cast<int>(options.map_by), static_cast<int>(options.statistics)}) {
    to.number(static_cast<std::uint32_t>(number));
  }
  to.number((options.verbose ? 1U : 0U) | (options.report_bindings ? 2U : 0U) | (options.trace ? 4U : 0U) |
            (options.io_times ? 8U : 0U));
}

Options read_options(FieldReader& from) {
  Options options;
  options.applications.resize(from.length());
  for (Application& application : options.applications) application = read_application(from);
  options.environment = read_assignments(from);
  options.output_directory = from.text();
  options.output_pattern = from.text();
  options.error_pattern = from.text();
  options.stdin_rank = static_cast<int>(from.number());
  options.universe_size = static_cast<int>(from.number());
  options.bind_to = static_cast<BindTo>(from.number());
  options.map_by = static_cast<MapBy>(from.number());
  options.statistics = static_cast<StatisticsForm>(from.number());
  const std::uint32_t flags = from.number();
  options.verbose = (flags & 1) != 0;
  options.report_bindings = (flags & 2) != 0;
  options.trace = (flags & 4) != 0;
  options.io_times = (flags & 8) != 0;
  return options;
}

/// Whether the numbers of an order fit one another.
bool is_sound(const StartOrder& order) {
  std::size_t ranks = 0;
  for (const Application& application : order.options.applications) {
    const int least = order.world == 0 ? 1 : 0;  // a spawn may ask for none of a program
    if (application.ranks < least || application.ranks > kRanksMax || application.command.empty())
      return false;
    ranks += static_cast<std::size_t>(application.ranks);
  }
  if (order.world > INT32_MAX || order.parent_port.size() >= local::kPortBytes) return false;
  const auto hosts = static_cast<int>(order.placement.hosts.size());
  const auto is_host = [hosts](int host) { return host >= 0 && host < hosts; };
  return ranks > 0 && ranks <= static_cast<std::size_t>(kRanksMax) &&
         order.placement.of_rank.size() == ranks && is_host(order.placement.here) &&
         std::all_of(order.placement.of_rank.begin(), order.placement.of_rank.end(), is_host);
}

}  // namespace

std::string encode(const Hello& hello) {
  FieldWriter to;
  to.text(hello.version);
  to.text(hello.host);
  to.text(hello.address);
  to.text(hello.caller_address);
  to.number(hello.processors);
  to.number(hello.pid);
  return to.take();
}

bool decode(std::string_view bytes, Hello* hello) {
  FieldReader from(bytes);
  hello->version = from.text();
  hello->host = from.text();
  hello->address = from.text();
  hello->caller_address = from.text();
  hello->processors = from.number();
  hello->pid = from.number();
  return from.over();
}

std::string encode(const StartOrder& order) {
  FieldWriter to;
  to.number(order.world);
  to.wide_number(order.job_id);
  to.text(order.parent_port);
  add(to, order.placement.hosts);
  to.number(static_cast<std::uint32_t>(order.placement.of_rank.size()));
  for (const int host : order.placement.of_rank) to.number(static_cast<std::uint32_t>(host));
  to.number(static_cast<std::uint32_t>(order.placement.here));
  add(to, order.options);
  add(to, order.environment);
  to.text(order.directory);
  to.text(order.address);
  to.number(order.host_processors);
  to.number(order.has_tuning ? 1 : 0);
  to.text(order.tuning);
  to.number(static_cast<std::uint32_t>(order.family_hosts));
  to.number(static_cast<std::uint32_t>(order.family_slots));
  to.number(static_cast<std::uint32_t>(order.silence_seconds * 1000));
  return to.take();
}

bool decode(std::string_view bytes, StartOrder* order) {
  FieldReader from(bytes);
  order->world = from.number();
  order->job_id = from.wide_number();
  order->parent_port = from.text();
  order->placement.hosts = read_texts(from);
  order->placement.of_rank.resize(from.length());
  for (int& host : order->placement.of_rank) host = static_cast<int>(from.number());
  order->placement.here = static_cast<int>(from.number());
  order->options = read_options(from);
  order->environment = read_texts(from);
  order->directory = from.text();
  order->address = from.text();
  order->host_processors = from.number();
  order->has_tuning = from.number() != 0;
  order->tuning = from.text();
  order->family_hosts = static_cast<int>(from.number());
  order->family_slots = static_cast<int>(from.number());
  order->silence_seconds = from.number() / 1000.0;
  return from.over() && is_sound(*order);
}

RankState state_of(const local::RankBlock& block) {
  RankState state;
  state.life = block.life.load(std::memory_order_acquire);
  state.claimed = block.claimed_pid.load(std::memory_order_seq_cst) != 0;
  state.in_world = block.in_world.load(std::memory_order_seq_cst) != 0;
  state.statistics = load(block.statistics);
  if (state.life != local::Life::kAborting) return state;
  state.abort_code = block.abort_code.load(std::memory_order_relaxed);
  state.abort_message.assign(block.abort_message, strnlen(block.abort_message, local::kAbortMessageBytes));
  return state;
}

std::string encode(const RankState& state) {
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(state.life));
  to.number((state.claimed ? 1U : 0U) | (state.in_world ? 2U : 0U));
  to.number(static_cast<std::uint32_t>(state.abort_code));
  to.text(state.abort_message);
  to.text(std::string(reinterpret_cast<const char*>(&state.statistics), sizeof state.statistics));
  return to.take();
}

bool decode(std::string_view bytes, RankState* state) {
  FieldReader from(bytes);
  const std::uint32_t life = from.number();
  const std::uint32_t flags = from.number();
  state->life = static_cast<local::Life>(life);
  state->claimed = (flags & 1) != 0;
  state->in_world = (flags & 2) != 0;
  state->abort_code = static_cast<std::int32_t>(from.number());
  state->abort_message = from.text();
  const std::string statistics = from.text();
  if (!from.over() || life > static_cast<std::uint32_t>(local::Life::kAborting) ||
      statistics.size() != sizeof state->statistics) {
    return false;
  }
  std::memcpy(&state->statistics, statistics.data(), sizeof state->statistics);
  return true;
}

void store(const RankState& state, local::RankBlock* block) {
  constexpr std::int32_t kElsewhere = -1;
  tasuki::store(state.statistics, &block->statistics);
  block->started_pid.store(kElsewhere, std::memory_order_release);
  if (state.claimed) block->claimed_pid.store(kElsewhere, std::memory_order_seq_cst);
  block->abort_code.store(state.abort_code, std::memory_order_relaxed);
  std::snprintf(block->abort_message, local::kAbortMessageBytes, "%s", state.abort_message.c_str());
  if (state.in_world) block->in_world.store(1, std::memory_order_seq_cst);
  block->life.store(state.life, std::memory_order_release);
}

void set_address(const std::string& address, local::JobHeader* header) {
  std::snprintf(header->address, sizeof header->address, "%s", address.c_str());
}

std::vector<std::string> variables_to_send(const char* const* inherited) {
  constexpr std::string_view kHere[] = {
      "DISPLAY", "HOME", "HOST",   "HOSTNAME", "LOGNAME", "OLDPWD",          "PWD",        "SHELL",
      "SHLVL",   "TERM", "TMPDIR", "TTY",      "USER",    "WAYLAND_DISPLAY", "XAUTHORITY", "_"};
  constexpr std::string_view kPrefixes[] = {"SSH_",     "XDG_",  "DBUS_",     "SLURM",
                                            "SYSTEMD_", "SUDO_", "BASH_FUNC_"};
  std::vector<std::string> variables;
  for (const char* const* entry = inherited; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const std::string_view name = variable.substr(0, variable.find('='));
    if (name.empty() || name.size() == variable.size()) continue;
    const auto begins = [name](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
    if (std::find(std::begin(kHere), std::end(kHere), name) != std::end(kHere)) continue;
    if (std::any_of(std::begin(kPrefixes), std::end(kPrefixes), begins)) continue;
    variables.emplace_back(variable);
  }
  return variables;
}

}  // namespace tasuki::launch
