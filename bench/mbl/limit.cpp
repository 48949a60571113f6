// The group limit: what two processes do without MPI between them, by bare loads, stores and memcpy in memory
// that both map (../shared_pair.h). "line": a cache line goes over; "copy": a message is one memcpy and a
// flag or two, by the sender (push), the receiver (pull) or half by each (both); "strided": so is one of
// blocks with gaps, by both; "stream": lines, one after the other; "meet": both come together; "move": both
// come together after the copies of a collective that only moves data, each rank its share. Where data are in
// use (Use), each rank writes what goes from it before, and reads what came to it after.
#include "../shared_pair.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "suite.hpp"

namespace mbl {

namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::int64_t kBufferMin = 4 * kKiB;

/// Ranks 0 and 1 and their memory; where they have none to share the case is not supported.
class PairPattern : public Pattern {
 public:
  /// Each rank's buffers have room for `times` the size.
  explicit PairPattern(const Setting& setting, int times = 1) : setting_(setting) {
    const auto bytes = static_cast<std::size_t>(std::max(times * setting.bytes, kBufferMin));
    open_ = pair_open(&pair_, bytes, setting.comm) == 0;
  }
  ~PairPattern() override {
    if (open_) pair_close(&pair_);
  }
  std::string check() override {
    if (!open_) return std::string(kUnsupported) + "the ranks have no memory to share";
    return check_pair();
  }

 protected:
  virtual std::string check_pair() = 0;
  bool is_open() const { return open_; }
  std::size_t bytes() const { return static_cast<std::size_t>(setting_.bytes); }
  Setting setting_;
  SharedPair pair_{};

 private:
  bool open_ = false;
};

/// Over and back in each round.
class CopyPattern : public PairPattern {
 public:
  CopyPattern(const Setting& setting, CopyMode mode) : PairPattern(setting), mode_(mode) {
    if (!is_open()) return;
    use_.gives(pair_out(&pair_, pair_.rank), setting.bytes);
    use_.gets(pair_in(&pair_, pair_.rank), setting.bytes);
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      pair_message(&pair_, 0, bytes(), mode_);
      pair_message(&pair_, 1, bytes(), mode_);
      use_.read();
    }
  }

  std::string check_pair() override {
    if (setting_.bytes == 0) {
      run(1);
      return kNotChecked;
    }
    fill(pair_out(&pair_, pair_.rank), setting_.bytes, seed(pair_.rank));
    pair_meet(&pair_);
    pair_message(&pair_, 0, bytes(), mode_);
    pair_message(&pair_, 1, bytes(), mode_);
    return compare(pair_in(&pair_, pair_.rank), setting_.bytes, seed(1 - pair_.rank));
  }

 private:
  static std::uint64_t seed(int rank) { return 1000 + static_cast<std::uint64_t>(rank); }

  CopyMode mode_;
};

/// A burst of lines in each round, and an answer.
class StreamPattern : public PairPattern {
 public:
  using PairPattern::PairPattern;
  void run(int rounds) override { pair_stream_seconds(&pair_, kBurst, rounds); }
  std::string check_pair() override {
    run(1);
    return kNotChecked;
  }

  static constexpr int kBurst = 64;
};

