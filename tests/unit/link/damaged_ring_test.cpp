// What either end of a ring makes of words that the other end cannot have written: it says so, reads nothing
// outside the ring, and never takes a ring that is merely empty or full for a damaged one.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "link/loop/loop_ring.hpp"
#include "link/shm/mailbox.hpp"
#include "link/shm/ring.hpp"

namespace tasuki {
namespace {

using loop::LoopReceiver;
using loop::LoopRingShared;
using loop::LoopSender;
using loop::Record;
using loop::RecordKind;
using shm::RingReceiver;
using shm::RingSender;
using shm::RingShared;

constexpr std::uint64_t kBulk = 4096;
constexpr std::uint32_t kCellBytes = shm::mailbox_cells(kBulk).cell_bytes;
constexpr std::uint32_t kCells = shm::mailbox_cells(kBulk).cells;
constexpr auto kOrder = std::memory_order_release;

/// Memory of a ring and its bulk, and nothing behind it that may be touched.
template <class Shared>
class Ring {
 public:
  explicit Ring(std::uint64_t capacity) : lines_((sizeof(Shared) + capacity) / 64) {
    std::memset(static_cast<void*>(lines_.data()), 0, lines_.size() * 64);
  }
  Shared* operator->() { return reinterpret_cast<Shared*>(lines_.data()); }
  Shared* get() { return reinterpret_cast<Shared*>(lines_.data()); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

class DamagedRing : public testing::Test {
 protected:
  bool put(std::uint32_t bytes) {
    const std::vector<std::byte> data(bytes);
    return sender_.put({1, 2}, data.data(), bytes, kOrder);
  }
  bool commit(std::uint32_t bulk_bytes) {
    PacketRoom room;
    if (!sender_.reserve(bulk_bytes, sent_, &room)) return false;
    sender_.commit(room, sent_, kOrder);
    return true;
  }
  bool peek() {
    packet_.source = 7;
    return receiver_.peek(taken_, &packet_, &gathered_);
  }
  bool is_told() { return peek() && packet_.bulk_bytes == kDamaged && packet_.source == 7; }

  Ring<RingShared> ring_{kBulk};
  RingSender sender_{ring_.get()};
  RingReceiver receiver_{ring_.get()};
  shm::Cells sent_ = shm::sender_cells(ring_.get(), kBulk);
  shm::Cells taken_ = shm::owner_cells(ring_.get(), kBulk);
  Packet packet_{};
  shm::SmallHead gathered_;
};

TEST_F(DamagedRing, SizesThatCannotBeAreTold) {
  ASSERT_TRUE(put(8));
  for (const std::uint32_t sizes :
       {shm::kSmall | (kPutBytesMax + 1), shm::kSmall | 0x7fffffff, shm::kSmall | 4096u, kCellBytes + 1,
        0x7fffffffu, 64u << shm::kCellAt | 100u, kCells << shm::kCellAt | 100u}) {
    ring_->slots[0].sizes = sizes;
    EXPECT_TRUE(is_told()) << sizes;
    SmallPacket taken;
    std::byte room[4096];
    const HeadFilter any{{1, 2}, ~std::uint64_t{0}};
    EXPECT_EQ(receiver_.take_if(any, room, sizeof room, &taken), Found::kOther) << "left to those who tell";
  }
}

TEST_F(DamagedRing, OneThatIsUsedIsSoundAllTheTime) {
  std::mt19937 random(1);
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0) {
      random() % 2 == 0 ? put(random() % (kPutBytesMax + 1)) : commit(random() % (kCellBytes + 1));
      EXPECT_FALSE(sender_.is_damaged());
    } else if (peek()) {
      ASSERT_NE(packet_.bulk_bytes, kDamaged);
      receiver_.take(taken_, kOrder);
    }
    ASSERT_TRUE(receiver_.is_sound()) << step;
  }
}

TEST_F(DamagedRing, FlagsThatWereOverwrittenAreTold) {
  for (const std::uint32_t flag : {5u, 129u, 0x80000000u, UINT32_MAX}) {
    ring_->slots[0].sequence.store(flag);
    EXPECT_FALSE(receiver_.is_sound()) << flag;
  }
  ring_->slots[0].sequence.store(0);
  ASSERT_TRUE(put(300));  // of which one line in the middle is lost
  ring_->slots[3].sequence.store(99);
  EXPECT_FALSE(peek());
  EXPECT_FALSE(receiver_.is_sound());
}

TEST_F(DamagedRing, CreditsThatCannotBeGiveNoRoom) {
  while (put(0)) {
  }
  EXPECT_FALSE(sender_.is_damaged()) << "it is full";
  ring_->credits.slots_taken.store(shm::kSlots + 1);  // more than was sent
  EXPECT_FALSE(put(0));
  EXPECT_TRUE(sender_.is_damaged());
  ring_->credits.slots_taken.store(shm::kSlots);
  EXPECT_FALSE(put(0)) << "what was damaged once is not trusted again";
}

TEST_F(DamagedRing, CellsThatCannotComeBackGiveNoRoom) {
  const auto fill = [&](std::uint32_t count, std::uint8_t cell) {
    RingSender sender(ring_.get());
    shm::Cells cells = shm::sender_cells(ring_.get(), kBulk);
    ring_->returns.count.store(count);
    ring_->returns.cells[0].store(cell);
    PacketRoom room;
    std::uint32_t sent = 0;
    for (; sent < 2 * kCells && sender.reserve(64, cells, &room); ++sent) sender.commit(room, cells, kOrder);
    return std::pair(sent, sender.is_damaged());
  };
  EXPECT_EQ(fill(0, 0), std::pair(kCells, false)) << "all are on their way";
  EXPECT_EQ(fill(1, 3), std::pair(kCells + 1, false));
  EXPECT_EQ(fill(1, kCells), std::pair(kCells, true)) << "none of those that there are";
  EXPECT_EQ(fill(kCells + 1, 0), std::pair(kCells, true)) << "more than were sent";
}

class DamagedLoop : public testing::Test {
 protected:
  static constexpr std::uint64_t kCapacity = 65536;
  Record* send(RecordKind kind, std::uint32_t bytes) {
    Record* const record = sender_.reserve(kind, bytes);
    if (record != nullptr) sender_.commit(record, 0);
    return record;
  }
  bool is_told() {
    Record* const front = receiver_.front();
    return front != nullptr && receiver_.packet(3, front).bulk_bytes == kDamaged;
  }
  Ring<LoopRingShared> ring_{kCapacity};
  LoopSender sender_{ring_.get(), kCapacity};
  LoopReceiver receiver_{ring_.get(), kCapacity};
};

TEST_F(DamagedLoop, RecordsThatCannotBeAreTold) {
  Record* const record = send(RecordKind::kPacket, 100);
  ASSERT_NE(record, nullptr);
  EXPECT_FALSE(is_told());
  for (const std::uint32_t kind : {0u, 4u, 77u, UINT32_MAX}) {
    record->kind = static_cast<RecordKind>(kind);
    EXPECT_TRUE(is_told()) << kind;
  }
  record->kind = RecordKind::kSkip;
  EXPECT_TRUE(is_told()) << "a skip with nothing behind it";
  for (const RecordKind kind : {RecordKind::kPacket, RecordKind::kSmall}) {
    record->kind = kind;
    for (const std::uint32_t bytes : {1001u, 16385u, 65536u, UINT32_MAX}) {
      record->bytes = bytes;
      EXPECT_TRUE(is_told()) << bytes;
    }
  }
}

TEST_F(DamagedLoop, PositionsThatCannotBeAreTold) {
  ring_->written.store(kCapacity + 64);
  EXPECT_TRUE(is_told());
  while (send(RecordKind::kSmall, 1000) != nullptr) {
  }
  EXPECT_FALSE(sender_.is_damaged()) << "it is full";
  ring_->taken.store(UINT64_MAX / 2);
  EXPECT_EQ(send(RecordKind::kSmall, 1000), nullptr);
  EXPECT_TRUE(sender_.is_damaged());
}

TEST(DamagedMailbox, IsNotOpened) {
  shm::Doorbell bell{};
  std::string error;
  const shm::DoorbellPlace place{static_cast<std::int32_t>(getpid()), -1, 0, 0, &bell};
  const auto mine = shm::Mailbox::make({1, 0}, kBulk, place, &error);
  const auto other = shm::Mailbox::make({2, 0}, kBulk, place, &error);
  ASSERT_NE(mine, nullptr) << error;
  ASSERT_NE(other, nullptr) << error;
  const auto opens = [&] {
    return shm::Correspondent::open(mine->address(), other->address(), 16, &error) != nullptr;
  };
  EXPECT_TRUE(opens()) << error;
  for (const std::uint64_t capacity : {std::uint64_t{0}, kBulk - 1, kBulk + 64, 2 * kBulk,
                                       std::uint64_t{1} << 54, std::uint64_t{1} << 63, UINT64_MAX}) {
    mine->header().bulk_capacity = capacity;
    EXPECT_FALSE(opens()) << capacity;
    EXPECT_EQ(mine->bulk_capacity(), kBulk) << "its owner knows better";
  }
  mine->header().bulk_capacity = kBulk;
  // A doorbell in a file that is no memory of ours, or beyond its end, is not written to.
  const SegmentAddress own = shm::segment_of(mine->address());
  for (const shm::DoorbellPlace& wrong :
       {shm::DoorbellPlace{1, 0, 0, 0, nullptr}, shm::DoorbellPlace{own.pid + 1, own.fd, 0, 0, nullptr},
        shm::DoorbellPlace{-1, -1, 0, UINT64_MAX - 64, nullptr}}) {
    mine->header().doorbell = wrong;
    EXPECT_FALSE(opens());
    EXPECT_FALSE(error.empty());
  }
}

}  // namespace
}  // namespace tasuki
