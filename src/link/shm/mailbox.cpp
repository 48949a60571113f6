// Making mailboxes, opening others', and the slots' life.
#include "link/shm/mailbox.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/system/memory_file.hpp"

namespace tasuki::shm {
namespace {

constexpr std::uint64_t kBulkCapacityMin = 4096;
constexpr std::uint64_t kBulkCapacityMax = std::uint64_t{mailbox_cells(0).cells} << (kCellAt - 1);

std::size_t header_bytes() {
  return round_to_pages(sizeof(MailboxHeader));
}

/// Whole pages, so that a free slot's memory can be given back.
std::size_t slot_bytes(std::uint64_t bulk_capacity) {
  return round_to_pages(sizeof(RingShared) + bulk_capacity);
}

std::string describe(const PeerAddress& address) {
  return "rank " + std::to_string(address.name.rank) + " of another job (process " +
         std::to_string(segment_of(address).pid) + ")";
}

}  // namespace

PeerAddress address_of(const ProcessName& owner, const SegmentAddress& segment) {
  PeerAddress address;
  static_assert(sizeof segment <= PeerAddress::kBytesMax);
  address.name = owner;
  address.length = sizeof segment;
  std::memcpy(address.bytes.data(), &segment, sizeof segment);
  return address;
}

SegmentAddress segment_of(const PeerAddress& address) {
  SegmentAddress segment;
  if (address.length >= sizeof segment) std::memcpy(&segment, address.bytes.data(), sizeof segment);
  return segment;
}

std::size_t mailbox_bytes(std::uint64_t bulk_capacity) {
  return header_bytes() + kMailboxSlots * slot_bytes(bulk_capacity);
}

RingShared* mailbox_ring(MailboxHeader& header, std::uint64_t bulk_capacity, int slot) {
  auto* base = reinterpret_cast<std::byte*>(&header);
  return reinterpret_cast<RingShared*>(base + header_bytes() +
                                       static_cast<std::size_t>(slot) * slot_bytes(bulk_capacity));
}

Cells sender_cells(RingShared* ring, std::uint64_t bulk_capacity) {
  const auto [bytes, count] = mailbox_cells(bulk_capacity);
  return {reinterpret_cast<std::byte*>(ring + 1), {bytes, count, 0, count, 0}, nullptr, &ring->returns};
}

Cells owner_cells(RingShared* ring, std::uint64_t bulk_capacity) {
  const auto [bytes, count] = mailbox_cells(bulk_capacity);
  return {reinterpret_cast<std::byte*>(ring + 1), {bytes, count, 0, 0, count / 8}, &ring->returns, nullptr};
}

std::unique_ptr<SharedSegment> open_mailbox(const PeerAddress& address, std::uint64_t* bulk_capacity,
                                            std::string* error) {
  const SegmentAddress place = segment_of(address);
  if (place.bytes < sizeof(MailboxHeader)) {
    *error = "rank " + std::to_string(address.name.rank) +
             " of another job could not get the memory in which others reach it";
    return nullptr;
  }
  std::string reason;
  std::unique_ptr<SharedSegment> segment = SharedSegment::open(place, &reason);
  if (segment == nullptr) {
    *error = "cannot reach " + describe(address) + ": " + reason;
    return nullptr;
  }
  const auto& header = *reinterpret_cast<const MailboxHeader*>(segment->base());
  *bulk_capacity = __atomic_load_n(&header.bulk_capacity, __ATOMIC_RELAXED);
  if (header.magic != kMailboxMagic || header.version != kMailboxVersion || header.owner != address.name ||
      !std::has_single_bit(*bulk_capacity) || *bulk_capacity < kBulkCapacityMin ||
      *bulk_capacity > kBulkCapacityMax || place.bytes < mailbox_bytes(*bulk_capacity)) {
    *error = describe(address) + " uses another version of this library";
    return nullptr;
  }
  if (header.finalized.load(std::memory_order_acquire) != 0) {
    *error = describe(address) + " has finalised MPI";
    return nullptr;
  }
  return segment;
}

// ----- the own one -----------------------------------------------------------------------------------------

std::unique_ptr<Mailbox> Mailbox::make(const ProcessName& owner, std::uint64_t bulk_capacity,
                                       const DoorbellPlace& doorbell, std::string* error) {
  std::unique_ptr<SharedSegment> segment = SharedSegment::create(mailbox_bytes(bulk_capacity), error);
  if (segment == nullptr) return nullptr;
  std::unique_ptr<Mailbox> mailbox(new Mailbox(std::move(segment), bulk_capacity));
  MailboxHeader& header = mailbox->header();
  header.magic = kMailboxMagic;
  header.version = kMailboxVersion;
  header.bulk_capacity = bulk_capacity;
  header.owner = owner;
  header.process = ProcessIdentity::own();
  header.doorbell = doorbell;
  return mailbox;
}

Mailbox::~Mailbox() {
  header().finalized.store(1, std::memory_order_seq_cst);
}

void Mailbox::free_slot(int slot) {
  RingShared* shared = ring(slot);
  const std::size_t bytes = slot_bytes(bulk_capacity_);
  if (madvise(shared, bytes, MADV_REMOVE) != 0) {
    std::memset(static_cast<void*>(shared), 0, sizeof *shared);  // what an empty ring needs to be
  }
  header().slots[slot].state.store(SlotState::kFree, std::memory_order_release);
}

// ----- others' ---------------------------------------------------------------------------------------------

std::unique_ptr<Correspondent> Correspondent::open(const PeerAddress& to, const PeerAddress& from,
                                                   std::uint32_t bulk_bytes_max, std::string* error) {
  std::uint64_t bulk_capacity = 0;
  std::unique_ptr<SharedSegment> segment = open_mailbox(to, &bulk_capacity, error);
  if (segment == nullptr) return nullptr;
  std::unique_ptr<Correspondent> made(new Correspondent(std::move(segment)));
  made->bulk_capacity_ = bulk_capacity;
  made->owner_ = made->header().process;
  made->owner_.pid = made->segment_->address().pid;
  made->numbering_ = own_numbering();
  const std::uint32_t cell_bytes = mailbox_cells(bulk_capacity).cell_bytes;
  if (cell_bytes < bulk_bytes_max) {
    *error = describe(to) + " takes packets of " + std::to_string(cell_bytes) +
             " bytes where this job needs " + std::to_string(bulk_bytes_max) +
             "; TASUKI_RING_BYTES must be the same for both jobs";
    return nullptr;
  }
  if (!made->find_doorbell(error) || !made->claim_slot(from, error)) return nullptr;
  return made;
}

namespace {

constexpr std::uint32_t kSlotStateMask = (1U << kSlotStateBits) - 1;

SlotState claimed_by(int pid) {
  return static_cast<SlotState>(static_cast<std::uint32_t>(pid) << kSlotStateBits |
                                static_cast<std::uint32_t>(SlotState::kClaimed));
}

/// Whether that file is the one that was meant, and has a doorbell there.
bool is_doorbell_in(const struct stat& info, const DoorbellPlace& place) {
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  return info.st_ino == place.file_id && place.offset % alignof(Doorbell) == 0 && bytes >= sizeof(Doorbell) &&
         place.offset <= bytes - sizeof(Doorbell);
}

}  // namespace

bool Correspondent::find_doorbell(std::string* error) {
  const DoorbellPlace place = header().doorbell;
  const auto self = static_cast<std::int32_t>(getpid());
  if (place.pid == self && segment_->address().pid == self) {  // ranks that are threads
    doorbell_ = place.in_process;
    return true;
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", place.pid, place.fd);
  errno = ESTALE;
  const int fd = place.fd >= 0 ? open_memory_file(place.pid, place.fd, "tasuki-") : -1;
  struct stat info {};
  if (fd >= 0 && fstat(fd, &info) == 0 && is_doorbell_in(info, place) && is_fixed_memory_file(fd)) {
    const std::size_t page = page_bytes();
    const std::uint64_t start = place.offset / page * page;
    doorbell_page_bytes_ = round_to_pages(place.offset - start + sizeof(Doorbell));
    void* memory = mmap(nullptr, doorbell_page_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        static_cast<off_t>(start));
    if (memory != MAP_FAILED) {
      doorbell_page_ = memory;
      doorbell_ = reinterpret_cast<Doorbell*>(static_cast<std::byte*>(memory) + (place.offset - start));
    }
  }
  const int reason = errno;
  if (fd >= 0) close(fd);
  if (doorbell_ == nullptr) *error = std::string("cannot map ") + path + ": " + std::strerror(reason);
  return doorbell_ != nullptr;
}

/// Claims the first slot of which `may_take(state)` is true.
template <class MayTake>
bool Correspondent::claim_slot(const PeerAddress& from, MayTake&& may_take) {
  for (int slot = 0; slot < kMailboxSlots; ++slot) {
    MailboxSlot& claimed = header().slots[slot];
    SlotState state = claimed.state.load(std::memory_order_relaxed);
    if (!may_take(state) ||
        !claimed.state.compare_exchange_strong(state, claimed_by(getpid()), std::memory_order_acq_rel)) {
      continue;
    }
    slot_ = slot;
    claimed.sender = from;
    claimed.state.store(SlotState::kOpen, std::memory_order_release);
    header().opened.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  return false;
}

bool Correspondent::claim_slot(const PeerAddress& from, std::string* error) {
  const auto is_free = [](SlotState state) { return state == SlotState::kFree; };
  const auto is_of_the_dead = [](SlotState state) {
    const auto word = static_cast<std::uint32_t>(state);
    return claimed_by(0) == static_cast<SlotState>(word & kSlotStateMask) &&
           state_of_process(static_cast<int>(word >> kSlotStateBits)).ended();
  };
  if (claim_slot(from, is_free) || claim_slot(from, is_of_the_dead)) return true;
  *error = "rank " + std::to_string(header().owner.rank) + " of another job hears of more than " +
           std::to_string(kMailboxSlots) + " processes outside its own job";
  return false;
}

Correspondent::~Correspondent() {
  if (slot_ >= 0) header().slots[slot_].state.store(SlotState::kLeft, std::memory_order_release);
  if (doorbell_page_ != nullptr) munmap(doorbell_page_, doorbell_page_bytes_);
}

}  // namespace tasuki::shm
