// Link: how a rank's bytes reach a peer, and nothing else: ordered, reliable packets between endpoints, and,
// where a link can, puts into and gets from memory of the peer that a key names. What ranks of one machine
// share besides (doorbells, pages, the heap) is Node's (node/node.hpp).
//
// Implemented by: shm/ (ranks of one node, and processes of other jobs on the machine), loop/ (between
// virtual nodes), inproc/ (a toy for tests).
//
// An endpoint is a process, numbered 0 .. endpoints()-1 (communicators map their ranks to these): first the
// ranks of this job, then, as they become known, processes of other jobs (MPI 11.7). Those numbers are this
// process's own; see peer_address.hpp for what may travel. An endpoint's number is never used for another.
// A packet has a head (at most kHeadBytesMax bytes: the protocol's header) and a bulk part (at most
// bulk_bytes_max() or piece_bytes() bytes); or, when it was sent by put(), a head alone: two words and up to
// kPutBytesMax bytes of data. Packets from one endpoint to another arrive in order, once. Sending to oneself
// is legal and works like any other pair.
//
// Thread safety: none; the caller holds the process lock. Different Process objects may run in different
// threads.
//
// Invariants:
//  1. reserve() never blocks and never drops: when there is no room it says so, and nothing has changed.
//  2. Between reserve() and commit() for a peer no other reserve() for that peer happens.
//  3. Head and bulk of a packet that poll() delivers are valid only during PacketSink::packet().
//  4. poll() delivers nothing while it is delivering (no re-entry).
//  5. After arm(), a packet committed by any peer that poll() has not seen makes sleep() return (no lost
//  wake-up).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "link/peer_address.hpp"

namespace tasuki {

class SymmetricHeap;

inline constexpr std::size_t kHeadBytesMax = 56;

/// The two words that the head of a small packet begins with: what its data is, and whose.
struct HeadWords {
  std::uint64_t first;
  std::uint64_t second;
};

/// Data of a packet that is sent by put(): 40 bytes in its first cache line, 60 in each of 8 more.
inline constexpr std::uint32_t kPutBytesMax = 520;

/// Memory of a process that peers may put into and get from. It travels as it is; only links know what it
/// says. `bytes` of it, from offset 0 on, are meant.
struct MemoryKey {
  std::uint64_t word = 0;    // 0: no memory is meant
  std::uint64_t bytes = 0;   //
  std::uint64_t access = 0;  // with `word`: which memory
};

/// A packet that arrived. `head` is 8-byte aligned, `bulk` 64-byte aligned.
struct Packet {
  int source;
  std::uint32_t bulk_bytes;
  std::uint32_t data_bytes;  // of a packet that was sent by put(): they follow its HeadWords; else 0
  const std::byte* head;
  const std::byte* bulk;
};

/// In Packet::bulk_bytes: this is no packet, but what poll() delivers where the source has written something
/// that cannot be right. `head` begins with a zero, and `bulk` is a text that ends with NUL.
inline constexpr std::uint32_t kDamaged = UINT32_MAX;

inline Packet damaged_packet(int source, const char* what) {
  alignas(8) static constexpr std::byte kNoHead[kHeadBytesMax]{};
  return {source, kDamaged, 0, kNoHead, reinterpret_cast<const std::byte*>(what)};
}

/// Room for one packet, to be filled in place and committed.
struct PacketRoom {
  std::byte* head = nullptr;  // kHeadBytesMax bytes
  std::byte* bulk = nullptr;  // as many as were asked for
  std::uint32_t bulk_bytes = 0;
};

/// Which small packets take_if() takes: those of which (first ^ value.first) & first_mask and
/// second ^ value.second are 0.
struct HeadFilter {
  HeadWords value;
  std::uint64_t first_mask;

  bool passes(const HeadWords& head) const {
    return (((head.first ^ value.first) & first_mask) | (head.second ^ value.second)) == 0;
  }
};

/// What is known of a process of another job.
enum class Presence : std::uint8_t {
  kHere,
  kFinishing,  // it sends nothing more of its own accord, but takes and answers still
  kLeft,       // in good order
  kDied,
};

/// What is known of a port of another process.
enum class PortState : std::uint8_t {
  kClosed,  // or the process has ended, where the link cannot tell
  kEnded,   // there is no such process any more, or it has finalised MPI
  kOpen,
  kUnknown,  // it has been asked, and has not answered yet
};

/// What take_if() found.
enum class Found : std::uint8_t {
  kNothing,  // no packet
  kOther,    // a packet that it may not take: poll() has to
  kTaken,
};
struct SmallPacket {
  HeadWords head;
  std::uint32_t bytes;
};

/// What a rank knows of its packets to a rank on another host, and of those from there. Where each of two
/// has what the other one has sent, and nothing waits, nothing is on its way between them.
struct PairCounts {
  int endpoint = 0;
  std::uint32_t sent = 0;     // to it
  std::uint32_t come = 0;     // from it
  std::uint32_t waiting = 0;  // copies by keys that are not over, and a first packet before it is heard
  std::int64_t still_ns = 0;  // for so long none of this has changed; 0: nobody has looked
};

class PacketSink {
 public:
  virtual void packet(const Packet& packet) = 0;

