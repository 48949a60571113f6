// Agents: how they come, what they tell, how they go.
#include "launch/hosts/hosts.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <utility>

#include "base/system/clock.hpp"
#include "job/message_fields.hpp"
#include "launch/base/format.hpp"
#include "launch/hosts/remote_input.hpp"
#include "launch/hosts/sent_tree.hpp"
#include "launch/stream/rank_stream.hpp"

extern char** environ;

namespace tasuki::launch {
namespace {

constexpr double kConnectSeconds = 30;
constexpr double kStartSeconds = 60;
constexpr std::int64_t kSettleNs = 3'000'000'000;  // an agent ends what is left within half a second
constexpr std::int64_t kQuestionsNs = 10'000'000;
constexpr std::int64_t kValuesNs =
    200'000'000;  // between looks at what ranks here have put without saying so
constexpr int kLostStatus = 1;

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 && length < static_cast<ssize_t>(sizeof path)
             ? std::string(path, static_cast<std::size_t>(length))
             : "mpiexec";
}

std::string own_directory() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) != nullptr ? path : "/";
}

}  // namespace

/// One other host.
struct Hosts::Host {
  int number = 0;  // in the placement
  HostSlots slots;
  int via = kThisAgent;  // the host whose agent starts this one's
  bool begun = false;
  std::int64_t begun_ns = 0;
  std::unique_ptr<RankStream> words;  // of its launcher, on their way to standard error
  std::string held_words;             // of one that may fail without harm

  Hello hello;
  ClockTrips begin_trips;
  ClockTrips end_trips;
  bool greeted = false;
  bool told = false;
  bool settled = false;
  bool lost = false;
  bool has_archive = false;
  std::string why_lost;
  Refusal refusal{"", 0};

  bool open() const { return begun && !lost; }
  HostClock clock() const { return {begin_trips.best(), end_trips.best()}; }
};

Hosts::Hosts(EventLoop& loop, const Options& options, const Family& family, Worlds& worlds, Console& console,
             ConsoleStreams& streams, Reports& reports, HostsUser& user)
    : loop_(loop),
      options_(options),
      family_(family),
      worlds_(worlds),
      console_(console),
      streams_(streams),
      reports_(reports),
      user_(user),
      branches_(loop, *this) {}

Hosts::~Hosts() = default;

// ----- coming ----------------------------------------------------------------------------------------------

bool Hosts::connect(const Placement& placement, Refusal* refusal) {
  for (std::size_t number = 0; number < placement.hosts.size(); ++number) {
    const auto host = static_cast<int>(number);
    if (host != placement.here && placement.uses(host)) host_of(host);
  }
  const bool records = options_.trace || options_.io_times;
  const auto has_come = [records](const Host& host) {
    return host.greeted && (!records || host.begin_trips.over());
  };
  if (!wait(has_come, kConnectSeconds, "has not answered", refusal)) return false;
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [&](const auto& host) { return is_ready(*host, refusal); });
}

/// The host of that number; one that has no agent yet gets one.
Hosts::Host& Hosts::host_of(int number) {
  if (Host* const known = find(number); known != nullptr) return *known;
  const int parent = parent_in_tree(static_cast<int>(hosts_.size()), options_.starter.tree());
  Host& host = *hosts_.emplace_back(std::make_unique<Host>());
  host.number = number;
  host.slots = family_.hosts()[static_cast<std::size_t>(number)];
  if (parent != kThisAgent) host.via = hosts_[static_cast<std::size_t>(parent)]->number;
  return host;
}

Hosts::Host* Hosts::find(int number) const {
  const auto is_it = [number](const auto& host) { return host->number == number; };
  const auto found = std::find_if(hosts_.begin(), hosts_.end(), is_it);
  return found != hosts_.end() ? found->get() : nullptr;
}

void Hosts::send(const Host& host, Frame frame, std::string_view payload) {
  if (host.open()) branches_.send({host.number}, frame, payload);
}

