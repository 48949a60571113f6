// Buffered mode: a send returns at once whatever the receiver does, as long as the buffer has room by MPI's
// accounting; attach, detach and flush; which of several buffers is used.
#include <gtest/gtest.h>

#include <random>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

Code bsend(Rank& on, const Bytes& data, int dest, int tag) {
  return api::bsend(on.process, data.data(), static_cast<Count>(data.size()), on.byte, dest, tag, on.world);
}

TEST(BufferPool, HoldsWhatMpiPromises) {
  // The user's formula: the sum of size + kBsendOverhead must be enough.
  for (const Count size : {0, 1, 15, 16, 17, 1000}) {
    constexpr Count kMessages = 7;
    Bytes memory(static_cast<std::size_t>(kMessages * (size + kBsendOverhead)));
    Counters counters;
    BufferPool pool(memory.data(), static_cast<Count>(memory.size()), counters);
    std::vector<BufferEntry*> entries;
    for (Count i = 0; i < kMessages; ++i) {
      entries.push_back(pool.take(size));
      ASSERT_NE(entries.back(), nullptr) << "size " << size << ", message " << i;
    }
    for (BufferEntry* entry : entries) pool.give_back(entry);
    EXPECT_TRUE(pool.empty());
    EXPECT_EQ(pool.bytes_used(), 0);
    EXPECT_EQ(counters.buffered_bytes.value, 0u);
    EXPECT_GE(counters.buffered_bytes.highest, static_cast<std::uint64_t>(kMessages * size));
  }
}

TEST(BufferPool, EntriesNeverOverlapNorLeaveTheBuffer) {
  std::mt19937 random(4);
  Bytes memory(8000);
  Counters counters;
  BufferPool pool(memory.data(), 8000, counters);
  struct Held {
    BufferEntry* entry;
    Count size;
    std::uint8_t mark;
  };
  std::vector<Held> held;
  int refused = 0;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0) {
      const Count size = static_cast<Count>(random() % 900);
      BufferEntry* entry = pool.take(size);
      if (entry == nullptr) {
        ++refused;
        continue;
      }
      const auto mark = static_cast<std::uint8_t>(step);
      ASSERT_GE(entry->data, reinterpret_cast<std::byte*>(memory.data()));
      ASSERT_LE(entry->data + size, reinterpret_cast<std::byte*>(memory.data() + memory.size()));
      std::fill_n(reinterpret_cast<std::uint8_t*>(entry->data), size, mark);
      held.push_back({entry, size, mark});
    } else if (!held.empty()) {
      const auto at = static_cast<std::ptrdiff_t>(random() % held.size());
      const Held one = held[static_cast<std::size_t>(at)];
      for (Count i = 0; i < one.size; ++i) ASSERT_EQ(static_cast<std::uint8_t>(one.entry->data[i]), one.mark);
      pool.give_back(one.entry);
      held.erase(held.begin() + at);
    }
  }
  EXPECT_GT(refused, 100) << "the buffer was full at times";
  for (const Held& one : held) pool.give_back(one.entry);
  ASSERT_NE(pool.take(8000 - kBsendOverhead), nullptr) << "all of it is free again";
}

TEST(Buffered, ReturnsBeforeTheReceiveAndFinalizeDelivers) {
  on_both_networks(2, [](Rank& on) {
    const std::size_t size = 50000;  // a long message: it cannot leave before its receive
    Bytes memory(3 * (size + kBsendOverhead));
    if (on.rank == 0) {
      EXPECT_EQ(api::buffer_attach(on.process, memory.data(), static_cast<Count>(memory.size())), 0);
      for (std::uint32_t i = 0; i < 3; ++i) {
        Bytes data = pattern(size, i);
        EXPECT_EQ(bsend(on, data, 1, 1), 0);
        std::fill(data.begin(), data.end(), 0);  // the user's buffer is free at once
      }
      on.send({}, 1, 2);
      void* address = nullptr;
      Count bytes = 0;
      EXPECT_EQ(api::buffer_detach(on.process, &address, &bytes), 0);  // waits for all three
      EXPECT_EQ(address, memory.data());
      EXPECT_EQ(bytes, static_cast<Count>(memory.size()));
      api::buffer_attach(on.process, kBufferAutomatic, 0);
      EXPECT_EQ(bsend(on, pattern(size, 3), 1, 1), 0);  // finalize has to deliver this one
    } else {
      Bytes go, got(size);
      on.recv(go, 0, 2);
      for (std::uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(on.recv(got, 0, 1), 0);
        EXPECT_EQ(got, pattern(size, i));
      }
    }
  });
}

