// Ranks exchange messages of all kinds while bits of what they share are flipped: rings and their credits,
// doorbells, boards, node segments, the words of windows, and the packets themselves. A job may end with a
// right result, with wrong data, or with a message that says what is damaged; it may wait for a message whose
// flag was destroyed, which no check can tell from a slow peer, and which is to be rare. It must not read or
// write outside the memory that it was given: in the build with the address sanitizer, no access escapes.
//
// A case follows from its seed, which a failure prints. TASUKI_TEST_LONG tries many more.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "coll/api.hpp"
#include "coll/run/communicator_state.hpp"
#include "coll/shm/node_segment.hpp"
#include "link/link.hpp"
#include "link/shm/ring.hpp"
#include "p2p/ranks.hpp"
#include "rma/api.hpp"
#include "rma/window.hpp"
#include "support/child.hpp"
#include "support/sanitized.hpp"

namespace tasuki {
namespace {

using test::Bytes;
using test::Ended;
using test::Ending;
using test::Rank;
using test::run_in_child;

#if defined(__SANITIZE_THREAD__)
constexpr bool kRacesAreTold = true;  // memory that is changed under a reader is a race
#else
constexpr bool kRacesAreTold = false;
#endif

constexpr double kSecondsMax = test::kSanitized ? 12 : 4;
constexpr int kRounds = test::kSanitized ? 15 : 60;

constexpr int kRanks = 3;
constexpr Count kCounts[] = {1, 200, 3000};
constexpr std::size_t kKeptCount = kRanks * kCounts[2];

enum class What { kRings, kNodeSegments, kWindows, kPackets };

/// Pieces of memory in which bits may be flipped. The ranks add to it, the gremlin takes from it.
class Targets {
 public:
  void add(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!over_) pieces_.push_back({static_cast<unsigned char*>(memory), bytes});
  }
  /// Memory that stays to the end, of one size: a rank that saw a wrong flag may read a buffer that its owner
  /// is through with, and as much of it as the own operation needs.
  int* keep() {
    const std::lock_guard lock(mutex_);
    return kept_.emplace_back(kKeptCount).data();
  }
  /// The memory may go.
  void stop() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    pieces_.clear();
  }
  /// Returns false when it is over.
  bool flip(std::mt19937_64& random) {
    const std::lock_guard lock(mutex_);
    if (!pieces_.empty()) {
      const Piece& piece = pieces_[random() % pieces_.size()];
      const auto bit = static_cast<unsigned char>(1u << random() % 8);
      __atomic_fetch_xor(piece.memory + random() % piece.bytes, bit, __ATOMIC_RELAXED);
    }
    return !over_;
  }

