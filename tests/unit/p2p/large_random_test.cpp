// Large and small messages at random, against MPI's rule of order: four ranks, wildcards, cancellations,
// truncations, layouts of all kinds, each rank with other ways switched off in each round.
//
// The oracle: each message is received once and whole; a receive that was cancelled got nothing; and when of
// two receives both could take the message that the later one got, the earlier one did not get a later
// message of the same sender.
//
// tests/stress has random messages among processes. This oracle is kept for the thread sanitizer, which sees
// both ends of an advertised receive and of a cooperative copy as threads; and here each rank has other ways
// switched off, while a job's settings are mostly one.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <random>

#include "coll/api.hpp"
#include "p2p/large_support.hpp"

namespace tasuki::test {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr unsigned kRounds = 1;
#else
constexpr unsigned kRounds = 5;
#endif
constexpr std::size_t kLargest = 40000;
constexpr int kTags = 3;
constexpr int kMessages = 12;  // from each rank to each other one, in a round

struct Stamp {
  std::uint32_t sender, number, bytes, tag;
};

Bytes stamped(const Stamp& stamp) {
  Bytes data = pattern(stamp.bytes, stamp.sender * 7919 + stamp.number);
  std::memcpy(data.data(), &stamp, sizeof stamp);
  return data;
}

std::size_t random_elements(Lie lie, std::mt19937& random) {
  std::size_t bytes = 0;
  switch (random() % 4) {
    case 0:
      bytes = 16 + random() % 50;
      break;
    case 1:
      bytes = 16 + random() % 2000;
      break;
    case 2:
      bytes = 16 + random() % 12000;
      break;
    default:
      bytes = 16 + random() % kLargest;
  }
  return std::max<std::size_t>(bytes / element_bytes(lie), lie == Lie::kSmallBlocks ? 2
                                                           : lie == Lie::kIrregular ? 2
                                                           : lie == Lie::kDense     ? 16
                                                                                    : 1);
}

struct Receive {
  Buffer buffer;
  int source;
  int tag;
  Request* request = nullptr;
  bool over = false;
  bool cancelled = false;
  Stamp got{};
};

class Round {
 public:
  Round(Rank& on, unsigned seed) : on_(on), types_(on), random_(seed * 97 + static_cast<unsigned>(on.rank)) {
    ProtocolTable& table = on.process.p2p->table;
    table.advertised_receives = random_() % 4 != 0;
    table.get = random_() % 4 != 0;
    table.cooperative = random_() % 4 != 0;
    table.put = random_() % 4 != 0;
  }

  void run() {
    const int others = on_.size - 1;
    int to_send = kMessages * others;
    int to_post = kMessages * others + 6;  // a few more than there are messages
    std::vector<std::uint32_t> numbers(static_cast<std::size_t>(on_.size));
    while (to_send > 0 || to_post > 0) {
      if (random_() % 2 == 0 && to_send > 0) {
        int dest = 0;
        do dest = static_cast<int>(random_() % static_cast<unsigned>(on_.size));
        while (dest == on_.rank || numbers[static_cast<std::size_t>(dest)] == kMessages);
        send(dest, numbers[static_cast<std::size_t>(dest)]++);
        --to_send;
      } else if (to_post > 0) {
        post();
        --to_post;
      }
      if (random_() % 8 == 0) cancel_one();
      if (random_() % 4 == 0) on_.process.progress->poll();
    }
    while (received_ < kMessages * others) {
      on_.process.progress->poll_once();
      look();
      drain();
    }
    EXPECT_EQ(on_.waitall(sends_), 0);
    for (Receive& one : receives_) {
      if (one.over) continue;
      EXPECT_EQ(api::cancel(on_.process, one.request), 0);
      finish(one);
      EXPECT_TRUE(one.cancelled);
    }
    check_order();
    api::barrier(on_.process, on_.world);  // in a plane of its own: no wildcard takes its messages
  }

 private:
  void send(int dest, std::uint32_t number) {
    const Lie lie = kLies[random_() % kLies.size()];
    Buffer& buffer = sent_.emplace_back(lie, random_elements(lie, random_));
    const int tag = static_cast<int>(random_() % kTags);
    buffer.put(stamped({static_cast<std::uint32_t>(on_.rank), number,
                        static_cast<std::uint32_t>(buffer.bytes), static_cast<std::uint32_t>(tag)}));
    Request* request = nullptr;
    const auto count = static_cast<Count>(buffer.count);
    const auto start = random_() % 4 == 0 ? api::issend : api::isend;
    EXPECT_EQ(start(on_.process, buffer.memory.data(), count, types_[lie], dest, tag, on_.world, &request),
              0);
    sends_.push_back(request);
  }