/// Whether orders can be sent to a host that has greeted.
bool Hosts::is_ready(Host& host, Refusal* refusal) {
  if (options_.verbose && !std::exchange(host.told, true)) {
    console_.say(format("mpiexec: host %s is %s, reached by %s%s%s, %u processors", host.slots.name.c_str(),
                        host.hello.host.c_str(), launcher_of(host).c_str(),
                        host.hello.address.empty() ? "" : " at ", host.hello.address.c_str(),
                        host.hello.processors));
  }
  if (host.hello.version == TASUKI_VERSION) return true;
  *refusal = {
      format("host '%s' has Tasuki %s, and this one is " TASUKI_VERSION "; all hosts must have the same",
             host.slots.name.c_str(), host.hello.version.c_str()),
      1};
  return false;
}

/// "ssh", or "ssh from node2".
std::string Hosts::launcher_of(const Host& host) const {
  const Host* const via = find(host.via);
  return options_.starter.name() + (via != nullptr ? " from " + via->slots.name : std::string());
}

/// Keeps a bounded number of launchers on their way at once, from each host that starts some.
void Hosts::begin_more() {
  constexpr int kAtOnce = 64;
  std::map<int, int> on_their_way;
  for (const auto& host : hosts_) {
    if (host->begun && !host->greeted && !host->lost) ++on_their_way[host->via];
  }
  for (const auto& host : hosts_) {
    if (host->begun) continue;
    const Host* const via = find(host->via);
    if (via != nullptr && via->lost) host->via = kThisAgent;
    if (via != nullptr && !via->lost && !via->greeted) continue;
    if (on_their_way[host->via]++ < kAtOnce) begin(*host, host->via);
  }
}

/// Starts its launcher, here or there; a second time where the first has found no agent.
void Hosts::begin(Host& host, int via) {
  host.via = via;
  host.begun = true;
  host.begun_ns = clock_ns();
  branches_.reach(host.number, via, agent_command(options_.starter, host.slots, own_path()));
}

/// Runs the event loop until all hosts are `done`. Returns false, and why, when one is lost or refuses, when
/// the time is over, or when the job is ended meanwhile.
bool Hosts::wait(const std::function<bool(const Host&)>& done, double seconds, const char* what,
                 Refusal* refusal) {
  constexpr int kStepMs = 50;
  const std::int64_t begin_ns = clock_ns();
  const auto is_late = [&](const Host& host) {
    const std::int64_t waited_ns = clock_ns() - std::max(begin_ns, host.begun_ns);
    return host.begun && waited_ns > static_cast<std::int64_t>(seconds * 1e9);
  };
  for (;;) {
    begin_more();
    const Host* waits_for = nullptr;
    for (const auto& host : hosts_) {
      if (host->lost) {
        *refusal = {host->why_lost, kLostStatus};
        return false;
      }
      if (!host->refusal.text.empty()) {
        *refusal = host->refusal;
        return false;
      }
      if (waits_for == nullptr && !done(*host)) waits_for = host.get();
    }
    if (waits_for == nullptr) return true;
    if (is_late(*waits_for)) {
      *refusal = {format("host '%s' %s within %g s; %s", waits_for->slots.name.c_str(), what, seconds,
                         advice_for(options_.starter, waits_for->slots, -1, own_path()).c_str()),
                  kLostStatus};
      return false;
    }
    loop_.run_once(kStepMs);
    branches_.follow(clock_ns(), 0);
    if (!user_.goes_on()) {
      *refusal = {"", kLostStatus};
      return false;
    }
  }
}

StartOrder Hosts::order_for(World& world, const Preparation& preparation) const {
  StartOrder order;
  local::JobHeader& header = world.segment.header();
  order.world = static_cast<std::uint32_t>(world.number);
  order.job_id = world.segment.job_id();
  order.parent_port.assign(header.parent_port, strnlen(header.parent_port, sizeof header.parent_port));
  order.placement = world.placement;
  order.options = options_;
  order.options.output_directory.clear();  // what ranks print comes here, and goes into files here
  order.options.output_pattern.clear();
  order.options.error_pattern.clear();
  order.options.applications = world.applications;
  order.family_slots = preparation.family_slots();
  order.family_hosts = preparation.family_hosts();
  order.environment = variables_to_send(environ);
  order.directory = own_directory();
  order.has_tuning = preparation.has_tuning();
  order.tuning = preparation.tuning();
  order.silence_seconds = options_.host_silence_seconds;
  return order;
}

