// OfiLink: packets between nodes over libfabric.
//
// Each rank has one endpoint (fabric.hpp). A packet is written into a buffer, with a frame (frame.hpp) before
// it, and handed to libfabric; small ones go without a buffer. The receiver has kReceives buffers posted; it
// delivers a packet where it came, and posts the buffer again. Packets of a peer are numbered: a provider may
// complete a small packet before a large one that was sent earlier, so what is early is held.
//
// Peers are reached on first use: their cards (card.hpp) come from whoever started the job, and may come
// later than the first packet for them. A greeting goes first. A connection is proved when a word has come by
// it: of two that are made at once libfabric drops one, or, in 1.17, both, with all that was sent by them and
// without a word. So a greeting is said again until it is answered, or the peer's own comes, and before that
// nothing else is sent, and there is no room for packets. What libfabric does not take later (the peer does
// not read) waits in order in the peer's backlog, and is tried again in each poll(). A peer's packets under
// way and in its backlog have a limit of bytes, kWindowBytesMax at most, behind which reserve() has no room:
// so a peer that never polls costs no more than that.
//
// A rank that sends several small packets to a peer between two polls sends the first two at once; those
// after them wait for one another, and go as one bundle: when it is full, when something else goes to that
// peer, when the rank polls, or, if it does not, by a helper thread (flusher.hpp) a millisecond later.
//
// libfabric tells nothing of a peer that cannot be reached. So where packets for a peer wait and none moves,
// the peer's address is tried by a connection of its own (Probe): the system of its host answers also while
// the rank computes. Where it does not, for connect_seconds, the job ends with a sentence.
//
// Nor does it tell of all packets that are lost. So pairs that stand still ask each other what has come, and
// what is lost is sent again, or ends the job (watch.hpp).
//
// When the job starts the lowest rank of each node tries its two neighbours in the ring of the nodes by such
// connections (trial.cpp), so each node is tried from outside, and tries: a network that does not work ends
// the job before its program runs.
//
// At its end a rank says so to those that it has talked to, and waits a moment for their answers: a process
// that ends while bytes to it are on the way has the system throw away bytes that it has sent.
//
// Memory that keys name is put into and got from past all that (copies.cpp, copying.hpp).
//
// Strangers' packets lack the secret of the job: they are dropped, counted, and told of once.
//
// Processes of other jobs that share no memory with this one (other_process.hpp) are reached by what their
// addresses say. The first to send meets the other: its greeting says where it is, and a secret for the two.
// One that cannot be reached does not end this job: it counts as dead. A connection that is kept for that
// alone, the lifeline, breaks when it dies.
//
// Thread safety: as link.hpp. Each object belongs to one rank. What uses the fabric or what is to be sent is
// inside the gate, for the helper's sake.
//
// Invariants:
//  1. backlog of a peer is empty, or its endpoint number is unknown, or libfabric has said EAGAIN since it
//     was tried last. Packets are handed to libfabric in the order of their numbers.
//  2. unfinished_bytes of a peer are the capacities of its buffers, reserved, under way, or in the backlog.
//  3. quiet_ is true only if the last read() had nothing to read, and can_wait() has been since.
//  4. Packets are sent with a secret that the peer has said, or has answered: it knows whose they are.
//  5. A bundle that waits goes before any later packet or word to its peer; `bundled_` has those peers.
//  6. far_[e] for a process of another job, and only then, at(e).other is there; others_ lists all such.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/lazy_table.hpp"
#include "base/system/clock.hpp"
#include "link/ofi/card.hpp"
#include "link/ofi/fabric.hpp"
#include "link/ofi/flusher.hpp"
#include "link/ofi/frame.hpp"
#include "link/ofi/other_process.hpp"
#include "link/ofi/sleeping/sleeper.hpp"
#include "link/ofi/watch.hpp"
#include "link/outer_link.hpp"
#include "node/doorbells.hpp"

namespace tasuki::ofi {
struct TcpSocket;
}

namespace tasuki {

inline constexpr std::int64_t kMillisecondNs = 1'000'000;
inline constexpr std::int64_t kSecondNs = 1000 * kMillisecondNs;

class OfiLink final : public OuterLink {
 public:
  static constexpr std::uint32_t kBulkBytesMax = 64 << 10;
  static constexpr std::size_t kWindowBytesMax = 1 << 20;
  static constexpr int kReceives = 64;

