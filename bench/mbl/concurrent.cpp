// The group concurrent: all ranks send at once. Shift: each to one other. Exchange: each to every other, in
// the ways of the Earth Simulator's benchmark: by MPI_Isend and one MPI_Waitall, by MPI_Send, by MPI_Put
// between fences, and by MPI_Send with an MPI_Barrier after each step; MPI_Alltoall beside them. Receives are
// posted before anything is sent. (concurrent_halo.cpp has the exchange of halos.)
//
// Orders of an exchange: "shifted", in step i rank r sends to (r + i) mod size, so that in no step two send
// to the same; "naive", every rank sends to 0, 1, 2, … . Bytes are those of one message. One thread.
#include "concurrent.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "suite.hpp"

namespace mbl {
namespace {

constexpr std::int64_t kBytesMin = 8, kBytesMax = 8 << 20;
const std::vector<std::int64_t> kQuickBytes = {1 << 10, 64 << 10, 1 << 20};

int words_in(const Setting& setting) {
  return static_cast<int>(setting.bytes / static_cast<std::int64_t>(kWordBytes));
}

/// A window over all of some blocks, with an access epoch begun. Collective.
class FencedWindow {
 public:
  FencedWindow(const Blocks& blocks, MPI_Comm comm) {
    const auto bytes = static_cast<MPI_Aint>(blocks.words()) * static_cast<MPI_Aint>(kWordBytes);
    MPI_Win_create(blocks.data(), bytes, static_cast<int>(kWordBytes), MPI_INFO_NULL, comm, &window_);
    MPI_Win_fence(0, window_);
  }
  FencedWindow(const FencedWindow&) = delete;
  FencedWindow& operator=(const FencedWindow&) = delete;
  ~FencedWindow() {
    MPI_Win_fence(0, window_);
    MPI_Win_free(&window_);
  }
  void put(const double* from, int words, int target, int first_word) const {
    MPI_Put(from, words, MPI_DOUBLE, target, first_word, words, MPI_DOUBLE, window_);
  }
  void fence() const { MPI_Win_fence(0, window_); }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

enum class ShiftWay { kSendrecv, kIsendIrecv, kPutFence };

/// Every rank sends one block to the rank `distance` above it, and receives from the one below.
class Shift : public Pattern {
 public:
  Shift(const Setting& setting, ShiftWay way, bool half)
      : setting_(setting),
        way_(way),
        above_((setting.rank + distance(setting.size, half)) % setting.size),
        below_((setting.rank - distance(setting.size, half) + setting.size) % setting.size),
        words_(words_in(setting)),
        out_({Route{setting.rank, above_}}, words_, Lengths::kEven),
        in_({Route{below_, setting.rank}}, words_, Lengths::kEven) {
    out_.fill();
    in_.poison();
    use_.gives(out_.data(), setting.bytes);
    use_.gets(in_.data(), setting.bytes);
    if (way == ShiftWay::kPutFence) window_ = std::make_unique<FencedWindow>(in_, setting.comm);
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      if (way_ == ShiftWay::kSendrecv) {
        MPI_Sendrecv(out_.data(), words_, MPI_DOUBLE, above_, 0, in_.data(), words_, MPI_DOUBLE, below_, 0,
                     setting_.comm, MPI_STATUS_IGNORE);
      } else if (way_ == ShiftWay::kIsendIrecv) {
        MPI_Request requests[2];
        MPI_Irecv(in_.data(), words_, MPI_DOUBLE, below_, 0, setting_.comm, &requests[0]);
        MPI_Isend(out_.data(), words_, MPI_DOUBLE, above_, 0, setting_.comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      } else {
        if (use_.is_on()) window_->fence();  // nobody puts before we have read
        window_->put(out_.data(), words_, above_, 0);
        window_->fence();
      }
      use_.read();
    }
  }

  std::string check() override {
    out_.fill();
    in_.poison();
    if (window_) window_->fence();  // nobody puts before we have poisoned
    run(1);
    return in_.wrong();
  }

 private:
  static int distance(int size, bool half) { return half ? size / 2 : 1; }