Hosts::Part& Hosts::add_part(World& world, const Preparation& preparation) {
  Part& part = *parts_.emplace_back(std::make_unique<Part>());
  part.world = &world;
  part.mirror = std::make_unique<Mirror>(world);
  part.order = order_for(world, preparation);
  for (int rank = 0; rank < world.size(); ++rank) {
    const WorldRank one{&world, rank};
    if (one.rank().here) continue;
    if (part.refusal.text.empty()) streams_.make_fed(one, &part.refusal);
    part.unordered.insert(world.placement.host(rank));
  }
  part.awaited = part.unordered;
  part.hosts.assign(part.unordered.begin(), part.unordered.end());
  return part;
}

Hosts::Part* Hosts::part_of(std::uint32_t world) const {
  for (const auto& part : parts_) {
    if (static_cast<std::uint32_t>(part->world->number) == world) return part.get();
  }
  return nullptr;
}

/// Whether all hosts of the part have come. Returns false with a reason where one of them cannot be used.
bool Hosts::have_come(const Part& part, Refusal* refusal) {
  const bool records = options_.trace || options_.io_times;
  for (const auto& host : hosts_) {
    if (!part.unordered.contains(host->number)) continue;
    if (!host->greeted || host->lost || (records && !host->begin_trips.over())) return false;
    if (!is_ready(*host, refusal)) return false;
  }
  return true;
}

/// Writes what all hosts of the world are to know alike. REQUIRES: they have come.
void Hosts::agree(Part& part) {
  World& world = *part.world;
  const Placement& placement = world.placement;
  std::uint32_t fewest = placement.here >= 0 && placement.uses(placement.here)
                             ? static_cast<std::uint32_t>(world.segment.header().processors_available)
                             : INT_MAX;
  for (const auto& host : hosts_) {
    if (part.unordered.contains(host->number)) fewest = std::min(fewest, host->hello.processors);
  }
  part.order.host_processors = fewest;
  world.segment.header().host_processors = static_cast<std::int32_t>(fewest);
}

void Hosts::send_orders(Part& part) {
  for (const auto& host : hosts_) {
    if (part.unordered.erase(host->number) == 0) continue;
    part.order.placement.here = host->number;
    part.order.address = host->hello.address;
    if (!host->hello.caller_address.empty() && host->via == kThisAgent) {
      for (const auto& world : worlds_) set_address(host->hello.caller_address, &world->segment.header());
    }
    send(*host, Frame::kStart, encode(part.order));
  }
}

bool Hosts::start_first(World& world, const Preparation& preparation, Refusal* refusal) {
  Part& part = add_part(world, preparation);
  if (!part.refusal.text.empty()) {
    *refusal = part.refusal;
    return false;
  }
  agree(part);
  send_orders(part);
  const int reader = options_.stdin_rank;
  if (reader == kNoRank || reader >= world.size() || world.ranks[static_cast<std::size_t>(reader)].here)
    return true;
  const Host* const found = find(world.placement.host(reader));
  if (found == nullptr) {
    *refusal = {format("no host has rank %d, which reads standard input", reader), 1};
    return false;
  }
  input_ = std::make_unique<Input>(loop_, branches_, found->number);
  return true;
}

bool Hosts::wait_until_started(Refusal* refusal) {
  const auto has_started = [this](const Host& host) {
    return !parts_.front()->awaited.contains(host.number);
  };
  return wait(has_started, kStartSeconds, "has not started its ranks", refusal);
}

void Hosts::start(World& world, const Preparation& preparation, BeginHere begin_here, Done done) {
  Part& part = add_part(world, preparation);
  part.begin_here = std::move(begin_here);
  part.done = std::move(done);
  part.deadline_ns = clock_ns() + static_cast<std::int64_t>((kConnectSeconds + kStartSeconds) * 1e9);
  for (const int host : part.awaited) host_of(host);
  follow_starts(clock_ns());
}

/// Why the ranks of a part cannot be started.
bool Hosts::find_trouble(const Part& part, std::int64_t now_ns, Refusal* refusal) const {
  for (const auto& host : hosts_) {
    if (!part.awaited.contains(host->number)) continue;
    if (host->lost) {
      *refusal = {host->why_lost, kLostStatus};
      return true;
    }
    if (now_ns < part.deadline_ns) continue;
    *refusal = {format("host '%s' has not started its ranks within %g s", host->slots.name.c_str(),
                       kConnectSeconds + kStartSeconds),
                kLostStatus};
    return true;
  }
  return false;
}

