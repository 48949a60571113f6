// Drivers of files: pieces become few calls of the system and arrive all the same, by whichever way; a ring
// that is short, is interrupted or refuses loses nothing; striping is asked for and told.
//
// The oracle knows nothing of calls: a file in memory, read and written piece by piece.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>

#include "io/hints/hint_table.hpp"
#include "io/support.hpp"
#include "storage/lustre.hpp"
#include "storage/piece_calls.hpp"
#include "storage/posix.hpp"
#include "storage/shared_lane.hpp"

namespace tasuki::test {
namespace {

/// Pieces over memory of their own, in a file of `file_bytes`.
struct Pieces {
  Bytes memory;
  std::vector<FilePiece> list;
  Count bytes = 0;

  void add(Offset offset, Count length) {
    list.push_back({offset, nullptr, length});
    bytes += length;
  }
  /// Gives each piece its part of the memory.
  void place(unsigned char fill) {
    memory.assign(static_cast<std::size_t>(bytes), fill);
    auto* next = reinterpret_cast<std::byte*>(memory.data());
    for (FilePiece& piece : list) {
      piece.memory = next;
      next += piece.bytes;
    }
  }
};

/// Ascending pieces with gaps of every kind, some of them touching, and now and then one that lies before.
Pieces random_pieces(Random& random, Offset file_bytes) {
  Pieces made;
  Offset at = pick(random, 70, 120);
  const Count many = random() % 4 == 0 ? 3000 : 40;
  for (Count count = pick(random, 1, many); count > 0 && at < file_bytes; --count) {
    const Count length = std::min<Count>(pick(random, 1, random() % 3 == 0 ? 5000 : 60), file_bytes - at);
    made.add(at, length);
    at += length;
    const auto kind = random() % 8;
    if (kind == 0) at += pick(random, 1, 9000);
    if (kind == 1) at += kGapBytesMax + pick(random, -1, 1);
    if (kind > 4) at += pick(random, 1, 200);
  }
  if (random() % 3 == 0) made.add(pick(random, 0, 50), 20);
  made.place(0xee);
  return made;
}

/// Equal pieces, `step` bytes from one to the next.
Pieces regular_pieces(Count count, Count step, Count length, unsigned char fill) {
  Pieces made;
  for (Count i = 0; i < count; ++i) made.add(i * step, length);
  made.place(fill);
  return made;
}

Bytes random_bytes(Random& random, std::size_t bytes) {
  Bytes made(bytes);
  for (unsigned char& one : made) one = static_cast<unsigned char>(random());
  return made;
}

void fill_file(const char* name, const Bytes& bytes) {
  FILE* file = std::fopen(name, "wb");
  ASSERT_NE(file, nullptr);
  for (const unsigned char byte : bytes) std::fputc(byte, file);
  std::fclose(file);
}

/// A ring that does everything at finish(), by system calls, and not always well.
class ClumsyRing final : public Ring {
 public:
  explicit ClumsyRing(std::uint64_t seed) : random_(seed) {}

  void begin(int fd, bool write, std::span<RingCall> calls) override {
    fd_ = fd;
    write_ = write;
    calls_ = calls;
  }
  bool finish() override {
    for (RingCall& call : calls_) {
      switch (random_() % 12) {
        case 0:
          call.result = -EINTR;
          break;
        case 1:
          call.result = -EAGAIN;
          break;
        case 2: {  // short
          const iovec part{call.vectors->iov_base, (call.vectors->iov_len + 1) / 2};
          call.result = write_ ? pwritev(fd_, &part, 1, call.offset) : preadv(fd_, &part, 1, call.offset);
          break;
        }
        default: {
          const int count = static_cast<int>(call.count);
          call.result = write_ ? pwritev(fd_, call.vectors, count, call.offset)
                               : preadv(fd_, call.vectors, count, call.offset);
        }
      }
      if (call.result == -1) call.result = -errno;
    }
    calls_ = {};
    return random_() % 4 != 0;
  }

