// Messenger: the origin's side, and what both sides share.
#include "rma/message/messenger.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "datatype/wire_type.hpp"
#include "job/launcher.hpp"
#include "link/link.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/waiting_call.hpp"
#include "progress/progress.hpp"
#include "rma/message/messengers.hpp"

namespace tasuki::rma {
namespace {

constexpr std::size_t kQueueBytesMax = std::size_t{1} << 20;
constexpr Count kMessageBytesMin = 1024;
constexpr std::size_t kTypesMax = 128;  // that an origin keeps known to its targets
constexpr int kHeaderTag = 0;
constexpr int kBatchesPerPoll = 64;
// An access of more bytes leaves at once, as does a batch that has grown to as many.
constexpr Count kDelayedBytesMax = 8192;
constexpr std::size_t kBatchBytes = 8192;

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + kMessageAlignment - 1) / kMessageAlignment * kMessageAlignment;
}

int put_tag(std::uint32_t tag) {
  return static_cast<int>(tag % kTags);
}

int get_tag(std::uint32_t tag) {
  return static_cast<int>(tag % kTags + kTags);
}
static_assert(2 * std::int64_t{kTags} - 1 <= kTagMax);

}  // namespace

Messenger::Messenger(Win& win)
    : win_(win), process_(win.process), peers_(static_cast<std::size_t>(win.size())) {
  // A message that fits one packet leaves at once.
  const Count packet_max =
      std::min<Count>(process_.p2p->table.eager_bytes_max, process_.link->bulk_bytes_max());
  const Count batch_max =
      std::max(packet_max, kMessageBytesMin) / Count{kMessageAlignment} * Count{kMessageAlignment};
  payload_max_ = batch_max - static_cast<Count>(sizeof(Header));
  batch_.resize(static_cast<std::size_t>(batch_max));
  packed_.resize(static_cast<std::size_t>(payload_max_));
  for (Slot& slot : receives_) {
    slot.buffer = std::make_unique<std::byte[]>(batch_.size());
    post(slot);
  }
  process_.messengers->add(this);
}

Messenger::~Messenger() {
  process_.messengers->remove(this);
  for (Slot& slot : receives_) slot.receive->cancel();
}

void Messenger::post(Slot& slot) {
  slot.receive =
      Ref<Request>(start_receive(slot.buffer.get(), static_cast<Count>(batch_.size()), byte_type(process_),
                                 kAnySource, kHeaderTag, *win_.comm, Plane::kPointToPoint));
}

// ----- what both sides share -------------------------------------------------------------------------------

/// Adds a message to the batch.
void Messenger::send(int to, Header header, const std::byte* payload) {
  const std::size_t payload_bytes = payload != nullptr ? header.bytes : 0;
  const std::size_t bytes = sizeof header + padded(payload_bytes);
  if (to != batch_to_ || bytes > batch_.size() - batch_bytes_) leave();
  header.flags =
      static_cast<std::uint8_t>((header.flags & ~kHasPayload) | (payload != nullptr ? kHasPayload : 0));
  batch_to_ = to;
  last_at_ = batch_bytes_;
  std::byte* const place = batch_.data() + batch_bytes_;
  std::memcpy(place, &header, sizeof header);
  if (payload != nullptr) {
    std::memcpy(place + sizeof header, payload, payload_bytes);
    std::memset(place + sizeof header + payload_bytes, 0, padded(payload_bytes) - payload_bytes);
  }
  batch_bytes_ += bytes;
}

/// Sends the batch.
void Messenger::leave() {
  const std::size_t bytes = std::exchange(batch_bytes_, 0);
  if (bytes == 0) return;
  Datatype& byte = byte_type(process_);
  const auto count = static_cast<Count>(bytes);
  if (send_at_once(batch_.data(), count, byte, batch_to_, kHeaderTag, *win_.comm, Plane::kPointToPoint))
    return;
  Outgoing waiting{std::make_unique<std::byte[]>(bytes), bytes, {}};
  std::memcpy(waiting.buffer.get(), batch_.data(), bytes);
  waiting.send = Ref<Request>(
      start_send(waiting.buffer.get(), count, byte, batch_to_, kHeaderTag, *win_.comm, Plane::kPointToPoint));
  outgoing_bytes_ += bytes;
  outgoing_.push_back(std::move(waiting));
}