/// A message of blocks, as mbl's layout=vector has them: each rank copies every other one, then both meet.
/// Over and back in each round.
class StridedPattern : public PairPattern {
 public:
  static constexpr std::int64_t kBlock = 512, kStride = 1024;
  explicit StridedPattern(const Setting& setting) : PairPattern(setting, kStride / kBlock) {
    if (!is_open()) return;
    use_.gives(pair_out(&pair_, pair_.rank), 2 * setting.bytes);
    use_.gets(pair_in(&pair_, pair_.rank), 2 * setting.bytes);
  }
  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      message(0);
      message(1);
      use_.read();
    }
  }
  std::string check_pair() override {
    fill(pair_out(&pair_, pair_.rank), 2 * setting_.bytes, 1);
    pair_meet(&pair_);
    run(1);
    for (std::int64_t at = 0; at < 2 * setting_.bytes; at += kStride) {
      if (std::memcmp(pair_in(&pair_, pair_.rank) + at, pair_out(&pair_, pair_.rank) + at, kBlock) != 0)
        return "a block has not come";
    }
    return {};
  }

 private:
  void message(int from) {
    const std::uint64_t turn = ++pair_.turn;
    if (pair_.rank == from) pair_set(pair_line(&pair_, 1 - from, 1), turn);
    if (pair_.rank != from) pair_await(pair_line(&pair_, 1 - from, 1), turn);
    for (std::int64_t at = pair_.rank == from ? 0 : kStride; at < 2 * setting_.bytes; at += 2 * kStride)
      std::memcpy(pair_in(&pair_, 1 - from) + at, pair_out(&pair_, from) + at, kBlock);
    pair_set(pair_line(&pair_, 1 - pair_.rank, 2), turn);
    pair_await(pair_line(&pair_, pair_.rank, 2), turn);
  }
};

/// A block of rank `from`'s that goes to a place among rank `to`'s.
struct Move {
  int from, from_block, to, to_block;
};

/// What one of two ranks copies in a collective whose root is rank 0. Of a broadcast each rank copies a half.
using Moves = std::vector<Move> (*)(int rank);
struct Collective {
  const char* name;
  Moves moves;
  bool halves;
};
const Collective kCollectives[] = {
    {"meet", [](int) { return std::vector<Move>{}; }, false},
    {"bcast",
     [](int) {
       return std::vector<Move>{{0, 0, 1, 0}};
     },
     true},
    {"gather",
     [](int rank) {
       return std::vector<Move>{{rank, 0, 0, rank}};
     },
     false},
    {"scatter",
     [](int rank) {
       return std::vector<Move>{{0, rank, rank, 0}};
     },
     false},
    {"allgather",
     [](int rank) {
       return std::vector<Move>{{rank, 0, rank, rank}, {1 - rank, 0, rank, 1 - rank}};
     },
     false},
    {"alltoall",
     [](int rank) {
       return std::vector<Move>{{rank, rank, rank, rank}, {1 - rank, rank, rank, 1 - rank}};
     },
     false},
};

/// A rank copies what data in use are when both have written theirs.
class MovePattern : public PairPattern {
 public:
  MovePattern(const Setting& setting, const Collective& collective, bool touched)
      : PairPattern(setting, 2),
        halves_(collective.halves),
        touched_(touched),
        moves_{collective.moves(0), collective.moves(1)} {
    for (int rank = 0; is_open() && rank < 2; ++rank) {
      for (const Move& move : moves_[rank]) {
        if (move.from == pair_.rank) use_.gives(from(move), setting.bytes);
        if (move.to == pair_.rank) use_.gets(to(move), setting.bytes);
      }
    }
  }

  void run(int rounds) override {
    const std::size_t half = halves_ ? bytes() / 2 : 0;
    const std::size_t begin = pair_.rank == 1 ? half : 0;
    const std::size_t length = !halves_ ? bytes() : pair_.rank == 0 ? half : bytes() - half;
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      if (touched_) pair_meet(&pair_);
      for (const Move& move : moves_[pair_.rank]) std::memcpy(to(move) + begin, from(move) + begin, length);
      pair_meet(&pair_);
      use_.read();
    }
  }

  std::string check_pair() override {
    for (const int block : {0, 1})
      fill(pair_out(&pair_, pair_.rank) + static_cast<std::size_t>(block) * bytes(), setting_.bytes,
           seed(pair_.rank, block));
    pair_meet(&pair_);
    run(1);
    for (const auto& moves : moves_) {
      for (const Move& move : moves) {
        if (move.to != pair_.rank) continue;
        const std::string wrong = compare(to(move), setting_.bytes, seed(move.from, move.from_block));
        if (!wrong.empty()) return wrong;
      }
    }
    return bytes() == 0 ? kNotChecked : "";
  }

 private:
  unsigned char* from(const Move& move) {
    return pair_out(&pair_, move.from) + static_cast<std::size_t>(move.from_block) * bytes();
  }
  unsigned char* to(const Move& move) {
    return pair_in(&pair_, move.to) + static_cast<std::size_t>(move.to_block) * bytes();
  }
  static std::uint64_t seed(int rank, int block) { return static_cast<std::uint64_t>(2 * rank + block + 1); }

  bool halves_, touched_;
  std::vector<Move> moves_[2];  // of each rank
};

