// Messages out of private memory, which the system copies for the receiver; and what cannot be copied so.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "p2p/large_support.hpp"

namespace tasuki::test {
namespace {

constexpr std::size_t kBytes = 3 << 20;  // several turns

WorldOptions private_memory() {
  WorldOptions options;
  options.symmetric_heap = false;
  options.config.attach = 1;
  options.config.attach_bytes_min = 4096;
  return options;
}

void run_pair(const std::function<void(Rank&)>& body, const WorldOptions& options) {
  run_ranks(
      2,
      [&](Process& process) {
        Rank rank(process);
        body(rank);
      },
      options);
}

std::uint64_t counted(Rank& on, Way way) {
  return on.rank == 0 ? sent(on, way) : received(on, way);
}

void send_one(Rank& on, Types& types, const Bytes& data, Lie lie) {
  Buffer buffer(lie, data.size() / element_bytes(lie));
  buffer.put(data);
  Request* request = nullptr;
  ASSERT_EQ(api::isend(on.process, buffer.memory.data(), static_cast<Count>(buffer.count), types[lie], 1, 5,
                       on.world, &request),
            0);
  ASSERT_EQ(on.wait(request), 0);
}

/// Into room for `room` bytes, of a message that has `data`.
void receive_one(Rank& on, Types& types, const Bytes& data, Lie lie, std::size_t room) {
  Buffer buffer(lie, room / element_bytes(lie));
  Request* request = nullptr;
  ASSERT_EQ(api::irecv(on.process, buffer.memory.data(), static_cast<Count>(buffer.count), types[lie], 0, 5,
                       on.world, &request),
            0);
  Status status;
  const Code code = on.wait(request, &status);
  const std::size_t bytes = std::min(buffer.bytes, data.size());
  EXPECT_EQ(code == 0, bytes == data.size());
  ASSERT_EQ(status.bytes, static_cast<Count>(bytes));
  ASSERT_EQ(buffer.get(bytes), Bytes(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes)));
  ASSERT_TRUE(buffer.untouched_beside(bytes));
}

void exchange(Rank& on, Types& types, std::size_t bytes, Lie from, Lie to, std::size_t room) {
  const Bytes data = pattern(bytes, static_cast<std::uint32_t>(bytes + static_cast<std::size_t>(from)));
  on.rank == 0 ? send_one(on, types, data, from) : receive_one(on, types, data, to, room);
}

TEST(Attach, EachPairOfLayouts) {
  run_pair(
      [](Rank& on) {
        Types types(on);
        on.process.p2p->table.attach_block_bytes_min = 500;
        const auto coarse = [](Lie lie) { return lie == Lie::kDense || lie == Lie::kBlocks; };
        for (const Lie from : kLies) {
          for (const Lie to : kLies) {
            const Way way = coarse(from) && coarse(to) ? Way::kAttach : Way::kTwoCopy;
            const auto before = counted(on, way);
            exchange(on, types, 60000, from, to, 60000);
            EXPECT_EQ(counted(on, way), before + 1)
                << static_cast<int>(from) << " to " << static_cast<int>(to);
          }
        }
      },
      private_memory());
}

TEST(Attach, SizesAndTruncation) {
  run_pair(
      [](Rank& on) {
        Types types(on);
        const std::size_t sizes[] = {4096, 4097, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, kBytes};
        for (const std::size_t bytes : sizes) {
          for (const std::size_t room : {bytes, bytes + 100, bytes - 1}) {
            const bool long_enough = std::min(bytes, room) >= 4096;
            const Way way = long_enough ? Way::kAttach : Way::kTwoCopy;
            const auto before = counted(on, way);
            exchange(on, types, bytes, Lie::kDense, Lie::kDense, room);
            EXPECT_EQ(counted(on, way), before + 1) << bytes << " into " << room;
          }
        }
        exchange(on, types, 60000, Lie::kDense, Lie::kDense, 0);
      },
      private_memory());
}

TEST(Attach, ThresholdAndSwitch) {
  for (const bool attach : {true, false}) {
    WorldOptions options = private_memory();
    options.config.attach = attach;
    run_pair(
        [&](Rank& on) {
          Types types(on);
          exchange(on, types, 4095, Lie::kDense, Lie::kDense, 4095);
          EXPECT_EQ(counted(on, Way::kAttach), 0u);
          exchange(on, types, 4096, Lie::kDense, Lie::kDense, 4096);
          EXPECT_EQ(counted(on, Way::kAttach), attach ? 1u : 0u);
          EXPECT_EQ(counted(on, Way::kTwoCopy), attach ? 1u : 2u);
        },
        options);
  }
}

/// A private source and a global destination: the sender puts; only where it must not, the system copies.
TEST(Attach, WhereTheDestinationIsGlobal) {
  for (const bool put : {true, false}) {
    WorldOptions options = private_memory();
    options.symmetric_heap = true;
    options.odd_ranks_private = true;
    options.config.put = put;
    options.config.advertised_receives = false;
    run_pair(
        [&](Rank& on) {
          const Bytes data = pattern(kBytes, 6);
          Bytes got(kBytes);
          if (on.rank == 1) {
            EXPECT_EQ(on.send(data, 0, 1), 0);
          } else {
            EXPECT_EQ(on.recv(got, 1, 1), 0);
            EXPECT_EQ(got, data);
          }
          const Way way = put ? Way::kPut : Way::kAttach;
          EXPECT_EQ(on.rank == 1 ? sent(on, way) : received(on, way), 1u) << way_name(way);
        },
        options);
  }
}

TEST(Attach, AProcessNumberThatMeansAnotherProcessHere) {
  WorldOptions options = private_memory();
  options.other_processes = true;
  run_pair(
      [](Rank& on) {
        Types types(on);
        for (int lap = 0; lap < 3; ++lap) exchange(on, types, kBytes, Lie::kDense, Lie::kDense, kBytes);
        EXPECT_EQ(counted(on, Way::kTwoCopy), 3u);
        EXPECT_EQ(counted(on, Way::kAttach), 0u);
      },
      options);
}

/// Memory of which a part cannot be read for a while: what has been copied before is copied again, with the
/// rest.
TEST(Attach, AnErrorOnTheWay) {
  constexpr std::size_t kReadable = 2 << 20;
  std::atomic<bool> fallen_back = false;
  run_pair(
      [&](Rank& on) {
        const Bytes data = pattern(kBytes, 11);
        Request* request = nullptr;
        if (on.rank == 0) {
          void* const memory =
              mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          ASSERT_NE(memory, MAP_FAILED);
          std::memcpy(memory, data.data(), kBytes);
          auto* const hole = static_cast<std::byte*>(memory) + kReadable;
          ASSERT_EQ(mprotect(hole, kBytes - kReadable, PROT_NONE), 0);
          ASSERT_EQ(
              api::isend(on.process, memory, static_cast<Count>(kBytes), on.byte, 1, 5, on.world, &request),
              0);
          while (!fallen_back) std::this_thread::yield();  // outside of the library
          ASSERT_EQ(mprotect(hole, kBytes - kReadable, PROT_READ | PROT_WRITE), 0);
          EXPECT_EQ(on.wait(request), 0);
          munmap(memory, kBytes);
        } else {
          Bytes got(kBytes);
          request = on.irecv(got, 0, 5);
          while (received(on, Way::kTwoCopy) == 0 && received(on, Way::kAttach) == 0)
            on.process.progress->poll();
          fallen_back = true;
          EXPECT_EQ(on.wait(request), 0);
          EXPECT_EQ(got, data);
        }
        EXPECT_EQ(counted(on, Way::kTwoCopy), 1u);
        EXPECT_EQ(counted(on, Way::kAttach), 0u);
        Types types(on);
        exchange(on, types, kBytes, Lie::kDense, Lie::kDense, kBytes);
        EXPECT_EQ(counted(on, Way::kAttach), 1u) << "other memory can be read as before";
      },
      private_memory());
}

}  // namespace
}  // namespace tasuki::test