bool Messenger::sweep_outgoing() {
  return std::erase_if(outgoing_, [this](const Outgoing& one) {
           if (one.send->done) outgoing_bytes_ -= one.bytes;
           return one.send->done;
         }) != 0;
}

void Messenger::start_data(DataMessage data) {
  Peer& other = peer(data.peer);
  ++(data.at_origin ? other.open : other.moving);
  if (data.request) data.request->begin_part();
  data_.push_back(std::move(data));
}

void Messenger::end_data(DataMessage& data) {
  Peer& other = peer(data.peer);
  --(data.at_origin ? other.open : other.moving);
  if (!data.at_origin) answer_flushes(data.peer);
  if (data.request) data.request->end_part();
}

bool Messenger::sweep_data() {
  bool moved = false;
  for (std::size_t i = 0; i < data_.size();) {
    if (!data_[i].message->done) {
      ++i;
      continue;
    }
    DataMessage over = std::move(data_[i]);
    data_[i] = std::move(data_.back());
    data_.pop_back();
    end_data(over);
    moved = true;
  }
  return moved;
}

bool Messenger::poll() {
  bool moved = false;
  polling_ = true;
  for (int i = 0; i < kBatchesPerPoll; ++i) {
    Slot& slot = receives_[next_receive_];
    if (!slot.receive->done) break;
    handle_batch(slot.receive->status.source, slot.buffer.get(), slot.receive->status.bytes);
    post(slot);
    next_receive_ = (next_receive_ + 1) % kSlots;
    moved = true;
  }
  if (!data_.empty()) moved |= sweep_data();
  if (copies_ != nullptr) moved |= copies_->poll();
  polling_ = false;
  leave();
  if (!outgoing_.empty()) moved |= sweep_outgoing();
  return moved;
}

// ----- the origin ------------------------------------------------------------------------------------------

void Messenger::wait_for_room() {
  if (outgoing_bytes_ < kQueueBytesMax) return;
  const auto is_send = [](const Request& request, const void* comm) {
    return request.comm.get() == comm && request.request_type == RequestType::kSend;
  };
  const WaitingCall waiting(*process_.p2p, is_send, win_.comm.get(), Awaits::kAny);
  process_.progress->wait_until([this] { return outgoing_bytes_ < kQueueBytesMax; });
}

Header Messenger::address(Verb verb, const TargetBuffer& remote) {
  Header header{};
  header.verb = verb;
  header.offset = remote.offset;
  header.type = describe_type(remote.rank, *remote.type);
  header.count = header.type == 0 ? remote.bytes() : remote.count;
  return header;
}

std::uint64_t Messenger::describe_type(int target, const Datatype& type) {
  if (type.contiguous) return 0;
  const TypeKey key{type.layout.get(), type.extent};
  auto found = types_.find(key);
  if (found == types_.end()) {
    if (types_.size() >= kTypesMax) forget_types();
    KnownType known{type_next_++, type.layout, std::vector<bool>(peers_.size())};
    found = types_.emplace(key, std::move(known)).first;
  }
  KnownType& known = found->second;
  const std::uint64_t number = known.number;
  if (!known.described_to[static_cast<std::size_t>(target)]) {
    known.described_to[static_cast<std::size_t>(target)] = true;
    send_type(target, number, type);
  }
  return number;
}

void Messenger::forget_types() {
  Header header{};
  header.verb = Verb::kForgetTypes;
  for (int target = 0; target < win_.size(); ++target) {
    const bool is_known = std::any_of(types_.begin(), types_.end(), [target](const auto& entry) {
      return entry.second.described_to[static_cast<std::size_t>(target)];
    });
    if (!is_known) continue;
    peer(target).dirty = true;  // so that a flush sees it arrive
    send(target, header);
  }
  types_.clear();
}