Benchmark pair_benchmark(const char* name, std::string variant, const char* doc) {
  Benchmark benchmark;
  benchmark.group = "limit";
  benchmark.name = name;
  benchmark.variant = std::move(variant);
  benchmark.doc = doc;
  benchmark.ranks_min = benchmark.ranks_max = 2;
  benchmark.who = Who::kFirst;
  benchmark.divisor = 2;
  return benchmark;
}

void add_collective_limits(Catalogue& catalogue) {
  for (const Collective& collective : kCollectives) {
    const bool meet = collective.moves(0).empty();
    Benchmark move = pair_benchmark(meet ? "meet" : "move", meet ? "" : std::string("of=") + collective.name,
                                    meet ? "both come together, without MPI"
                                         : "the copies of a collective, each rank its share, without MPI");
    move.bytes = meet ? std::vector<std::int64_t>{0} : powers_of_two(8, 4 * kMiB);
    move.divisor = 1;
    move.who = Who::kSlowest;
    const auto pattern = [&collective](bool touched) {
      return [&collective, touched](const Setting& setting) {
        return std::make_unique<MovePattern>(setting, collective, touched);
      };
    };
    move.make = pattern(false);
    if (meet) {
      catalogue.push_back(move);
      continue;
    }
    add_untouched(catalogue, move);
    move.make = pattern(true);
    add_in_use(catalogue, move);
  }
}

}  // namespace

void add_limits(Catalogue& catalogue) {
  Benchmark line = pair_benchmark("line", "", "a cache line from one process to the other, without MPI");
  line.bytes = line.quick_bytes = {0};
  line.make = [](const Setting& setting) { return std::make_unique<CopyPattern>(setting, kPush); };
  catalogue.push_back(line);
  for (const CopyMode mode : {kPush, kPull, kBoth, kCells}) {
    Benchmark copy =
        pair_benchmark("copy", std::string("mode=") + kCopyModes[mode],
                       mode == kCells ? "a message by two memcpys at once, through cells, without MPI"
                                      : "a message by one memcpy and a flag, without MPI");
    copy.bytes = copy.quick_bytes = powers_of_two(512, 8 * kMiB);
    copy.make = [mode](const Setting& setting) { return std::make_unique<CopyPattern>(setting, mode); };
    add_in_use(catalogue, copy, {kMiB});
  }
  Benchmark strided = pair_benchmark("strided", "", "a message of blocks, half of them by each, without MPI");
  strided.bytes = powers_of_two(StridedPattern::kStride, 8 * kMiB);
  strided.unit = StridedPattern::kBlock;
  strided.make = [](const Setting& setting) { return std::make_unique<StridedPattern>(setting); };
  add_in_use(catalogue, strided);
  Benchmark stream = pair_benchmark("stream", "", "one of many cache lines in a row, without MPI");
  stream.bytes = stream.quick_bytes = {kLineBytes};
  stream.divisor = StreamPattern::kBurst;
  stream.make = [](const Setting& setting) { return std::make_unique<StreamPattern>(setting); };
  catalogue.push_back(stream);
  add_collective_limits(catalogue);
}

}  // namespace mbl
