// OwnerService: see owner_service.hpp.
#include "io/shared/owner_service.hpp"

#include <algorithm>
#include <utility>

#include "base/calls/rank_wait.hpp"
#include "datatype/predefined.hpp"
#include "job/launcher.hpp"
#include "object/objects.hpp"
#include "p2p/core_calls.hpp"

namespace tasuki {
namespace {

constexpr int kTag = 0;
constexpr int kMessagesPerPoll = 64;

Datatype& byte_of(Process& process) {
  return *predefined_object<Datatype>(*process.objects, kMpiByte);
}

}  // namespace

OwnerService::OwnerService(Ref<Comm> comm)
    : comm_(std::move(comm)), process_(comm_->process), releases_(static_cast<std::size_t>(comm_->size())) {
  for (Slot& slot : receives_) {
    slot.message = std::make_unique<Message>();
    post(slot);
  }
  process_.progress->add(this);
}

OwnerService::~OwnerService() {
  process_.progress->remove(this);
  for (Slot& slot : receives_) slot.receive->cancel();
}

void OwnerService::post(Slot& slot) {
  slot.receive = Ref<Request>(start_receive(slot.message.get(), sizeof(Message), byte_of(process_),
                                            kAnySource, kTag, *comm_, Plane::kPointToPoint));
}

void OwnerService::send(int to, const Message& message) {
  Datatype& byte = byte_of(process_);
  if (send_at_once(&message, sizeof message, byte, to, kTag, *comm_, Plane::kPointToPoint)) return;
  Outgoing waiting{std::make_unique<Message>(message), {}};
  waiting.send = Ref<Request>(
      start_send(waiting.message.get(), sizeof message, byte, to, kTag, *comm_, Plane::kPointToPoint));
  outgoing_.push_back(std::move(waiting));
}

/// A rank that is its own owner sends nothing.
void OwnerService::deliver(int to, const Message& message) {
  if (to == comm_->rank) return handle(to, message);
  ++process_.counters.files.owner_requests;
  send(to, message);
}

bool OwnerService::poll() {
  bool moved = false;
  for (int i = 0; i < kMessagesPerPoll; ++i) {
    Slot& slot = receives_[next_receive_];
    if (!slot.receive->done) break;
    const Status& status = slot.receive->status;
    if (status.bytes != static_cast<Count>(sizeof(Message))) end_damaged(status.source, "of a wrong size");
    handle(status.source, *slot.message);
    post(slot);
    next_receive_ = (next_receive_ + 1) % kSlots;
    moved = true;
  }
  if (!outgoing_.empty()) {
    moved |= std::erase_if(outgoing_, [](const Outgoing& one) { return one.send->done; }) != 0;
  }
  return moved;
}

// ----- the rank that asks ----------------------------------------------------------------------------------

void OwnerService::put(Question* question, Message* message) {
  message->ticket = ++tickets_;
  question->ticket = message->ticket;
  question->releases_before = releases_[static_cast<std::size_t>(question->owner)].sent;
  questions_.push_back(question);
  deliver(question->owner, *message);
}

/// The owner; for a lock, which another rank may hold, all other ranks.
std::vector<int> OwnerService::who_may_answer(int owner, const Message& message) const {
  if (message.verb != Verb::kLockExclusive && message.verb != Verb::kLockShared)
    return {comm_->endpoint(owner)};
  return comm_->peers().endpoints;
}

Offset OwnerService::ask(int owner, Message* message) {
  Question question{.owner = owner};
  put(&question, message);
  if (!question.answered) {
    const RankWait wait(process_, who_may_answer(owner, *message));
    process_.progress->wait_until([&question] { return question.answered; });
  }
  std::erase(questions_, &question);
  return question.value;
}

Offset OwnerService::read_pointer(int owner) {
  Message message{.verb = Verb::kReadPointer};
  return ask(owner, &message);
}

void OwnerService::set_pointer(int owner, Offset position) {
  Message message{.verb = Verb::kSetPointer, .begin = position};
  ask(owner, &message);
}

Offset OwnerService::advance_pointer(int owner, Offset by) {
  Message message{.verb = Verb::kAdvancePointer, .begin = by};
  return ask(owner, &message);
}

std::uint64_t OwnerService::lock(int owner, std::uint64_t file, const FileRange& range, bool exclusive) {
  Message message{.verb = exclusive ? Verb::kLockExclusive : Verb::kLockShared,
                  .file = file,
                  .begin = range.begin,
                  .end = range.end};
  ask(owner, &message);
  return message.ticket;
}

std::uint64_t OwnerService::ask_lock(int owner, std::uint64_t file, const FileRange& range, bool exclusive) {
  Message message{.verb = exclusive ? Verb::kLockExclusive : Verb::kLockShared,
                  .file = file,
                  .begin = range.begin,
                  .end = range.end};
  return ask_later(owner, &message);
}

std::uint64_t OwnerService::ask_to_advance_pointer(int owner, Offset by) {
  Message message{.verb = Verb::kAdvancePointer, .begin = by};
  return ask_later(owner, &message);
}

std::uint64_t OwnerService::ask_later(int owner, Message* message) {
  asked_.push_back(std::make_unique<Question>(Question{.owner = owner}));
  put(asked_.back().get(), message);
  return message->ticket;
}

bool OwnerService::has_answer(std::uint64_t ticket, Offset* value) {
  const auto found = std::find_if(asked_.begin(), asked_.end(),
                                  [ticket](const auto& question) { return question->ticket == ticket; });
  if (!(*found)->answered) return false;
  if (value != nullptr) *value = (*found)->value;
  std::erase(questions_, found->get());
  asked_.erase(found);
  return true;
}

void OwnerService::unlock(int owner, std::uint64_t ticket) {
  if (owner != comm_->rank) ++releases_[static_cast<std::size_t>(owner)].sent;
  deliver(owner, {.verb = Verb::kUnlock, .ticket = ticket});
}

void OwnerService::settle() {
  for (int owner = 0; owner < comm_->size(); ++owner) {
    const Releases& releases = releases_[static_cast<std::size_t>(owner)];
    if (releases.sent == releases.handled) continue;
    Message message{.verb = Verb::kSettle};
    ask(owner, &message);
  }
}

void OwnerService::take_answer(int from, const Message& message) {
  const auto found = std::find_if(questions_.begin(), questions_.end(), [&](const Question* one) {
    return one->ticket == message.ticket && one->owner == from && !one->answered;
  });
  if (found == questions_.end()) end_damaged(from, "an answer to nothing that was asked");
  (*found)->value = message.begin;
  (*found)->answered = true;
  Releases& releases = releases_[static_cast<std::size_t>(from)];
  releases.handled = std::max(releases.handled, (*found)->releases_before);
}

// ----- the owner -------------------------------------------------------------------------------------------

void OwnerService::answer(int to, std::uint64_t ticket, Offset value) {
  const Message message{.verb = Verb::kAnswer, .ticket = ticket, .begin = value};
  if (to != comm_->rank) return send(to, message);
  take_answer(to, message);
  process_.progress->wake();  // another thread may wait for it
}

void OwnerService::handle(int from, const Message& message) {
  switch (message.verb) {
    case Verb::kReadPointer:
      return answer(from, message.ticket, pointer_);
    case Verb::kSetPointer:
      pointer_ = message.begin;
      return answer(from, message.ticket, pointer_);
    case Verb::kAdvancePointer: {
      const Offset before = pointer_;
      // As an atomic addition does: it goes round, and the access is refused for its place.
      pointer_ =
          static_cast<Offset>(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(message.begin));
      return answer(from, message.ticket, before);
    }
    case Verb::kLockShared:
    case Verb::kLockExclusive:
      return lock_here(from, message);
    case Verb::kUnlock:
      return unlock_here(from, message);
    case Verb::kSettle:
      return answer(from, message.ticket, 0);
    case Verb::kAnswer:
      return take_answer(from, message);
  }
  end_damaged(from, "of no known kind");
}

void OwnerService::lock_here(int from, const Message& message) {
  if (message.begin < 0 || message.begin >= message.end) end_damaged(from, "a range that is none");
  const bool holds = locks_.add({.rank = from,
                                 .ticket = message.ticket,
                                 .resource = message.file,
                                 .begin = message.begin,
                                 .end = message.end,
                                 .exclusive = message.verb == Verb::kLockExclusive});
  if (holds) answer(from, message.ticket, 0);
}

void OwnerService::unlock_here(int from, const Message& message) {
  std::vector<LockQueue::Request> granted;
  if (!locks_.remove(from, message.ticket, &granted)) end_damaged(from, "a release of what is not held");
  for (const LockQueue::Request& request : granted) answer(request.rank, request.ticket, 0);
}

void OwnerService::end_damaged(int from, const char* what) {
  process_.launcher.end_damaged(comm_->endpoint(from),
                                std::string("a message about what ranks share of a file: ") + what);
}

}  // namespace tasuki
