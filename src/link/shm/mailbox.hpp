// Mailbox: where processes of other jobs leave packets for this one.
//
// The ranks of one job share a region that holds a ring for each pair. A process that gets to know processes
// of other jobs makes a mailbox besides: a segment with a ring for each sender, in slots. A process
// that knows the mailbox's address sends: it claims a slot, writes its own address there, and uses the ring.
// The owner needs to agree to nothing and finds the new sender when it polls. The answer goes the same way:
// the owner opens the sender's mailbox, whose address stands in the slot.
//
// A slot is free again when its sender has ended and the owner has taken everything out of it. So a process
// that spawns others again and again needs no more memory, and never any descriptor but its own mailbox's.
//
// The owner sleeps on one doorbell only, that of its job's region; the header says where others find it.
//
// Thread safety: Mailbox and Correspondent belong to one rank. What they share with others names its writer.
//
// Invariants:
//  1. A slot goes kFree -> kClaimed (a sender, by compare-and-swap) -> kOpen (that sender, once `sender` is
//     written) -> kLeft (that sender, after its last packet) -> kFree (the owner, once the ring is empty and
//     zero again). A sender that dies skips kLeft. While it is kClaimed the state names the sender's process:
//     where that has died, the next sender that finds no free slot takes this one over.
//  2. `opened` grows after a slot became kOpen, so that an owner that sees the number sees the slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/system/process_state.hpp"
#include "link/peer_address.hpp"
#include "link/shm/cells.hpp"
#include "link/shm/ring.hpp"
#include "memory/shared_segment.hpp"
#include "node/doorbell.hpp"

namespace tasuki::shm {

inline constexpr int kMailboxSlots = 1024;  // processes of other jobs that can send to one process
inline constexpr int kPortsMax = 256;       // open ports of one process
inline constexpr std::uint64_t kMailboxMagic = 0x786f626b75736174;  // "tasukbox"
inline constexpr std::uint32_t kMailboxVersion = 8;

enum class SlotState : std::uint32_t { kFree = 0, kClaimed, kOpen, kLeft };
inline constexpr int kSlotStateBits = 2;  // above them: the process of one that is kClaimed

struct alignas(kLineBytes) MailboxSlot {
  std::atomic<SlotState> state;
  PeerAddress sender;  // writer: the sender, before kOpen
};

/// Where an owner's doorbell lies: in a file that its process has open.
struct DoorbellPlace {
  std::int32_t pid;
  std::int32_t fd;        // -1: in memory that no other process can map
  std::uint64_t file_id;  // inode number
  std::uint64_t offset;   // bytes
  Doorbell* in_process;   // for ranks that are threads of one process
};

struct alignas(kLineBytes) MailboxHeader {
  std::uint64_t magic;  // writer of this and the next lines: owner, before another process knows the address
  std::uint32_t version;
  std::uint32_t padding;
  std::uint64_t bulk_capacity;  // bytes of each ring's cells
  ProcessName owner;
  ProcessIdentity process;  // of the owner
  DoorbellPlace doorbell;
  alignas(kLineBytes) std::atomic<std::uint32_t> opened;  // writer: senders; slots ever opened
  std::atomic<std::uint32_t> finalized;                   // writer: owner; 1: nothing is taken any more
  std::atomic<std::uint32_t> finishing;                   // writer: owner; 1: it will send nothing more
  alignas(kLineBytes) std::atomic<std::uint64_t> ports[kPortsMax];  // writer: owner; open ports, 0: none
  MailboxSlot slots[kMailboxSlots];
};

/// What a PeerAddress of this link begins with: where the mailbox's segment is found. Of one that is shorter
/// the segment has no bytes.
PeerAddress address_of(const ProcessName& owner, const SegmentAddress& segment);
SegmentAddress segment_of(const PeerAddress& address);

/// The layout of a mailbox's segment.
std::size_t mailbox_bytes(std::uint64_t bulk_capacity);
RingShared* mailbox_ring(MailboxHeader& header, std::uint64_t bulk_capacity, int slot);
/// The cells behind it, which go one way: fewer and longer ones than those between ranks of a job, so that
/// jobs of any size can send the bulk parts that they send among themselves. The sender's view; the owner's,
/// who gives each back.
constexpr CellLayout mailbox_cells(std::uint64_t bulk_capacity) {
  constexpr std::uint32_t kCells = 16;
  return {static_cast<std::uint32_t>(bulk_capacity / kCells), kCells};
}
Cells sender_cells(RingShared* ring, std::uint64_t bulk_capacity);
Cells owner_cells(RingShared* ring, std::uint64_t bulk_capacity);

/// Maps another process's mailbox, whose rings hold `bulk_capacity`. Returns null and one line in `error`
/// when it is not there any more.
std::unique_ptr<SharedSegment> open_mailbox(const PeerAddress& address, std::uint64_t* bulk_capacity,
                                            std::string* error);

/// The own mailbox.
class Mailbox {
 public:
  /// Returns null and one line in `error` when there is no memory for it.
  static std::unique_ptr<Mailbox> make(const ProcessName& owner, std::uint64_t bulk_capacity,
                                       const DoorbellPlace& doorbell, std::string* error);
  ~Mailbox();

