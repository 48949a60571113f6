// The group point_to_point: ping, ping-pong, latency, both directions at once, rate, and many pairs.
//
// One message can be sent in many ways: modes, memory, layouts, ways to receive. Their product would take
// hours, and would say little: each is varied alone, around the ping-pong of MPI_Send with data in use and a
// receive posted before (docs/mbl.md). The lists at the end of this file are what is measured.
#include <memory>
#include <optional>

#include "buffers.hpp"
#include "channel.hpp"
#include "layout.hpp"
#include "suite.hpp"

namespace mbl {

namespace {

constexpr int kTag = 1;
constexpr int kLatencyCalls = 200;  // back to back
constexpr double kLateSeconds = 1e-3;
constexpr int kWindow = 64;  // of messages that are under way at once, before an answer
/// Buffers that take turns are this much memory: more than a processor's own caches have.
constexpr std::int64_t kRotationBytes = 64 << 20;

std::uint64_t seed_of(int rank) {
  return static_cast<std::uint64_t>(rank) + 1;
}

/// One way to play ping-pong.
struct Variant {
  const SendMode* mode = &send_modes().front();
  Memory memory = Memory::kMalloc;
  bool touched = true;  // data are in use (Use)
  Shape shape = Shape::kContiguous;
  Receive receive = Receive::kPosted;
  bool rotated = false;  // buffers take turns, so they are in no near cache

  std::string text() const {
    return std::string("mode=") + mode->name + ",memory=" + name_of(memory) +
           ",touched=" + (touched ? "yes" : "no") + ",layout=" + name_of(shape) +
           ",receive=" + (mode->partitioned() ? "partitioned" : name_of(receive)) +
           ",cache=" + (rotated ? "rotated" : "warm");
  }
};

/// Both post a receive before the message can come, also in all rounds but the first without a barrier
/// between: rank 1 posts that of the next round before it answers.
class PingPong : public Pattern {
 public:
  PingPong(const Setting& setting, const Variant& variant)
      : setting_(setting),
        variant_(variant),
        layout_(variant.shape, setting.bytes),
        places_(variant.rotated
                    ? std::max<std::int64_t>(1, kRotationBytes / std::max<std::int64_t>(1, layout_.span()))
                    : 1),
        out_(layout_.span() * places_, variant.memory),
        in_(layout_.span() * places_, variant.memory),
        channel_(*variant.mode, variant.receive,
                 {out_.data(), in_.data(), layout_.count(), layout_.type(), 1 - setting.rank, setting.comm}) {
    name_buffers();
  }

  void prepare(int rounds) override {
    if (variant_.mode->buffered) attached_.emplace(std::min(rounds, 4), setting_.bytes);
    if (setting_.rank == 1) channel_.post();
  }

  void run(int rounds) override {
    const bool first = setting_.rank == 0;
    for (int round = 0; round < rounds; ++round) {
      if (first) {
        channel_.post();
        say();
      }
      channel_.await();
      use_.read();
      if (variant_.rotated) rotate();
      if (first) continue;
      if (round + 1 < rounds) channel_.post();
      say();
    }
  }

  void settle() override { attached_.reset(); }

  std::string check() override {
    const std::uint64_t own = seed_of(setting_.rank), other = seed_of(1 - setting_.rank);
    const unsigned char* in = in_.data() + place_ * layout_.span();
    // Rank 1 answers from the next place.
    for (const std::int64_t i : {place_, next_place()}) layout_.fill(out_.data() + i * layout_.span(), own);
    layout_.fill(in_.data() + place_ * layout_.span(), own);
    prepare(1);
    require(MPI_Barrier(setting_.comm), "MPI_Barrier");
    run(1);
    settle();
    return layout_.compare(in, other, own);
  }

 private:
  void say() {
    use_.write();
    channel_.send();
  }

  std::int64_t next_place() const { return (place_ + 1) % places_; }

  /// The next place for the next message.
  void rotate() {
    place_ = next_place();
    channel_.move(out_.data() + place_ * layout_.span(), in_.data() + place_ * layout_.span());
    name_buffers();
  }

