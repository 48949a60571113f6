// Which way, and what becomes of those behind.
#include "launch/hosts/branches.hpp"

#include <algorithm>
#include <utility>

#include "base/system/clock.hpp"
#include "job/message_fields.hpp"
#include "launch/base/format.hpp"
#include "launch/hosts/launched_agent.hpp"

namespace tasuki::launch {
namespace {

struct Envelope {
  std::vector<int> hosts;
  Frame frame = Frame::kAlive;
  std::string payload;
};

void add(FieldWriter& to, const std::vector<int>& numbers) {
  to.number(static_cast<std::uint32_t>(numbers.size()));
  for (const int number : numbers) to.number(static_cast<std::uint32_t>(number));
}

std::vector<int> read_numbers(FieldReader& from) {
  std::vector<int> numbers(from.length());
  for (int& number : numbers) number = static_cast<int>(from.number());
  return numbers;
}

bool decode(std::string_view bytes, Envelope* envelope) {
  FieldReader from(bytes);
  envelope->hosts = read_numbers(from);
  const std::uint32_t frame = from.number();
  envelope->frame = static_cast<Frame>(frame);
  envelope->payload = from.text();
  return from.over() && frame > 0 && frame < static_cast<std::uint32_t>(Frame::kAlive) &&
         envelope->frame != Frame::kRelay;
}

std::string encode_reach(int host, int via, const std::vector<std::string>& words) {
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(host));
  to.number(static_cast<std::uint32_t>(via));
  to.number(static_cast<std::uint32_t>(words.size()));
  for (const std::string& word : words) to.text(word);
  return to.take();
}

}  // namespace

int parent_in_tree(int index, int fan_out) {
  if (fan_out <= 0 || index < fan_out) return kThisAgent;
  int level_begin = 0;
  std::int64_t level_size = fan_out;
  while (index - level_begin >= level_size * (1 + std::int64_t{fan_out})) {
    level_begin += static_cast<int>(level_size);
    level_size *= fan_out;
  }
  return level_begin + static_cast<int>((index - level_begin - level_size) % level_size);
}

std::string envelope(const std::vector<int>& hosts, Frame frame, std::string_view payload) {
  FieldWriter to;
  add(to, hosts);
  to.number(static_cast<std::uint32_t>(frame));
  to.text(std::string(payload));
  return to.take();
}

std::string encode(const AgentLoss& loss) {
  FieldWriter to;
  to.number(static_cast<std::uint32_t>(loss.host));
  to.number(static_cast<std::uint32_t>(loss.status));
  to.text(loss.why);
  add(to, loss.behind);
  return to.take();
}

bool decode(std::string_view bytes, AgentLoss* loss) {
  FieldReader from(bytes);
  loss->host = static_cast<int>(from.number());
  loss->status = static_cast<int>(from.number());
  loss->why = from.text();
  loss->behind = read_numbers(from);
  return from.over();
}

/// One agent that was started here.
class Branches::Branch final : public LaunchedAgentUser {
 public:
  Branch(Branches& branches, int host, const std::vector<std::string>& words, std::string_view first)
      : branches_(branches), host_(host), agent_(branches.loop_, words, *this, first) {}

  int host() const { return host_; }
  LaunchedAgent& agent() { return agent_; }
  Channel& channel() { return agent_.channel(); }
  bool is_of(int pid) const { return agent_.pid() == pid; }

  void hold(Hold what) {
    if (!channel().greeted() || std::exchange(told_to_hold_, what) == what) return;
    FieldWriter to;
    to.number(static_cast<std::uint32_t>(what));
    channel().send(Frame::kHold, to.take());
  }

  void take_frame(Frame frame, std::string_view payload) override {
    branches_.take_frame(*this, frame, payload);
  }
  void take_words(std::string_view text) override { branches_.user_.take_words_of(host_, text); }
  void channel_ended() override { branches_.lose(*this, ""); }

 private:
  Branches& branches_;
  const int host_;
  LaunchedAgent agent_;
  Hold told_to_hold_ = Hold::kNothing;
};

Branches::Branches(EventLoop& loop, BranchesUser& user) : loop_(loop), user_(user) {}

/// All channels end before the first launcher is waited for.
Branches::~Branches() {
  close();
}

void Branches::reach(int host, int via, const std::vector<std::string>& words, std::string_view first) {
  if (via != kThisAgent) {
    const auto found = to_.find(via);
    if (found == to_.end()) return user_.take_loss({.host = host, .why = "the host before it is lost"});
    Branch* const branch = found->second;
    to_[host] = branch;
    const int from = branch->host() == via ? kThisAgent : via;
    return branch->channel().send(Frame::kReach, encode_reach(host, from, words));
  }
  auto branch = std::make_unique<Branch>(*this, host, words, first);
  if (const std::string error = branch->agent().error(); !error.empty()) {
    gone_.push_back(std::move(branch));
    return user_.take_loss({.host = host, .why = error});
  }
  to_[host] = branch.get();
  branches_[host] = std::move(branch);
}

bool Branches::take_reach(std::string_view payload) {
  FieldReader from(payload);
  const auto host = static_cast<int>(from.number());
  const auto via = static_cast<int>(from.number());
  std::vector<std::string> words(from.length());
  for (std::string& word : words) word = from.text();
  if (!from.over() || host < 0 || words.empty() || branches_.contains(host)) return false;
  reach(host, via, words);
  return true;
}