  void post(int source, int tag, std::size_t bytes) {
    const Lie lie = kLies[random_() % kLies.size()];
    const std::size_t elements = (bytes + element_bytes(lie) - 1) / element_bytes(lie);
    Receive& one = receives_.emplace_back(Receive{Buffer(lie, elements), source, tag});
    EXPECT_EQ(api::irecv(on_.process, one.buffer.memory.data(), static_cast<Count>(one.buffer.count),
                         types_[lie], source, tag, on_.world, &one.request),
              0);
  }
  void post() {
    int source = static_cast<int>(random_() % static_cast<unsigned>(on_.size));
    if (source == on_.rank || random_() % 5 == 0)
      source = random_() % 2 == 0 ? kAnySource : (on_.rank + 1) % on_.size;
    const int tag = random_() % 4 == 0 ? kAnyTag : static_cast<int>(random_() % kTags);
    post(source, tag, random_() % 10 == 0 ? 16 + random_() % 20000 : kLargest + 2000);
  }

  void cancel_one() {
    if (receives_.empty()) return;
    Receive& one = receives_[random_() % receives_.size()];
    if (one.over) return;
    EXPECT_EQ(api::cancel(on_.process, one.request), 0);
    finish(one);
  }

  void finish(Receive& one) {
    Status status;
    const Code code = on_.wait(one.request, &status);
    over(one, code, status);
  }

  void look() {
    for (Receive& one : receives_) {
      if (one.over || !one.request->done) continue;
      finish(one);
    }
  }

  /// Takes a message that no open receive wants.
  void drain() {
    bool flag = false;
    Status status;
    EXPECT_EQ(api::iprobe(on_.process, kAnySource, kAnyTag, on_.world, &flag, &status), 0);
    if (flag) post(status.source, status.tag, kLargest + 2000);
  }

  void over(Receive& one, Code code, const Status& status) {
    one.over = true;
    one.cancelled = status.cancelled;
    if (status.cancelled) {
      EXPECT_TRUE(one.buffer.untouched_beside(0)) << "written to, though it was cancelled";
      return;
    }
    ++received_;
    const Bytes head = one.buffer.get(sizeof(Stamp));
    std::memcpy(&one.got, head.data(), sizeof(Stamp));
    const bool cut = one.got.bytes > one.buffer.bytes;
    const std::size_t bytes = cut ? one.buffer.bytes : one.got.bytes;
    EXPECT_EQ(error_class_bits(code), cut ? kErrTruncate : 0);
    EXPECT_EQ(status.source, static_cast<int>(one.got.sender));
    EXPECT_EQ(status.tag, static_cast<int>(one.got.tag));
    ASSERT_EQ(status.bytes, static_cast<Count>(bytes));
    Bytes expected = stamped(one.got);
    expected.resize(bytes);
    EXPECT_EQ(one.buffer.get(bytes), expected);
    EXPECT_TRUE(one.buffer.untouched_beside(bytes));
  }

  static bool could_take(const Receive& one, const Stamp& message) {
    return (one.source == kAnySource || one.source == static_cast<int>(message.sender)) &&
           (one.tag == kAnyTag || one.tag == static_cast<int>(message.tag));
  }

  void check_order() {
    for (std::size_t late = 0; late < receives_.size(); ++late) {
      const Receive& second = receives_[late];
      if (second.cancelled) continue;
      for (std::size_t early = 0; early < late; ++early) {
        const Receive& first = receives_[early];
        if (first.cancelled || first.got.sender != second.got.sender || !could_take(first, second.got))
          continue;
        EXPECT_LT(first.got.number, second.got.number) << "overtaken, from rank " << first.got.sender;
      }
    }
  }

  Rank& on_;
  Types types_;
  std::mt19937 random_;
  std::deque<Buffer> sent_;
  std::vector<Request*> sends_;
  std::deque<Receive> receives_;
  int received_ = 0;
};

// Between nodes the network copies: the bytes of a message that is written to an advertised receive come
// before the packet that says so, or long after it.
TEST(LargeRandom, BetweenNodesToo) {
  std::atomic<std::uint64_t> written{0}, got{0};
  for (unsigned seed = 1; seed <= 4; ++seed) {
    WorldOptions options;
    options.network = Network::kInproc;
    options.nodes = {0, 1, 2, 3};
    options.late_copies = seed % 2 == 0;
    run_ranks(
        4,
        [&](Process& process) {
          Rank on(process);
          for (unsigned round = 0; round < kRounds; ++round) Round(on, seed * 100 + round).run();
          written += sent(on, Way::kSenderWrite);
          got += sent(on, Way::kGet);
        },
        options);
  }
  // Which of the two it is depends on who comes first. Each has tests of its own.
  EXPECT_GT(written + got, 0u);
}

TEST(LargeRandom, EachMessageOnceWholeAndInOrder) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    WorldOptions options;
    options.config.waiting_get_bytes_min = seed % 2 == 0 ? 512 : 8 * 1024;
    options.network = seed % 3 == 0 ? Network::kInproc : Network::kSharedMemory;
    run_ranks(
        4,
        [seed](Process& process) {
          Rank on(process);
          for (unsigned round = 0; round < kRounds; ++round) Round(on, seed * 100 + round).run();
        },
        options);
  }
}

}  // namespace
}  // namespace tasuki::test
