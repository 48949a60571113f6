// Messenger: operations on window memory that only its owner can touch (MPI_Win_create,
// MPI_Win_create_dynamic). The origin sends the target what it is to do; the target does it whenever it makes
// progress.
//
// Two kinds of messages, both of the window's own communicator:
//  - active messages (plane kPointToPoint, tag 0): a Header and, behind it, the data of a small
//    operation or a piece of an accumulate. The target carries out those of one origin in the order in
//    which they were sent, so accumulates are ordered (MPI 12.7.2), and a flush that comes behind an
//    operation finds it done.
//  - data (plane kOther): what a larger put or a get moves, straight from the buffer of the one rank
//    into that of the other, in whatever layout either has it. Its tag is named in the active message.
//
// Puts and gets that the network can make go past all this (network_copies.hpp); flushes wait for them, too.
//
// The control of a window over several nodes (control/served_control.hpp) sends its active messages this way
// too, so they stay in order with the accesses.
//
// Active messages to one rank travel together (the batch): small ones stay until there are enough of them,
// until one goes to another rank, until this rank makes progress, or until something has to leave at once. So
// a put and the flush behind it are one packet, and many small accesses are few.
//
// Datatypes of the target travel as datatype/wire_type.hpp describes them, once to each target: a Header then
// names them by a number. Dense data needs none.
//
// A flush is an active message that the target answers when everything of this origin before it is done.
//
// What an origin has sent and the link has not taken is bounded (kQueueBytesMax): beyond that a call
// waits, in Progress. Answers of a target are not: their origin asked for them.
//
// A target checks what it is asked for. In a dynamic window it may refuse (no memory attached there): the
// origin's next synchronization reports that. Anything else wrong is a damaged message and ends the job.
//
// Ownership: belongs to its window. Thread safety: the process lock.
//
// Invariants:
//  1. receives_ are posted in the order of the ring, and handled in that order: messages of one origin are
//     handled in the order of their sending.
//  2. peer.open counts what this origin has not finished locally: data under way, and fetches not answered.
//  3. peer.dirty: something was sent to the target since the last flush that the target has to finish.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/layout.hpp"
#include "p2p/request.hpp"
#include "rma/access/accumulate.hpp"
#include "rma/access/buffers.hpp"
#include "rma/access/rma_request.hpp"
#include "rma/control/served_control.hpp"
#include "rma/message/network_copies.hpp"

namespace tasuki::rma {

/// Tags of data that goes to a target; those of gets are above.
inline constexpr std::uint32_t kTags = 1u << 29;

enum class Verb : std::uint8_t {
  kPut = 1,         // the payload goes to the target's memory
  kPutData,         // data will come under `tag`
  kGet,             // data is to be sent under `tag`
  kAccumulate,      // the payload is combined into bytes [from, from + bytes) of the packed form
  kFetch,           // the same, and the old bytes are wanted back; without payload for MPI_NO_OP
  kCompareAndSwap,  // the payload is what to compare with and what to put
  kFetched,         // answer to the two above: the old bytes; none when the target refused
  kFlush,           // `tag` is to be answered when all is done
  kFlushed,         // the answer
  kType,         // the payload is bytes from `from` on of the description of `type`, which has `count` bytes
  kForgetTypes,  // the origin will use none of its types again
  kRefused,      // no memory is attached at `offset`
  kControl,      // `op` is a ControlVerb: for the ServedControl
};

/// Header::flags.
enum : std::uint8_t {
  kHasPayload = 1,  // `bytes` of it follow, padded to kMessageAlignment
  kFlushes = 2,     // of kPut, kAccumulate and kFlush: `tag` is to be answered when all so far is done
  kUnlocks = 4,     // with kFlushes: and the origin's lock is given back then
};

/// How every active message begins.
struct Header {
  Verb verb;
  std::uint8_t flags;
  std::uint16_t op;     // of accumulates: number of the operation; see kControl
  std::uint32_t basic;  // of accumulates: number of the basic type
  std::uint64_t type;   // 0: dense bytes
  std::int64_t offset;  // as in TargetBuffer
  std::int64_t count;   // of elements of `type`; of bytes when it is 0
  std::int64_t from;    // in the packed form, in bytes
  std::uint32_t bytes;  // in the packed form; of the payload, if there is one
  std::uint32_t tag;    // names data, a fetch or a flush
};
static_assert(sizeof(Header) == 48);
inline constexpr std::size_t kMessageAlignment = 8;

class Messenger final : public ControlSender {
 public:
  explicit Messenger(Win& win);
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// Puts and gets go by these from now on, where they can.
  void use_network(std::unique_ptr<NetworkCopies> copies) { copies_ = std::move(copies); }

  // Operations of the origin. `request` may be null.
  void put(const OriginBuffer& origin, const TargetBuffer& remote, RmaRequest* request);
  void get(const OriginBuffer& origin, const TargetBuffer& remote, RmaRequest* request);
  /// `origin` is null for MPI_NO_OP, `result` where nothing is fetched.
  void accumulate(const Combination& how, const OriginBuffer* origin, const OriginBuffer* result,
                  const TargetBuffer& remote, RmaRequest* request);
  void compare_and_swap(const BasicInfo& type, const std::byte* origin, const std::byte* compare,
                        std::byte* result, const TargetBuffer& remote);