 private:
  struct Piece {
    unsigned char* memory;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Piece> pieces_;
  std::list<std::vector<int>> kept_;
  bool over_ = false;
};

/// Sends a packet whose head is that of a sound one with a few bits flipped, or noise.
void send_noise(Rank& rank, std::mt19937_64& random) {
  Link& link = *rank.process.link;
  PacketRoom room;
  const auto bulk_bytes = static_cast<std::uint32_t>(random() % 300);
  const int to = static_cast<int>(random() % static_cast<std::uint64_t>(rank.size));
  if (!link.reserve(to, bulk_bytes, &room)) return;
  std::uint64_t words[kHeadBytesMax / 8];
  for (std::uint64_t& word : words) {
    word = random() % 3 == 0 ? random() : random() % 3 == 0 ? std::uint64_t{1} << 32 | random() % 40 : 0;
  }
  const LeadWord lead = lead_word(static_cast<PacketKind>(random() % 16), static_cast<int>(random() % 4));
  std::memcpy(words, &lead, sizeof lead);
  if (random() % 2 == 0) words[1] = rank.world->context;
  std::memcpy(room.head, words, sizeof words);
  link.commit(to, room);
}

void exchange(Rank& rank, std::size_t bytes, int tag) {
  const int next = (rank.rank + 1) % rank.size;
  const int previous = (rank.rank + rank.size - 1) % rank.size;
  Bytes out(bytes), in(bytes);
  Request* receive = rank.irecv(in, tag % 3 == 0 ? kAnySource : previous, tag);
  Request* send = tag % 4 == 0 ? rank.issend(out, next, tag) : rank.isend(out, next, tag);
  rank.wait(send);
  rank.wait(receive);
}

void meet(Rank& rank, Count count, Targets& targets) {
  auto* const sum = static_cast<Op*>(rank.process.objects->predefined[kMpiSum]);
  int* const one = targets.keep();
  int* const other = targets.keep();
  int* const many = targets.keep();
  int* const more = targets.keep();
  api::bcast(rank.process, one, count, rank.integer, 0, rank.world);
  api::allreduce(rank.process, one, other, count, rank.integer, sum, rank.world);
  api::alltoall(rank.process, many, count, rank.integer, more, count, rank.integer, rank.world);
  api::allgather(rank.process, one, count, rank.integer, many, count, rank.integer, rank.world);
  api::barrier(rank.process, rank.world);
}

void access(Rank& rank, Win* win) {
  const int next = (rank.rank + 1) % rank.size;
  std::vector<int> values(64);
  auto* const sum = static_cast<Op*>(rank.process.objects->predefined[kMpiSum]);
  api::win_fence(rank.process, 0, win);
  api::put(rank.process, values.data(), 64, rank.integer, next, 0, 64, rank.integer, win);
  api::win_fence(rank.process, 0, win);
  api::accumulate(rank.process, values.data(), 64, rank.integer, next, 0, 64, rank.integer, sum, win);
  api::win_fence(rank.process, 16384, win);  // MPI_MODE_NOSUCCEED
  api::win_lock(rank.process, 301, next, 0, win);
  api::get(rank.process, values.data(), 64, rank.integer, next, 0, 64, rank.integer, win);
  api::win_unlock(rank.process, next, win);
}

void work(Rank& rank, What what, unsigned seed, Targets& targets) {
  std::mt19937_64 random(seed * 64 + static_cast<unsigned>(rank.rank));
  // The window is made while all is well: ranks that do not agree whether it was would use memory that is
  // gone. Private memory: messages carry what is done to it.
  void* base = nullptr;
  Win* win = nullptr;
  const bool is_made = api::win_allocate(rank.process, 4096, 1, nullptr, rank.world, &base, &win) == 0;
  api::barrier(rank.process, rank.world);
  if (what == What::kNodeSegments && rank.world->slots.get(kNodeSegmentSlot)) {
    SegmentBlock& block = rank.world->slots.get(kNodeSegmentSlot)->own_block();
    for (FlagLine& line : block.lines) targets.add(&line.word, sizeof line.word);
    targets.add(&block.left, sizeof block.left + sizeof block.awaited);
  }
  if (is_made && what == What::kWindows && rank.rank == 0)
    targets.add(win->segment->base(), rma::SharedControl::bytes_needed(rank.size));
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t bytes : {8, 100, 900, 5000, 40'000}) exchange(rank, bytes, round);
    if (what == What::kPackets && round >= 2 && random() % 16 == 0) send_noise(rank, random);
    for (const Count count : kCounts) meet(rank, count, targets);
    if (is_made) access(rank, win);
  }
  targets.stop();
  if (is_made) api::win_free(rank.process, &win);
}

void add_rings(Targets& targets, test::ThreadMachine& machine, int size) {
  targets.add(machine.bells().memory, machine.bells().bytes);
  targets.add(machine.shared(0).memory, machine.shared(0).bytes);  // pages of pairs, locks of file ranges
  // Most of the rings is never touched: the start of each one is.
  const test::ThreadMachine::Part rings = machine.rings(0);
  for (int ring = 0; ring < size * size; ++ring) {
    std::byte* const begin = rings.memory + sizeof(shm::RingShared) * static_cast<std::size_t>(ring);
    targets.add(begin, sizeof(shm::RingShared));
    targets.add(begin, 64);  // the credits, again
  }
}

void run_case(What what, unsigned seed) {
  Targets targets;
  test::WorldOptions options;
  // Where ranks are threads, all memory is everybody's, and no address is told from another: so only flags
  // are damaged where addresses are used. tests/safety has processes, whose memory has bounds.
  options.symmetric_heap = what == What::kNodeSegments;
  if (what == What::kRings) {
    options.with_machine = [&](test::ThreadMachine& machine) { add_rings(targets, machine, kRanks); };
  }
  std::thread gremlin([&] {
    std::mt19937_64 random(seed);
    const auto pause = std::chrono::microseconds(1 << random() % 10);
    do {
      std::this_thread::sleep_for(pause);
    } while (targets.flip(random));
  });
  test::run_ranks(
      kRanks,
      [&](Process& process) {
        Rank rank(process);
        work(rank, what, seed, targets);
      },
      options);
  gremlin.join();
}

/// `is_told`: that some damage of this kind must be. (What is wrong on a node segment is wrong data, most of
/// all.)
void fuzz(What what, unsigned seeds, bool is_told = true) {
  if (std::getenv("TASUKI_TEST_LONG") != nullptr) seeds *= 50;
  unsigned count[4] = {};
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const Ending ending = run_in_child([&] { run_case(what, seed); }, kSecondsMax);
    ++count[static_cast<int>(ending.how)];
    EXPECT_NE(ending.how, Ended::kCrashed) << "seed " << seed << "\n" << ending.text;
  }
  std::printf("%u ended well, %u told of damage, %u hung\n", count[0], count[1], count[2]);
  if (is_told) EXPECT_GT(count[1], 0u) << "nothing was damaged";
  EXPECT_LE(count[2], std::max(2u, seeds / 4)) << "too many hang";
}

TEST(Fuzz, Packets) {
  fuzz(What::kPackets, 24);
}

TEST(Fuzz, Rings) {
  if (!kRacesAreTold) fuzz(What::kRings, 24);
}

TEST(Fuzz, NodeSegments) {
  if (!kRacesAreTold) fuzz(What::kNodeSegments, 16, false);
}

TEST(Fuzz, Windows) {
  if (!kRacesAreTold) fuzz(What::kWindows, 16);
}

}  // namespace
}  // namespace tasuki
