// The group limit: what two processes do without MPI between them, by bare loads, stores and memcpy in memory
// that both map (../shared_pair.h). "line": a cache line goes over; "copy": a message is one memcpy and a
// flag or two, by the sender (push), the receiver (pull) or half by each (both); "stream": lines, one after
// the other.
#include "../shared_pair.h"

#include <algorithm>
#include <cstdint>

#include "buffers.hpp"
#include "suite.hpp"

namespace mbl {

namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::int64_t kBufferMin = 4 * kKiB;

/// Ranks 0 and 1 and their memory; where they have none to share the case is not supported.
class PairPattern : public Pattern {
 public:
  explicit PairPattern(const Setting& setting) : setting_(setting) {
    const auto bytes = static_cast<std::size_t>(std::max(setting.bytes, kBufferMin));
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
  Setting setting_;
  SharedPair pair_{};

 private:
  bool open_ = false;
};

/// Over and back in each round.
class CopyPattern : public PairPattern {
 public:
  CopyPattern(const Setting& setting, CopyMode mode, bool touched)
      : PairPattern(setting), mode_(mode), touched_(touched) {}

  void run(int rounds) override {
    volatile std::uint64_t sink = 0;
    for (int round = 0; round < rounds; ++round) {
      if (touched_) write_lines(pair_out(&pair_, pair_.rank), setting_.bytes, round);
      pair_message(&pair_, 0, bytes(), mode_);
      pair_message(&pair_, 1, bytes(), mode_);
      if (touched_) sink = sink + read_lines(pair_in(&pair_, pair_.rank), setting_.bytes);
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
  std::size_t bytes() const { return static_cast<std::size_t>(setting_.bytes); }
  static std::uint64_t seed(int rank) { return 1000 + static_cast<std::uint64_t>(rank); }

  CopyMode mode_;
  bool touched_;
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

}  // namespace

void add_limits(Catalogue& catalogue) {
  Benchmark line = pair_benchmark("line", "", "a cache line from one process to the other, without MPI");
  line.bytes = line.quick_bytes = {0};
  line.make = [](const Setting& setting) { return std::make_unique<CopyPattern>(setting, kPush, false); };
  catalogue.push_back(line);
  for (const bool touched : {false, true}) {
    for (const CopyMode mode : {kPush, kPull, kBoth}) {
      Benchmark copy = pair_benchmark(
          "copy", std::string("mode=") + kCopyModes[mode] + ",touched=" + (touched ? "yes" : "no"),
          "a message by one memcpy and a flag, without MPI");
      copy.bytes = powers_of_two(512, 8 * kMiB);
      copy.quick_bytes = copy.bytes;
      if (touched) copy.quick_bytes = {128 * kKiB, kMiB};
      copy.make = [mode, touched](const Setting& setting) {
        return std::make_unique<CopyPattern>(setting, mode, touched);
      };
      catalogue.push_back(copy);
    }
  }
  Benchmark stream = pair_benchmark("stream", "", "one of many cache lines in a row, without MPI");
  stream.bytes = stream.quick_bytes = {kLineBytes};
  stream.divisor = StreamPattern::kBurst;
  stream.make = [](const Setting& setting) { return std::make_unique<StreamPattern>(setting); };
  catalogue.push_back(stream);
}

}  // namespace mbl
