// Mailboxes: slots are claimed, used and given back; what is out of reach is told.
#include "link/shm/mailbox.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tasuki::shm {
namespace {

constexpr std::uint64_t kBulk = 4096;

class Mailboxes : public testing::Test {
 protected:
  std::unique_ptr<Mailbox> make(std::uint64_t job) {
    std::string error;
    const DoorbellPlace place{static_cast<std::int32_t>(getpid()), -1, 0, 0, &bell_};
    std::unique_ptr<Mailbox> mailbox = Mailbox::make({job, 0}, kBulk, place, &error);
    EXPECT_NE(mailbox, nullptr) << error;
    return mailbox;
  }
  std::unique_ptr<Correspondent> open(const Mailbox& to, const Mailbox& from,
                                      std::uint32_t bulk = mailbox_cells(kBulk).cell_bytes) {
    return Correspondent::open(to.address(), from.address(), bulk, &error_);
  }

  Doorbell bell_{};
  std::string error_;
};

TEST_F(Mailboxes, APacketGoesThroughASlot) {
  const auto mine = make(1);
  const auto other = make(2);
  const auto to = open(*mine, *other);
  ASSERT_NE(to, nullptr) << error_;
  EXPECT_EQ(mine->header().opened.load(), 1u);
  EXPECT_EQ(mine->header().slots[0].state.load(), SlotState::kOpen);
  EXPECT_EQ(mine->header().slots[0].sender.name, (ProcessName{2, 0}));
  RingSender sender = to->sender();
  Cells cells = to->cells();
  PacketRoom room;
  ASSERT_TRUE(sender.reserve(100, cells, &room));
  std::memset(room.bulk, 7, 100);
  sender.commit(room, cells, std::memory_order_release);
  RingReceiver receiver(mine->ring(0));
  Packet packet;
  SmallHead gathered;
  ASSERT_TRUE(receiver.peek(mine->cells(0), &packet, &gathered));
  EXPECT_EQ(packet.bulk_bytes, 100u);
  EXPECT_EQ(packet.bulk[99], std::byte{7});
}

TEST_F(Mailboxes, AFreedSlotIsAnEmptyRingForTheNext) {
  const auto mine = make(1);
  const auto other = make(2);
  for (int lap = 0; lap < 3; ++lap) {
    auto to = open(*mine, *other);
    ASSERT_NE(to, nullptr) << error_;
    RingSender sender = to->sender();
    RingReceiver receiver(mine->ring(0));
    Cells sent = to->cells(), taken = mine->cells(0);
    Packet packet;
    SmallHead gathered;
    EXPECT_FALSE(receiver.peek(taken, &packet, &gathered)) << "lap " << lap;
    PacketRoom room;
    for (int i = 0; i < 50; ++i) {  // more than there are cells
      ASSERT_TRUE(sender.reserve(64, sent, &room)) << i;
      sender.commit(room, sent, std::memory_order_release);
      ASSERT_TRUE(receiver.peek(taken, &packet, &gathered));
      receiver.take(taken, std::memory_order_release);
    }
    to.reset();
    EXPECT_EQ(mine->header().slots[0].state.load(), SlotState::kLeft);
    mine->free_slot(0);
    EXPECT_EQ(mine->header().slots[0].state.load(), SlotState::kFree);
  }
}

TEST_F(Mailboxes, JobsOfAnySizeCanSend) {
  constexpr std::uint64_t kLeast = 256 * 1024;  // of a mailbox, whatever its job has
  for (std::uint64_t bulk = 4096; bulk <= std::uint64_t{1} << 20; bulk *= 2)
    EXPECT_GE(mailbox_cells(kLeast).cell_bytes, CellLayout::of(bulk).cell_bytes) << bulk;
}

TEST_F(Mailboxes, AFullOneIsTold) {
  const auto mine = make(1);
  const auto other = make(2);
  std::vector<std::unique_ptr<Correspondent>> all;
  for (int slot = 0; slot < kMailboxSlots; ++slot) {
    all.push_back(open(*mine, *other));
    ASSERT_NE(all.back(), nullptr) << error_;
  }
  EXPECT_EQ(open(*mine, *other), nullptr);
  EXPECT_NE(error_.find("more than 1024 processes"), std::string::npos) << error_;
  mine->header().slots[500].state.store(SlotState::kFree);
  EXPECT_NE(open(*mine, *other), nullptr) << error_;
  // One that died before it had written who it is; and one that is about to.
  const int child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const auto claim = [&](int slot, int process) {
    mine->header().slots[slot].state.store(static_cast<SlotState>(process << kSlotStateBits | 1));
  };
  claim(500, getpid());
  EXPECT_EQ(open(*mine, *other), nullptr);
  claim(700, child);
  const auto late = open(*mine, *other);
  ASSERT_NE(late, nullptr) << error_;
  EXPECT_EQ(mine->header().slots[700].state.load(), SlotState::kOpen);
}

TEST_F(Mailboxes, WhatCannotBeReachedIsTold) {
  const auto other = make(2);
  auto mine = make(1);
  PeerAddress address = mine->address();
  EXPECT_EQ(open(*mine, *other, kBulk / 4), nullptr);
  EXPECT_NE(error_.find("TASUKI_RING_BYTES"), std::string::npos) << error_;
  address.name.rank = 3;
  EXPECT_EQ(Correspondent::open(address, other->address(), 64, &error_), nullptr);
  EXPECT_NE(error_.find("another version"), std::string::npos) << error_;
  address = mine->address();
  mine->header().finalized.store(1);
  EXPECT_EQ(open(*mine, *other), nullptr);
  EXPECT_NE(error_.find("has finalised MPI"), std::string::npos) << error_;
  mine.reset();
  EXPECT_EQ(Correspondent::open(address, other->address(), 64, &error_), nullptr);
  EXPECT_NE(error_.find("cannot reach rank 0 of another job"), std::string::npos) << error_;
}

}  // namespace
}  // namespace tasuki::shm
