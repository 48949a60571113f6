// Actor: one send or receive, in one of the ways there are, and what is checked when it is complete.
#include <cstdarg>
#include <cstdio>

#include "actor.hpp"

namespace stress {

void Actor::wrong(const char* format, ...) const {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "rank %d thread %d, round %llu, %s of message %d: %s\n", rank_, thread_,
               static_cast<unsigned long long>(seed_), doing_, doing_message_, text);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void Actor::check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  wrong("%s: %s", call, text);
}

int Actor::peer_of(int comm, int world) const {
  if (comm == kReversed) return ranks_ - 1 - world;
  return comm == kInter ? world / 2 : world;
}

int Actor::world_of(int comm, int peer) const {
  if (comm == kReversed) return ranks_ - 1 - peer;
  return comm == kInter ? 2 * peer + (1 - rank_ % 2) : peer;
}

Place Actor::draw_place() {
  return static_cast<Place>(plan_.profile.place >= 0 ? plan_.profile.place : below(random_, kPlaces));
}

Open Actor::new_open(Kind kind, const Message& message) {
  Open open;
  open.kind = kind;
  open.message = message.number;
  open.comm = message.comm;
  open.source = message.source;
  open.tag = message.tag;
  return open;
}

// ---- sending --------------------------------------------------------------------------------------------

/// Fills the buffer with a message that is to be sent now.
void Actor::fill(Open& open, const Message& message) {
  open.message = message.number;
  open.content.resize(message.bytes);
  const std::size_t pair = static_cast<std::size_t>(message.comm * ranks_ + message.dest);
  fill_content(plan_, message, issued_[pair]++, open.content.data());
  put(open.layout, open.content, open.buffer.data);
}

void Actor::send(Part& part, bool may_block) {
  const Message& message = plan_.messages[static_cast<std::size_t>(part.message)];
  if (message.mode == Mode::kReady) return send_ready(part);
  part.begun = true;
  for (std::size_t i = 0; i < idle_.size(); ++i) {
    Open& idle = idle_[i];
    if (idle.kind != Kind::kSend) continue;
    const Message& last = plan_.messages[static_cast<std::size_t>(idle.message)];
    if (last.dest != message.dest || last.comm != message.comm || last.tag != message.tag ||
        last.bytes != message.bytes || last.mode != message.mode) {
      continue;
    }
    open_.push_back(std::move(idle));
    idle_.erase(idle_.begin() + static_cast<long>(i));
    fill(open_.back(), message);
    return check(MPI_Start(&open_.back().request), "MPI_Start of a send");
  }
  Open open = new_open(Kind::kSend, message);
  open.layout = draw_layout(random_, message.bytes, plan_.profile.plain);
  open.buffer = take_buffer(random_, pools_, draw_place(), open.layout.extent);
  fill(open, message);
  start_send(open, message.mode, may_block);
}