  PeerAddress address() const { return address_of(header().owner, segment_->address()); }
  MailboxHeader& header() const { return *reinterpret_cast<MailboxHeader*>(segment_->base()); }
  std::uint64_t bulk_capacity() const { return bulk_capacity_; }
  RingShared* ring(int slot) const { return mailbox_ring(header(), bulk_capacity_, slot); }
  Cells cells(int slot) const { return owner_cells(ring(slot), bulk_capacity_); }

  /// Empties a slot whose sender has ended. REQUIRES: everything has been taken out of its ring.
  void free_slot(int slot);

 private:
  Mailbox(std::unique_ptr<SharedSegment> segment, std::uint64_t bulk_capacity)
      : segment_(std::move(segment)), bulk_capacity_(bulk_capacity) {}
  std::unique_ptr<SharedSegment> segment_;
  std::uint64_t bulk_capacity_;  // not that of the header, which all can write
};

/// A process of another job, as this one sends to it: its mailbox, the slot in it, its doorbell.
class Correspondent {
 public:
  /// Opens the mailbox at `to` and claims a slot for `from`. Returns null and one line in `error` when the
  /// process has ended, is out of reach, or cannot take packets of `bulk_bytes_max`.
  static std::unique_ptr<Correspondent> open(const PeerAddress& to, const PeerAddress& from,
                                             std::uint32_t bulk_bytes_max, std::string* error);
  /// Says that nothing more comes.
  ~Correspondent();

  RingSender sender() const { return RingSender(mailbox_ring(header(), bulk_capacity_, slot_)); }
  Cells cells() const { return sender_cells(mailbox_ring(header(), bulk_capacity_, slot_), bulk_capacity_); }
  Doorbell* doorbell() const { return doorbell_; }
  bool finalized() const { return header().finalized.load(std::memory_order_acquire) != 0; }
  bool finishing() const { return header().finishing.load(std::memory_order_seq_cst) != 0; }
  /// Whether the owner has ended for certain.
  bool has_ended() const { return tasuki::has_ended(owner_, numbering_); }

 private:
  explicit Correspondent(std::unique_ptr<SharedSegment> segment) : segment_(std::move(segment)) {}
  MailboxHeader& header() const { return *reinterpret_cast<MailboxHeader*>(segment_->base()); }
  bool find_doorbell(std::string* error);
  template <class MayTake>
  bool claim_slot(const PeerAddress& from, MayTake&& may_take);
  bool claim_slot(const PeerAddress& from, std::string* error);

  std::unique_ptr<SharedSegment> segment_;
  std::uint64_t bulk_capacity_ = 0;
  ProcessIdentity owner_;        // not that of the header, which all can write
  std::uint64_t numbering_ = 0;  // of this process
  int slot_ = -1;
  Doorbell* doorbell_ = nullptr;
  void* doorbell_page_ = nullptr;  // mapped; null: the doorbell is in this process
  std::size_t doorbell_page_bytes_ = 0;
};

}  // namespace tasuki::shm