/// Goes on with worlds that are being started.
void Hosts::follow_starts(std::int64_t now_ns) {
  begin_more();
  const auto is_open = [](const auto& part) { return part->done != nullptr; };
  std::vector<std::pair<Done, Refusal>> over;  // told last: whoever hears of it may change parts_
  for (const auto& part : parts_) {
    if (!is_open(part)) continue;
    Refusal refusal = part->refusal;
    if (refusal.text.empty() && !part->unordered.empty() && have_come(*part, &refusal)) {
      agree(*part);
      if (part->begin_here(&refusal)) send_orders(*part);
    }
    if (refusal.text.empty()) find_trouble(*part, now_ns, &refusal);
    if (!part->awaited.empty() && refusal.text.empty()) continue;
    over.emplace_back(std::exchange(part->done, nullptr), refusal);
  }
  for (const auto& [done, refusal] : over) done(refusal.text.empty() ? nullptr : &refusal);
  if (!over.empty()) user_.ranks_ended();  // of those that ended meanwhile
}

void Hosts::end_world(const World& world, int signal) {
  const auto is_its = [&world](const auto& part) { return part->world == &world; };
  const auto found = std::find_if(parts_.begin(), parts_.end(), is_its);
  if (found == parts_.end()) return;
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(world.number));
  to.number(static_cast<std::uint32_t>(signal));
  send_to_world(**found, nullptr, Frame::kEndWorld, to.take());
  std::erase_if(ended_, [&world](const WorldRank& one) { return one.world == &world; });
  parts_.erase(found);
}

// ----- what agents tell ------------------------------------------------------------------------------------

void Hosts::take_frame_of(int host, Frame frame, std::string_view payload) {
  Host* const from = find(host);
  if (from != nullptr && from->open()) take(*from, frame, payload);
}

/// Words of a launcher elsewhere are held until its agent has come: if it fails another one is tried.
void Hosts::take_words_of(int number, std::string_view text) {
  Host* const host = find(number);
  if (host == nullptr) return;
  if (host->via != kThisAgent && !host->greeted) {
    host->held_words += text;
    return;
  }
  if (host->words == nullptr) host->words = std::make_unique<RankStream>(loop_, console_.error(), "");
  host->words->take(text);
}

void Hosts::take(Host& from, Frame frame, std::string_view payload) {
  FieldReader fields(payload);
  switch (frame) {
    case Frame::kHello:
      from.greeted = decode(payload, &from.hello);
      if (!from.greeted) {
        branches_.drop(from.number);
        return lose(from, {.host = from.number, .why = "it is no agent of this Tasuki"});
      }
      if (!from.held_words.empty()) take_words_of(from.number, std::exchange(from.held_words, {}));
      if (options_.trace || options_.io_times) ask_clock(from);
      return;
    case Frame::kClock:
      return take_clock(from, payload);
    case Frame::kRecording: {
      const std::string part = fields.text();
      settle_end_ns_ = clock_ns() + kSettleNs;  // there may be more to come than that time takes
      reports_.take_recording(from.number, part, fields.text());
      return;
    }
    case Frame::kRefused: {
      Part* const part = part_of(fields.number());
      Refusal refusal{"", static_cast<int>(fields.number())};
      refusal.text = "host '" + from.slots.name + "': " + fields.text();
      if (part == nullptr || part->done == nullptr) {
        from.refusal = refusal;
      } else {
        part->refusal = refusal;
        follow_starts(clock_ns());
      }
      return;
    }
    case Frame::kRequest:
      return answer(from, payload);
    case Frame::kStarted:
      return take_started(from, payload);
    case Frame::kOutput:
    case Frame::kClosed:
      return take_output(from, frame == Frame::kClosed, payload);
    case Frame::kEnded:
      return take_ends(from, payload);
    case Frame::kTaken:
      if (input_ != nullptr) input_->note_taken(fields.number());
      return;
    case Frame::kLeaks:
      return take_leaks(payload);
    case Frame::kSettled: {
      const std::uint64_t all = fields.wide_number();
      reports_.take_shared_bytes({all, fields.wide_number()});
      from.settled = true;
      return;
    }
    default:
      break;
  }
  // Values, states, boards: of that host's ranks alone.
  Part* const part = part_of(Mirror::world_of(payload));
  const int rank = part != nullptr ? part->mirror->rank_of(payload) : -1;
  if (rank < 0 || part->world->placement.host(rank) != from.number || !part->mirror->take(frame, payload))
    return;
  if (frame != Frame::kBoard) send_to_world(*part, &from, frame, payload);
}