  /// A process of another job has become an endpoint, before its first packet.
  virtual void peer_joined(int /*endpoint*/) {}

  /// A process of another job has ended, after its last packet: nothing more can be sent to it. `finalized`:
  /// it has left in good order.
  virtual void peer_ended(int /*endpoint*/, bool /*finalized*/) {}

  /// It is about to end, and its last packet has been delivered: see Link::say_finishing(). Told again
  /// and again.
  virtual void peer_finishing(int /*endpoint*/) {}

  /// What a peer has put by Link::put_and_tell() with that word is there. The peer's own packets may come
  /// before it, or after.
  virtual void written(std::uint32_t /*word*/) {}

 protected:
  ~PacketSink() = default;
};

class Link {
 public:
  virtual ~Link() = default;

  virtual int endpoints() const = 0;
  virtual int self() const = 0;
  virtual std::uint32_t bulk_bytes_max() const = 0;

  /// How much of a long message should go in one packet to `peer`, where that does not depend on the message;
  /// 0: it does. Bulks up to that size are taken also where it is more than bulk_bytes_max(), and may be
  /// lent: commit() takes a room whose `bulk` is other memory, which stays as it is until has_left(peer).
  virtual std::uint32_t piece_bytes(int /*peer*/) const { return 0; }

  /// Asks for room for a packet to `peer` with `bulk_bytes` of bulk. Returns false when the FIFO is full.
  /// REQUIRES: 0 <= peer < endpoints(), bulk_bytes <= bulk_bytes_max() or <= piece_bytes(peer).
  virtual bool reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) = 0;

  /// Publishes the packet in `room`, which reserve() gave for `peer`, and wakes the peer if it sleeps.
  virtual void commit(int peer, const PacketRoom& room) = 0;

