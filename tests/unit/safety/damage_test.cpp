// What a rank makes of packets and shared words that no sound peer writes: an error that says whose memory is
// damaged, never a copy to or from somewhere, never a wait without end.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "coll/api.hpp"
#include "coll/run/communicator_state.hpp"
#include "coll/shm/node_segment.hpp"
#include "link/link.hpp"
#include "node/node.hpp"
#include "p2p/partitioned/partitioned.hpp"
#include "p2p/ranks.hpp"
#include "progress/progress.hpp"
#include "protocol/packet.hpp"
#include "protocol/pair_page.hpp"
#include "rma/api.hpp"
#include "rma/control/shared_control.hpp"
#include "rma/message/messenger.hpp"
#include "rma/window.hpp"
#include "support/child.hpp"

namespace tasuki {
namespace {

using test::Bytes;
using test::Ended;
using test::Ending;
using test::Rank;
using test::run_in_child;
using test::run_ranks;

constexpr double kSecondsMax = 30;

/// Rank 0 waits for a message that never comes; what rank 1 does must end the job, with these words.
void expect_told(
    const std::string& words, const std::function<void(Rank&)>& wrong,
    const std::function<void(Rank&)>& before = [](Rank&) {}) {
  const auto body = [&](Process& process) {
    Rank rank(process);
    if (rank.rank == 0) before(rank);
    rank.barrier();
    if (rank.rank == 1) wrong(rank);
    Bytes none;
    rank.recv(none, 1 - rank.rank, 77);
  };
  const Ending ending = run_in_child([&] { run_ranks(2, body); }, kSecondsMax);
  EXPECT_EQ(ending.how, Ended::kTold) << words << "\n" << ending.text;
  EXPECT_NE(ending.text.find("memory shared with rank 1 is damaged: " + words), std::string::npos)
      << words << "\n"
      << ending.text;
}

/// Sends rank 0 a packet with that header and so many bytes behind it.
template <class Header>
void forge(Rank& rank, const Header& header, std::uint32_t bulk_bytes = 0) {
  Link& link = *rank.process.link;
  PacketRoom room;
  rank.process.progress->wait_until([&] { return link.reserve(0, bulk_bytes, &room); });
  std::memset(room.head, 0, kHeadBytesMax);
  std::memcpy(room.head, &header, sizeof header);
  if (bulk_bytes != 0) std::memset(room.bulk, 7, bulk_bytes);
  link.commit(0, room);
}

LeadWord lead(PacketKind kind, int source = 1) {
  return lead_word(kind, source);
}

TEST(DamagedPackets, AreTold) {
  expect_told("a packet of no known kind",
              [](Rank& rank) { forge(rank, AnswerHeader{.lead = 0, .receiver = 1}); });
  struct Case {
    const char* words;
    EnvelopeHeader header;
    std::uint32_t bulk_bytes;
  };
  const LeadWord eager = lead(PacketKind::kEager);
  for (const Case& one : {
           Case{"an eager message of a wrong size", {eager, 0, 0, 10, 0}, 100},
           Case{"an eager message of a wrong size", {eager, 0, 0, UINT64_MAX, 0}, 100},
           Case{"an eager message of a wrong size", {eager, 0, 0, std::uint64_t{1} << 40, 0}, 100},
           Case{"more of an eager message", {lead(PacketKind::kEagerMore), 0, 0, 0, 0}, 100},
           Case{"a message from a rank that there is not", {lead(PacketKind::kEager, 2), 0, 0, 100, 0}, 100},
           Case{"the offer of a partitioned message",
                {lead(PacketKind::kPartitionedOffer), 0, 0, UINT64_MAX, 0},
                0},
       }) {
    expect_told(one.words, [&](Rank& rank) { forge(rank, one.header, one.bulk_bytes); });
  }
}

TEST(DamagedPackets, ThatNameNoRequestAreTold) {
  const RequestId stale = RequestId{1} << 32 | 5;
  for (const RequestId id : {RequestId{0}, stale, RequestId{UINT64_MAX}, RequestId{1} << 32 | 1000000}) {
    for (const PacketKind kind :
         {PacketKind::kClearToSend, PacketKind::kAcknowledge, PacketKind::kGetBegins, PacketKind::kGetDone}) {
      expect_told("an answer to no message", [&](Rank& rank) {
        forge(rank,
              AnswerHeader{.lead = lead(kind), .sender = id, .bytes_wanted = UINT64_MAX, .address = 4096});
      });
    }
  }
  expect_told("the end of a copy to no receive", [&](Rank& rank) {
    forge(rank, AnswerHeader{.lead = lead(PacketKind::kPutDone), .receiver = stale});
  });
  expect_told("a fragment for no receive", [&](Rank& rank) {
    forge(rank, FragmentHeader{lead(PacketKind::kFragment), 0, stale, 0}, 100);
  });
  expect_told("a message that is written to no receive", [&](Rank& rank) {
    forge(rank, WritingHeader{.lead = lead(PacketKind::kWriting), .tag = 0, .receiver = stale, .bytes = 9});
  });
  expect_told("a partition for no receive", [&](Rank& rank) {
    forge(rank, PartitionHeader{lead(PacketKind::kPartition), 0, stale, 0, 0}, 100);
  });
}

TEST(DamagedPackets, FromARankThatTheCommunicatorHasNotAreTold) {
  expect_told(
      "a message from a rank that its communicator has not",
      [](Rank& rank) {
        const ShortHeader header{lead(PacketKind::kShort, 4'000'000), 5, rank.world->context};
        HeadWords words;
        std::memcpy(&words, &header, sizeof words);
        rank.process.link->put(0, words, "12345678", 8);
      },
      [](Rank& rank) {
        static Bytes room(8);
        rank.irecv(room, kAnySource, 5);
      });
}

/// Receives that are advertised fill all lines; one more waits for a line.
void post_one_too_many(Rank& rank) {
  static std::vector<Bytes> rooms(kAdvertisedReceives + 1, Bytes(4096));
  for (Bytes& room : rooms) rank.irecv(room, 1, 3);
}

TEST(DamagedPackets, AMessageIsWrittenOnlyToTheLineOfItsReceive) {
  for (const std::uint32_t line : {UINT32_MAX, 16u, 1u << 31}) {
    for (std::uint32_t index = 0; index <= kAdvertisedReceives; ++index) {
      // The generations are those of the first objects in their slots, whatever was there before.
      const auto wrong = [&](Rank& rank) {
        for (std::uint64_t generation = 1; generation < 200; generation += 2) {
          forge(rank, WritingHeader{.lead = lead(PacketKind::kWriting),
                                    .tag = 3,
                                    .receiver = generation << 32 | index,
                                    .bytes = 4096,
                                    .line = line});
        }
      };
      expect_told("a message that is written to no receive", wrong, post_one_too_many);
      if (index % 8 == 0) index += 7;
    }
  }
}

TEST(DamagedBoards, AStateThatChangedUnderAReceiveIsTold) {
  expect_told(
      "the state of a receive that was offered to it",
      [](Rank& rank) {
        auto* board = reinterpret_cast<PairPage*>(rank.process.node.pair_page(1, 0));
        for (AdvertisedReceive& line : board->receives) line.state.store(0x12345677);
        const ShortHeader header{lead(PacketKind::kShort), 3, rank.world->context};
        HeadWords words;
        std::memcpy(&words, &header, sizeof words);
        rank.process.link->put(0, words, "12345678", 8);
      },
      post_one_too_many);
}

TEST(DamagedBoards, ATransferThatCannotBeIsTold) {
  // The sender's end of a cooperative copy: it shares what the receiver wants with a word that is damaged.
  const auto body = [](Process& process) {
    Rank rank(process);
    static Bytes data(1 << 20);
    if (rank.rank == 0) {
      for (int i = 0; i < 50; ++i) rank.send(data, 1, 3);
      return;
    }
    for (int i = 0; i < 50; ++i) {
      Bytes room(1 << 20);
      auto* board = reinterpret_cast<PairPage*>(process.node.pair_page(0, 1));
      Status status;
      api::probe(process, 0, 3, rank.world, &status);
      for (LentCopy& line : board->gets) {
        auto* word = reinterpret_cast<std::atomic<std::uint64_t>*>(&line);
        word->fetch_or(std::uint64_t{0x3ffff} << 18);  // everything is claimed from the front, and more
        word->fetch_or(std::uint64_t{0x3ffff} << 36);  // and from the back
      }
      rank.recv(room, 0, 3);
    }
  };
  const Ending ending = run_in_child([&] { run_ranks(2, body); }, kSecondsMax);
  EXPECT_EQ(ending.how, Ended::kTold) << ending.text;
  EXPECT_NE(ending.text.find("is damaged: how far the copy of a message is"), std::string::npos)
      << ending.text;
}

TEST(DamagedNodeSegments, AFlagThatCannotBeIsTold) {
  const auto body = [](Process& process) {
    Rank rank(process);
    for (int i = 0; i < 10; ++i) api::barrier(process, rank.world);
    NodeSegment* const segment = rank.world->slots.get(kNodeSegmentSlot);
    ASSERT_NE(segment, nullptr);
    if (rank.rank == 1) {
      // The flag of the barrier that rank 0 is in: of a collective that never had that line.
      for (FlagLine& line : segment->own_block().lines) line.word.store(LineWord::make(5, 1, 0, 0));
      Bytes none;
      rank.recv(none, 0, 77);
    }
    api::barrier(process, rank.world);
  };
  const Ending ending = run_in_child([&] { run_ranks(2, body); }, kSecondsMax);
  EXPECT_EQ(ending.how, Ended::kTold) << ending.text;
  EXPECT_NE(ending.text.find("memory shared with rank 1 is damaged: the flag of a collective operation"),
            std::string::npos)
      << ending.text;
}

/// Rank 0 waits in a fence; every word of what the ranks share beside the window's memory is `value`.
Ending damage_control(std::uint32_t value) {
  const auto body = [value](Process& process) {
    Rank rank(process);
    void* base = nullptr;
    Win* win = nullptr;
    ASSERT_EQ(api::win_allocate_shared(process, 64, 1, nullptr, rank.world, &base, &win), 0);
    api::win_fence(process, 0, win);
    rank.barrier();
    if (rank.rank == 1) {
      auto* words = reinterpret_cast<std::atomic<std::uint32_t>*>(win->segment->base());
      for (std::size_t i = 0; i < rma::SharedControl::bytes_needed(2) / sizeof *words; ++i)
        words[i].store(value);
      Bytes none;
      rank.recv(none, 0, 77);
    }
    api::win_fence(process, 0, win);
    api::win_lock(process, 301, 1, 0, win);
    api::win_unlock(process, 1, win);
  };
  return run_in_child([&] { run_ranks(2, body); }, kSecondsMax);
}

TEST(DamagedWindows, CountersThatCannotBeAreTold) {
  for (const std::uint32_t value : {77u, UINT32_MAX, 0x80000000u}) {
    const Ending ending = damage_control(value);
    EXPECT_EQ(ending.how, Ended::kTold) << value << "\n" << ending.text;
    EXPECT_NE(ending.text.find("memory shared with rank 1 is damaged: "), std::string::npos) << ending.text;
  }
}

/// Rank 1 sends rank 0, on another node, what no rank may send: `send`.
void expect_damaged_message(const std::function<void(rma::Messenger&)>& send, const char* text) {
  const auto body = [&send](Process& process) {
    Rank rank(process);
    void* base = nullptr;
    Win* win = nullptr;
    ASSERT_EQ(api::win_allocate(process, 64, 1, nullptr, rank.world, &base, &win), 0);
    if (rank.rank == 1) send(*win->messenger);
    api::win_fence(process, 0, win);
    api::win_free(process, &win);
  };
  const Ending ending = run_in_child([&] { run_ranks(2, body, {.nodes = {0, 1}}); }, kSecondsMax);
  EXPECT_EQ(ending.how, Ended::kTold) << ending.text;
  EXPECT_NE(ending.text.find(text), std::string::npos) << ending.text;
}

TEST(DamagedWindows, MessagesAboutLocksAndEpochsThatCannotBeAreTold) {
  using rma::ControlVerb;
  const auto twice = [](ControlVerb verb) {
    return [verb](rma::Messenger& messenger) {
      for (int i = 0; i < 2; ++i) messenger.send_control(0, verb, nullptr, 0);
    };
  };
  expect_damaged_message([](rma::Messenger& messenger) { messenger.send_flush_and_unlock(0); },
                         "a lock that is not held was given back");
  expect_damaged_message(twice(ControlVerb::kLockShared), "a lock that is held was asked for");
  expect_damaged_message(twice(ControlVerb::kGranted), "a lock that is held was granted");
  expect_damaged_message(twice(ControlVerb::kPost), "the window was exposed twice");
  expect_damaged_message(twice(ControlVerb::kComplete), "an access was completed twice");
  expect_damaged_message(twice(static_cast<ControlVerb>(77)), "of no known kind");
}

/// Rank 0 locks rank 1's part of a window, after `before` at rank 1.
void lock_after(Rank& rank, int lock_type, const std::function<void(Win*)>& before,
                const std::function<void(Win*)>& meanwhile) {
  Process& process = rank.process;
  Win* win = nullptr;
  void* base = nullptr;
  ASSERT_EQ(api::win_allocate_shared(process, 64, 1, nullptr, rank.world, &base, &win), 0);
  if (rank.rank == 1) before(win);
  rank.barrier();
  if (rank.rank == 1) meanwhile(win);
  if (rank.rank == 0) {
    api::win_lock(process, lock_type, 1, 0, win);
    api::win_unlock(process, 1, win);
  }
  api::win_free(process, &win);
}

constexpr int kExclusive = 301;
constexpr int kShared = 302;

TEST(DamagedWindows, ALockThatWaitsForATicketWhichNobodyHasIsTold) {
  for (const int lock_type : {kExclusive, kShared}) {
    const auto draw = [](Win* win) {
      auto* targets = reinterpret_cast<rma::TargetState*>(win->segment->base());
      targets[1].tickets.fetch_add(1);
    };
    const auto body = [&](Process& process) {
      Rank rank(process);
      lock_after(rank, lock_type, draw, [](Win*) {});
    };
    const Ending ending = run_in_child([&] { run_ranks(2, body); }, kSecondsMax);
    EXPECT_EQ(ending.how, Ended::kTold) << ending.text;
    EXPECT_NE(ending.text.find("is damaged: whose turn it is to lock a window"), std::string::npos)
        << ending.text;
  }
}

/// The claim of rank 1 at its own part, which ends the control memory of two ranks.
rma::Claim& last_claim(Win* win) {
  return reinterpret_cast<rma::Claim*>(win->segment->base() + rma::SharedControl::bytes_needed(2))[-1];
}

// Also where the holder is stopped amid the instructions that draw its ticket or give it back.
void hold_for_long(int lock_type, bool is_amid) {
  const auto body = [&](Process& process) {
    Rank rank(process);
    lock_after(
        rank, lock_type,
        [&](Win* win) {
          api::win_lock(process, kExclusive, 1, 0, win);
          EXPECT_EQ(last_claim(win).load(), std::uint64_t{1} << 32);
          if (is_amid) last_claim(win).store(rma::kMovesClaim);
        },
        [&](Win* win) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
          api::win_unlock(process, 1, win);
        });
  };
  const Ending ending = run_in_child([&] { run_ranks(2, body); }, kSecondsMax);
  EXPECT_EQ(ending.how, Ended::kWell) << ending.text;
}

TEST(DamagedWindows, ALockThatIsHeldForLongIsWaitedFor) {
  for (const int lock_type : {kExclusive, kShared}) {
    for (const bool is_amid : {false, true}) hold_for_long(lock_type, is_amid);
  }
}

}  // namespace
}  // namespace tasuki
