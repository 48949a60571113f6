// Orders in, news out.
#include "launch/hosts/agent.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>

#include "base/system/clock.hpp"
#include "base/system/process_state.hpp"
#include "job/message_fields.hpp"
#include "launch/base/format.hpp"
#include "launch/host/host_name.hpp"
#include "launch/host/orphans.hpp"
#include "launch/host/signals.hpp"
#include "launch/mapping/processor_set.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kBoardsNs = 1'000'000'000;   // between looks at the call boards
constexpr std::int64_t kAskedBoardsNs = 5'000'000;  // the same while a question is open
constexpr std::int64_t kAskedNs = 2'000'000'000;    // how long it may be
constexpr std::size_t kWaitingBytesMax = 4 << 20;   // that the channel may hold before outputs wait
constexpr double kSilenceSeconds = 30;              // before there is an order that tells another

/// A word of "10.0.0.2 40022 10.0.0.1 22", which ssh sets: the caller's address and port, then this host's.
std::string word_of_connection(int number) {
  const char* text = std::getenv("SSH_CONNECTION");
  std::istringstream words(text != nullptr ? text : "");
  std::string word;
  for (int i = 0; i <= number; ++i) {
    if (!(words >> word)) return {};
  }
  return word;
}

/// The environment of the mpiexec that is served, but for what belongs to this host.
void take_environment(const std::vector<std::string>& variables) {
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos)
      setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
}

/// The session of sshd that this agent is in, where the other side is not heard any more: sshd would keep it
/// for as long as TCP has hope. Not one that other programs of the user are in, too.
void end_login() {
  const int parent = static_cast<int>(getppid());
  const bool is_session = state_of_process(parent).name.starts_with("sshd");
  if (is_session && children_of(parent).size() == 1) kill(parent, SIGTERM);
}

/// srun binds a step's one task to one core, or more. What the job may not use stays out all the same.
void take_all_processors() {
  if (std::getenv("SLURM_STEP_ID") == nullptr) return;
  constexpr int kProcessorsMax = 8192;  // of Linux
  std::vector<int> processors(kProcessorsMax);
  std::iota(processors.begin(), processors.end(), 0);
  const ProcessorSet all(processors);
  sched_setaffinity(0, all.bytes(), all.set());
}

}  // namespace

/// The channel's descriptors, out of the way: what ranks or libraries print must not get in between.
Agent::Descriptors Agent::take_channel() {
  const Descriptors taken{fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100),
                          fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100)};
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (null > STDERR_FILENO) close(null);
  return taken;
}

Agent::Agent(const Inherited& inherited, int signal_fd)
    : inherited_(inherited),
      signal_fd_(signal_fd),
      descriptors_(take_channel()),
      channel_(loop_, descriptors_.in, descriptors_.out, *this),
      branches_(loop_, *this) {
  order_.silence_seconds = kSilenceSeconds;
  loop_.add_readable(signal_fd_, this);
}

int Agent::run() {
  take_all_processors();
  channel_.greet();
  channel_.send(Frame::kHello,
                encode(Hello{.version = TASUKI_VERSION,
                             .host = host_name(),
                             .address = word_of_connection(2),
                             .caller_address = word_of_connection(0),
                             .processors = static_cast<std::uint32_t>(local::processors_available()),
                             .pid = static_cast<std::uint32_t>(getpid())}));
  while (channel_.open() || part_ != nullptr) {
    loop_.run_once(wait_ms());
    follow(clock_ns());
    if (is_done() && branches_.over()) break;
  }
  const Reports::SharedBytes shared = part_ != nullptr ? part_->shared_bytes() : Reports::SharedBytes();
  FieldWriter to;
  to.wide_number(shared.all);
  to.wide_number(shared.touched);
  channel_.send(Frame::kSettled, to.take());
  channel_.flush();
  if (unheard_) end_login();
  return 0;
}

/// Whether nothing is left to do on this host.
bool Agent::is_done() {
  if (part_ == nullptr) return told_over_;
  if (!part_->ending().over(!told_over_)) return false;
  if (!part_->outputs_over() && channel_.open() && part_->ending().phase() != Ending::Phase::kKilling)
    return false;
  sends_recordings_ = true;
  return told_to_hold_ != Hold::kRecordingsToo && recordings_.send_some(channel_);
}

void Agent::follow(std::int64_t now_ns) {
  channel_.keep_alive(now_ns);
  branches_.follow(now_ns, order_.silence_seconds);
  const auto silence_ns = static_cast<std::int64_t>(order_.silence_seconds * 1e9);
  const bool stopped = stopped_ns_ != 0 && channel_.last_heard_ns() <= stopped_ns_;
  if (channel_.open() && !stopped && now_ns - channel_.last_heard_ns() > silence_ns) {
    unheard_ = true;
    channel_.close();
    channel_ended();
  }
  const bool is_full = channel_.waiting_bytes() > kWaitingBytesMax;
  branches_.hold(is_full ? Hold::kRecordingsToo : told_to_hold_);
  if (part_ == nullptr) return;
  part_->hold(is_full || told_to_hold_ != Hold::kNothing);
  part_->ending().meet_deadline(now_ns);
  if (now_ns < board_due_ns_) return;
  part_->tell_states();
  part_->tell_boards();
  board_due_ns_ = now_ns + (now_ns - asked_ns_ < kAskedNs ? kAskedBoardsNs : kBoardsNs);
}

