// Actor: what is done next, which rules of order it keeps, and the check of the order that messages came in.
#include <algorithm>
#include <chrono>

#include "actor.hpp"

namespace stress {

constexpr int kDecoyTag = 500;

namespace {

bool matches(const Open& open, const Stream& stream) {
  return open.kind == Kind::kReceive && open.comm == stream.comm &&
         (open.source == MPI_ANY_SOURCE || open.source == stream.source) &&
         (open.tag == MPI_ANY_TAG || open.tag == stream.tag);
}

}  // namespace

void Actor::play(std::uint64_t seed, const Pools& pools, std::size_t bytes_max, unsigned burn_us) {
  seed_ = seed;
  pools_ = pools;
  burn_us_ = burn_us;
  plan_ = draw_plan(seed, ranks_, thread_, bytes_max, kPlaces);
  random_.seed(mix(seed * 31 + static_cast<std::uint64_t>(rank_ * 64 + thread_)));
  set_up();
  const auto is_open = [](const Open& open) { return open.kind != Kind::kDecoy; };
  while (first_part() < static_cast<int>(parts_.size()) || std::any_of(open_.begin(), open_.end(), is_open)) {
    step();
  }
  while (!open_.empty()) cancel(0);
  for (Open& idle : idle_) release(idle);
  idle_.clear();
  check_orders();
  doing_ = "nothing";
}

void Actor::set_up() {
  parts_.clear();
  streams_.clear();
  arrivals_.clear();
  issued_.assign(static_cast<std::size_t>(kComms * ranks_), 0);
  posts_ = 0;
  for (const Message& message : plan_.messages) {
    if (message.dest == rank_) {
      Stream& stream = stream_of(message, true);
      const int index = static_cast<int>(&stream - streams_.data());
      parts_.push_back({message.number, false, false, index, static_cast<int>(stream.messages.size())});
      stream.messages.push_back(message.number);
      stream.bytes_max = std::max(stream.bytes_max, message.bytes);
    }
    if (message.source == rank_) parts_.push_back({message.number, true});
  }
}

Stream& Actor::stream_of(const Message& message, bool make) {
  for (Stream& stream : streams_) {
    if (stream.source == message.source && stream.comm == message.comm && stream.tag == message.tag)
      return stream;
  }
  if (!make)
    wrong("a message from rank %d with tag %d: no rank sends such ones", message.source, message.tag);
  streams_.push_back({message.source, message.comm, message.tag, {}});
  return streams_.back();
}

// ---- what may be done -----------------------------------------------------------------------------------

bool Actor::has_begun(const Part& part) const {
  if (part.send) return part.begun;
  const Stream& stream = streams_[static_cast<std::size_t>(part.stream)];
  return part.place < stream.specific + stream.done;
}

int Actor::first_part() const {
  std::size_t part = 0;
  while (part < parts_.size() && has_begun(parts_[part])) ++part;
  return static_cast<int>(part);
}

/// The earliest part that has not begun and must not be overtaken by this one.
int Actor::next_of_same_stream(int chosen) const {
  const Part& wanted = parts_[static_cast<std::size_t>(chosen)];
  const Message& message = plan_.messages[static_cast<std::size_t>(wanted.message)];
  for (int i = 0; i < chosen; ++i) {
    const Part& part = parts_[static_cast<std::size_t>(i)];
    const Message& other = plan_.messages[static_cast<std::size_t>(part.message)];
    if (part.send == wanted.send && !has_begun(part) && other.source == message.source &&
        other.dest == message.dest && other.comm == message.comm && other.tag == message.tag) {
      return i;
    }
  }
  return chosen;
}

/// Whether its message is surely before part `first`, the first that has not begun.
bool Actor::may_wait_for(const Open& open, int first) const {
  if (open.kind == Kind::kDecoy) return false;
  if (first == static_cast<int>(parts_.size())) return true;
  int number = open.message;
  if (open.wildcard) return false;
  if (open.stream >= 0) {
    const Stream& stream = streams_[static_cast<std::size_t>(open.stream)];
    const int last = std::min(stream.done + stream.specific, static_cast<int>(stream.messages.size()));
    number = stream.messages[static_cast<std::size_t>(last - 1)];
  }
  return number < parts_[static_cast<std::size_t>(first)].message;
}

/// Whether part `first` is a receive whose message, which is sure to be sent, completes an open wildcard if
/// nothing else does.
bool Actor::wildcard_waits_for(int first) const {
  const Part& part = parts_[static_cast<std::size_t>(first)];
  if (part.send || wildcards_over(streams_[static_cast<std::size_t>(part.stream)]) == 0) return false;
  // The part after a receive from this rank itself is its send.
  const Message& message = plan_.messages[static_cast<std::size_t>(part.message)];
  return message.source != rank_ || parts_[static_cast<std::size_t>(first + 1)].begun;
}

int Actor::wildcards() const {
  return static_cast<int>(
      std::count_if(open_.begin(), open_.end(), [](const Open& open) { return open.wildcard; }));
}

int Actor::wildcards_over(const Stream& stream) const {
  return static_cast<int>(std::count_if(open_.begin(), open_.end(), [&stream](const Open& open) {
    return open.wildcard && matches(open, stream);
  }));
}

/// Whether, if `more` is posted too, every open receive is sure to get a message whatever the wildcards take.
bool Actor::rules_hold(const Open* more) const {
  std::vector<const Open*> all{};
  for (const Open& open : open_) {
    if (open.wildcard) all.push_back(&open);
  }
  if (more->wildcard) all.push_back(more);
  const auto left = [&](const Stream& stream) {
    const bool named = more->stream >= 0 && &stream == &streams_[static_cast<std::size_t>(more->stream)];
    return static_cast<int>(stream.messages.size()) - stream.done - stream.specific - (named ? 1 : 0);
  };
  if (more->stream >= 0) {
    const Stream& stream = streams_[static_cast<std::size_t>(more->stream)];
    if (left(stream) < wildcards_over(stream)) return false;
  }
  for (const Open* one : all) {
    int messages = 0, rivals = 0;
    for (const Stream& stream : streams_) messages += matches(*one, stream) ? left(stream) : 0;
    for (const Open* other : all) {
      rivals += std::any_of(streams_.begin(), streams_.end(), [&](const Stream& stream) {
        return matches(*one, stream) && matches(*other, stream);
      });
    }
    if (messages < rivals) return false;
  }
  return true;
}

// ---- what is done ---------------------------------------------------------------------------------------

void Actor::step() {
  const int roll = below(random_, 100);
  if (roll < 8) return compute();
  if (roll < 12) return play_decoys();
  if (roll < 15 && !open_.empty()) {
    const std::size_t index = random_() % open_.size();
    if (open_[index].cancellable) cancel(index);
    return;
  }
  if (roll >= 70 || !begin_some()) finish_some();
}

bool Actor::begin_some() {
  const int first = first_part(), end = static_cast<int>(parts_.size());
  if (first == end) return false;
  int chosen = first;
  for (int tries = 0; tries < 4; ++tries) {
    const int one = std::min(first + below(random_, plan_.profile.window), end - 1);
    if (has_begun(parts_[static_cast<std::size_t>(one)])) continue;
    chosen = one;
    if (!plan_.profile.receive_first || !parts_[static_cast<std::size_t>(one)].send) break;
  }
  chosen = next_of_same_stream(chosen);
  Part& part = parts_[static_cast<std::size_t>(chosen)];
  doing_ = part.send ? "send" : "receive";
  doing_message_ = part.message;
  const Message& message = plan_.messages[static_cast<std::size_t>(part.message)];
  if (part.send && message.mode == Mode::kReady) {
    if (chosen != first) return false;
    // It waits for a token, and with a wildcard open no rank may wait.
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].wildcard) cancel(i);
    }
    if (first_part() != first || wildcards() > 0) return true;
  }
  const bool may_block = chosen == first && wildcards() == 0;
  if (may_block && one_in(random_, 6) && begin_sendrecv(first)) return true;
  if (part.send) {
    send(part, may_block);
    return true;
  }
  const int wildcards = plan_.profile.wildcards;
  if (wildcards > 0 && message.comm != kReady && one_in(random_, wildcards) &&
      receive_wildcard(part, may_block)) {
    return true;
  }
  if (receive(part, may_block)) return true;
  // A wildcard may take the message, and no other rank will send one.
  if (message.source != rank_ || chosen != first || parts_[static_cast<std::size_t>(first + 1)].begun)
    return false;
  Part& own = parts_[static_cast<std::size_t>(next_of_same_stream(first + 1))];
  if (message.mode != Mode::kReady) send(own, false);
  return true;
}