  const Setting setting_;
  const ShiftWay way_;
  const int above_, below_, words_;
  Blocks out_, in_;
  std::unique_ptr<FencedWindow> window_;
};

enum class ExchangeWay { kIsend, kSend, kSendBarrier, kPutFence, kAlltoall };

/// Every rank sends a block to every other. (MPI_Alltoall copies a rank's own block too.)
class Exchange : public Pattern {
 public:
  Exchange(const Setting& setting, ExchangeWay way, bool naive, Memory memory)
      : setting_(setting),
        way_(way),
        words_(words_in(setting)),
        out_(routes(setting, true), words_, Lengths::kEven, memory),
        in_(routes(setting, false), words_, Lengths::kEven, memory) {
    for (int step = naive ? 0 : 1; step < setting.size; ++step) {
      const int target = naive ? step : (setting.rank + step) % setting.size;
      targets_.push_back(target == setting.rank ? MPI_PROC_NULL : target);
    }
    for (int other = 0; other < setting.size; ++other) {
      if (other == setting.rank) continue;
      use_.gives(out_.block(other), setting.bytes);
      use_.gets(in_.block(other), setting.bytes);
    }
    requests_.resize(2 * static_cast<std::size_t>(setting.size));
    out_.fill();
    in_.poison();
    if (way == ExchangeWay::kPutFence) window_ = std::make_unique<FencedWindow>(in_, setting.comm);
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      switch (way_) {
        case ExchangeWay::kIsend:
          send_at_once();
          break;
        case ExchangeWay::kSend:
          send_one_by_one(false);
          break;
        case ExchangeWay::kSendBarrier:
          send_one_by_one(true);
          break;
        case ExchangeWay::kPutFence:
          if (use_.is_on()) window_->fence();  // nobody puts before we have read
          for (const int target : targets_) {
            if (target != MPI_PROC_NULL) put(target);
          }
          window_->fence();
          break;
        case ExchangeWay::kAlltoall:
          MPI_Alltoall(out_.data(), words_, MPI_DOUBLE, in_.data(), words_, MPI_DOUBLE, setting_.comm);
          break;
      }
      use_.read();
    }
  }

  std::string check() override {
    out_.fill();
    in_.poison();
    const int own = setting_.rank;
    if (way_ != ExchangeWay::kAlltoall) in_.fill(Route{own, own}, own);  // no rank sends it
    if (window_) window_->fence();  // nobody puts before we have poisoned
    run(1);
    return in_.wrong();
  }

 private:
  static std::vector<Route> routes(const Setting& setting, bool sends) {
    std::vector<Route> routes;
    for (int other = 0; other < setting.size; ++other) {
      routes.push_back(sends ? Route{setting.rank, other} : Route{other, setting.rank});
    }
    return routes;
  }

  /// From the rank just below first, as they send when the order is shifted. Returns how many.
  int post_receives() {
    int posted = 0;
    for (int step = 1; step < setting_.size; ++step) {
      const int source = (setting_.rank - step + setting_.size) % setting_.size;
      MPI_Irecv(in_.block(source), words_, MPI_DOUBLE, source, 0, setting_.comm, &requests_[index(posted++)]);
    }
    return posted;
  }

  void send_at_once() {
    int posted = post_receives();
    for (const int target : targets_) {
      if (target == MPI_PROC_NULL) continue;
      MPI_Isend(out_.block(target), words_, MPI_DOUBLE, target, 0, setting_.comm,
                &requests_[index(posted++)]);
    }
    MPI_Waitall(posted, requests_.data(), MPI_STATUSES_IGNORE);
  }

  void send_one_by_one(bool barrier) {
    const int posted = post_receives();
    for (const int target : targets_) {
      if (target != MPI_PROC_NULL) MPI_Send(out_.block(target), words_, MPI_DOUBLE, target, 0, setting_.comm);
      if (barrier) MPI_Barrier(setting_.comm);
    }
    MPI_Waitall(posted, requests_.data(), MPI_STATUSES_IGNORE);
  }