  /// Waits until all operations on `target` are done there and here, or (local) here. Those that return
  /// something say whether they have waited, and so made progress.
  bool flush(int target) override;
  void flush(const std::vector<int>& targets);
  bool flush_all();
  void flush_local(int target);
  void flush_local_all();

  // What the control of a window over several nodes sends.
  void send_control(int to, ControlVerb verb, const std::byte* payload, std::size_t bytes) override;
  void send_flush_and_unlock(int target) override;

  /// Adds the endpoint of the target whose flush a call waits for.
  void add_missing(std::vector<int>* endpoints) const;

  bool poll();

 private:
  /// A buffer into which an active message is received.
  struct Slot {
    std::unique_ptr<std::byte[]> buffer;
    Ref<Request> receive;
  };
  /// A batch that waits for room in the link.
  struct Outgoing {
    std::unique_ptr<std::byte[]> buffer;
    std::size_t bytes;
    Ref<Request> send;
  };
  /// Data under way. At the origin it counts in peer.open, at the target in peer.moving.
  struct DataMessage {
    Ref<Request> message;
    Ref<Datatype> type;
    Ref<RmaRequest> request;
    int peer;
    bool at_origin;
  };
  /// What kFetched answers belong to.
  struct Fetch {
    int target;
    std::byte* result;
    PackCursor cursor;
    Ref<Datatype> type;
    Count bytes_left;
    Ref<RmaRequest> request;
  };
  /// A type of this origin's that targets know by a number.
  struct KnownType {
    std::uint64_t number;
    LayoutRef layout;                // keeps it, and so its address, from being used again
    std::vector<bool> described_to;  // by target
  };
  using TypeKey = std::pair<const Layout*, Count>;  // layout and extent
  /// A flush that is to be answered.
  struct FlushAsked {
    std::uint32_t tag;
    bool unlocks;
  };
  struct Peer {
    // this rank as its origin
    std::uint32_t open = 0;
    bool dirty = false;
    std::uint32_t flushes_sent = 0;
    std::uint32_t flushes_done = 0;
    std::uint32_t tag_next = 0;
    // this rank as its target
    std::uint32_t moving = 0;  // data of puts and gets
    std::vector<FlushAsked> flushes_waiting;
    std::map<std::uint64_t, Ref<Datatype>> types;
    std::vector<std::byte> description;  // of the type that is arriving
  };
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  bool is_copied(int target) const { return copies_ == nullptr || copies_->is_complete(target); }
  template <class Done>
  bool wait_for(int target, Done&& is_done);

  // messenger.cpp: both ends
  void post(Slot& slot);
  void send(int to, Header header, const std::byte* payload = nullptr);
  void leave();
  bool sweep_outgoing();
  bool sweep_data();
  void end_data(DataMessage& data);
  void start_data(DataMessage data);

  // messenger.cpp: the origin
  void wait_for_room();
  Header address(Verb verb, const TargetBuffer& remote);
  std::uint64_t describe_type(int target, const Datatype& type);
  void forget_types();
  void send_type(int target, std::uint64_t number, const Datatype& type);
  void send_flush(int target);
  void ask_flush(int target, std::uint8_t flags);
  void leave_after(Count bytes);
  void fetched(int from, const Header& header, const std::byte* payload);

  // target.cpp
  void handle_batch(int from, const std::byte* batch, Count bytes);
  void handle(int from, const Header& header, const std::byte* payload, std::size_t payload_bytes);
  void asked_to_flush(int from, const Header& header);
  void carry_out(int from, const Header& header, const std::byte* payload, std::size_t payload_bytes);
  void put_here(int from, const Header& header, const Operand& target, const std::byte* payload);
  void combine_here(int from, const Header& header, const Operand& target, const std::byte* payload,
                    std::size_t payload_bytes);
  void swap_here(int from, const Header& header, const Operand& target, const std::byte* payload,
                 std::size_t payload_bytes);
  void refuse(int from, const Header& header);
  void receive_type(int from, const Header& header, const std::byte* payload, std::size_t payload_bytes);
  void answer_flushes(int from);
  bool find_operand(int from, const Header& header, Ref<Datatype>* type, Operand* operand);
  [[noreturn]] void damaged(int from, const char* what);

  Win& win_;
  Process& process_;
  Count payload_max_;  // bytes behind a Header
  static constexpr std::size_t kSlots = 8;
  std::array<Slot, kSlots> receives_;
  std::size_t next_receive_ = 0;  // to be handled
  std::vector<Peer> peers_;
  std::unique_ptr<NetworkCopies> copies_;  // null: the network makes none for this window
  std::vector<Outgoing> outgoing_;
  std::size_t outgoing_bytes_ = 0;
  std::vector<DataMessage> data_;           // under way
  std::map<std::uint32_t, Fetch> fetches_;  // by tag
  std::uint32_t fetch_next_ = 0;
  std::map<TypeKey, KnownType> types_;
  std::uint64_t type_next_ = 1;
  int flushed_ = -1;               // the target that a call waits for
  std::vector<std::byte> packed_;  // where a payload is put together
  std::vector<std::byte> batch_;   // messages that have not left
  std::size_t batch_bytes_ = 0;    // of them; 0: none
  std::size_t last_at_ = 0;        // where the last one begins
  int batch_to_ = 0;
  bool polling_ = false;
};

/// Whether `count` elements of `type` at `address` lie in memory that is attached to `win` here.
bool is_attached(const Win& win, Count address, Count count, const Datatype& type);

}  // namespace tasuki::rma