  void name_buffers() {
    use_.clear();
    use_.gives(out_.data() + place_ * layout_.span(), layout_.span());
    use_.gets(in_.data() + place_ * layout_.span(), layout_.span());
  }

  Setting setting_;
  Variant variant_;
  MessageLayout layout_;
  std::int64_t places_, place_ = 0;
  Buffer out_, in_;
  Channel channel_;
  std::optional<AttachedBuffer> attached_;
};

/// One message from rank 0 to rank 1, which has posted its receive, of buffers that both used before, as
/// programs do that compute between their messages: the time until rank 1 has it.
class OneWay : public Pattern {
 public:
  OneWay(const Setting& setting, bool cold)
      : setting_(setting),
        cold_(cold),
        buffer_(setting.bytes),
        channel_(send_modes().front(), Receive::kPosted,
                 {buffer_.data(), buffer_.data(), static_cast<int>(setting.bytes), MPI_BYTE, 1 - setting.rank,
                  setting.comm}) {}

  void prepare(int) override {
    read_lines(buffer_.data(), setting_.bytes);
    if (setting_.rank == 0) write_lines(buffer_.data(), setting_.bytes);
    if (cold_) flush_caches(setting_.size);
    if (!cold_) displace_caches();
    if (setting_.rank == 1) channel_.post();
  }
  void run(int) override {
    if (setting_.rank == 0) channel_.send();
    if (setting_.rank == 1) channel_.await();
  }

  std::string check() override {
    fill(buffer_.data(), setting_.bytes, seed_of(setting_.rank));
    if (setting_.rank == 1) channel_.post();
    run(1);
    return compare(buffer_.data(), setting_.bytes, seed_of(0));
  }

 private:
  Setting setting_;
  bool cold_;  // in no cache; else out of a processor's own ones
  Buffer buffer_;
  Channel channel_;
};

/// Rank 1 receives only kLateSeconds after rank 0 began to send: the time of the send says whether it waits.
class LateReceive : public Pattern {
 public:
  explicit LateReceive(const Setting& setting) : setting_(setting), buffer_(setting.bytes) {}

  void run(int) override {
    const int count = static_cast<int>(setting_.bytes), peer = 1 - setting_.rank;
    if (setting_.rank == 0) {
      require(MPI_Send(buffer_.data(), count, MPI_BYTE, peer, kTag, setting_.comm), "MPI_Send");
      return;
    }
    for (const double begin = MPI_Wtime(); MPI_Wtime() < begin + kLateSeconds;) {
    }
    require(MPI_Recv(buffer_.data(), count, MPI_BYTE, peer, kTag, setting_.comm, MPI_STATUS_IGNORE),
            "MPI_Recv");
  }

  std::string check() override {
    fill(buffer_.data(), setting_.bytes, seed_of(setting_.rank));
    run(1);
    return compare(buffer_.data(), setting_.bytes, seed_of(0));
  }

 private:
  Setting setting_;
  Buffer buffer_;
};

/// Rank 0 sends and rank 1 receives; the time is that until rank 0 may go on.
class Ping : public Pattern {
 public:
  Ping(const Setting& setting, const SendMode& mode)
      : setting_(setting),
        mode_(mode),
        buffer_(setting.bytes),
        channel_(mode, Receive::kBlocking,
                 {buffer_.data(), buffer_.data(), static_cast<int>(setting.bytes), MPI_BYTE, 1 - setting.rank,
                  setting.comm}) {
    if (setting.rank == 0) use_.gives(buffer_.data(), setting.bytes);
    if (setting.rank == 1) use_.gets(buffer_.data(), setting.bytes);
  }

  void prepare(int rounds) override {
    if (mode_.buffered && setting_.rank == 0) attached_.emplace(rounds, setting_.bytes);
  }
  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      if (setting_.rank == 0) {
        use_.write();
        channel_.send();
      } else {
        channel_.post();
        channel_.await();
        use_.read();
      }
    }
  }
  void settle() override { attached_.reset(); }