/// MPI_Sendrecv_replace of the first two parts that have not begun, if they are a send and a receive.
bool Actor::begin_sendrecv(int first) {
  int second = first + 1;
  while (second < static_cast<int>(parts_.size()) && has_begun(parts_[static_cast<std::size_t>(second)]))
    ++second;
  if (second >= static_cast<int>(parts_.size())) return false;
  Part* send = &parts_[static_cast<std::size_t>(first)];
  Part* receive = &parts_[static_cast<std::size_t>(second)];
  if (!send->send) std::swap(send, receive);
  if (!send->send || receive->send) return false;
  const Message& out = plan_.messages[static_cast<std::size_t>(send->message)];
  const Message& in = plan_.messages[static_cast<std::size_t>(receive->message)];
  const bool to_others = in.source != rank_ || in.number == out.number;
  if (out.comm != in.comm || out.comm == kReady || out.mode != Mode::kStandard || out.bytes < in.bytes ||
      !to_others) {
    return false;
  }
  sendrecv_replace(*send, *receive);
  return true;
}

void Actor::play_decoys() {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i].kind == Kind::kDecoy && one_in(random_, 2)) return cancel(i);
  }
  Message message{};
  message.source = one_in(random_, 2) ? MPI_ANY_SOURCE : below(random_, ranks_);
  message.comm = one_in(random_, 2) ? kWorld : kShared;
  message.tag = kDecoyTag + thread_;
  message.number = -2;
  Open open = new_open(Kind::kDecoy, message);
  open.cancellable = true;
  prepare_receive(open, draw_size(random_, plan_.profile.bytes_max));
  check(MPI_Irecv(open.buffer.data, open.layout.count, open.layout.type, open.source, open.tag,
                  comms_[open.comm], &open.request),
        "MPI_Irecv for nobody");
  open_.push_back(std::move(open));
}

