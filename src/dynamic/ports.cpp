// Ports (MPI 11.9.2): their names, and how a connector and an acceptor find each other.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/calls/outside_wait.hpp"
#include "base/predefined.hpp"
#include "base/system/random_number.hpp"
#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/comm_create.hpp"
#include "dynamic/api.hpp"
#include "dynamic/dynamic.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "link/link.hpp"
#include "object/comm.hpp"
#include "object/objects.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/message_requests.hpp"
#include "p2p/remote_job.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

constexpr int kPlaneBits = 2;  // of a context: a port's number has as many bits less
constexpr std::int64_t kPortCheckNs = 100'000'000;

/// The first word of a connector.
struct Hello {
  Context road;
  Context handshake;
  PeerAddress from;  // to answer, the acceptor has to be able to reach it; no bytes: of the same job
};

enum class Word : std::int32_t { kOffer = 1, kGo = 2, kWithdraw = 3 };

std::uint64_t random_port_number() {
  return std::max<std::uint64_t>(random_number() >> kPlaneBits, 1);
}

constexpr char kPortPrefix[] = "tasuki:";

std::string port_name_of(const PeerAddress& own, std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%" PRIx64 "@", number);
  return kPortPrefix + std::string(text) + to_text(own);
}

bool parse_port_name(const std::string& name, PeerAddress* owner, std::uint64_t* number) {
  const std::size_t at = name.find('@');
  if (name.rfind(kPortPrefix, 0) != 0 || at == std::string::npos) return false;
  const char* const digits = name.c_str() + sizeof kPortPrefix - 1;
  char* end = nullptr;
  *number = std::strtoull(digits, &end, 16);
  return end == name.c_str() + at && end != digits && *number != 0 && from_text(name.substr(at + 1), owner);
}

Datatype& byte_type_of(Process& process) {
  return *predefined_object<Datatype>(*process.objects, kMpiByte);
}

/// A communicator of this process alone, in which it receives from any process that knows the context. The
/// end of a process that was to speak here is nothing that ends the job.
Ref<Comm> make_listening(Process& process, Context context) {
  Ref<Group> self(make_group(process, {process.rank}));
  return Ref<Comm>(make_comm(*process.objects->self, context, std::move(self)));
}

/// The few words between a connector and an acceptor. Both communicators have the handshake's context, and
/// whichever goes drops what has come for either: they live as long as the handshake.
struct Handshake {
  Handshake(Process& process, const Hello& hello, int endpoint)
      : speaking(make_road(process, hello.handshake, endpoint)),
        listening(make_listening(process, hello.handshake)) {}

  Code say(Word word) const {
    return send_message(&word, sizeof word, byte_type_of(speaking->process), 0, 0, *speaking,
                        Plane::kCreation);
  }

  Ref<Comm> speaking;
  Ref<Comm> listening;
};

