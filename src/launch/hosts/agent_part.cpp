// Ranks, their pipes, and what is told of them.
#include "launch/hosts/agent_part.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "job/message_fields.hpp"

namespace tasuki::launch {

/// A rank's output on its way to mpiexec.
class AgentPart::Output final : public Ready {
 public:
  Output(AgentPart& part, const WorldRank& rank, int stream, int fd)
      : part_(part), world_(rank.world->number), rank_(rank.number), stream_(stream), fd_(fd) {
    part_.loop_.add_readable(fd_, this);
  }
  ~Output() { close_pipe(); }

  bool open() const { return fd_ >= 0; }
  void ready() override { read_some(); }

  /// All that the pipe holds, so that a rank's last words come before its end.
  void read_rest() {
    for (int round = 0; round < 64 && read_some(); ++round) {
    }
  }

  void hold(bool on) {
    if (!open() || on == held_) return;
    held_ = on;
    if (on) {
      part_.loop_.remove(fd_);
    } else {
      part_.loop_.add_readable(fd_, this);
    }
  }

  bool is_of(const WorldRank& rank) const { return is_of(*rank.world) && rank_ == rank.number; }
  bool is_of(const World& world) const { return world_ == world.number; }

 private:
  bool read_some() {
    if (!open()) return false;
    char bytes[64 * 1024];
    const ssize_t count = read(fd_, bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
    FieldWriter to;
    to.number(static_cast<std::uint32_t>(world_));
    to.number(static_cast<std::uint32_t>(rank_));
    to.number(static_cast<std::uint32_t>(stream_));
    if (count > 0) {
      to.text({bytes, static_cast<std::size_t>(count)});
      part_.channel_.send(Frame::kOutput, to.take());
      return true;
    }
    part_.channel_.send(Frame::kClosed, to.take());
    close_pipe();
    return false;
  }

  void close_pipe() {
    if (!open()) return;
    if (!held_) part_.loop_.remove(fd_);
    close(fd_);
    fd_ = -1;
  }

  AgentPart& part_;
  const int world_;
  const int rank_;
  const int stream_;
  int fd_;
  bool held_ = false;
};

/// mpiexec's standard input on its way to the rank that reads it.
class AgentPart::Input final : public Ready {
 public:
  Input(AgentPart& part, int fd) : part_(part), fd_(fd) {}
  ~Input() { close_pipe(); }

  void take(std::string_view bytes) {
    if (bytes.empty()) over_ = true;
    waiting_ += bytes;
    write_some();
  }
  void ready() override { write_some(); }

 private:
  void write_some() {
    std::size_t taken = 0;
    while (fd_ >= 0 && taken < waiting_.size()) {
      const ssize_t count = write(fd_, waiting_.data() + taken, waiting_.size() - taken);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) break;
      if (count < 0) close_pipe();  // the rank reads no more: what comes is dropped, as a closed pipe does
      if (count > 0) taken += static_cast<std::size_t>(count);
    }
    if (fd_ < 0) taken = waiting_.size();
    waiting_.erase(0, taken);
    if (taken > 0) {
      FieldWriter to;
      to.number(static_cast<std::uint32_t>(taken));
      part_.channel_.send(Frame::kTaken, to.take());
    }
    if (over_ && waiting_.empty()) close_pipe();
    watch(fd_ >= 0 && !waiting_.empty());
  }

  void watch(bool on) {
    if (on == watched_) return;
    watched_ = on;
    if (on) {
      part_.loop_.add_writable(fd_, this);
    } else if (fd_ >= 0) {
      part_.loop_.remove(fd_);
    }
  }

  void close_pipe() {
    if (fd_ < 0) return;
    watch(false);
    close(fd_);
    fd_ = -1;
  }

  AgentPart& part_;
  int fd_;
  bool over_ = false;
  bool watched_ = false;
  std::string waiting_;
};

AgentPart::AgentPart(EventLoop& loop, Channel& channel, const StartOrder& order, const Inherited& inherited,
                     const Launchers& launchers, const std::string& folder)
    : loop_(loop),
      channel_(channel),
      order_(order),
      console_(loop, STDOUT_FILENO, STDERR_FILENO),
      processes_(worlds_),
      ending_(worlds_, processes_, console_, 0),
      reports_(order.options, worlds_, console_),
      preparation_(order.options, reports_, processes_.launcher_id()),
      starter_(order.options, inherited, *this, console_, processes_, reports_),
      spawns_(loop, *this) {
  starter_.spare_launcher();
  processes_.spare(launchers);
  processes_.begin(folder);
  preparation_.set_spawn_socket(spawns_.listen());
}

AgentPart::~AgentPart() = default;

bool AgentPart::start(const StartOrder& order, Refusal* refusal) {
  if (worlds_.find(order.world) != nullptr) {
    *refusal = {"these ranks run already", 1};
    return false;
  }
  auto world = std::make_unique<World>();
  world->number = static_cast<int>(order.world);
  world->applications = order.options.applications;
  world->placement = order.placement;
  preparation_.take_tuning(order.has_tuning, order.tuning);
  preparation_.set_family(order.family_hosts, order.family_slots);
  if (!preparation_.prepare(world.get(), refusal, order.job_id)) return false;
  local::JobHeader& header = world->segment.header();
  set_address(order.address, &header);
  header.host_processors = static_cast<std::int32_t>(order.host_processors);
  std::snprintf(header.parent_port, local::kPortBytes, "%s", order.parent_port.c_str());
  World& added = worlds_.add(std::move(world));
  if (!added.note.empty() && added.ranks.front().here) console_.say("mpiexec: " + added.note);
  mirrors_.push_back(std::make_unique<Mirror>(added));
  if (start_world(added, refusal)) return true;
  end_world(order.world, SIGKILL);
  return false;
}

bool AgentPart::start_world(World& world, Refusal* refusal) {
  if (!starter_.start(&world, refusal)) return false;
  if (order_.options.report_bindings && !world.spawned()) {
    console_.say(
        bindings_text(world, order_.placement.hosts[static_cast<std::size_t>(order_.placement.here)], 1));
  }
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(world.number));
  to.number(static_cast<std::uint32_t>(world.ranks_here()));
  for (int rank = 0; rank < world.size(); ++rank) {
    const Rank& started = world.ranks[static_cast<std::size_t>(rank)];
    if (!started.here) continue;
    to.number(static_cast<std::uint32_t>(rank));
    to.number(static_cast<std::uint32_t>(started.pid));
  }
  channel_.send(Frame::kStarted, to.take());
  return true;
}