/// Some time outside MPI.
void Actor::compute() {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::microseconds(below(random_, static_cast<int>(burn_us_) + 1));
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Tests or waits for some of the open requests.
void Actor::finish_some() {
  if (open_.empty()) return;
  doing_ = "completion";
  doing_message_ = -1;
  const int first = first_part();
  const bool all = first == static_cast<int>(parts_.size());
  // What a call may wait for: see actor.hpp.
  std::vector<std::size_t> chosen;
  bool sure = !all && wildcard_waits_for(first);
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (!open_[i].wildcard && one_in(random_, 2)) continue;
    sure = sure || may_wait_for(open_[i], first);
    chosen.push_back(i);
  }
  if (chosen.empty()) return;
  const bool every =
      std::all_of(chosen.begin(), chosen.end(), [&](std::size_t i) { return may_wait_for(open_[i], first); });
  std::vector<MPI_Request> requests;
  for (const std::size_t i : chosen) requests.push_back(open_[i].request);
  std::vector<MPI_Status> statuses(requests.size());
  std::vector<int> indices(requests.size(), 0);
  const int number = static_cast<int>(requests.size());
  int count = 0, code = MPI_SUCCESS, flag = 0;
  const bool waits = sure && one_in(random_, 2);
  switch (below(random_, 3)) {
    case 0:
      if (waits) {
        code = MPI_Waitany(number, requests.data(), indices.data(), statuses.data());
      } else {
        code = MPI_Testany(number, requests.data(), indices.data(), &flag, statuses.data());
      }
      count = (waits || flag) && indices[0] != MPI_UNDEFINED ? 1 : 0;
      statuses[0].MPI_ERROR = code;
      break;
    case 1:
      code = waits ? MPI_Waitsome(number, requests.data(), &count, indices.data(), statuses.data())
                   : MPI_Testsome(number, requests.data(), &count, indices.data(), statuses.data());
      break;
    default:
      if (waits && every) {
        code = MPI_Waitall(number, requests.data(), statuses.data());
        flag = 1;
      } else {
        code = MPI_Testall(number, requests.data(), &flag, statuses.data());
      }
      for (int i = 0; i < number; ++i) indices[static_cast<std::size_t>(i)] = i;
      count = flag || code == MPI_ERR_IN_STATUS ? number : 0;
  }
  if (code == MPI_SUCCESS) {
    for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
  }
  if (count == MPI_UNDEFINED) count = 0;
  for (int i = 0; i < number; ++i)
    open_[chosen[static_cast<std::size_t>(i)]].request = requests[static_cast<std::size_t>(i)];
  std::vector<std::pair<std::size_t, MPI_Status>> complete;
  for (int i = 0; i < count; ++i) {
    const MPI_Status& status = statuses[static_cast<std::size_t>(i)];
    if (status.MPI_ERROR == MPI_ERR_PENDING) continue;
    complete.emplace_back(chosen[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])], status);
  }
  // From the last, so that the places of the others stay.
  std::sort(complete.begin(), complete.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [index, status] : complete) finish(index, status, status.MPI_ERROR);
}