  /// What the ranks know of each other by the one that started them. Each returns false while that is not
  /// there yet.
  struct Wiring {
    std::function<bool(int rank, std::string* card)> card;
    std::function<bool(ofi::Secret* secret)> secret;
    /// Ends the job with that sentence. Does not return, but in tests.
    std::function<void(const std::string& sentence)> fail;
    std::int64_t connect_seconds = 10;
    bool try_network = true;  // when the job starts
    ofi::WaitBy wait_by = ofi::WaitBy::kBest;
    std::string host;
    std::uint64_t place = 0;  // of this process (PeerAddress): those of the same are for the link behind
  };

  /// Opens the endpoint through which a link will go. Returns null and one line in `error`.
  static std::unique_ptr<ofi::Fabric> open(const std::string& library, const ofi::Wish& wish,
                                           std::string* error) {
    return ofi::Fabric::open(library, wish, ofi::kBulkAt + kBulkBytesMax, error);
  }

  /// `*behind`: the link of the own node, which is taken. `nodes[rank]`: of each rank of the job. Returns
  /// null and one line in `error` when there is no memory, or no way to wait; then nothing was taken.
  static std::unique_ptr<OfiLink> make(std::unique_ptr<Link>* behind, Doorbells& doorbells,
                                       std::vector<int> nodes, std::unique_ptr<ofi::Fabric> fabric,
                                       Wiring wiring, const Clock& clock, std::string* error);
  ~OfiLink() override;

  /// What the other ranks are to know of this one.
  std::string card() const { return ofi::to_text(card_); }
  /// Which network, by which library, and why: one line.
  std::string description() const;