int Agent::wait_ms() const {
  if (part_ == nullptr) return 500;
  if (sends_recordings_) return 10;
  const std::int64_t now_ns = clock_ns();
  std::int64_t due_ns = std::min(board_due_ns_, now_ns + 500'000'000);
  const std::int64_t ending_ns = part_->ending().due_ns(now_ns);
  if (ending_ns != 0) due_ns = std::min(due_ns, ending_ns);
  return static_cast<int>((std::max(due_ns, now_ns) - now_ns + 999'999) / 1'000'000);
}

/// What the first order says besides which ranks to start.
bool Agent::begin_part(const StartOrder& order, Refusal* refusal) {
  take_environment(order.environment);
  if (chdir(order.directory.c_str()) != 0) {
    *refusal = {format("cannot enter the directory '%s': %s", order.directory.c_str(), strerror(errno)), 1};
    return false;
  }
  order_ = order;
  if (!recordings_.begin(&order_.options, &refusal->text)) return false;
  part_ = std::make_unique<AgentPart>(loop_, channel_, order_, inherited_, branches_, recordings_.folder());
  return true;
}

void Agent::start(std::string_view payload) {
  Refusal refusal{"its mpiexec has sent an order that cannot be read", 1};
  StartOrder order;
  if (decode(payload, &order) && (part_ != nullptr || begin_part(order, &refusal)) &&
      part_->start(order, &refusal))
    return;
  FieldWriter to;
  to.number(order.world);
  to.number(static_cast<std::uint32_t>(refusal.status));
  to.text(refusal.text);
  channel_.send(Frame::kRefused, to.take());
}

void Agent::take_frame(Frame frame, std::string_view payload) {
  if (frame == Frame::kRelay) {
    Frame carried = Frame::kAlive;
    std::string its_payload;
    if (branches_.take_relay(payload, &carried, &its_payload)) take_frame(carried, its_payload);
    return;
  }
  FieldReader from(payload);
  switch (frame) {
    case Frame::kStart:
      return start(payload);
    case Frame::kReach:
      branches_.take_reach(payload);
      return;
    case Frame::kOver:
      told_over_ = true;
      return;
    case Frame::kClock: {
      FieldWriter to;
      to.wide_number(static_cast<std::uint64_t>(clock_ns()));
      return channel_.send(Frame::kClock, std::string(payload) + to.take());
    }
    case Frame::kHold:
      told_to_hold_ =
          static_cast<Hold>(std::min(from.number(), static_cast<std::uint32_t>(Hold::kRecordingsToo)));
      return;
    default:
      break;
  }
  if (part_ == nullptr) return;
  switch (frame) {
    case Frame::kInput:
      return part_->take_input(payload);
    case Frame::kEndWorld: {
      const std::uint32_t world = from.number();
      const auto number = static_cast<int>(from.number());
      if (from.over()) part_->end_world(world, number);
      return;
    }
    case Frame::kSignalWorld: {
      const std::uint32_t world = from.number();
      const auto number = static_cast<int>(from.number());
      if (from.over()) part_->signal_world(world, number);
      return;
    }
    case Frame::kAnswer:
      return part_->take_answer(payload);
    case Frame::kSignal: {
      const auto number = static_cast<int>(from.number());
      const bool orphans_too = from.number() != 0;
      if (!from.over()) return;
      if (number == SIGTSTP) stopped_ns_ = clock_ns();  // its mpiexec stops as well, and says nothing
      part_->signal(number, orphans_too);
      return;
    }
    case Frame::kAsk:
      asked_ns_ = clock_ns();
      board_due_ns_ = 0;
      [[fallthrough]];
    case Frame::kValues:
    case Frame::kState:
      part_->take(frame, payload);
      return;
    default:
      return;  // of a later version, or for the other side
  }
}

/// Without mpiexec the job is over.
void Agent::channel_ended() {
  told_over_ = true;
  branches_.close();
  if (part_ != nullptr && part_->ending().job_runs()) part_->ending().end();
}

void Agent::take_frame_of(int host, Frame frame, std::string_view payload) {
  channel_.send(Frame::kRelay, envelope({host}, frame, payload));
}

void Agent::take_words_of(int host, std::string_view text) {
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(host));
  to.text(std::string(text));
  channel_.send(Frame::kWords, to.take());
}

void Agent::take_loss(const AgentLoss& loss) {
  channel_.send(Frame::kLoss, encode(loss));
}

void Agent::ready() {
  for (int signal = 0; (signal = next_signal(signal_fd_)) != 0;) {
    switch (signal) {
      case SIGCHLD:
        if (part_ != nullptr) part_->look_for_ended();
        break;
      case SIGTERM:
      case SIGINT:
      case SIGHUP:  // the launcher's: mpiexec sees the channel end
        channel_.close();
        channel_ended();
        break;
      default:
        break;
    }
  }
}

}  // namespace tasuki::launch