TEST(Buffered, ALargeMessageIsWrittenToAReceiveThatWaits) {
  on_both_networks(2, [](Rank& on) {
    const std::size_t size = 50000;
    Bytes memory(size + kBsendOverhead), data = pattern(size, 7), got(size), go;
    if (on.rank == 0) {
      EXPECT_EQ(api::buffer_attach(on.process, memory.data(), static_cast<Count>(memory.size())), 0);
      on.recv(go, 1, 2);  // the receives are posted
      for (const std::uint32_t i : {7u, 8u}) {
        data = pattern(size, i);
        EXPECT_EQ(bsend(on, data, 1, 1), 0);
        std::fill(data.begin(), data.end(), 0);
      }
      EXPECT_EQ(memory, Bytes(memory.size()));  // not needed
      EXPECT_EQ(on.process.counters.of(Way::kSenderWrite).sent.messages, 2u);
      void* address = nullptr;
      Count bytes = 0;
      EXPECT_EQ(api::buffer_detach(on.process, &address, &bytes), 0);
    } else {
      Bytes half(size / 2);
      Request* whole = on.irecv(got, 0, 1);
      Request* cut = on.irecv(half, 0, 1);
      on.send({}, 0, 2);
      EXPECT_EQ(on.wait(whole), 0);
      EXPECT_EQ(got, pattern(size, 7));
      Status status;
      EXPECT_EQ(error_class_bits(on.wait(cut, &status)), kErrTruncate);
      const Bytes all = pattern(size, 8);
      EXPECT_TRUE(std::equal(half.begin(), half.end(), all.begin()));
    }
  });
}

TEST(Buffered, TooSmallABufferNamesTheSizes) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    const Code none = bsend(on, Bytes(10), 0, 1);
    EXPECT_EQ(error_class_bits(none), kErrBuffer);
    EXPECT_NE(on.text(none).find("no buffer is attached"), std::string::npos);
    Bytes memory(3600);
    api::buffer_attach(process, memory.data(), 3600);
    EXPECT_EQ(bsend(on, pattern(2500, 1), 0, 1), 0);
    const Code full = bsend(on, Bytes(1000), 0, 1);
    EXPECT_EQ(error_class_bits(full), kErrBuffer);
    EXPECT_EQ(
        on.text(full),
        "a message of 1000 bytes needs 1088 of the attached buffer, which holds 3600, 2592 of them in use");
    Bytes got(2500);
    EXPECT_EQ(on.recv(got, 0, 1), 0);
    EXPECT_EQ(got, pattern(2500, 1));
    EXPECT_EQ(bsend(on, pattern(2200, 2), 0, 1), 0) << "there is room again";
    EXPECT_EQ(on.recv(got, 0, 1), 0);
  });
}

TEST(Buffered, AttachTwiceAndDetachNothing) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes memory(100);
    void* address = nullptr;
    Count size = 0;
    EXPECT_EQ(error_class_bits(api::buffer_detach(process, &address, &size)), kErrBuffer);
    EXPECT_EQ(error_class_bits(api::comm_detach_buffer(process, on.world, &address, &size)), kErrBuffer);
    EXPECT_EQ(api::buffer_attach(process, memory.data(), 100), 0);
    EXPECT_EQ(error_class_bits(api::buffer_attach(process, memory.data(), 100)), kErrBuffer);
    EXPECT_EQ(api::buffer_detach(process, &address, &size), 0);
    EXPECT_EQ(size, 100);
    EXPECT_EQ(error_class_bits(api::buffer_attach(process, nullptr, 100)), kErrBuffer);
  });
}