 private:
  Random random_;
  int fd_ = -1;
  bool write_ = false;
  std::span<RingCall> calls_;
};

/// The ways of getting pieces there.
struct Way {
  const char* name;
  HintSwitch ring_use;
  RingMaker make_ring;
};

std::vector<Way> all_ways(Random& random) {
  const RingMaker clumsy = [&random](std::string*) { return std::make_unique<ClumsyRing>(random()); };
  const RingMaker none = [](std::string* refusal) {
    *refusal = "not today";
    return nullptr;
  };
  return {{"system calls", HintSwitch::kDisable, make_ring},    {"ring", HintSwitch::kEnable, make_ring},
          {"automatic", HintSwitch::kAutomatic, make_ring},     {"clumsy ring", HintSwitch::kEnable, clumsy},
          {"clumsy automatic", HintSwitch::kAutomatic, clumsy}, {"no ring", HintSwitch::kEnable, none}};
}

std::unique_ptr<FileDriver> open_driver(const Way& way, const char* name, bool write = true) {
  PosixParts parts;
  parts.make_ring = way.make_ring;
  std::unique_ptr<FileDriver> driver;
  OpenHow how{.read = true, .write = write};
  how.io_uring = way.ring_use;
  EXPECT_EQ(make_posix_storage(std::move(parts))->open(name, how, &driver), 0);
  return driver;
}

TransferResult move(FileDriver& driver, bool write, const Pieces& pieces, bool at_once) {
  if (at_once) return write ? driver.write_at(pieces.list) : driver.read_at(pieces.list);
  driver.begin(write, pieces.list);
  return driver.finish();
}

TEST(Drivers, PiecesArriveByEveryWay) {
  Random random(7);
  for (const Way& way : all_ways(random)) {
    SCOPED_TRACE(way.name);
    for (int round = 0; round < 25; ++round) {
      const FileName name;
      Bytes expected = random_bytes(random, 60000);
      fill_file(name.get(), expected);
      auto driver = open_driver(way, name.get());
      Pieces written = random_pieces(random, 70000);
      for (unsigned char& one : written.memory) one = static_cast<unsigned char>(random());
      for (const FilePiece& piece : written.list) {
        const auto end = static_cast<std::size_t>(piece.offset + piece.bytes);
        if (expected.size() < end) expected.resize(end);
        std::memcpy(expected.data() + piece.offset, piece.memory, static_cast<std::size_t>(piece.bytes));
      }
      const TransferResult done = move(*driver, true, written, round % 2 == 0);
      EXPECT_EQ(done.error, 0);
      EXPECT_EQ(done.bytes, written.bytes);
      ASSERT_EQ(content(name.get()), expected);

      Pieces read = random_pieces(random, static_cast<Offset>(expected.size()));
      const TransferResult got = move(*driver, false, read, round % 3 != 0);
      EXPECT_EQ(got.error, 0);
      ASSERT_EQ(got.bytes, read.bytes);
      for (const FilePiece& piece : read.list)
        ASSERT_EQ(
            std::memcmp(piece.memory, expected.data() + piece.offset, static_cast<std::size_t>(piece.bytes)),
            0);
      EXPECT_EQ(driver->close(), 0);
    }
  }
}

TEST(Drivers, AReadEndsWithTheFile) {
  Random random(3);
  for (const Way& way : all_ways(random)) {
    SCOPED_TRACE(way.name);
    // The end lies in a piece, between two pieces in a gap that is read over, before one that is not,
    // nowhere.
    for (const Offset size : {0, 5, 100, 105, 150, 250, 5050, 5100}) {
      const FileName name;
      fill_file(name.get(), Bytes(static_cast<std::size_t>(size), 'x'));
      auto driver = open_driver(way, name.get(), false);
      for (const bool at_once : {true, false}) {
        Pieces pieces;
        Count there = 0;
        for (const Offset at : {0, 140, 200, 5000}) {
          pieces.add(at, 100 - at % 60);
          there += std::clamp<Count>(size - at, 0, 100 - at % 60);
        }
        pieces.place('.');
        const TransferResult done = move(*driver, false, pieces, at_once);
        EXPECT_EQ(done.error, 0);
        EXPECT_EQ(done.bytes, there) << size;
        EXPECT_EQ(std::count(pieces.memory.begin(), pieces.memory.end(), 'x'), there) << size;
      }
    }
  }
}

TEST(Drivers, AFullDeviceIsToldByEveryWay) {
  Random random(5);
  for (const Way& way : all_ways(random)) {
    SCOPED_TRACE(way.name);
    auto driver = open_driver(way, "/dev/full");
    for (const bool at_once : {true, false}) {
      Pieces pieces;
      for (const Offset at : {0, 100, 5000, 20000}) pieces.add(at, 50);
      pieces.place('x');
      const TransferResult done = move(*driver, true, pieces, at_once);
      EXPECT_EQ(done.error, ENOSPC);
      EXPECT_EQ(done.bytes, 0);
    }
  }
}

/// Writes beyond the largest file that the process may have: returns what is wrong.
int exceed_file_size(const Way& way, const char* name) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{10000, 10000};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  auto driver = open_driver(way, name);
  Pieces pieces;
  for (const Offset at : {0, 4000, 9900, 14000}) pieces.add(at, 200);
  pieces.place('x');
  const TransferResult done = move(*driver, true, pieces, false);
  if (done.error != EFBIG) return 2;
  return done.bytes == 500 ? 0 : 3;
}

TEST(Drivers, WhatWasWrittenBeforeAnErrorCounts) {
  Random random(6);
  for (const Way& way : all_ways(random)) {
    SCOPED_TRACE(way.name);
    const FileName name;
    const pid_t child = fork();
    if (child == 0) _exit(exceed_file_size(way, name.get()));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    EXPECT_EQ(content(name.get()).size(), 10000u);
  }
}

TEST(Drivers, BeyondTwoAndFourGiB) {
  Random random(8);
  for (const Way& way : all_ways(random)) {
    SCOPED_TRACE(way.name);
    const FileName name;
    auto driver = open_driver(way, name.get());
    Pieces pieces;
    for (const Offset gib : {1, 2, 4, 5}) pieces.add((gib << 30) - 100, 300);
    pieces.place('y');
    EXPECT_EQ(move(*driver, true, pieces, false).bytes, 1200);
    Offset size = 0;
    EXPECT_EQ(driver->size(&size), 0);
    EXPECT_EQ(size, (Offset{5} << 30) + 200);
    pieces.place('.');
    EXPECT_EQ(move(*driver, false, pieces, true).bytes, 1200);
    EXPECT_EQ(pieces.memory, Bytes(1200, 'y'));
  }
}

TEST(Drivers, WhatIsNotUnderWayIsDone) {
  Random random(8);
  for (const Way& way : all_ways(random)) {
    SCOPED_TRACE(way.name);
    const FileName name;
    auto driver = open_driver(way, name.get());
    const Pieces pieces = regular_pieces(100, 100, 100, 'w');
    EXPECT_FALSE(driver->is_under_way());
    driver->begin(true, pieces.list);
    const std::string_view called(way.name);
    if (called == "clumsy ring") EXPECT_TRUE(driver->is_under_way());
    if (called == "system calls" || called == "no ring") EXPECT_FALSE(driver->is_under_way());
    if (!driver->is_under_way()) EXPECT_EQ(content(name.get()), Bytes(10000, 'w'));
    EXPECT_EQ(driver->finish().bytes, pieces.bytes);
    EXPECT_FALSE(driver->is_under_way());
  }
}

TEST(Drivers, ClosingWaitsForWhatWasBegun) {
  for (const HintSwitch use : {HintSwitch::kEnable, HintSwitch::kAutomatic}) {
    const FileName name;
    Pieces pieces = regular_pieces(1000, 8192, 4096, 'z');
    {
      auto driver = open_driver({"", use, make_ring}, name.get());
      driver->begin(true, pieces.list);
    }
    pieces.place('.');
    auto driver = open_driver({"", use, make_ring}, name.get());
    driver->begin(false, pieces.list);
    EXPECT_EQ(driver->close(), 0);
    EXPECT_EQ(pieces.memory, Bytes(static_cast<std::size_t>(pieces.bytes), 'z'));
  }
}

TEST(Drivers, AChildMayCloseWhatItInherited) {
  const FileName name;
  Pieces pieces = regular_pieces(500, 8192, 4096, 'z');
  auto driver = open_driver({"", HintSwitch::kEnable, make_ring}, name.get());
  EXPECT_EQ(move(*driver, true, pieces, true).error, 0);
  const pid_t child = fork();
  if (child == 0) {
    driver = nullptr;
    _exit(0);
  }
  pieces.place('.');
  driver->begin(false, pieces.list);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(driver->finish().bytes, pieces.bytes);
  EXPECT_EQ(pieces.memory, Bytes(static_cast<std::size_t>(pieces.bytes), 'z'));
}

/// A thread makes rings, too.
std::vector<Way> ways_of_lanes(Random& random) {
  const auto guard = std::make_shared<std::mutex>();
  std::vector<Way> ways = all_ways(random);
  for (Way& way : ways) {
    way.make_ring = [guard, make = way.make_ring](std::string* refusal) {
      const std::lock_guard held(*guard);
      return make(refusal);
    };
  }
  return ways;
}

TEST(Lanes, GoOnSideBySideAndBesideTheFile) {
  Random random(11);
  for (const Way& way : ways_of_lanes(random)) {
    SCOPED_TRACE(way.name);
    const FileName name;
    const auto driver = open_driver(way, name.get());
    constexpr int kLanes = 3;
    constexpr Count kBytes = 300 * 1000;
    for (int round = 0; round < 4; ++round) {
      std::vector<Pieces> pieces;
      std::vector<std::unique_ptr<FileLane>> lanes;
      for (int i = 0; i < kLanes; ++i) {
        pieces.push_back(
            regular_pieces(300, 1000 * kLanes, 1000, static_cast<unsigned char>('a' + i + round)));
        for (FilePiece& piece : pieces.back().list) piece.offset += i * 1000;
        lanes.push_back(driver->open_lane());
      }
      for (int i = 0; i < kLanes; ++i) lanes[i]->begin(true, pieces[i].list);
      Pieces beside = regular_pieces(1, 1, 1, 'x');
      beside.list[0].offset = kLanes * kBytes;
      EXPECT_EQ(driver->write_at(beside.list).bytes, 1);
      for (int i = 0; i < kLanes; ++i) {
        while (!lanes[i]->is_over()) std::this_thread::yield();
        EXPECT_EQ(lanes[i]->finish().bytes, kBytes);
        pieces[i].place('.');
        lanes[i]->begin(false, pieces[i].list);
      }
      for (int i = 0; i < kLanes; ++i) {
        const TransferResult done = lanes[i]->finish();  // which waits
        EXPECT_EQ(done.error, 0);
        EXPECT_EQ(done.bytes, kBytes);
        EXPECT_EQ(pieces[i].memory, Bytes(kBytes, static_cast<unsigned char>('a' + i + round)));
      }
    }
  }
}

TEST(Lanes, TellErrorsAndTheEndOfTheFile) {
  Random random(12);
  for (const Way& way : ways_of_lanes(random)) {
    SCOPED_TRACE(way.name);
    const FileName name;
    fill_file(name.get(), Bytes(700, 'o'));
    const auto driver = open_driver(way, name.get());
    Pieces pieces = regular_pieces(10, 100, 100, '.');
    {
      const auto lane = driver->open_lane();
      lane->begin(false, pieces.list);
      const TransferResult done = lane->finish();
      EXPECT_EQ(done.error, 0);
      EXPECT_EQ(done.bytes, 700);
      pieces.list[4].offset = -1000;  // -1 stands for the place of the descriptor in a ring
      lane->begin(true, pieces.list);
      const TransferResult refused = lane->finish();
      EXPECT_EQ(refused.error, EINVAL);
      EXPECT_EQ(refused.bytes, 400);
      lane->begin(true, {});
      EXPECT_TRUE(lane->is_over());
      EXPECT_EQ(lane->finish().bytes, 0);
      lane->begin(true, std::span(pieces.list).first(4));  // goes with the lane, which waits for it
    }
    EXPECT_EQ(driver->close(), 0);
  }
}

TEST(Lanes, AChildMayCloseWhatItInherited) {
  Random random(13);
  for (const Way& way : ways_of_lanes(random)) {
    const FileName name;
    Pieces pieces = regular_pieces(500, 8192, 4096, 'z');
    auto driver = open_driver(way, name.get());
    auto lane = driver->open_lane();
    lane->begin(true, pieces.list);
    EXPECT_EQ(lane->finish().bytes, pieces.bytes);
    const pid_t child = fork();
    if (child == 0) {
      lane = nullptr;
      driver = nullptr;
      _exit(0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    lane->begin(true, pieces.list);
    EXPECT_EQ(lane->finish().bytes, pieces.bytes);
  }
}

/// Who moves what of a lane that waits: its thread stays in its first share until it may go on.
struct Sharers {
  std::mutex guard;
  std::vector<FilePiece> by_caller, by_thread;
  std::atomic<bool> is_in_share = false, may_go_on = false;

  LaneCalls calls(int error_at = -1) {
    const auto note = [this, error_at](std::vector<FilePiece>* pieces, auto moved) {
      const std::lock_guard held(guard);
      TransferResult done;
      for (const FilePiece& piece : moved) {
        pieces->push_back(piece);
        if (error_at >= 0 && piece.offset <= error_at && error_at < piece.offset + piece.bytes) {
          done.bytes += error_at - piece.offset;
          done.error = EIO;
          break;
        }
        done.bytes += piece.bytes;
      }
      return done;
    };
    return {.by_caller = [this, note](bool, auto pieces) { return note(&by_caller, pieces); },
            .by_thread =
                [this, note](bool, auto pieces) {
                  is_in_share = true;
                  is_in_share.notify_all();
                  may_go_on.wait(false);
                  return note(&by_thread, pieces);
                },
            .read_from_cache = [](auto, TransferResult*) { return false; }};
  }
  void let_go() {
    may_go_on = true;
    may_go_on.notify_all();
  }
};

TEST(Lanes, ACallerThatWaitsDoesWhatTheThreadHasNotTaken) {
  Sharers who;
  const auto lane = make_shared_lane(who.calls());
  std::vector<std::byte> memory(1);
  const FilePiece all{kShareBytes / 3, memory.data(), 5 * kShareBytes};
  lane->begin(true, {&all, 1});
  who.is_in_share.wait(false);
  int helped = 0;
  while (lane->help()) ++helped;
  EXPECT_EQ(helped, 4);
  EXPECT_FALSE(lane->is_over());
  who.let_go();
  const TransferResult done = lane->finish();
  EXPECT_EQ(done.bytes, all.bytes);
  EXPECT_EQ(done.error, 0);
  EXPECT_TRUE(lane->is_over());
  // Each byte once, in pieces that end at multiples of a share.
  std::vector<FilePiece> pieces = who.by_thread;
  pieces.insert(pieces.end(), who.by_caller.begin(), who.by_caller.end());
  std::sort(pieces.begin(), pieces.end(),
            [](const FilePiece& one, const FilePiece& other) { return one.offset < other.offset; });
  Offset at = all.offset;
  for (const FilePiece& piece : pieces) {
    EXPECT_EQ(piece.offset, at);
    EXPECT_EQ(piece.memory - all.memory, at - all.offset);
    at += piece.bytes;
    EXPECT_TRUE(at % kShareBytes == 0 || at == all.offset + all.bytes) << at;
  }
  EXPECT_EQ(at, all.offset + all.bytes);
}

TEST(Lanes, TheThreadDoesAllForACallerThatComputes) {
  Sharers who;
  who.let_go();
  const auto lane = make_shared_lane(who.calls());
  std::vector<std::byte> memory(1);
  const FilePiece all{0, memory.data(), 5 * kShareBytes};
  for (int round = 0; round < 20; ++round) {
    lane->begin(true, {&all, 1});
    // The thread goes on behind a share that the caller took, if that takes no more.
    if (round % 4 == 1) EXPECT_TRUE(lane->help() || lane->is_over());
    while (!lane->is_over()) std::this_thread::yield();
    EXPECT_EQ(lane->finish().bytes, all.bytes);
  }
  EXPECT_GE(who.by_thread.size(), 95u);
}

TEST(Lanes, AnErrorCountsWhatLiesBefore) {
  for (const bool helps : {false, true}) {
    Sharers who;
    who.let_go();
    const auto lane = make_shared_lane(who.calls(3 * kShareBytes + 5));
    std::vector<std::byte> memory(1);
    const FilePiece all{0, memory.data(), 6 * kShareBytes};
    lane->begin(false, {&all, 1});
    while (helps ? lane->help() : !lane->is_over()) std::this_thread::yield();
    const TransferResult done = lane->finish();
    EXPECT_EQ(done.bytes, 3 * kShareBytes + 5);
    EXPECT_EQ(done.error, EIO);
  }
}

TEST(Drivers, ARefusedRingIsToldOnce) {
  const FileName name;
  PosixParts parts;
  parts.make_ring = [](std::string* refusal) {
    *refusal = "not today";
    return nullptr;
  };
  std::vector<std::string> told;
  OpenHow how{.read = true, .write = true};
  how.io_uring = HintSwitch::kEnable;
  how.tell = [&told](const std::string& line) { told.push_back(line); };
  std::unique_ptr<FileDriver> driver;
  ASSERT_EQ(make_posix_storage(std::move(parts))->open(name.get(), how, &driver), 0);
  Pieces pieces;
  for (const Offset at : {0, 9000}) pieces.add(at, 50);
  pieces.place('x');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(move(*driver, true, pieces, true).bytes, 100);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("not today"), std::string::npos) << told[0];
}

TEST(PieceCalls, SmallGapsAreOneCallAndLargeOnesAreNot) {
  const auto calls = [](Count gap, bool over) {
    const Pieces pieces = regular_pieces(100, 64 + gap, 64, 0);
    std::vector<std::byte> unread(static_cast<std::size_t>(kGapBytesMax));
    std::vector<iovec> vectors(kCallVectorsMax);
    Count made = 0;
    for (PiecePlace place; place.index < pieces.list.size(); ++made)
      place = make_call(pieces.list, place, over ? unread.data() : nullptr, vectors).end;
    return made;
  };
  EXPECT_EQ(calls(0, false), 1);
  EXPECT_EQ(calls(1, true), 1);
  EXPECT_EQ(calls(kGapBytesMax, true), 1);
  EXPECT_EQ(calls(kGapBytesMax + 1, true), 100);
  EXPECT_EQ(calls(1, false), 100);  // a write keeps to its own bytes
}

TEST(PieceCalls, OneCallIsNeverTooLarge) {
  std::byte byte{};
  const FilePiece huge{7, &byte, (Count{5} << 30) + 3};
  std::vector<iovec> vectors(4);
  PiecePlace place;
  Count bytes = 0;
  while (place.index < 1) {
    const PieceCall call = make_call({&huge, 1}, place, nullptr, vectors);
    EXPECT_EQ(call.offset, 7 + bytes);
    EXPECT_LE(call.bytes, kCallBytesMax);
    EXPECT_EQ(advance({&huge, 1}, &place, call.bytes), call.bytes);
    bytes += call.bytes;
  }
  EXPECT_EQ(bytes, huge.bytes);
}

}  // namespace
}  // namespace tasuki::test