  std::string check() override {
    fill(buffer_.data(), setting_.bytes, seed_of(setting_.rank));
    prepare(1);
    run(1);
    settle();
    return compare(buffer_.data(), setting_.bytes, seed_of(0));
  }

 private:
  Setting setting_;
  const SendMode& mode_;
  Buffer buffer_;
  Channel channel_;
  std::optional<AttachedBuffer> attached_;
};

/// 200 calls back to back, for receives that are all posted.
class Latency : public Pattern {
 public:
  Latency(const Setting& setting, const SendMode& mode)
      : setting_(setting), mode_(mode), requests_(kLatencyCalls, MPI_REQUEST_NULL) {
    if (mode.persistent == nullptr || setting.rank != 0) return;
    for (MPI_Request& request : requests_) {
      require(mode.persistent(&byte_, 0, MPI_BYTE, 1, kTag, setting.comm, &request), mode.name);
    }
  }
  ~Latency() override {
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }

  void prepare(int rounds) override {
    if (mode_.buffered && setting_.rank == 0) attached_.emplace(rounds * kLatencyCalls, 0);
    if (setting_.rank != 1) return;
    receives_.assign(static_cast<std::size_t>(rounds * kLatencyCalls), MPI_REQUEST_NULL);
    for (MPI_Request& request : receives_) {
      require(MPI_Irecv(&byte_, 0, MPI_BYTE, 0, kTag, setting_.comm, &request), "MPI_Irecv");
    }
  }
  void run(int rounds) override {
    if (setting_.rank == 1) {
      require(MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
    }
    for (int round = 0; setting_.rank == 0 && round < rounds; ++round) call_all();
  }
  void settle() override { attached_.reset(); }
  std::string check() override { return kNotChecked; }

 private:
  void call_all() {
    for (MPI_Request& request : requests_) {
      if (mode_.blocking != nullptr) {
        require(mode_.blocking(&byte_, 0, MPI_BYTE, 1, kTag, setting_.comm), mode_.name);
      } else if (mode_.immediate != nullptr) {
        require(mode_.immediate(&byte_, 0, MPI_BYTE, 1, kTag, setting_.comm, &request), mode_.name);
      } else {
        require(MPI_Start(&request), "MPI_Start");
      }
    }
    if (mode_.blocking != nullptr) return;
    require(MPI_Waitall(kLatencyCalls, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

  Setting setting_;
  const SendMode& mode_;
  std::vector<MPI_Request> requests_, receives_;
  std::optional<AttachedBuffer> attached_;
  unsigned char byte_ = 0;
};

enum class Exchange { kIsend, kSendrecv, kSendrecvReplace, kIsendrecv, kIsendrecvReplace };

/// A message each way at once.
class Bidirectional : public Pattern {
 public:
  Bidirectional(const Setting& setting, Exchange exchange)
      : setting_(setting),
        exchange_(exchange),
        count_(static_cast<int>(setting.bytes)),
        replaced_(exchange == Exchange::kSendrecvReplace || exchange == Exchange::kIsendrecvReplace),
        out_(setting.bytes),
        in_(setting.bytes) {
    use_.gives(sent().data(), setting.bytes);
    use_.gets(in_.data(), setting.bytes);
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      turn();
      use_.read();
    }
  }

  std::string check() override {
    fill(sent().data(), setting_.bytes, seed_of(setting_.rank));
    run(1);
    return compare(in_.data(), setting_.bytes, seed_of(1 - setting_.rank));
  }

 private:
  Buffer& sent() { return replaced_ ? in_ : out_; }

  void turn() {
    const int peer = 1 - setting_.rank;
    MPI_Comm comm = setting_.comm;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    switch (exchange_) {
      case Exchange::kIsend:
        require(MPI_Irecv(in_.data(), count_, MPI_BYTE, peer, kTag, comm, &requests[0]), "MPI_Irecv");
        require(MPI_Isend(out_.data(), count_, MPI_BYTE, peer, kTag, comm, &requests[1]), "MPI_Isend");
        break;
      case Exchange::kSendrecv:
        require(MPI_Sendrecv(out_.data(), count_, MPI_BYTE, peer, kTag, in_.data(), count_, MPI_BYTE, peer,
                             kTag, comm, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
        break;
      case Exchange::kSendrecvReplace:
        require(MPI_Sendrecv_replace(in_.data(), count_, MPI_BYTE, peer, kTag, peer, kTag, comm,
                                     MPI_STATUS_IGNORE),
                "MPI_Sendrecv_replace");
        break;
      case Exchange::kIsendrecv:
        require(MPI_Isendrecv(out_.data(), count_, MPI_BYTE, peer, kTag, in_.data(), count_, MPI_BYTE, peer,
                              kTag, comm, &requests[0]),
                "MPI_Isendrecv");
        break;
      case Exchange::kIsendrecvReplace:
        require(
            MPI_Isendrecv_replace(in_.data(), count_, MPI_BYTE, peer, kTag, peer, kTag, comm, &requests[0]),
            "MPI_Isendrecv_replace");
        break;
    }
    require(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

  Setting setting_;
  Exchange exchange_;
  int count_;
  bool replaced_;
  Buffer out_, in_;
};

/// Pairs of rank r with rank r + half: the first half sends a window of messages at once, and the second
/// answers when all have come.
class Rate : public Pattern {
 public:
  explicit Rate(const Setting& setting)
      : setting_(setting),
        sends_(setting.rank < setting.size / 2),
        peer_(setting.rank + (sends_ ? 1 : -1) * setting.size / 2),
        count_(static_cast<int>(setting.bytes)),
        buffer_(setting.bytes * kWindow) {
    for (int i = 0; sends_ && i < kWindow; ++i) use_.gives(place(i), setting.bytes);
    if (!sends_) use_.gets(buffer_.data(), buffer_.size());
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < kWindow; ++i) start(i);
      require(MPI_Waitall(kWindow, requests_, MPI_STATUSES_IGNORE), "MPI_Waitall");
      if (sends_) {
        require(MPI_Recv(nullptr, 0, MPI_BYTE, peer_, kTag, setting_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
      } else {
        use_.read();
        require(MPI_Send(nullptr, 0, MPI_BYTE, peer_, kTag, setting_.comm), "MPI_Send");
      }
    }
  }

  std::string check() override {
    fill(buffer_.data(), buffer_.size(), seed_of(setting_.rank));
    run(1);
    return compare(buffer_.data(), buffer_.size(), seed_of(sends_ ? setting_.rank : peer_));
  }

 private:
  void* place(int i) const { return buffer_.data() + setting_.bytes * i; }

  void start(int i) {
    if (sends_) {
      use_.write(i);
      require(MPI_Isend(place(i), count_, MPI_BYTE, peer_, kTag, setting_.comm, &requests_[i]), "MPI_Isend");
    } else {
      require(MPI_Irecv(place(i), count_, MPI_BYTE, peer_, kTag, setting_.comm, &requests_[i]), "MPI_Irecv");
    }
  }

  Setting setting_;
  bool sends_;
  int peer_, count_;
  Buffer buffer_;
  MPI_Request requests_[kWindow];
};

/// The same pairs play ping-pong, all at once.
class ManyPingPongs : public Pattern {
 public:
  explicit ManyPingPongs(const Setting& setting)
      : setting_(setting),
        first_(setting.rank < setting.size / 2),
        peer_(setting.rank + (first_ ? 1 : -1) * setting.size / 2),
        count_(static_cast<int>(setting.bytes)),
        out_(setting.bytes),
        in_(setting.bytes) {
    use_.gives(out_.data(), setting.bytes);
    use_.gets(in_.data(), setting.bytes);
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      if (first_) send();
      require(MPI_Recv(in_.data(), count_, MPI_BYTE, peer_, kTag, setting_.comm, MPI_STATUS_IGNORE),
              "MPI_Recv");
      use_.read();
      if (!first_) send();
    }
  }

  std::string check() override {
    fill(out_.data(), setting_.bytes, seed_of(setting_.rank));
    run(1);
    return compare(in_.data(), setting_.bytes, seed_of(peer_));
  }

 private:
  void send() {
    use_.write();
    require(MPI_Send(out_.data(), count_, MPI_BYTE, peer_, kTag, setting_.comm), "MPI_Send");
  }

  Setting setting_;
  bool first_;
  int peer_, count_;
  Buffer out_, in_;
};

// ---- what is measured ----------------------------------------------------------------------------------

using Sizes = std::vector<std::int64_t>;

const Sizes kAllSizes = powers_of_two(0, 8 << 20);
const Sizes kSomeSizes = {0, 8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 8 << 20};
const Sizes kUntouchedQuick = {65536};
const Sizes kUnitSizes = {1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 8 << 20};  // also of layouts

/// What all of this group have in common: two ranks, and the first one's time.
Benchmark base(const char* name, const std::string& variant, const char* doc) {
  Benchmark made;
  made.group = "point_to_point";
  made.name = name;
  made.variant = variant;
  made.doc = doc;
  made.ranks_min = made.ranks_max = 2;
  made.who = Who::kFirst;
  return made;
}

void add_pingpong(Catalogue& catalogue, const Variant& variant, const Sizes& bytes, const Sizes& quick) {
  Benchmark made = base("pingpong", variant.text(), "a message one way: half of there and back");
  made.bytes = bytes;
  made.quick_bytes = quick;
  made.unit = unit_of(variant.shape);
  made.divisor = 2;
  made.touched = variant.touched;
  made.make = [variant](const Setting& setting) { return std::make_unique<PingPong>(setting, variant); };
  catalogue.push_back(made);
}

void add_pingpongs(Catalogue& catalogue) {
  add_pingpong(catalogue, {}, kAllSizes, kAllSizes);
  for (const SendMode& mode : send_modes()) {
    if (&mode != &send_modes().front()) add_pingpong(catalogue, {.mode = &mode}, kSomeSizes, {8, 65536});
  }
  add_pingpong(catalogue, {.touched = false}, kAllSizes, {1024, 65536, 1 << 20});
  add_pingpong(catalogue, {.touched = false, .receive = Receive::kBlocking}, kSomeSizes, {});
  add_pingpong(catalogue, {.memory = Memory::kAllocMem}, kSomeSizes, {1024, 65536, 1 << 20});
  for (const Shape shape : {Shape::kVector, Shape::kIndexed, Shape::kStruct}) {
    add_pingpong(catalogue, {.shape = shape}, kUnitSizes, {1024, 65536, 1 << 20});
  }
  for (const Receive receive : {Receive::kBlocking, Receive::kAnySource, Receive::kAnyTag, Receive::kProbe,
                                Receive::kMprobe, Receive::kPersistent}) {
    add_pingpong(catalogue, {.receive = receive}, kSomeSizes, {8, 65536});
  }
  add_pingpong(catalogue, {.rotated = true}, kUnitSizes, {65536, 1 << 20});
}

void add_one_way(Catalogue& catalogue) {
  for (const bool cold : {false, true}) {
    Benchmark made = base("one_way", cold ? "cache=cold" : "cache=used",
                          cold ? "one message, of buffers that are in no cache"
                               : "one message, of buffers that both ranks used before");
    made.bytes = kSomeSizes;
    made.quick_bytes = {0, 8, 1024, 16384, 65536, 1 << 20};
    made.rounds_max = 1;
    made.who = Who::kSlowest;
    made.make = [cold](const Setting& setting) { return std::make_unique<OneWay>(setting, cold); };
    catalogue.push_back(made);
  }
}

void add_late_receive(Catalogue& catalogue) {
  Benchmark made = base("late_receive", "mode=send", "MPI_Send of a message that is received 1 ms later");
  made.bytes = powers_of_two(1 << 10, 1 << 20);
  made.quick_bytes = {1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10};
  made.rounds_max = 1;
  made.make = [](const Setting& setting) { return std::make_unique<LateReceive>(setting); };
  catalogue.push_back(made);
}

/// A ready send needs a receive that is posted, so ping has none.
void add_pings(Catalogue& catalogue) {
  for (const SendMode& mode : send_modes()) {
    if (mode.ready) continue;
    Benchmark made =
        base("ping", std::string("mode=") + mode.name, "until the sender of a message may go on");
    made.bytes = kSomeSizes;
    made.quick_bytes = {8, 65536};
    made.make = [&mode](const Setting& setting) { return std::make_unique<Ping>(setting, mode); };
    add_in_use(catalogue, made);
  }
}

void add_latencies(Catalogue& catalogue) {
  for (const SendMode& mode : send_modes()) {
    if (mode.partitioned()) continue;
    Benchmark made = base("latency", std::string("mode=") + mode.name,
                          "a call of 200 back to back, with no data, and what completes them");
    made.bytes = made.quick_bytes = {0};
    made.divisor = kLatencyCalls;
    made.rounds_max = 1;
    made.make = [&mode](const Setting& setting) { return std::make_unique<Latency>(setting, mode); };
    catalogue.push_back(made);
  }
}

void add_bidirectional(Catalogue& catalogue) {
  const std::pair<const char*, Exchange> ways[] = {{"isend", Exchange::kIsend},
                                                   {"sendrecv", Exchange::kSendrecv},
                                                   {"sendrecv_replace", Exchange::kSendrecvReplace},
                                                   {"isendrecv", Exchange::kIsendrecv},
                                                   {"isendrecv_replace", Exchange::kIsendrecvReplace}};
  for (const auto& [name, exchange] : ways) {
    Benchmark made = base("bidirectional", std::string("mode=") + name,
                          "a message each way at once, until both are there");
    made.bytes = kSomeSizes;
    made.quick_bytes = {8, 65536, 1 << 20};
    made.who = Who::kSlowest;
    made.factor = [](int) { return 2.0; };
    made.make = [exchange = exchange](const Setting& setting) {
      return std::make_unique<Bidirectional>(setting, exchange);
    };
    add_in_use(catalogue, made);
    if (exchange != Exchange::kIsend && exchange != Exchange::kSendrecv) continue;
    made.quick_bytes.clear();
    if (exchange == Exchange::kIsend) made.quick_bytes = {1 << 20};
    add_untouched(catalogue, made);
  }
}

void add_rates(Catalogue& catalogue) {
  Benchmark rate = base("rate", "", "a message of 64 that are sent at once and answered together");
  rate.bytes = {0, 8, 64, 512, 1024, 4096, 16384, 65536};
  rate.quick_bytes = {8, 1024, 65536};
  rate.divisor = kWindow;
  rate.make = [](const Setting& setting) { return std::make_unique<Rate>(setting); };
  add_in_use(catalogue, rate, kUntouchedQuick);

  Benchmark many = rate;
  many.name = "multi_pair";
  many.variant = "pattern=rate";
  many.doc = "as rate, in all pairs (r, r + ranks / 2) at once: a message of each pair";
  many.ranks_min = 4;
  many.ranks_max = 1 << 30;
  many.even = true;
  many.who = Who::kSlowest;
  many.factor = [](int size) { return size / 2.0; };
  add_in_use(catalogue, many, kUntouchedQuick);

  many.variant = "pattern=pingpong";
  many.doc = "a message one way of a ping-pong, in all pairs (r, r + ranks / 2) at once";
  many.bytes = kSomeSizes;
  many.quick_bytes = {8, 1024, 65536, 1 << 20};
  many.divisor = 2;
  many.make = [](const Setting& setting) { return std::make_unique<ManyPingPongs>(setting); };
  add_in_use(catalogue, many, kUntouchedQuick);
}

}  // namespace

void add_point_to_point(Catalogue& catalogue) {
  add_pingpongs(catalogue);
  add_one_way(catalogue);
  add_late_receive(catalogue);
  add_pings(catalogue);
  add_latencies(catalogue);
  add_bidirectional(catalogue);
  add_rates(catalogue);
}

}  // namespace mbl