/// One trip after the other, at the beginning and at the end of the job.
void Hosts::ask_clock(Host& host) {
  FieldWriter to;
  to.wide_number(static_cast<std::uint64_t>(clock_ns()));
  send(host, Frame::kClock, to.take());
}

void Hosts::take_clock(Host& from, std::string_view payload) {
  const std::int64_t now_ns = clock_ns();
  FieldReader fields(payload);
  const auto sent_ns = static_cast<std::int64_t>(fields.wide_number());
  const auto theirs_ns = static_cast<std::int64_t>(fields.wide_number());
  ClockTrips& trips = over_ ? from.end_trips : from.begin_trips;
  if (!fields.over() || trips.over()) return;
  trips.add(sent_ns, theirs_ns, now_ns);
  reports_.take_clock(from.number, from.slots.name, from.clock());
  if (!trips.over()) return ask_clock(from);
  if (over_) send(from, Frame::kOver);
}

/// A rank of that host asks; the answer goes back to its agent.
void Hosts::answer(Host& from, std::string_view payload) {
  FieldReader fields(payload);
  const std::uint32_t number = fields.number();
  const std::string request = fields.text();
  const auto reply = [this, number, host = from.number](const SpawnAnswer& given) {
    FieldWriter to;
    to.number(number);
    to.text(encode(given));
    send(host_of(host), Frame::kAnswer, to.take());
  };
  if (!fields.over() || !user_.asked(request, reply)) reply({"mpiexec got a request of another version", {}});
}

Rank* Hosts::rank_of(const Host& host, std::uint32_t world, std::uint32_t number) const {
  const Part* const part = part_of(world);
  if (part == nullptr || number >= part->world->ranks.size()) return nullptr;
  const bool is_its = part->world->placement.host(static_cast<int>(number)) == host.number;
  return is_its ? &part->world->ranks[number] : nullptr;
}

void Hosts::take_started(Host& from, std::string_view payload) {
  FieldReader fields(payload);
  const std::uint32_t world = fields.number();
  const std::uint32_t count = fields.length();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = fields.number();
    const std::uint32_t pid = fields.number();
    Rank* const rank = rank_of(from, world, number);
    if (rank == nullptr || pid == 0 || pid > INT_MAX) continue;
    rank->pid = static_cast<int>(pid);
  }
  Part* const part = part_of(world);
  if (part == nullptr || !fields.over()) return;
  part->awaited.erase(from.number);
  follow_starts(clock_ns());
}

void Hosts::take_output(Host& from, bool closed, std::string_view payload) {
  FieldReader fields(payload);
  const std::uint32_t world = fields.number();
  Rank* const rank = rank_of(from, world, fields.number());
  const std::uint32_t stream = fields.number();
  if (rank == nullptr || (stream != STDOUT_FILENO && stream != STDERR_FILENO)) return;
  RankStream* const to = stream == STDOUT_FILENO ? rank->output.get() : rank->error.get();
  if (to == nullptr) return;
  if (closed) {
    to->take_end();
  } else {
    to->take(fields.text());
  }
}

void Hosts::take_ends(Host& from, std::string_view payload) {
  FieldReader fields(payload);
  const std::uint32_t count = fields.length();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t world = fields.number();
    const std::uint32_t number = fields.number();
    const auto status = static_cast<int>(fields.number());
    Rank* const rank = rank_of(from, world, number);
    if (rank == nullptr || !rank->running()) continue;
    rank->ended = true;
    rank->wait_status = status;
    ended_.push_back({part_of(world)->world, static_cast<int>(number)});
  }
  user_.ranks_ended();
}