TEST(Buffered, TheCommunicatorsBufferComesFirst) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes large(5000), small(500);
    api::buffer_attach(process, large.data(), 5000);
    api::comm_attach_buffer(process, on.world, small.data(), 500);
    EXPECT_EQ(error_class_bits(bsend(on, Bytes(2000), 0, 1)), kErrBuffer) << "the small one counts";
    void* address = nullptr;
    Count size = 0;
    EXPECT_EQ(api::comm_detach_buffer(process, on.world, &address, &size), 0);
    EXPECT_EQ(address, small.data());
    EXPECT_EQ(size, 500);
    EXPECT_EQ(bsend(on, Bytes(2000, 3), 0, 1), 0) << "now the process's";
    Bytes got(2000);
    EXPECT_EQ(on.recv(got, 0, 1), 0);
    EXPECT_EQ(got, Bytes(2000, 3));
  });
}

TEST(Buffered, FlushWaitsAndIflushTells) {
  on_both_networks(2, [](Rank& on) {
    const Bytes data = pattern(30000, 1);
    Bytes none, got(30000);
    if (on.rank == 0) {
      Request* request = nullptr;
      EXPECT_EQ(api::buffer_flush(on.process), 0) << "nothing attached, nothing to wait for";
      api::buffer_attach(on.process, kBufferAutomatic, 0);
      EXPECT_EQ(api::buffer_iflush(on.process, &request), 0);
      EXPECT_TRUE(on.test(request));
      bsend(on, data, 1, 1);
      EXPECT_EQ(api::buffer_iflush(on.process, &request), 0);
      bsend(on, data, 1, 2);  // later: not the request's concern
      for (int i = 0; i < 50; ++i) ASSERT_FALSE(on.test(request));
      on.send(none, 1, 3);
      EXPECT_EQ(on.wait(request), 0);
      EXPECT_FALSE(on.process.p2p->buffer->empty()) << "the second one still lies there";
      on.send(none, 1, 4);
      EXPECT_EQ(api::buffer_flush(on.process), 0);
      EXPECT_TRUE(on.process.p2p->buffer->empty());
    } else {
      on.recv(none, 0, 3);
      on.recv(got, 0, 1);
      EXPECT_EQ(got, data);
      on.recv(none, 0, 4);
      on.recv(got, 0, 2);
      EXPECT_EQ(got, data);
    }
  });
}

TEST(Buffered, ManySmallOnesStayInOrderThroughASmallBuffer) {
  on_both_networks(2, [](Rank& on) {
    constexpr int kMessages = 2000;
    Bytes memory(100 * (4 + kBsendOverhead));
    if (on.rank == 1) {
      for (int i = 0; i < kMessages; ++i) {
        int value = -1;
        api::recv(on.process, &value, 1, on.integer, 0, 0, on.world, nullptr);
        ASSERT_EQ(value, i);
      }
      return;
    }
    api::buffer_attach(on.process, memory.data(), static_cast<Count>(memory.size()));
    int refused = 0;
    for (int i = 0; i < kMessages;) {
      const Code code = api::bsend(on.process, &i, 1, on.integer, 1, 0, on.world);
      ASSERT_TRUE(code == 0 || error_class_bits(code) == kErrBuffer);
      code == 0 ? ++i : ++refused;
    }
    void* address = nullptr;
    Count size = 0;
    EXPECT_EQ(api::buffer_detach(on.process, &address, &size), 0);
  });
}

}  // namespace
}  // namespace tasuki::test