  std::uint32_t bulk_bytes_max() const override;
  std::uint32_t piece_bytes(int peer) const override {
    return is_far(peer) ? kBulkBytesMax : behind_->piece_bytes(peer);
  }
  bool has_left(int peer) const override {
    return !is_far(peer) ? behind_->has_left(peer) : unfinished_bytes(peer) == 0;
  }
  bool reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) override;
  void commit(int peer, const PacketRoom& room) override;
  bool put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) override;
  Found take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                std::uint32_t looks, SmallPacket* taken) override;
  bool has_tried_network() override;
  int poll(PacketSink& sink) override;
  std::uint32_t arm() override;
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override;
  void disarm() override;
  void leave() override;

  // copies.cpp
  void use_heap(SymmetricHeap& heap) override;
  bool can_put(int peer) const override;
  std::uint64_t copy_bytes_min(int peer) const override;
  bool copies_long_only(int peer) const override;
  bool may_register(int peer, std::uint64_t bytes) const override;
  bool register_memory(int peer, void* base, std::size_t bytes, MemoryKey* key) override;
  void unregister_memory(int peer, const MemoryKey& key) override;
  bool put_memory(int peer, const MemoryKey& key, std::uint64_t offset, const void* from, std::size_t bytes,
                  std::uint64_t* completed) override;
  bool get_memory(int peer, const MemoryKey& key, std::uint64_t offset, void* to, std::size_t bytes,
                  std::uint64_t* completed) override;
  bool put_and_tell(int peer, const MemoryKey& key, std::uint64_t offset, const void* from, std::size_t bytes,
                    std::uint32_t word, std::uint64_t* completed) override;

  // other_jobs.cpp
  bool has_network() const override { return true; }
  bool address(PeerAddress* own, std::string* error) override;
  int join(const PeerAddress& address, std::string* error) override;
  void say_finishing() override;
  Presence presence(int endpoint) const override;
  bool is_silent(int endpoint) override;
  bool has_ended(int endpoint) const override;
  PortState port_state(const PeerAddress& owner, std::uint64_t port) override;
  bool open_port(std::uint64_t port) override;
  void close_port(std::uint64_t port) override;
  std::string trouble(int endpoint) const override;

  void add_pair_counts(std::vector<PairCounts>* list) override;  // watch.cpp

  /// Packets of strangers that were dropped.
  std::uint64_t strangers() const { return strangers_; }
  /// Bytes of buffers that packets to `peer` hold.
  std::size_t unfinished_bytes(int peer) const {
    const Peer* const to = peers_.find(static_cast<std::size_t>(peer));
    return to != nullptr ? to->unfinished_bytes : 0;
  }

 private:
  struct Peer {
    fi_addr_t number = FI_ADDR_NOTAVAIL;
    ofi::Secret secret;             // of packets to it; of use with `number`
    std::uint32_t sent = 0;         // the number of the next packet to it
    std::uint32_t received = 0;     // and of the next one from it
    std::uint32_t words_sent = 0;   // counted words (frame.hpp)
    std::uint32_t words_heard = 0;  //
    std::uint64_t moves = 0;        // packets and copies to it that libfabric has said to be over
    std::uint32_t injected = 0;     // packets under way without a completion of their own
    std::uint32_t uncovered = 0;    // of these, after the last one that has one
    std::size_t unfinished_bytes = 0;
    ofi::Buffer* reserved = nullptr;
    ofi::Buffer* bundle = nullptr;   // that waits; its length is of the entries
    std::uint64_t burst_poll = 0;    // the number of the last poll before the last small packet
    std::uint32_t burst_length = 0;  // small packets since then
    std::deque<ofi::Buffer*> backlog;
    std::deque<ofi::Copy*> copies;  // that wait
    int copies_under_way = 0;
    std::map<std::uint32_t, ofi::Buffer*> early;  // by number
    std::int64_t moved_ns = 0;  // when a packet to it last moved on, or the first began to wait
    std::unique_ptr<ofi::Card> card;
    std::unique_ptr<ofi::Probe> probe;
    std::unique_ptr<ofi::OtherProcess> other;  // null: a rank of this job
    std::unique_ptr<ofi::KeptPackets> kept;
    ofi::Watch watch;
    std::string trouble;                 // what the last probe, or libfabric, said
    bool listed = false;                 // in unfinished_
    bool greeted = false;                // this rank has begun to greet it
    bool greeting = false;               // a greeting is under way, or in the backlog
    bool connected = false;              // its answer, or its own greeting, has come
    bool talked = false;                 // a packet has gone to it or come from it
    bool said_bye = false;               // it has, and nothing that it sent later has come
    bool heard_bye = false;              // it has answered this rank's
    bool broken = false;                 // libfabric has lost a packet to it
    bool gone = false;                   // nothing can be sent to it any more; of use while this rank leaves
    std::uint32_t bye_at = 0;            // the number of the next packet when it said so
    std::int64_t patience_ns = 0;        // without a move, before its address is tried
    std::int64_t greet_again_ns = 0;     // when, unless its answer has come
    std::int64_t greeting_pause_ns = 0;  // before that

    bool awaits_answer() const { return greeted && !connected && !gone; }
    bool is_unfinished() const { return unfinished_bytes != 0 || copies_under_way != 0 || !copies.empty(); }
  };

  /// Of a neighbour among the nodes, when the job starts.
  struct Trial {
    int peer;
    ofi::Probe probe;
    std::int64_t begin_ns = 0;  // 0: its card has not come
    std::int64_t again_ns = 0;  // when a connection that failed is tried once more
    std::string trouble;
    bool over = false;
  };

  OfiLink(std::unique_ptr<Link> behind, Doorbells& doorbells, std::vector<int> nodes,
          std::unique_ptr<ofi::Fabric> fabric, Wiring wiring, const Clock& clock);

  Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  const Peer* find_peer(int peer) const { return peers_.find(static_cast<std::size_t>(peer)); }
  /// Of a process of another job; null: it is a rank of this one.
  const ofi::OtherProcess* find_other(int endpoint) const {
    const Peer* const peer = find_peer(endpoint);
    return peer != nullptr ? peer->other.get() : nullptr;
  }
  bool find(int peer);
  bool inject(int peer, const HeadWords& head, const void* data, std::uint32_t bytes);
  bool bundle(int peer, const HeadWords& head, const void* data, std::uint32_t bytes);
  bool begin_bundle(int peer);
  void send_bundle(int peer);
  void send_bundles();
  bool is_poll_due();
  bool flush_bundles();
  ofi::Buffer* take_buffer(int peer, std::size_t bytes);
  void note(int peer, ofi::Buffer* buffer);
  void list(int peer);
  void send(int peer, ofi::Buffer* buffer, ofi::FrameKind kind, std::uint32_t bytes);
  void hand_over_or_queue(int peer, ofi::Buffer* buffer);
  bool hand_over(int peer, ofi::Buffer* buffer);
  bool say(int peer, ofi::FrameKind kind, const void* words = nullptr);
  [[gnu::cold]] void greet(int peer);
  [[gnu::cold]] void say_greeting(int peer);
  void sent(ofi::Buffer* buffer, int error);
  void send_backlogs(std::int64_t now_ns);

  // copies.cpp
  struct Piece {
    bool puts;
    const void* here;
    std::size_t bytes;
    bool tells = false;
    std::uint32_t word = 0;
  };
  const ofi::Region* heap_region(const void* base, std::size_t bytes, std::uint64_t* offset);
  bool copy_memory(int peer, const MemoryKey& key, std::uint64_t offset, const Piece& piece,
                   std::uint64_t* completed);
  void begin_copies(int peer);
  void tell(const ofi::Copy& copy);
  [[gnu::cold]] void lose_copy(int peer, long error);
  void give_back(ofi::Copy* copy);
  bool copied(ofi::Copy* copy, int error);
  void written(std::uint32_t word, PacketSink* sink);

  // watch.cpp
  static void keep(Peer& to, std::uint32_t number, const void* frame, std::size_t length);
  static const ofi::KeptPackets::Packet* find_kept(const Peer& to, std::uint32_t number);
  bool send_again(int peer, std::uint32_t first);
  static std::uint64_t moves_of(const Peer& peer);
  static std::uint32_t come_from(const Peer& peer);
  [[gnu::cold]] void look_at_pairs(std::int64_t now_ns);
  void ask(int peer, std::int64_t now_ns);
  bool say_what_has_come(int peer, ofi::FrameKind kind, std::uint64_t question);
  void hear_question(int peer, const ofi::CameWords& words);
  void look_for_gap(int peer, std::int64_t now_ns);
  void look_for_rest(int peer, bool was_away, std::int64_t now_ns);
  void hear_answer(int peer, const ofi::CameWords& words, std::int64_t now_ns);
  void hear_of_gap(int peer, std::uint32_t come, std::int64_t now_ns);
  void look_at_sockets(const std::vector<int>& peers, std::int64_t now_ns);
  void look_at_silent(int peer, const ofi::TcpSocket& socket, std::int64_t now_ns);
  void lose(int peer, const std::string& what);

  // receive.cpp
  int poll_network(PacketSink* sink);
  void look_whether_quiet(ofi::Fabric::Events events);
  int received(ofi::Buffer* buffer, std::size_t bytes, PacketSink* sink);
  void hear_bye(int peer, std::uint32_t number);
  void hold(int source, ofi::Buffer* buffer, std::uint32_t number);
  int deliver(int source, ofi::Buffer* buffer, PacketSink& sink);
  int deliver_bundle(int source, const ofi::Frame& frame, const ofi::Buffer& buffer, PacketSink& sink);
  int deliver_early(int source, PacketSink& sink);
  int deliver_held(PacketSink& sink);
  void damaged(const ofi::Frame& frame, const char* what);
  void post(ofi::Buffer* buffer);
  void drop_stranger(std::size_t bytes);
  int source_of(const ofi::Frame& frame) const;
  int take_packet(int source, const ofi::Frame& frame, ofi::Buffer* buffer, PacketSink* sink);

  // other_jobs.cpp
  bool is_other(int endpoint) const { return is_far(endpoint) && find_other(endpoint) != nullptr; }
  ofi::OtherProcess& other(int endpoint) { return *at(endpoint).other; }
  bool may_send_to(const Peer& to) const { return to.other == nullptr || !to.other->ended; }
  int add_other(const PeerAddress& address, std::string* error);
  void take_newcomer(const ofi::Frame& frame, const ofi::Buffer& buffer, PacketSink* sink);
  void hear(int source, const ofi::Frame& frame, const ofi::Buffer& buffer);
  void follow_others(PacketSink& sink, std::int64_t now_ns);
  void examine(int endpoint, std::int64_t now_ns, PacketSink& sink);
  void end_other(int endpoint, bool died, const std::string& why);
  void leave_others();

  // trial.cpp
  void begin_trials();
  bool is_reached(Trial& trial, std::int64_t now_ns);
  [[gnu::cold]] void fail_trial(Trial& trial);

  // clocks.cpp
  void look_at_clocks(std::int64_t now_ns);
  void look_at_clock(int peer, std::int64_t now_ns);
  void forget(int peer);
  void try_address(int peer, std::int64_t now_ns);
  [[gnu::cold]] std::string closed_descriptor() const;
  [[gnu::cold]] void fail(int peer, const std::string& what);
  [[gnu::cold]] void end_for(int peer, const std::string& sentence);
  template <class Done>
  void poll_until(const Done& done, std::int64_t limit_ns);
  void wait_for_answers(const std::vector<int>& told);

  Doorbells& doorbells_;
  const Clock& clock_;
  const Wiring wiring_;
  const std::unique_ptr<ofi::Fabric> fabric_;
  std::unique_ptr<ofi::Sleeper> sleeper_;
  const ofi::Card card_;
  const std::size_t window_bytes_;  // of each peer
  const std::int64_t connect_ns_;
  const bool alone_;             // no other rank is on this node
  LazyTable<Peer> peers_;        // by endpoint; those of the own node are not used
  std::vector<int> unfinished_;  // peers with packets under way or in the backlog
  std::vector<int> bundled_;     // peers for which a bundle waits
  std::uint64_t polls_ = 1;
  std::uint64_t polls_at_send_ = 0;        // polls_ at the last send
  std::int64_t unpolled_ns_ = 0;           // time of the second send since then; 0: there was none
  std::uint64_t bundles_ = 0;              // that have been begun
  std::uint64_t bundles_seen_ = 0;         // by the helper, when it looked last
  std::vector<int> held_;                  // peers whose packets came while leave() waited
  std::deque<ofi::Copy> copies_;           // all that were needed at once
  ofi::Copy* free_copies_ = nullptr;       // those of them that are not in use
  std::vector<std::uint32_t> held_words_;  // of puts that were there while leave() waited
  SymmetricHeap* heap_ = nullptr;
  const ofi::Region* heap_region_ = nullptr;  // null: not registered
  std::vector<std::unique_ptr<Trial>> trials_;
  bool trials_begun_ = false;
  ofi::Secret secret_;
  bool has_secret_ = false;
  bool polling_ = false;
  bool leaving_ = false;
  int armed_ = 0;
  std::size_t read_ = 0;                  // completions, in the last poll
  int readings_in_vain_ = 0;              // one after the other
  std::uint32_t polls_awake_ = 0;         // since a thread of this rank slept, or was about to
  std::uint32_t polls_without_look_ = 0;  // at pairs that stand still
  int posted_ = 0;                        // buffers that packets may come into
  std::uint64_t strangers_ = 0;
  std::vector<int> others_;               // endpoints of processes of other jobs
  static constexpr int kFormer = -3;      // no endpoint: in by_secret_, a process that has ended
  std::map<ofi::Secret, int> by_secret_;  // whose packets they are
  ofi::Secret key_;                       // of this process's address
  bool has_key_ = false;
  bool finishing_ = false;         // this rank has said so
  bool others_moved_ = false;      // one of them may have ended
  std::set<std::uint64_t> ports_;  // that are open
  struct Asked {
    PortState state = PortState::kUnknown;
    bool under_way = false;
  };
  std::map<std::pair<int, std::uint64_t>, Asked> asked_;  // ports, by endpoint and number
  std::int64_t next_examination_ns_ = 0;
  std::int64_t next_poll_ns_ = 0;     // of the network
  std::int64_t next_clock_ns_ = 0;    // when to look at the peers' clocks
  std::int64_t next_look_ns_ = 0;     // at pairs that stand still
  std::int64_t next_sockets_ns_ = 0;  // at what the system knows of their connections
  std::int64_t pause_ns_max_ = 0;     // between two questions to a peer
  std::atomic<bool> quiet_{false};    // nothing is left to read; relaxed: sleep() follows poll() in a thread
  std::atomic<bool> restless_{true};  // something waits that wakes nobody; relaxed
  std::atomic<bool> has_regions_{false};  // peers may copy memory of this rank; relaxed
  std::atomic<bool> watched_{false};      // a thread sleeps in sleeper_; acquire, release
  ofi::Gate gate_;
  ofi::Flusher flusher_;  // the last: it ends first
};

}  // namespace tasuki