void Hosts::take_leaks(std::string_view payload) {
  FieldReader fields(payload);
  LeakReport report;
  const bool good = decode(fields.text(), &report);
  const std::string bytes = fields.text();
  if (!good || !fields.over() || bytes.size() % sizeof(MappedFile) != 0) return;
  std::vector<MappedFile> files(bytes.size() / sizeof(MappedFile));
  std::memcpy(files.data(), bytes.data(), bytes.size());
  for (MappedFile& file : files) file.path[sizeof file.path - 1] = '\0';
  reports_.take_leaks(report, files);
}

/// To the hosts that have ranks of that world.
void Hosts::send_to_world(const Part& part, const Host* except, Frame frame, std::string_view payload) {
  std::vector<int> to;
  for (const int host : part.hosts) {
    if (!part.unordered.contains(host) && (except == nullptr || except->number != host)) to.push_back(host);
  }
  branches_.send(to, frame, payload);
}

// ----- losing ----------------------------------------------------------------------------------------------

void Hosts::take_loss(const AgentLoss& loss) {
  Host* const host = find(loss.host);
  if (host != nullptr && !host->lost && !begin_again(*host, loss)) lose(*host, loss);
}

/// Where no agent has come. Returns whether another attempt is under way.
bool Hosts::begin_again(Host& host, const AgentLoss& loss) {
  if (host.greeted) return false;
  if (host.via == kThisAgent) return loss.why.empty() && send_installation(host, loss.status);
  if (options_.verbose) {
    const std::string said = host.held_words.substr(0, host.held_words.find_first_of("\r\n"));
    console_.say(format("mpiexec: host %s: %s%s%s%s; it is started from here", host.slots.name.c_str(),
                        end_of(host, loss).c_str(), said.empty() ? "" : " (", said.c_str(),
                        said.empty() ? "" : ")"));
  }
  host.held_words.clear();
  begin(host, kThisAgent);
  return true;
}

/// "ssh from node2 ended with status 255".
std::string Hosts::end_of(const Host& host, const AgentLoss& loss) const {
  if (!loss.why.empty()) return loss.why;
  const std::string launcher = launcher_of(host);
  return loss.status >= 0 ? format("%s ended with status %d", launcher.c_str(), loss.status)
                          : format("%s closed the connection", launcher.c_str());
}

/// "; so is node3, which was reached through it", where there are any.
std::string Hosts::names_behind(const AgentLoss& loss) const {
  constexpr int kNamesMax = 4;
  std::string names;
  int count = 0;
  for (const int behind : loss.behind) {
    const Host* const other = find(behind);
    if (other == nullptr || other->lost) continue;
    if (++count <= kNamesMax) names += (count > 1 ? ", " : "") + other->slots.name;
  }
  if (count > kNamesMax) names += format(" and %d more", count - kNamesMax);
  if (count == 0) return {};
  return format(
      count == 1 ? "; so is %s, which was reached through it" : "; so are %s, which were reached through it",
      names.c_str());
}

/// Its ranks, and those behind it, count as killed.
void Hosts::lose(Host& host, const AgentLoss& loss) {
  const std::string& name = host.slots.name;
  const std::string ended = end_of(host, loss);
  if (host.greeted) {
    host.why_lost =
        format("host '%s' is lost: %s%s", name.c_str(), ended.c_str(), names_behind(loss).c_str());
  } else if (!loss.why.empty()) {
    host.why_lost = format("host '%s': %s", name.c_str(), ended.c_str());
  } else {
    host.why_lost = format("cannot start ranks on host '%s': %s; %s", name.c_str(), ended.c_str(),
                           advice_for(options_.starter, host.slots, loss.status, own_path()).c_str());
  }
  bool ran = end_ranks_of(host);
  host.lost = true;
  for (const int behind : loss.behind) {
    Host* const other = find(behind);
    if (other == nullptr || other->lost) continue;
    other->why_lost = host.why_lost;
    ran = end_ranks_of(*other) || ran;
    other->lost = true;
  }
  if (ran) user_.host_lost(host.why_lost);
}