// ---- the order ------------------------------------------------------------------------------------------

/// Messages of one stream went to its receives in the order of posting, and none went to a receive that was
/// posted before another one's though it had been sent later.
void Actor::check_orders() {
  doing_ = "the order";
  std::sort(arrivals_.begin(), arrivals_.end(),
            [](const Arrival& a, const Arrival& b) { return a.post < b.post; });
  std::vector<std::size_t> next(streams_.size(), 0);
  for (const Arrival& arrival : arrivals_) {
    const Stream& stream = streams_[static_cast<std::size_t>(arrival.stream)];
    const std::size_t place = next[static_cast<std::size_t>(arrival.stream)]++;
    if (place >= stream.messages.size()) wrong("more messages than were sent");
    const Message& message = plan_.messages[static_cast<std::size_t>(stream.messages[place])];
    doing_message_ = message.number;
    if (arrival.truncated) continue;
    if (arrival.bytes != message.bytes) wrong("%zu bytes where %zu come next", arrival.bytes, message.bytes);
    if (arrival.message >= 0 && arrival.message != message.number) {
      wrong("message %d has overtaken it", arrival.message);
    }
    if (arrival.message >= 0) continue;
    std::vector<unsigned char> expected(message.bytes);
    fill_content(plan_, message, 0, expected.data());
    if (arrival.start != expected) wrong("its %zu bytes are wrong", message.bytes);
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    doing_message_ = streams_[i].messages.front();
    if (next[i] != streams_[i].messages.size())
      wrong("%zu of %zu have come", next[i], streams_[i].messages.size());
  }
  for (std::size_t early = 0; early < arrivals_.size(); ++early) {
    const Arrival& a = arrivals_[early];
    const Stream& of_a = streams_[static_cast<std::size_t>(a.stream)];
    for (std::size_t late = early + 1; late < arrivals_.size() && a.message >= 0; ++late) {
      const Arrival& b = arrivals_[late];
      const Stream& of_b = streams_[static_cast<std::size_t>(b.stream)];
      if (b.message < 0 || of_a.source != of_b.source || of_a.comm != of_b.comm || b.issue > a.issue)
        continue;
      const bool fits = a.tag == MPI_ANY_TAG || a.tag == of_b.tag;
      doing_message_ = a.message;
      if (fits) wrong("went to a receive that message %d, sent before it, should have got", b.message);
    }
  }
}

std::string Actor::state() const {
  std::string text = "rank " + std::to_string(rank_) + " thread " + std::to_string(thread_) + ", round " +
                     std::to_string(seed_) + ": " + doing_ + " of message " + std::to_string(doing_message_) +
                     ", ";
  const std::size_t first = static_cast<std::size_t>(first_part());
  if (first < parts_.size()) {
    text += std::string("next the ") + (parts_[first].send ? "send" : "receive") + " of message " +
            std::to_string(parts_[first].message);
  }
  text += ", open:";
  for (const Open& open : open_) {
    text += open.kind == Kind::kReceive ? " receive"
            : open.kind == Kind::kSend  ? " send"
            : open.kind == Kind::kToken ? " token"
                                        : " decoy";
    text += " (message " + std::to_string(open.message) + ", communicator " + std::to_string(open.comm) +
            ", source " + std::to_string(open.source) + ", tag " + std::to_string(open.tag) + ", " +
            std::to_string(open.layout.bytes) + " bytes)";
  }
  return text;
}

}  // namespace stress