void Actor::start_send(Open& open, Mode mode, bool may_block) {
  const Message& message = plan_.messages[static_cast<std::size_t>(open.message)];
  const int peer = peer_of(message.comm, message.dest), tag = message.tag;
  const MPI_Comm comm = comms_[message.comm];
  const void* data = open.buffer.data;
  const Layout& as = open.layout;
  using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  using Isend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  constexpr Send kSends[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
  constexpr Isend kIsends[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  constexpr Isend kInits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  const int number = static_cast<int>(mode);
  if (may_block && one_in(random_, 2)) {
    doing_ = "blocking send";
    check(kSends[number](data, as.count, as.type, peer, tag, comm), "a blocking send");
    finished(open, MPI_Status{}, MPI_SUCCESS);
    return release(open);
  }
  open.persistent = mode != Mode::kReady && one_in(random_, 4);
  const Isend call = open.persistent ? kInits[number] : kIsends[number];
  check(call(data, as.count, as.type, peer, tag, comm, &open.request), "a send");
  if (open.persistent) check(MPI_Start(&open.request), "MPI_Start of a new send");
  open_.push_back(std::move(open));
}

/// The receiver says by a token that it has posted its receive.
void Actor::send_ready(Part& part) {
  const Message& message = plan_.messages[static_cast<std::size_t>(part.message)];
  doing_ = "waiting for a token";
  check(
      MPI_Recv(nullptr, 0, MPI_BYTE, message.dest, 1000 + message.number, comms_[kReady], MPI_STATUS_IGNORE),
      "the token's MPI_Recv");
  part.begun = true;
  Open open = new_open(Kind::kSend, message);
  open.layout = draw_layout(random_, message.bytes, plan_.profile.plain);
  open.buffer = take_buffer(random_, pools_, draw_place(), open.layout.extent);
  fill(open, message);
  start_send(open, Mode::kReady, false);
}

// ---- receiving ------------------------------------------------------------------------------------------

void Actor::prepare_receive(Open& open, std::size_t bytes) {
  open.layout = draw_layout(random_, bytes, plan_.profile.plain);
  open.buffer = take_buffer(random_, pools_, draw_place(), open.layout.extent);
}

/// Begins the next receive of a stream. False: not now, wildcards are open that may take the message.
bool Actor::receive(Part& part, bool may_block) {
  const Message& message = plan_.messages[static_cast<std::size_t>(part.message)];
  Stream& stream = streams_[static_cast<std::size_t>(part.stream)];
  const bool self = message.source == rank_;
  if (message.mode != Mode::kReady && one_in(random_, 5) &&
      receive_probed(stream, message.number, may_block && !self)) {
    return true;
  }
  Open open = new_open(Kind::kReceive, message);
  open.stream = part.stream;
  if (!rules_hold(&open)) return false;
  // Which message it will get is known when no other receive may take it: then its size can be exact.
  const bool known = stream.specific == 0 && wildcards_over(stream) == 0;
  std::size_t bytes = stream.bytes_max;
  open.cancellable = message.mode != Mode::kReady;
  if (known && (message.mode == Mode::kReady || !one_in(random_, 3))) {
    const Message& next =
        plan_.messages[static_cast<std::size_t>(stream.messages[static_cast<std::size_t>(stream.done)])];
    bytes = next.bytes;
    open.cancellable = false;
    if (bytes > 0 && one_in(random_, 12)) {
      bytes = one_in(random_, 2) ? bytes - 1 : random_() % bytes;
      open.truncates = true;
    }
  }
  prepare_receive(open, bytes);
  if (may_block && !self && message.mode != Mode::kReady && one_in(random_, 2)) {
    receive_blocking(open);
    return true;
  }
  start_receive(open);
  ++stream.specific;
  open_.push_back(std::move(open));
  if (message.mode != Mode::kReady) return true;
  Open token = new_open(Kind::kToken, message);
  check(
      MPI_Isend(nullptr, 0, MPI_BYTE, message.source, 1000 + message.number, comms_[kReady], &token.request),
      "the token's MPI_Isend");
  open_.push_back(std::move(token));
  return true;
}

/// Posts a receive with one wildcard or two, big enough for all that may come.
bool Actor::receive_wildcard(const Part& part, bool may_block) {
  const Message& message = plan_.messages[static_cast<std::size_t>(part.message)];
  Open open = new_open(Kind::kReceive, message);
  open.wildcard = open.cancellable = true;
  const int form = message.comm == kShared ? 0 : below(random_, 3);
  if (form != 1) open.source = MPI_ANY_SOURCE;
  if (form != 0) open.tag = MPI_ANY_TAG;
  if (!rules_hold(&open)) return false;
  std::size_t bytes = 0;
  for (const Stream& stream : streams_) {
    if (stream.comm == open.comm && (form == 1 ? stream.source == open.source : true) &&
        (form == 0 ? stream.tag == open.tag : true)) {
      bytes = std::max(bytes, stream.bytes_max);
    }
  }
  prepare_receive(open, bytes);
  if (may_block && message.source != rank_ && one_in(random_, 2)) {
    receive_blocking(open);
    return true;
  }
  start_receive(open);
  open_.push_back(std::move(open));
  return true;
}

void Actor::start_receive(Open& open) {
  const int source = open.source == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : peer_of(open.comm, open.source);
  open.post = ++posts_;
  open.persistent = open.cancellable && one_in(random_, 4);
  const auto call = open.persistent ? MPI_Recv_init : MPI_Irecv;
  check(call(open.buffer.data, open.layout.count, open.layout.type, source, open.tag, comms_[open.comm],
             &open.request),
        "a receive");
  if (open.persistent) check(MPI_Start(&open.request), "MPI_Start of a receive");
}

/// MPI_Recv, alone or after a probe.
void Actor::receive_blocking(Open& open) {
  int source = open.source == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : peer_of(open.comm, open.source),
      tag = open.tag;
  const MPI_Comm comm = comms_[open.comm];
  MPI_Status status;
  open.post = ++posts_;
  // Between a probe and its receive another thread could take the message, but not from streams of this one.
  if (one_in(random_, 4)) {
    doing_ = "probe";
    check(MPI_Probe(source, tag, comm, &status), "MPI_Probe");
    source = status.MPI_SOURCE;
    tag = status.MPI_TAG;
  }
  doing_ = "blocking receive";
  const int code =
      MPI_Recv(open.buffer.data, open.layout.count, open.layout.type, source, tag, comm, &status);
  arrived(open, status, code);
  release(open);
}

/// A matched probe; what it finds is received into a buffer of its size.
bool Actor::receive_probed(Stream& stream, int number, bool may_block) {
  const Message& message = plan_.messages[static_cast<std::size_t>(number)];
  const int peer = peer_of(stream.comm, stream.source);
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status status;
  int found = 1;
  Open open = new_open(Kind::kReceive, message);
  open.stream = static_cast<int>(&stream - streams_.data());
  open.post = ++posts_;
  if (may_block && wildcards() == 0) {
    doing_ = "MPI_Mprobe";
    check(MPI_Mprobe(peer, stream.tag, comms_[stream.comm], &handle, &status), "MPI_Mprobe");
  } else {
    check(MPI_Improbe(peer, stream.tag, comms_[stream.comm], &found, &handle, &status), "MPI_Improbe");
  }
  if (!found) return false;
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  prepare_receive(open, static_cast<std::size_t>(bytes));
  if (one_in(random_, 2)) {
    doing_ = "MPI_Mrecv";
    const int code = MPI_Mrecv(open.buffer.data, open.layout.count, open.layout.type, &handle, &status);
    arrived(open, status, code);
    release(open);
    return true;
  }
  check(MPI_Imrecv(open.buffer.data, open.layout.count, open.layout.type, &handle, &open.request),
        "MPI_Imrecv");
  ++stream.specific;
  open_.push_back(std::move(open));
  return true;
}

/// Sends and receives from the same buffer. REQUIRES: the sent message is not the shorter one.
void Actor::sendrecv_replace(Part& send, Part& receive) {
  const Message& out = plan_.messages[static_cast<std::size_t>(send.message)];
  const Message& in = plan_.messages[static_cast<std::size_t>(receive.message)];
  doing_ = "MPI_Sendrecv_replace";
  doing_message_ = in.number;
  Open open = new_open(Kind::kReceive, in);
  open.stream = receive.stream;
  open.layout = draw_layout(random_, out.bytes, plan_.profile.plain);
  open.buffer = take_buffer(random_, pools_, draw_place(), open.layout.extent);
  fill(open, out);
  open.message = in.number;
  open.post = ++posts_;
  send.begun = true;
  MPI_Status status;
  const int code =
      MPI_Sendrecv_replace(open.buffer.data, open.layout.count, open.layout.type, peer_of(out.comm, out.dest),
                           out.tag, peer_of(in.comm, in.source), in.tag, comms_[in.comm], &status);
  // What lies behind a shorter message is still what was sent.
  std::vector<unsigned char> rest = open.content;
  const std::vector<unsigned char> now = [&] {
    std::vector<unsigned char> all(open.buffer.data, open.buffer.data + open.buffer.bytes);
    return take_out(open.layout, out.bytes, all.data());
  }();
  if (std::memcmp(now.data() + in.bytes, rest.data() + in.bytes, out.bytes - in.bytes) != 0) {
    wrong("what lies behind the %zu received bytes has changed", in.bytes);
  }
  std::size_t done = 0;
  for (const Piece& piece : open.layout.pieces) {
    const std::size_t keep = done >= in.bytes ? 0 : std::min(piece.bytes, in.bytes - done);
    std::memset(open.buffer.data + piece.at + keep, kGap, piece.bytes - keep);
    done += piece.bytes;
  }
  arrived(open, status, code);
  release(open);
}

// ---- completion -----------------------------------------------------------------------------------------

void Actor::finish(std::size_t index, const MPI_Status& status, int code) {
  Open open = std::move(open_[index]);
  open_.erase(open_.begin() + static_cast<long>(index));
  finished(open, status, code);
  if (open.persistent && open.kind == Kind::kSend) {
    idle_.push_back(std::move(open));
  } else if (open.persistent && start_again(open)) {
    open_.push_back(std::move(open));
  } else {
    release(open);
  }
}

void Actor::finished(Open& open, const MPI_Status& status, int code) {
  doing_message_ = open.message;
  if (open.kind == Kind::kReceive) {
    if (open.stream >= 0) --streams_[static_cast<std::size_t>(open.stream)].specific;
    int cancelled = 0;
    if (open.cancellable) MPI_Test_cancelled(&status, &cancelled);
    if (cancelled == 0) return arrived(open, status, code);
    if (!all_are(open.buffer.data, open.buffer.bytes, kGap)) wrong("a cancelled receive has got data");
  } else if (open.kind == Kind::kDecoy) {
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled == 0) wrong("a receive that no rank sends to is complete");
    if (!all_are(open.buffer.data, open.buffer.bytes, kGap))
      wrong("a receive that no rank sends to has got data");
  } else {
    check(code, "a send's completion");
    if (open.kind == Kind::kToken) return;
    std::vector<unsigned char> now = take_out(open.layout, open.content.size(), open.buffer.data);
    if (now != open.content) wrong("the sent buffer has changed");
    if (!all_are(open.buffer.data, open.buffer.bytes, kGap))
      wrong("the gaps of the sent buffer have changed");
  }
  if (!guards_are_whole(open.buffer)) wrong("something was written beside the buffer");
}

/// Checks a message against the plan and notes it for check_orders().
void Actor::arrived(Open& open, const MPI_Status& status, int code) {
  doing_ = "receive";
  int error = MPI_SUCCESS;
  MPI_Error_class(code, &error);
  if (!(open.truncates && error == MPI_ERR_TRUNCATE)) check(code, "a receive's completion");
  if (open.truncates && error != MPI_ERR_TRUNCATE) wrong("%zu bytes of room were enough", open.layout.bytes);
  const int source = world_of(open.comm, status.MPI_SOURCE);
  Message key{};
  key.source = source;
  key.comm = open.comm;
  key.tag = status.MPI_TAG;
  Stream& stream = stream_of(key, false);
  Arrival arrival{};
  arrival = {
      open.post, static_cast<int>(&stream - streams_.data()), -1, open.source, open.tag, 0, open.truncates, 0,
      {}};
  if (!open.truncates) {
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    arrival.bytes = static_cast<std::size_t>(bytes);
    std::vector<unsigned char> got = take_out(open.layout, arrival.bytes, open.buffer.data);
    if (!all_are(open.buffer.data, open.buffer.bytes, kGap)) {
      wrong("something was written outside the %zu bytes, into gaps or behind them", arrival.bytes);
    }
    if (arrival.bytes >= sizeof(Header)) {
      Header header;
      std::memcpy(&header, got.data(), sizeof header);
      for (const int number : stream.messages) {
        if (mix(plan_.seed + static_cast<std::uint64_t>(number)) == header.number) arrival.message = number;
      }
      if (arrival.message < 0)
        wrong("%zu bytes from rank %d with tag %d are none of its messages", arrival.bytes, source, key.tag);
      const Message& message = plan_.messages[static_cast<std::size_t>(arrival.message)];
      doing_message_ = message.number;
      arrival.issue = header.issue;
      std::vector<unsigned char> expected(message.bytes);
      fill_content(plan_, message, header.issue, expected.data());
      if (message.bytes != arrival.bytes) wrong("%zu bytes, expected %zu", arrival.bytes, message.bytes);
      for (std::size_t at = 0; at < expected.size(); ++at) {
        if (got[at] != expected[at])
          wrong("byte %zu of %zu is wrong (place %d, %zu pieces)", at, got.size(),
                static_cast<int>(open.buffer.place), open.layout.pieces.size());
      }
    } else {
      arrival.start = std::move(got);
    }
  }
  if (open.truncates) {
    take_out(open.layout, open.layout.bytes, open.buffer.data);
    if (!all_are(open.buffer.data, open.buffer.bytes, kGap))
      wrong("a truncated message was written into gaps");
  }
  if (!guards_are_whole(open.buffer)) wrong("something was written beside the buffer");
  ++stream.done;
  ++received_;
  bytes_ += static_cast<long>(arrival.bytes);
  arrivals_.push_back(std::move(arrival));
}

/// Restarts a persistent receive whose stream or wildcards have more to come.
bool Actor::start_again(Open& open) {
  if (open.kind != Kind::kReceive || one_in(random_, 3)) return false;
  if (open.stream >= 0) {
    const Stream& stream = streams_[static_cast<std::size_t>(open.stream)];
    if (static_cast<int>(stream.messages.size()) - stream.done <= stream.specific) return false;
  }
  if (!rules_hold(&open)) return false;
  if (open.stream >= 0) ++streams_[static_cast<std::size_t>(open.stream)].specific;
  open.post = ++posts_;
  check(MPI_Start(&open.request), "MPI_Start of a receive that was used");
  return true;
}

void Actor::cancel(std::size_t index) {
  Open& open = open_[index];
  doing_ = "cancel";
  doing_message_ = open.message;
  check(MPI_Cancel(&open.request), "MPI_Cancel");
  MPI_Status status;
  const int code = MPI_Wait(&open.request, &status);
  finish(index, status, code);
}

void Actor::release(Open& open) {
  if (open.request != MPI_REQUEST_NULL) check(MPI_Request_free(&open.request), "MPI_Request_free");
  give_back(open.layout);
  give_back(pools_, open.buffer);
}

}  // namespace stress