/// Returns whether any ran.
bool Hosts::end_ranks_of(const Host& host) {
  if (!host.settled) reports_.note_lost(host.number, host.slots.name);
  if (host.words != nullptr) host.words->take_end();
  bool ran = false;
  for (const auto& part : parts_) {
    for (std::size_t number = 0; number < part->world->ranks.size(); ++number) {
      Rank* const rank =
          rank_of(host, static_cast<std::uint32_t>(part->world->number), static_cast<std::uint32_t>(number));
      if (rank == nullptr || rank->here) continue;
      if (rank->running()) {
        ran = true;
        rank->ended = true;
        rank->wait_status = SIGKILL;
      }
      for (RankStream* stream : {rank->output.get(), rank->error.get()}) {
        if (stream != nullptr) stream->take_end();
      }
    }
  }
  return ran;
}

/// A host that has no agent gets this installation. Returns whether it does.
bool Hosts::send_installation(Host& host, int status) {
  const bool may_send = options_.starter.prefix.empty() && !host.has_archive && is_missing_there(status);
  std::string error;
  if (!may_send || (archive_.empty() && !pack_installation(own_path(), &archive_, &error))) return false;
  if (host.words != nullptr) host.words->take_end();
  host.words.reset();
  console_.say(format("mpiexec: host '%s' has no %s: this one is sent along, %.1f MB",
                      host.slots.name.c_str(), own_path().c_str(),
                      static_cast<double>(archive_.size()) * 1e-6));
  host.has_archive = true;
  host.begun_ns = clock_ns();
  branches_.reach(host.number, kThisAgent,
                  agent_command_of_archive(options_.starter, host.slots, archive_.size()), archive_);
  return true;
}

void Hosts::tell_values() {
  for (const auto& part : parts_) {
    const auto tell = [&](Frame frame, const std::string& payload) {
      send_to_world(*part, nullptr, frame, payload);
    };
    if (!part->unordered.empty()) continue;  // those that have no order would not know the world
    part->mirror->tell_values(tell);
    part->mirror->tell_states(tell);
  }
}

void Hosts::note_stop() {
  branches_.pardon_silence();
}

void Hosts::follow(std::int64_t now_ns) {
  if (hosts_.empty()) return;
  const bool full = console_.output().full() || console_.error().full();
  branches_.hold(full ? Hold::kOutputs : Hold::kNothing);
  due_ns_ = std::min(now_ns + 500'000'000, branches_.follow(now_ns, options_.host_silence_seconds));
  if (full) due_ns_ = std::min(due_ns_, now_ns + kQuestionsNs);
  if (parts_.empty() || over_) return;
  follow_starts(now_ns);
  for (const auto& part : parts_) {
    part->mirror->tell_questions([&](Frame frame, const std::string& payload) {
      const int number = part->world->placement.host(part->mirror->rank_of(payload));
      if (const Host* const host = find(number); host != nullptr) send(*host, frame, payload);
    });
  }
  if (now_ns < values_due_ns_) return;
  tell_values();
  values_due_ns_ = now_ns + kValuesNs;
}

// ----- FarProcesses ----------------------------------------------------------------------------------------

std::vector<WorldRank> Hosts::take_ended() {
  return std::exchange(ended_, {});
}

void Hosts::signal(int signal, bool orphans_too) {
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(signal));
  to.number(orphans_too ? 1 : 0);
  std::vector<int> open;
  for (const auto& host : hosts_) {
    if (host->open()) open.push_back(host->number);
  }
  branches_.send(open, Frame::kSignal, to.take());
}

void Hosts::signal_world(const World& world, int signal) {
  const Part* const part = part_of(static_cast<std::uint32_t>(world.number));
  if (part == nullptr) return;
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(world.number));
  to.number(static_cast<std::uint32_t>(signal));
  send_to_world(*part, nullptr, Frame::kSignalWorld, to.take());
}

void Hosts::settle() {
  if (over_) return;
  over_ = true;
  input_.reset();
  for (const auto& host : hosts_) {
    if (!host->open()) continue;
    if (host->begin_trips.over()) {
      ask_clock(*host);
    } else {
      send(*host, Frame::kOver);
    }
  }
  due_ns_ = 0;
  settle_end_ns_ = clock_ns() + kSettleNs;
}

bool Hosts::settled() const {
  const auto gone = [](const auto& host) { return host->lost || host->settled; };
  return clock_ns() > settle_end_ns_ || std::all_of(hosts_.begin(), hosts_.end(), gone);
}

}  // namespace tasuki::launch