void AgentPart::end_world(std::uint32_t number, int signal) {
  World* const world = worlds_.find(number);
  if (world == nullptr) return;
  processes_.end_world(*world, signal);
  std::erase_if(outputs_, [world](const auto& output) { return output->is_of(*world); });
  std::erase_if(mirrors_, [world](const auto& mirror) { return &mirror->world() == world; });
  worlds_.remove(*world);
}

void AgentPart::signal_world(std::uint32_t number, int signal) {
  World* const world = worlds_.find(number);
  if (world != nullptr) processes_.signal_world(*world, signal);
}

void AgentPart::look_for_ended() {
  const std::vector<WorldRank> ended = processes_.take_ended();
  if (ended.empty()) return;
  for (const auto& output : outputs_) {
    for (const WorldRank& one : ended) {
      if (output->is_of(one)) output->read_rest();
    }
  }
  tell_states();
  tell_boards();
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(ended.size()));
  for (const WorldRank& one : ended) {
    to.number(static_cast<std::uint32_t>(one.world->number));
    to.number(static_cast<std::uint32_t>(one.number));
    to.number(static_cast<std::uint32_t>(one.rank().wait_status));
  }
  channel_.send(Frame::kEnded, to.take());
}

void AgentPart::tell_states() {
  const auto tell = [this](Frame frame, const std::string& payload) { channel_.send(frame, payload); };
  for (const auto& mirror : mirrors_) {
    mirror->tell_values(tell);
    mirror->tell_states(tell);
  }
}

void AgentPart::tell_boards() {
  for (const auto& mirror : mirrors_)
    mirror->tell_boards([this](Frame frame, const std::string& payload) { channel_.send(frame, payload); });
}

void AgentPart::take(Frame frame, std::string_view payload) {
  for (const auto& mirror : mirrors_) {
    if (mirror->rank_of(payload) >= 0) mirror->take(frame, payload);
  }
}

/// Has mpiexec answer a rank of this host.
void AgentPart::ask(const std::string& request, Reply reply) {
  FieldWriter to;
  to.number(next_question_);
  to.text(request);
  asked_[next_question_++] = std::move(reply);
  channel_.send(Frame::kRequest, to.take());
}

void AgentPart::take_answer(std::string_view payload) {
  FieldReader fields(payload);
  const auto asked = asked_.find(fields.number());
  SpawnAnswer answer;
  if (asked == asked_.end() || !decode(fields.text(), &answer)) return;
  const Reply reply = std::move(asked->second);
  asked_.erase(asked);
  reply(answer);
}

void AgentPart::take_input(std::string_view bytes) {
  if (input_ != nullptr) input_->take(bytes);
}

void AgentPart::hold(bool on) {
  for (const auto& output : outputs_) output->hold(on);
}

bool AgentPart::outputs_over() const {
  return std::none_of(outputs_.begin(), outputs_.end(), [](const auto& output) { return output->open(); });
}

Reports::SharedBytes AgentPart::shared_bytes() const {
  Reports::SharedBytes sum;
  for (const auto& world : worlds_) {
    const Reports::SharedBytes bytes = Reports::shared_bytes(*world);
    sum.all += bytes.all;
    sum.touched += bytes.touched;
  }
  return sum;
}

void AgentPart::take_output(const WorldRank& rank, int stream, int fd) {
  outputs_.push_back(std::make_unique<Output>(*this, rank, stream, fd));
}

int AgentPart::open_input(std::vector<int>* to_close) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  input_ = std::make_unique<Input>(*this, ends[1]);
  to_close->push_back(ends[0]);
  return ends[0];
}

void AgentPart::take_leaks(const LeakReport& report) {
  const std::vector<MappedFile> files = reports_.files_of(report);
  FieldWriter to;
  to.text(encode(report));
  to.text(std::string(reinterpret_cast<const char*>(files.data()), files.size() * sizeof(MappedFile)));
  channel_.send(Frame::kLeaks, to.take());
}

}  // namespace tasuki::launch
