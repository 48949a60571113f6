// OwnerService: shared file pointers and locks on ranges of files between ranks that share no memory. One
// rank, the owner, keeps them; the others ask it by messages of one size, all on one communicator. Which rank
// is the owner of what is the callers' matter; they agree on it without a message.
//
// The owner answers whenever it makes progress: inside any call of MPI that waits, polls, or ends MPI. It
// need not be in a call on files. A rank that asks waits in Progress, and serves the others meanwhile.
//
// What others send is checked: a message that cannot be right ends the job.
//
// Ownership: keeps the communicator, whose plane kPointToPoint nothing else uses. Thread safety: the process
// lock.
//
// Invariants:
//  1. Messages of one rank are handled in the order of their sending: an answer says that all that went to
//     that owner before the question has been handled.
//  2. A release of a lock is not answered; settle() waits until the owners have handled all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/lock_queue.hpp"
#include "base/process.hpp"
#include "base/types.hpp"
#include "io/view/ranges.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"
#include "progress/progress.hpp"

namespace tasuki {

class OwnerService final : public ProgressHook {
 public:
  /// All ranks of `comm` make theirs. Local: what others ask earlier waits.
  explicit OwnerService(Ref<Comm> comm);
  /// REQUIRES: all ranks have called settle() and met since.
  ~OwnerService();
  OwnerService(const OwnerService&) = delete;
  OwnerService& operator=(const OwnerService&) = delete;

  // The one pointer that `owner` keeps for this communicator. 0 at first.
  Offset read_pointer(int owner);
  void set_pointer(int owner, Offset position);
  Offset advance_pointer(int owner, Offset by);  // returns where it was

  /// Returns once this rank holds `range` of the file `file`: the number to release it by.
  /// REQUIRES: 0 <= range.begin < range.end.
  std::uint64_t lock(int owner, std::uint64_t file, const FileRange& range, bool exclusive);
  void unlock(int owner, std::uint64_t ticket);

  // The same without waiting: asks, and gives the number of the question, which is that of the lock.
  std::uint64_t ask_to_advance_pointer(int owner, Offset by);
  std::uint64_t ask_lock(int owner, std::uint64_t file, const FileRange& range, bool exclusive);
  /// Whether the owner has answered, and what (`value` may be null). Once it has, this is not called again.
  bool has_answer(std::uint64_t ticket, Offset* value = nullptr);

  /// Returns once the owners have handled all that this rank has sent.
  void settle();

  bool poll() override;

 private:
  enum class Verb : std::uint32_t {
    kReadPointer = 1,
    kSetPointer,
    kAdvancePointer,
    kLockShared,
    kLockExclusive,
    kUnlock,
    kSettle,
    kAnswer,
  };
  struct Message {
    Verb verb;
    std::uint32_t unused = 0;
    std::uint64_t ticket = 0;  // of the question, which its answer names; of the lock that is released
    std::uint64_t file = 0;    // of locks
    Offset begin = 0;          // of a range; or the pointer, or what it moves by
    Offset end = 0;            // of a range
  };
  static_assert(sizeof(Message) == 40);

  /// A question of this rank's that a call waits for.
  struct Question {
    int owner;
    std::uint64_t ticket = 0;
    std::uint64_t releases_before = 0;  // that went to the owner: it has handled them when it answers
    bool answered = false;
    Offset value = 0;
  };
  struct Slot {
    std::unique_ptr<Message> message;
    Ref<Request> receive;
  };
  /// A message that waits for room in the link.
  struct Outgoing {
    std::unique_ptr<Message> message;
    Ref<Request> send;
  };
  /// Releases of locks that went to an owner, and how many of them it has handled for sure.
  struct Releases {
    std::uint64_t sent = 0;
    std::uint64_t handled = 0;
  };

  std::vector<int> who_may_answer(int owner, const Message& message) const;
  void post(Slot& slot);
  void send(int to, const Message& message);
  void deliver(int to, const Message& message);
  Offset ask(int owner, Message* message);
  std::uint64_t ask_later(int owner, Message* message);
  void put(Question* question, Message* message);
  void handle(int from, const Message& message);
  void lock_here(int from, const Message& message);
  void unlock_here(int from, const Message& message);
  void answer(int to, std::uint64_t ticket, Offset value);
  void take_answer(int from, const Message& message);
  [[noreturn]] void end_damaged(int from, const char* what);

  Ref<Comm> comm_;
  Process& process_;
  static constexpr std::size_t kSlots = 4;
  std::array<Slot, kSlots> receives_;
  std::size_t next_receive_ = 0;  // to be handled
  std::vector<Outgoing> outgoing_;

  // This rank as one that asks.
  std::uint64_t tickets_ = 0;
  std::vector<Question*> questions_;
  std::vector<std::unique_ptr<Question>> asked_;  // that no call waits for, among those
  std::vector<Releases> releases_;                // by owner

  // This rank as an owner.
  Offset pointer_ = 0;
  LockQueue locks_;  // a resource is a file
};

}  // namespace tasuki