void Messenger::send_type(int target, std::uint64_t number, const Datatype& type) {
  const std::vector<std::int64_t> words = encode_type(type);
  if (words.empty()) {  // the access has begun: there is no way back
    process_.launcher.abort(1, "rank " + std::to_string(process_.rank) +
                                   ": no memory to describe the target's datatype of a window's access");
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
  Header header{};
  header.verb = Verb::kType;
  header.type = number;
  header.count = static_cast<Count>(words.size() * sizeof words[0]);
  for (Count from = 0; from < header.count; from += header.bytes) {
    header.from = from;
    header.bytes = static_cast<std::uint32_t>(std::min(payload_max_, header.count - from));
    send(target, header, bytes + from);
  }
}

/// Behind an access of so many bytes.
void Messenger::leave_after(Count bytes) {
  if (bytes > kDelayedBytesMax || batch_bytes_ >= kBatchBytes) leave();
}

void Messenger::put(const OriginBuffer& origin, const TargetBuffer& remote, RmaRequest* request) {
  if (copies_ != nullptr && copies_->copy(true, origin, remote, request)) return;
  wait_for_room();
  Peer& target = peer(remote.rank);
  Header header = address(Verb::kPut, remote);
  target.dirty = true;
  if (remote.bytes() <= payload_max_) {
    PackCursor(*origin.type, origin.count).pack(origin.address, packed_.data(), packed_.size());
    header.bytes = static_cast<std::uint32_t>(remote.bytes());
    send(remote.rank, header, packed_.data());
    return leave_after(remote.bytes());
  }
  header.verb = Verb::kPutData;
  header.tag = target.tag_next++;
  send(remote.rank, header);
  leave();
  start_data({Ref<Request>(start_send(origin.address, origin.count, *origin.type, remote.rank,
                                      put_tag(header.tag), *win_.comm, Plane::kOther)),
              Ref<Datatype>::share(origin.type), Ref<RmaRequest>::share(request), remote.rank, true});
}

void Messenger::get(const OriginBuffer& origin, const TargetBuffer& remote, RmaRequest* request) {
  if (copies_ != nullptr && copies_->copy(false, origin, remote, request)) return;
  wait_for_room();
  Header header = address(Verb::kGet, remote);
  header.tag = peer(remote.rank).tag_next++;
  start_data({Ref<Request>(start_receive(origin.address, origin.count, *origin.type, remote.rank,
                                         get_tag(header.tag), *win_.comm, Plane::kOther)),
              Ref<Datatype>::share(origin.type), Ref<RmaRequest>::share(request), remote.rank, true});
  send(remote.rank, header);
  leave_after(remote.bytes());
}

void Messenger::accumulate(const Combination& how, const OriginBuffer* origin, const OriginBuffer* result,
                           const TargetBuffer& remote, RmaRequest* request) {
  Header header = address(result != nullptr ? Verb::kFetch : Verb::kAccumulate, remote);
  header.op = how.op;
  header.basic = how.type->predefined;
  const Count bytes = remote.bytes();
  if (result != nullptr) {
    header.tag = fetch_next_++;
    fetches_.emplace(header.tag,
                     Fetch{remote.rank, result->address, PackCursor(*result->type, result->count),
                           Ref<Datatype>::share(result->type), bytes, Ref<RmaRequest>::share(request)});
    ++peer(remote.rank).open;
    if (request != nullptr) request->begin_part();
  } else {
    peer(remote.rank).dirty = true;
  }
  const Count chunk_max = payload_max_ / how.element_bytes() * how.element_bytes();
  PackCursor cursor(origin != nullptr ? *origin->type : *remote.type, origin != nullptr ? origin->count : 0);
  for (header.from = 0; header.from < bytes; header.from += header.bytes) {
    wait_for_room();
    header.bytes = static_cast<std::uint32_t>(std::min(chunk_max, bytes - header.from));
    if (origin != nullptr) cursor.pack(origin->address, packed_.data(), header.bytes);
    send(remote.rank, header, origin != nullptr ? packed_.data() : nullptr);
    leave_after(header.bytes);
  }
}

void Messenger::compare_and_swap(const BasicInfo& type, const std::byte* origin, const std::byte* compare,
                                 std::byte* result, const TargetBuffer& remote) {
  wait_for_room();
  Header header = address(Verb::kCompareAndSwap, remote);
  header.basic = type.predefined;
  header.bytes = 2u * type.size;
  header.tag = fetch_next_++;
  fetches_.emplace(header.tag, Fetch{remote.rank,
                                     result,
                                     PackCursor(*remote.type, 1),
                                     Ref<Datatype>::share(remote.type),
                                     Count{type.size},
                                     {}});
  ++peer(remote.rank).open;
  std::memcpy(packed_.data(), compare, type.size);
  std::memcpy(packed_.data() + type.size, origin, type.size);
  send(remote.rank, header, packed_.data());
  leave_after(header.bytes);
}

void Messenger::fetched(int from, const Header& header, const std::byte* payload) {
  const auto found = fetches_.find(header.tag);
  if (found == fetches_.end() || found->second.target != from)
    damaged(from, "an answer to nothing that was asked");
  Fetch& fetch = found->second;
  const Count bytes = header.bytes;
  const bool fits = bytes <= fetch.bytes_left && header.from >= 0 &&
                    header.from <= fetch.cursor.total_bytes() &&
                    bytes <= fetch.cursor.total_bytes() - header.from;
  if (!fits || bytes == 0) damaged(from, "an answer that is longer than what was asked for");
  if (payload != nullptr) {
    fetch.cursor.seek(header.from);
    fetch.cursor.unpack(fetch.result, payload, static_cast<std::size_t>(bytes));
  }
  fetch.bytes_left -= bytes;
  if (fetch.bytes_left != 0) return;
  --peer(from).open;
  if (fetch.request) fetch.request->end_part();
  fetches_.erase(found);
}

/// The message that has not left, if it goes to the target and may say so, flushes too.
void Messenger::ask_flush(int target, std::uint8_t flags) {
  Peer& one = peer(target);
  one.dirty = false;
  Header header{};
  if (batch_bytes_ != 0 && batch_to_ == target) {
    std::byte* const last = batch_.data() + last_at_;
    std::memcpy(&header, last, sizeof header);
    const bool may_say = header.verb == Verb::kPut || header.verb == Verb::kAccumulate;
    if (may_say && (header.flags & kFlushes) == 0) {
      header.flags |= flags;
      header.tag = ++one.flushes_sent;
      std::memcpy(last, &header, sizeof header);
      return;
    }
  }
  header = {};
  header.verb = Verb::kFlush;
  header.flags = flags;
  header.tag = ++one.flushes_sent;
  send(target, header);
}

void Messenger::send_flush(int target) {
  if (peer(target).dirty) ask_flush(target, kFlushes);
}

/// Copies pass messages.
void Messenger::send_flush_and_unlock(int target) {
  if (!is_copied(target)) wait_for(target, [] { return true; });
  ask_flush(target, kFlushes | kUnlocks);
}

void Messenger::send_control(int to, ControlVerb verb, const std::byte* payload, std::size_t bytes) {
  Header header{};
  header.verb = Verb::kControl;
  header.op = static_cast<std::uint16_t>(verb);
  header.bytes = static_cast<std::uint32_t>(std::min(bytes, static_cast<std::size_t>(payload_max_)));
  send(to, header, bytes != 0 ? payload : nullptr);
  if (!polling_) leave();
}

/// Returns whether it has waited. `is_done` is of messages to and from the target; copies are waited for,
/// too.
template <class Done>
bool Messenger::wait_for(int target, Done&& is_done) {
  leave();
  const auto all_done = [&] { return is_done() && is_copied(target); };
  if (all_done()) return false;
  flushed_ = target;
  process_.progress->wait_until(all_done);
  flushed_ = -1;
  return true;
}

bool Messenger::flush(int target) {
  send_flush(target);
  const Peer& one = peer(target);
  return wait_for(target, [&one] { return one.open == 0 && one.flushes_done == one.flushes_sent; });
}

void Messenger::flush(const std::vector<int>& targets) {
  for (const int target : targets) send_flush(target);
  for (const int target : targets) flush(target);
}

void Messenger::add_missing(std::vector<int>* endpoints) const {
  if (flushed_ >= 0) endpoints->push_back(win_.comm->endpoint(flushed_));
}

bool Messenger::flush_all() {
  for (int target = 0; target < win_.size(); ++target) send_flush(target);
  bool waited = false;
  for (int target = 0; target < win_.size(); ++target) waited |= flush(target);
  return waited;
}

void Messenger::flush_local(int target) {
  wait_for(target, [&one = peer(target)] { return one.open == 0; });
}

void Messenger::flush_local_all() {
  for (int target = 0; target < win_.size(); ++target) flush_local(target);
}

}  // namespace tasuki::rma