void Branches::send(const std::vector<int>& hosts, Frame frame, std::string_view payload) {
  std::map<Branch*, std::vector<int>> parts;
  for (const int host : hosts) {
    const auto found = to_.find(host);
    if (found == to_.end()) continue;
    Branch* const branch = found->second;
    parts[branch].push_back(branch->host() == host ? kThisAgent : host);
  }
  for (const auto& [branch, part] : parts) {
    if (part.size() == 1 && part.front() == kThisAgent) {
      branch->channel().send(frame, payload);
    } else {
      branch->channel().send(Frame::kRelay, envelope(part, frame, payload));
    }
  }
}

bool Branches::take_relay(std::string_view bytes, Frame* frame, std::string* payload) {
  Envelope come;
  if (!decode(bytes, &come)) return false;
  const bool is_for_me = std::erase(come.hosts, kThisAgent) > 0;
  send(come.hosts, come.frame, come.payload);
  *frame = come.frame;
  *payload = std::move(come.payload);
  return is_for_me;
}

bool Branches::leads_to(const Branch& branch, int host) const {
  const auto found = to_.find(host);
  return found != to_.end() && found->second == &branch;
}

void Branches::take_frame(Branch& from, Frame frame, std::string_view payload) {
  if (frame == Frame::kRelay) {
    Envelope come;
    if (!decode(payload, &come) || come.hosts.size() != 1 || !leads_to(from, come.hosts.front())) return;
    return user_.take_frame_of(come.hosts.front(), come.frame, come.payload);
  }
  if (frame == Frame::kWords) {
    FieldReader fields(payload);
    const auto host = static_cast<int>(fields.number());
    const std::string text = fields.text();
    if (fields.over() && leads_to(from, host)) user_.take_words_of(host, text);
    return;
  }
  if (frame != Frame::kLoss) return user_.take_frame_of(from.host(), frame, payload);
  AgentLoss loss;
  if (!decode(payload, &loss) || !leads_to(from, loss.host) || loss.host == from.host()) return;
  std::erase_if(loss.behind, [&](int host) { return !leads_to(from, host) || host == from.host(); });
  to_.erase(loss.host);
  for (const int host : loss.behind) to_.erase(host);
  user_.take_loss(loss);
}

std::vector<int> Branches::behind(const Branch& branch) const {
  std::vector<int> found;
  for (const auto& [host, leads] : to_) {
    if (leads == &branch && host != branch.host()) found.push_back(host);
  }
  return found;
}

void Branches::remove(Branch& branch) {
  std::erase_if(to_, [&branch](const auto& entry) { return entry.second == &branch; });
  branch.channel().close();
  const auto found = branches_.find(branch.host());
  gone_.push_back(std::move(found->second));
  branches_.erase(found);
}

/// `why`: empty: the channel has ended.
void Branches::lose(Branch& branch, const std::string& why) {
  constexpr int kEndMs = 500;
  AgentLoss loss{.host = branch.host(), .why = why, .behind = behind(branch)};
  if (why.empty()) loss.status = branch.agent().exit_status(kEndMs);
  branch.agent().ready();  // its last words
  remove(branch);
  user_.take_loss(loss);
}

void Branches::drop(int host) {
  const auto found = branches_.find(host);
  if (found != branches_.end()) {
    remove(*found->second);
  } else {
    to_.erase(host);
  }
}

std::int64_t Branches::follow(std::int64_t now_ns, double silence_seconds) {
  gone_.clear();
  std::int64_t due_ns = INT64_MAX;
  std::vector<int> silent;
  for (const auto& [host, branch] : branches_) {
    Channel& channel = branch->channel();
    branch->hold(held_);
    due_ns = std::min(due_ns, channel.keep_alive(now_ns));
    const std::int64_t silent_ns = now_ns - channel.last_heard_ns();
    if (silence_seconds > 0 && channel.greeted() &&
        silent_ns > static_cast<std::int64_t>(silence_seconds * 1e9))
      silent.push_back(host);
  }
  for (const int host : silent) {
    const auto found = branches_.find(host);
    if (found != branches_.end())
      lose(*found->second, format("nothing was heard of it for %g s", silence_seconds));
  }
  return due_ns;
}

void Branches::hold(Hold what) {
  held_ = what;
  for (const auto& [host, branch] : branches_) branch->hold(what);
}

void Branches::pardon_silence() {
  for (const auto& [host, branch] : branches_) branch->channel().pardon_silence();
}

void Branches::close() {
  to_.clear();
  for (auto& [host, branch] : branches_) {
    branch->channel().close();
    gone_.push_back(std::move(branch));
  }
  branches_.clear();
}

bool Branches::over() const {
  return branches_.empty();
}

bool Branches::is_launcher(int pid) const {
  const auto is_it = [pid](const auto& branch) { return branch->is_of(pid); };
  return std::any_of(gone_.begin(), gone_.end(), is_it) ||
         std::any_of(branches_.begin(), branches_.end(),
                     [&](const auto& entry) { return is_it(entry.second); });
}

}  // namespace tasuki::launch