/// One message from any process, as long as `goes_on()`.
class Listening {
 public:
  Listening(Comm& comm, void* data, Count bytes)
      : request_(static_cast<ReceiveRequest*>(start_receive(data, bytes, byte_type_of(comm.process),
                                                            kAnySource, kAnyTag, comm, Plane::kCreation))),
        process_(comm.process) {}
  ~Listening() {
    if (!request_->done) request_->cancel();
    release(request_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  /// Returns whether something came. What is on its way when `goes_on` turns false is still taken.
  template <class GoesOn>
  bool wait(GoesOn&& goes_on) {
    bool given_up = false;
    process_.progress->wait_until([&] {
      if (request_->done) return true;
      given_up = !goes_on();
      return given_up;
    });
    while (!request_->done && process_.progress->poll()) {
    }
    return request_->done;
  }
  int endpoint() const { return request_->endpoint; }

 private:
  ReceiveRequest* request_;
  Process& process_;
};

/// When a wait is given up, by the clock of the rank's waits; negative: never.
class Deadline {
 public:
  Deadline(const Progress& progress, double seconds)
      : progress_(progress),
        at_ns_(seconds < 0 ? kNever : progress.now_ns() + static_cast<std::int64_t>(seconds * 1e9)) {}
  bool is_over() const { return at_ns_ != kNever && progress_.now_ns() >= at_ns_; }

 private:
  static constexpr std::int64_t kNever = -1;
  const Progress& progress_;
  std::int64_t at_ns_;
};

bool is_closed(PortState state) {
  return state == PortState::kClosed || state == PortState::kEnded;
}

/// Whether a waiting connector should go on waiting: asks rarely, because it has to open a mailbox.
class PortWatch {
 public:
  PortWatch(Process& process, const PeerAddress& owner, std::uint64_t number, double timeout_seconds)
      : process_(process),
        owner_(owner),
        number_(number),
        next_check_ns_(process.progress->now_ns() + kPortCheckNs),
        deadline_(*process.progress, timeout_seconds) {}
  bool goes_on() {
    const std::int64_t now = process_.progress->now_ns();
    timed_out_ = deadline_.is_over();
    if (now >= next_check_ns_) {
      next_check_ns_ = now + kPortCheckNs;
      state_ = process_.link->port_state(owner_, number_);
    }
    return !timed_out_ && !is_closed(state_);
  }
  bool timed_out() const { return timed_out_; }
  bool owner_ended() const { return state_ == PortState::kEnded; }

 private:
  Process& process_;
  PeerAddress owner_;
  std::uint64_t number_;
  std::int64_t next_check_ns_;
  Deadline deadline_;
  bool timed_out_ = false;
  PortState state_ = PortState::kOpen;
};

Port* find_port(Process& process, const char* name) {
  if (name == nullptr) return nullptr;
  std::list<Port>& ports = process.dynamic->ports;
  const auto found =
      std::find_if(ports.begin(), ports.end(), [name](const Port& port) { return port.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

Code read_timeout(Process& process, const Info* info, double* seconds) {
  *seconds = -1;
  const std::string* text = find_info(info, "timeout");
  if (text == nullptr) return kSuccess;
  char* end = nullptr;
  *seconds = std::strtod(text->c_str(), &end);
  if (end != text->c_str() && *end == '\0' && *seconds >= 0 && *seconds < 1e9) return kSuccess;
  return process.fail(kErrInfoValue, "info: timeout = \"%s\", expected a number of seconds", text->c_str());
}

Code refuse_inter(Process& process, const Comm& comm) {
  if (!comm.is_inter()) return kSuccess;
  return process.fail(kErrComm, "comm is an intercommunicator, expected an intracommunicator");
}

}  // namespace

std::string shown_port(const std::string& name) {
  PeerAddress owner;
  std::uint64_t number = 0;
  return parse_port_name(name, &owner, &number) ? name.substr(0, name.find('@') + 1) + "..." : name;
}

Ref<Comm> make_road(Process& process, Context context, int endpoint) {
  Ref<Comm> road = make_listening(process, context);
  road->remote_group = Ref<Group>(make_group(process, {endpoint}));
  return road;
}

Code make_port(Process& process, Reach reach, Port** port) {
  PeerAddress own;
  if (const Code code = own_address(process, reach, &own)) return code;
  const std::uint64_t number = random_port_number();
  if (!process.link->open_port(number))
    return process.fail(kErrPort, "this process has %zu open ports, which is as many as there can be",
                        process.dynamic->ports.size());
  *port = &process.dynamic->ports.emplace_back();
  **port = {port_name_of(own, number), number, make_listening(process, number << kPlaneBits)};
  return kSuccess;
}

void drop_port(Process& process, Port* port) {
  process.link->close_port(port->number);
  process.dynamic->ports.remove_if([port](const Port& one) { return &one == port; });
}

Code accept_one(Process& process, Port& port, bool spawning, double timeout_seconds, Ref<Comm>* road) {
  const Ref<Comm> listening = port.listening;  // another thread may close the port
  const Deadline deadline(*process.progress, timeout_seconds);
  const OutsideWait words(process,
                          spawning ? "what it has spawned, which has not called MPI_Init"
                                   : "port " + shown_port(port.name) + ", to which no process has connected");
  for (;;) {
    Hello hello{};
    int endpoint = -1;
    {
      Listening ear(*listening, &hello, sizeof hello);
      const auto goes_on = [&] {
        if (!spawning) return !deadline.is_over();
        return process.dynamic->is_asking || !process.launcher.is_gone();
      };
      if (!ear.wait(goes_on)) {
        if (!spawning) {
          return process.fail(kErrPort, "port_name = \"%s\": no process connected within %g s",
                              shown_port(port.name).c_str(), timeout_seconds);
        }
        return process.fail(kErrSpawn,
                            "mpiexec has ended before all that it started had called MPI_Init; it says why");
      }
      endpoint = ear.endpoint();
    }
    int reached = -1;
    if (const Code code = join_endpoint(process, hello.from, &reached)) {
      process.progress->poll();  // notices the end of the process, if that was the reason
      if (process.link->has_ended(endpoint)) continue;
      return code;
    }
    const Handshake handshake(process, hello, endpoint);
    Word answer{};
    if (const Code code = handshake.say(Word::kOffer)) return code;
    Listening ear(*handshake.listening, &answer, sizeof answer);
    const bool came = ear.wait([&] { return !process.link->has_ended(endpoint); });
    if (!came || answer != Word::kGo) continue;
    *road = make_road(process, hello.road, endpoint);
    return kSuccess;
  }
}

Code connect_one(Process& process, const std::string& name, double timeout_seconds, Ref<Comm>* road) {
  PeerAddress owner;
  std::uint64_t number = 0;
  if (!parse_port_name(name, &owner, &number))
    return process.fail(kErrPort, "port_name = \"%s\", expected a name that MPI_Open_port gave",
                        name.c_str());
  const std::string shown = shown_port(name);
  const bool elsewhere = is_elsewhere(process, owner);
  int endpoint = -1;
  if (elsewhere || !is_closed(process.link->port_state(owner, number))) {
    if (const Code code = join_endpoint(process, owner, &endpoint)) return code;
  } else {
    return process.fail(kErrPort, "port_name = \"%s\" is not open: it was closed, or its process has ended",
                        shown.c_str());
  }
  if (endpoint == process.rank)
    return process.fail(kErrPort, "port_name = \"%s\" is this process's own, expected another's",
                        shown.c_str());
  Hello hello{make_context(process), make_context(process), {.name = process_name(process, process.rank)}};
  if (endpoint >= process.size) {
    if (const Code code = own_address(process, Reach::kMachine, &hello.from)) return code;
  }
  const Handshake handshake(process, hello, endpoint);
  const Ref<Comm> door = make_road(process, number << kPlaneBits, endpoint);
  if (const Code code =
          send_message(&hello, sizeof hello, byte_type_of(process), 0, 0, *door, Plane::kCreation))
    return code;
  Word answer{};
  PortWatch watch(process, owner, number, timeout_seconds);
  const OutsideWait words(process, "port " + shown + ", where no process has accepted");
  Listening ear(*handshake.listening, &answer, sizeof answer);
  if (ear.wait([&watch] { return watch.goes_on(); })) {
    *road = make_road(process, hello.road, endpoint);
    return handshake.say(Word::kGo);
  }
  const bool ended = process.link->has_ended(endpoint);
  if (!ended) handshake.say(Word::kWithdraw);
  if (ended && elsewhere) {
    return process.fail(kErrPort,
                        "port_name = \"%s\" is of a process on another host that has ended, or that "
                        "cannot be reached: %s",
                        shown.c_str(), process.link->trouble(endpoint).c_str());
  }
  if (watch.timed_out()) {
    return process.fail(kErrPort, "port_name = \"%s\": no process accepted within %g s", shown.c_str(),
                        timeout_seconds);
  }
  if (watch.owner_ended()) {
    return process.fail(kErrPort, "port_name = \"%s\": rank %d of another job, which opened it, has ended",
                        shown.c_str(), owner.name.rank);
  }
  return process.fail(kErrPort, "port_name = \"%s\" was closed before a process accepted", shown.c_str());
}

Code share_outcome(Comm& comm, int root, Code mine) {
  struct Outcome {
    std::int32_t error_class;
    char text[508];
  } outcome{};
  Process& process = comm.process;
  if (comm.rank == root) {
    outcome.error_class = error_class_bits(mine);
    std::snprintf(outcome.text, sizeof outcome.text, "%s", process.errors.text(mine).c_str());
  }
  if (const Code code = bcast_bytes(comm, &outcome, sizeof outcome, root)) return code;
  if (comm.rank == root || outcome.error_class == kSuccess) return comm.rank == root ? mine : kSuccess;
  return process.fail(outcome.error_class, "%s (reported by the root, rank %d)", outcome.text, root);
}

namespace {

Code refuse_null_port(Process& process) {
  return process.fail(kErrPort, "port_name = NULL, expected a name that MPI_Open_port gave");
}

}  // namespace

namespace api {

Code open_port(Process& process, Info*, std::string* port_name) {
  Port* port = nullptr;
  if (const Code code = make_port(process, Reach::kHosts, &port)) return code;
  *port_name = port->name;
  return kSuccess;
}

Code close_port(Process& process, const char* port_name) {
  Port* port = find_port(process, port_name);
  if (port == nullptr)
    return process.fail(kErrPort, "port_name = \"%s\", expected a port that this process has open",
                        port_name != nullptr ? shown_port(port_name).c_str() : "NULL");
  drop_port(process, port);
  return kSuccess;
}

Code comm_accept(Process& process, const char* port_name, Info* info, int root, Comm* comm, Comm** newcomm) {
  if (const Code code = refuse_inter(process, *comm)) return code;
  Ref<Comm> road;
  Code mine = kSuccess;
  if (comm->rank == root) {
    Port* const port = find_port(process, port_name);
    double timeout_seconds = -1;
    if (port_name == nullptr) {
      mine = refuse_null_port(process);
    } else if (port == nullptr) {
      mine =
          process.fail(kErrPort, "port_name = \"%s\", expected a port that this process has open", port_name);
    } else if ((mine = read_timeout(process, info, &timeout_seconds)) == kSuccess) {
      mine = accept_one(process, *port, false, timeout_seconds, &road);
    }
  }
  if (const Code code = share_outcome(*comm, root, mine)) return code;
  return intercomm_create(process, comm, root, road.get(), 0, 0, newcomm);
}

constexpr std::size_t kPortNameBytesMax = 64 << 10;  // far more than any has

Code comm_connect(Process& process, const char* port_name, Info* info, int root, Comm* comm, Comm** newcomm) {
  if (const Code code = refuse_inter(process, *comm)) return code;
  Ref<Comm> road;
  Code mine = kSuccess;
  if (comm->rank == root) {
    double timeout_seconds = -1;
    mine = read_timeout(process, info, &timeout_seconds);
    if (mine == kSuccess && port_name != nullptr &&
        strnlen(port_name, kPortNameBytesMax) == kPortNameBytesMax)
      mine = process.fail(kErrPort, "port_name has %zu characters or more, expected a port's",
                          kPortNameBytesMax);
    if (mine == kSuccess)
      mine = port_name != nullptr ? connect_one(process, port_name, timeout_seconds, &road)
                                  : refuse_null_port(process);
  }
  if (const Code code = share_outcome(*comm, root, mine)) return code;
  return intercomm_create(process, comm, root, road.get(), 0, 0, newcomm);
}

}  // namespace api

void meet_parents(Process& process) {
  const std::string port = process.directory.parent_port();
  if (port.empty()) return;
  Objects& objects = *process.objects;
  const Code code = api::comm_connect(process, port.c_str(), nullptr, 0, objects.world, &objects.parent);
  if (code != kSuccess) {
    process.launcher.wait_to_be_ended();
    process.launcher.abort(
        1, "MPI_Init: cannot meet the processes that spawned this program: " + process.errors.text(code));
  }
  objects.parent->name = "MPI_COMM_PARENT";
}

}  // namespace tasuki
