// Group, Comm, Errhandler and Info: the nouns of MPI chapters 7, 9 and 10.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/attribute.hpp"
#include "object/object.hpp"
#include "object/slots.hpp"

namespace tasuki {

struct Topology;  // object/topology.hpp

struct Errhandler : Object {
  Errhandler() : Object(Kind::kErrhandler) {}
  Kind owner = Kind::kComm;        // what it can be attached to (predefined ones: anything)
  AnyFunction function = nullptr;  // null for the predefined ones, told apart by `predefined`
};

/// What an error can belong to: an object with an error handler (MPI 9.3). Communicators, windows, files,
/// sessions.
struct ErrorOwner : Object {
  using Object::Object;
  /// "communicator MPI_COMM_WORLD, rank 0": for messages.
  virtual std::string description() const = 0;

  Ref<Errhandler> errhandler;
  bool errhandler_set = false;  // by MPI_X_set_errhandler
  std::uint64_t collective_calls =
      0;                  // of the user's on it, blocking and nonblocking: alike at all its ranks
  std::size_t place = 0;  // in Process::owners

  /// The user's call of now is refused and takes no part. (Of a hidden communicator none are counted.)
  void take_back_call() {
    if (collective_calls != 0) --collective_calls;
  }
};

/// Enters a communicator, window or file that the user can see into Process::owners, and takes it out again.
void enlist(Process& process, ErrorOwner* owner);
void delist(Process& process, const ErrorOwner& owner);

/// An ordered set of processes. Immutable but for `session`, which is set before the user gets it.
struct Group : Object {
  Group() : Object(Kind::kGroup) {}
  std::vector<int> endpoints;  // rank in the group -> endpoint of the link
  int rank = kUndefined;       // of this process, kUndefined when it is not a member
  Ref<ErrorOwner> session;     // that it is derived from, null in the world model

  int size() const { return static_cast<int>(endpoints.size()); }
};

struct Info : Object {
  Info() : Object(Kind::kInfo) {}
  std::vector<std::pair<std::string, std::string>> entries;  // in the order of insertion; keys are unique
};

/// The planes of a communicator's message space: two messages match only within one plane. The plane is the
/// low two bits of the Context that a packet carries.
enum class Plane : std::uint8_t { kPointToPoint = 0, kCollective = 1, kCreation = 2, kOther = 3 };

struct Comm : ErrorOwner {
  /// `is_hidden`: made by the collectives for themselves; no tool sees it, nor what runs on it.
  explicit Comm(Process& owner, bool is_hidden = false)
      : ErrorOwner(Kind::kComm), process(owner), hidden(is_hidden) {
    if (hidden) return;
    ++owner.counters.communicators;
    enlist(owner, this);
  }
  ~Comm() override;
  std::string description() const override;

  Process& process;
  const bool hidden;
  Context context = 0;      // unique; low two bits zero
  int rank = 0;             // of this process in the local group
  Ref<Group> group;         // local
  Ref<Group> remote_group;  // of an intercommunicator, else null
  Ref<Comm> local_comm;     // of an intercommunicator: its local group, for the core's own use
  // Number the blocking, nonblocking and persistent collectives started on it: the tags of their messages.
  std::array<std::uint32_t, 3> collective_sequences{};
  std::uint32_t collectives_started() const {
    return collective_sequences[0] + collective_sequences[1] + collective_sequences[2];
  }
  std::string name;
  Attributes attributes;
  Ref<Info> info;                             // hints in force, may be null
  std::optional<Repeatable> repeatable_hint;  // none: as TASUKI_REPEATABLE_REDUCTIONS says
  std::shared_ptr<const Topology> topology;   // null: none; of a duplicate: the same one
  Ref<ErrorOwner> session;                    // that it is derived from, null in the world model
  Slots slots;                                // what upper floors keep with it
  bool recurring = false;  // its context is used again: messages that are early stay when it goes
  bool freed = false;

  int size() const { return group->size(); }
  /// What is asked of its reductions.
  Repeatable repeatable() const {
    return repeatable_hint ? *repeatable_hint : static_cast<Repeatable>(process.config.repeatable_reductions);
  }
  bool is_inter() const { return static_cast<bool>(remote_group); }
  /// The group that destinations and sources of this communicator's messages are numbered in.
  const Group& peers() const { return is_inter() ? *remote_group : *group; }
  int endpoint(int peer_rank) const { return peers().endpoints[static_cast<std::size_t>(peer_rank)]; }
};

/// For the user, one more reference to `group`, which is one of `comm`'s: always the same object, so that a
/// program that asks often and never frees the group holds one handle.
Group* group_of(const Comm& comm, Group* group);

/// Raises the MPI_T event of what became of `comm`, if a tool has asked for it.
void tell(const Comm& comm, Event event);

/// A context that no other communicator, of this job or of those that it meets, has or will have: made from
/// the job's number, this process's rank and a counter. All members of a new communicator use the one of its
/// first member, which sends it to the others.
Context make_context(Process& process);

/// Takes over the hints in `info` that this library knows; `info` may be null.
void take_hints(Comm& comm, const Info* info);

/// The most characters of a value of an Info, without the final NUL: that of the ABIs. The binding checks
/// what users give.
inline constexpr std::size_t kInfoValueMax = 1023;

/// A group of these endpoints, or MPI_GROUP_EMPTY. The caller owns the reference (a predefined one needs
/// none).
Group* make_group(Process& process, std::vector<int> endpoints);

/// The value of `key`, or null. `info` may be null.
const std::string* find_info(const Info* info, const std::string& key);
/// Sets `key`, whose length and value are valid already.
void set_info(Info* info, std::string key, std::string value);

}  // namespace tasuki