  void put(int target) const { window_->put(out_.block(target), words_, target, setting_.rank * words_); }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  const Setting setting_;
  const ExchangeWay way_;
  const int words_;
  Blocks out_, in_;
  std::vector<int> targets_;  // in the order of the steps; MPI_PROC_NULL: a step without a message
  std::vector<MPI_Request> requests_;
  std::unique_ptr<FencedWindow> window_;
};

Benchmark benchmark_of(const char* name, std::string variant, std::string doc) {
  Benchmark benchmark;
  benchmark.group = "concurrent";
  benchmark.name = name;
  benchmark.variant = std::move(variant);
  benchmark.doc = std::move(doc);
  benchmark.bytes = powers_of_two(kBytesMin, kBytesMax);
  benchmark.unit = kWordBytes;
  return benchmark;
}

void add_shift(Catalogue& catalogue, ShiftWay way, const char* way_name, const char* calls) {
  for (const bool half : {false, true}) {
    Benchmark benchmark = benchmark_of(
        "shift", std::string("way=") + way_name + ",distance=" + (half ? "half" : "1"),
        std::string("every rank sends M bytes to rank + ") + (half ? "size / 2" : "1") + " by " + calls);
    // Below 4 ranks a half is 1, too.
    benchmark.ranks_min = half ? 4 : 1;
    benchmark.quick_bytes = half ? std::vector<std::int64_t>{64 << 10} : kQuickBytes;
    benchmark.make = [way, half](const Setting& setting) -> std::unique_ptr<Pattern> {
      if (!fits_int(setting, 1, kWordBytes)) return std::make_unique<Unsupported>(kTooLarge);
      return std::make_unique<Shift>(setting, way, half);
    };
    enter(catalogue, std::move(benchmark));
  }
}

void add_exchange(Catalogue& catalogue, ExchangeWay way, const char* way_name, const char* calls, bool naive,
                  Memory memory) {
  const char* order = way == ExchangeWay::kAlltoall ? "library" : naive ? "naive" : "shifted";
  Benchmark benchmark = benchmark_of(
      "exchange", std::string("way=") + way_name + ",order=" + order + ",memory=" + name_of(memory),
      std::string("every rank sends M bytes to every other by ") + calls +
          (naive ? ", all in the order 0, 1, 2, …" : ""));
  // Of two ranks each has one to send to, in either order.
  benchmark.ranks_min = naive ? 3 : 2;
  if (memory == Memory::kMalloc) {
    benchmark.quick_bytes = naive ? std::vector<std::int64_t>{64 << 10} : kQuickBytes;
  }
  benchmark.factor = [](int size) { return size - 1.0; };
  benchmark.make = [=](const Setting& setting) -> std::unique_ptr<Pattern> {
    if (!fits_int(setting, setting.size, kWordBytes)) return std::make_unique<Unsupported>(kTooLarge);
    return std::make_unique<Exchange>(setting, way, naive, memory);
  };
  enter(catalogue, std::move(benchmark));
}

}  // namespace

void enter(Catalogue& catalogue, Benchmark benchmark) {
  add_in_use(catalogue, benchmark);
  benchmark.quick_bytes.clear();
  add_untouched(catalogue, std::move(benchmark));
}

void add_concurrent(Catalogue& catalogue) {
  add_shift(catalogue, ShiftWay::kSendrecv, "sendrecv", "MPI_Sendrecv");
  add_shift(catalogue, ShiftWay::kIsendIrecv, "isend_irecv", "MPI_Irecv, MPI_Isend and MPI_Waitall");
  add_shift(catalogue, ShiftWay::kPutFence, "put_fence", "MPI_Put and MPI_Win_fence");
  const struct {
    ExchangeWay way;
    const char* name;
    const char* calls;
  } ways[] = {
      {ExchangeWay::kIsend, "isend", "MPI_Irecv, MPI_Isend and one MPI_Waitall"},
      {ExchangeWay::kSend, "send", "MPI_Irecv and MPI_Send"},
      {ExchangeWay::kSendBarrier, "send_barrier", "MPI_Irecv and MPI_Send, an MPI_Barrier after each step"},
      {ExchangeWay::kPutFence, "put_fence", "MPI_Put and one MPI_Win_fence"},
  };
  for (const auto& [way, name, calls] : ways) {
    add_exchange(catalogue, way, name, calls, false, Memory::kMalloc);
    add_exchange(catalogue, way, name, calls, false, Memory::kAllocMem);
    add_exchange(catalogue, way, name, calls, true, Memory::kMalloc);
  }
  add_exchange(catalogue, ExchangeWay::kAlltoall, "alltoall", "MPI_Alltoall", false, Memory::kMalloc);
  add_halos(catalogue);
}

}  // namespace mbl