  /// Sends a small packet in one step: a head of `head` and `bytes` of `data`. Returns false when the FIFO is
  /// full; then nothing has happened. REQUIRES: bytes <= kPutBytesMax; else as reserve().
  virtual bool put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) = 0;

  /// After put() found no room for so many bytes: whether they had better go with a bulk part, for which room
  /// is kept. Not as long as the peer takes packets: then it is better to wait.
  virtual bool prefers_bulk(int /*peer*/, std::uint32_t /*bytes*/) const { return false; }

  /// Whether so many bulks can leave for `peer`, which may be late and take none of them.
  virtual bool takes_ahead(int /*peer*/, std::uint32_t /*bulks*/) { return false; }

  /// The short way in: when the next packet from `source` is a small one that passes `filter` and whose data
  /// fits into `capacity` bytes, moves its data to `buffer` and takes it, past any sink. Looks up to `looks`
  /// times while there is none. Says kOther of sources that have no such way.
  virtual Found take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                        std::uint32_t looks, SmallPacket* taken) = 0;

  /// Whether all packets that were committed for `peer` have left this process: whether it gets them also
  /// when this rank does not poll for a long time.
  virtual bool has_left(int /*peer*/) const { return true; }

  /// Delivers what has arrived (a bounded number of packets). Returns how many packets were delivered, and
  /// copies by key ended or told.
  virtual int poll(PacketSink& sink) = 0;

  /// Said by the sink of poll(): this rank has what it waits for, and may soon have receives for what comes
  /// next from the same peer, which had better stay where it is until the next poll().
  virtual void end_poll() {}

  /// Waiting: arm() gives a ticket; then poll() once more; then sleep(ticket) until a peer commits a packet,
  /// a peer frees room, ring() is called or `timeout_ns` passed (all counted from arm()); then disarm().
  /// sleep() is called without the process lock, so that the rank's other threads go on. It returns whether
  /// anything may have come: false when only the time passed.
  virtual std::uint32_t arm() = 0;
  virtual bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) = 0;
  virtual void disarm() = 0;

  /// Wakes this endpoint's own sleeper (from another thread of the same process).
  virtual void ring() = 0;

  /// Whether it is known that the other nodes can be reached. False: that is being found out, and this is to
  /// be asked again between polls. Ends the job with a sentence where one of them cannot. After all ranks of
  /// the job have made their links.
  virtual bool has_tried_network() { return true; }

  // --- memory named by a key; the default link has no such way ---

  /// The memory that this rank shares, for links that reach a peer's by an address. It outlives the link's
  /// use.
  virtual void use_heap(SymmetricHeap& /*heap*/) {}

  /// Whether put_memory() and get_memory() work with `peer`.
  virtual bool can_put(int /*peer*/) const { return false; }

  /// From how many bytes on messages had better go by them than by packets.
  virtual std::uint64_t copy_bytes_min(int /*peer*/) const { return 0; }

  /// Whether nothing but long messages is worth such a copy: no access of a window, and no receive is worth a
  /// word to its sender before the message comes.
  virtual bool copies_long_only(int /*peer*/) const { return false; }

  /// Whether register_memory() costs so little that a message of `bytes` bytes is worth one.
  virtual bool may_register(int /*peer*/, std::uint64_t /*bytes*/) const { return true; }

  /// Lets `peer` put into and get from `bytes` > 0 bytes at `base`, for as long as the key is not given back;
  /// all peers of other nodes, or all of the own one, can use the same key. Returns false where that memory
  /// cannot be reached.
  virtual bool register_memory(int /*peer*/, void* /*base*/, std::size_t /*bytes*/, MemoryKey* /*key*/) {
    return false;
  }
  virtual void unregister_memory(int /*peer*/, const MemoryKey& /*key*/) {}

  /// Begins to copy `bytes` bytes between the own memory at `from` or `to` and what `key` of `peer` names,
  /// from `offset` on. Adds one to `*completed`, in this call or in a later poll(), when the own buffer may
  /// be used again and what was put is visible to the peer and to all who reach its memory. The peer's
  /// program takes no part; where a network needs it, the peer has to poll. Copies may pass each other.
  /// Returns false, and nothing has happened, when the key does not name that memory or it cannot be reached.
  /// REQUIRES: can_put(peer).
  virtual bool put_memory(int /*peer*/, const MemoryKey& /*key*/, std::uint64_t /*offset*/,
                          const void* /*from*/, std::size_t /*bytes*/, std::uint64_t* /*completed*/) {
    return false;
  }
  virtual bool get_memory(int /*peer*/, const MemoryKey& /*key*/, std::uint64_t /*offset*/, void* /*to*/,
                          std::size_t /*bytes*/, std::uint64_t* /*completed*/) {
    return false;
  }

  /// put_memory() to a rank of another node, which is told by PacketSink::written() when all is there.
  /// `*completed` says that the own buffer may be used again, and no more. REQUIRES: bytes > 0.
  virtual bool put_and_tell(int /*peer*/, const MemoryKey& /*key*/, std::uint64_t /*offset*/,
                            const void* /*from*/, std::size_t /*bytes*/, std::uint32_t /*word*/,
                            std::uint64_t* /*completed*/) {
    return false;
  }

  // --- processes of other jobs; the defaults know none ---

  /// Tells all that this process has sent all that it has to send, and ends once they are as far.
  virtual void say_finishing() {}

  /// A process that has died is seen when this one is about to sleep. What peers change of it wakes.
  virtual Presence presence(int /*endpoint*/) const { return Presence::kHere; }

  /// Whether a process of another job sends nothing more, and all that it has sent has been delivered.
  virtual bool is_silent(int /*endpoint*/) { return false; }

  /// Lets go of all of them, and tells them so: this process communicates no more, for now or for good.
  virtual void leave() {}

  virtual ProcessName name(int endpoint) const { return {0, endpoint}; }

  /// Where processes of other jobs reach this one, from now until its end. Returns false and one line in
  /// `error` when that cannot be.
  virtual bool address(PeerAddress* /*own*/, std::string* error) {
    *error = "this link reaches the processes of one job only";
    return false;
  }

  /// The endpoint of the process at `address`, which may be one of this job; a new one where it was not
  /// known. Returns -1 and one line in `error` when it cannot be reached.
  virtual int join(const PeerAddress& /*address*/, std::string* error) {
    *error = "this link reaches the processes of one job only";
    return -1;
  }

  /// Whether a process of another job has been found to have ended.
  virtual bool has_ended(int /*endpoint*/) const { return false; }

  /// Endpoints that have not ended, this one too.
  virtual int endpoints_alive() const { return endpoints(); }

  /// Why nothing more can be sent to a process of another job; empty: there is no more to be told.
  virtual std::string trouble(int /*endpoint*/) const { return {}; }

  /// Ports (MPI 11.9): numbers, not 0, that others look for before they send anything. open_port() returns
  /// false when there are too many. A process on another host is asked once it has been joined.
  virtual bool open_port(std::uint64_t) { return false; }
  virtual void close_port(std::uint64_t) {}
  virtual PortState port_state(const PeerAddress&, std::uint64_t) { return PortState::kClosed; }

  /// Appends what has gone to and come from each rank of the job on another host: for reports.
  virtual void add_pair_counts(std::vector<PairCounts>* /*list*/) {}

  // --- for a link that is put before this one ---

  /// Whether processes on other hosts can be reached.
  virtual bool has_network() const { return false; }
  /// The number of the process at `address`, a new one where it was not known, which this link does not
  /// reach.
  virtual int add_endpoint(const PeerAddress& /*address*/) { return -1; }
  /// Threads between arm() and disarm().
  virtual int armed() const { return 0; }
};

}  // namespace tasuki
