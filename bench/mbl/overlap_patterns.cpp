// Computing beside a message, and beside an access of a window: the patterns overlap of point_to_point and
// rma. Of a message one rank computes between its nonblocking call and MPI_Wait, and the other waits at once;
// of an access both ranks compute. The data of messages are in use; those of accesses are not, since the
// target takes no part.
#include <memory>

#include "buffers.hpp"
#include "overlap.hpp"
#include "rma_window.hpp"
#include "suite.hpp"

namespace mbl {
namespace {

constexpr int kTag = 1, kStartedTag = 2;
/// As long as the operation alone takes: a copy that two ranks share takes one of them alone twice as long.
constexpr int kTimes = 4;

/// Which side computes, and when the receive is posted.
///   kPosted: before the message is sent. kLate: after it, when its sender computes already.
enum class Side { kSender, kReceiver };
enum class Receive { kPosted, kLate };

const char* name_of(Side side) {
  return side == Side::kSender ? "sender" : "receiver";
}
const char* name_of(Receive receive) {
  return receive == Receive::kPosted ? "posted" : "late";
}

struct Variant {
  Side side;
  Receive receive;
  int tests_max;

  std::string text() const {
    return std::string("form=overlap,side=") + name_of(side) + ",receive=" + name_of(receive) +
           ",tests=" + (tests_max > 0 ? "some" : "none");
  }
};

/// Rank 0 sends to rank 1, and one of them computes meanwhile.
class OverlappedMessage : public Pattern {
 public:
  OverlappedMessage(const Setting& setting, const Variant& variant)
      : setting_(setting),
        variant_(variant),
        count_(static_cast<int>(setting.bytes)),
        buffer_(setting.bytes) {
    if (setting.rank == 0) use_.gives(buffer_.data(), setting.bytes);
    if (setting.rank == 1) use_.gets(buffer_.data(), setting.bytes);
    const Overlap::Part part{.computes = (setting.rank == 0) == (variant.side == Side::kSender),
                             .tests_max = variant.tests_max,
                             .times = kTimes};
    overlap_ = std::make_unique<Overlap>(
        setting.comm, [this] { start(); }, &request_, use_, part);
  }

  void run(int rounds) override { overlap_->run(rounds); }
  void settle() override { overlap_->settle(); }
  Notes notes() override { return overlap_->notes(); }

  std::string check() override {
    fill(buffer_.data(), setting_.bytes, static_cast<std::uint64_t>(setting_.rank) + 1);
    run(1);
    return compare(buffer_.data(), setting_.bytes, 1);
  }

 private:
  /// Rank 1 answers with nothing when its receive is posted, or waits for rank 0 to say that it has begun.
  void start() {
    if (setting_.rank == 0) {
      send();
    } else {
      receive();
    }
  }

  void send() {
    if (variant_.receive == Receive::kPosted) {
      require(MPI_Recv(nullptr, 0, MPI_BYTE, 1, kStartedTag, setting_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    require(MPI_Isend(buffer_.data(), count_, MPI_BYTE, 1, kTag, setting_.comm, &request_), "MPI_Isend");
    if (variant_.receive == Receive::kLate) {
      require(MPI_Send(nullptr, 0, MPI_BYTE, 1, kStartedTag, setting_.comm), "MPI_Send");
    }
    if (variant_.side == Side::kReceiver) wait();
  }

  void receive() {
    if (variant_.receive == Receive::kLate) {
      require(MPI_Recv(nullptr, 0, MPI_BYTE, 0, kStartedTag, setting_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    require(MPI_Irecv(buffer_.data(), count_, MPI_BYTE, 0, kTag, setting_.comm, &request_), "MPI_Irecv");
    if (variant_.receive == Receive::kPosted) {
      require(MPI_Send(nullptr, 0, MPI_BYTE, 0, kStartedTag, setting_.comm), "MPI_Send");
    }
    if (variant_.side == Side::kSender) wait();
  }

  void wait() { require(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

  Setting setting_;
  Variant variant_;
  int count_;
  Buffer buffer_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Overlap> overlap_;
};

/// Rank 0 puts into the window of rank 1, or gets from it, and computes meanwhile; rank 1 computes, too, and
/// so calls no MPI. A round ends with MPI_Wait: the buffer of a put is free then. MPI_Win_flush_all follows
/// all rounds; the notes do not count it.
class OverlappedAccess : public Pattern {
 public:
  OverlappedAccess(const Setting& setting, bool puts)
      : setting_(setting),
        puts_(puts),
        count_(static_cast<int>(setting.bytes)),
        buffer_(setting.bytes),
        window_(setting, setting.bytes, WindowMemory::kAllocate) {
    require(MPI_Win_lock_all(0, window_.handle()), "MPI_Win_lock_all");
    overlap_ = std::make_unique<Overlap>(
        setting.comm, [this] { start(); }, &request_, use_, Overlap::Part{.tests_max = 0, .times = kTimes});
  }
  ~OverlappedAccess() override { MPI_Win_unlock_all(window_.handle()); }

  void run(int rounds) override {
    overlap_->run(rounds);
    require(MPI_Win_flush_all(window_.handle()), "MPI_Win_flush_all");
  }
  void settle() override { overlap_->settle(); }
  Notes notes() override { return overlap_->notes(); }

  std::string check() override {
    fill(buffer_.data(), setting_.bytes, seed_of(setting_.rank));
    fill(window_.memory(), setting_.bytes, seed_of(setting_.rank + 2));
    synchronise();
    run(1);
    synchronise();
    if (puts_ && setting_.rank == 1) return compare(window_.memory(), setting_.bytes, seed_of(0));
    if (!puts_ && setting_.rank == 0) return compare(buffer_.data(), setting_.bytes, seed_of(3));
    return {};
  }

 private:
  static std::uint64_t seed_of(int number) { return static_cast<std::uint64_t>(number) + 1; }

  void synchronise() {
    MPI_Win_sync(window_.handle());
    MPI_Barrier(setting_.comm);
    MPI_Win_sync(window_.handle());
  }

  void start() {
    if (setting_.rank != 0) return;
    if (puts_) {
      require(MPI_Rput(buffer_.data(), count_, MPI_BYTE, 1, 0, count_, MPI_BYTE, window_.handle(), &request_),
              "MPI_Rput");
    } else {
      require(MPI_Rget(buffer_.data(), count_, MPI_BYTE, 1, 0, count_, MPI_BYTE, window_.handle(), &request_),
              "MPI_Rget");
    }
  }

  Setting setting_;
  bool puts_;
  int count_;
  Buffer buffer_;
  Window window_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Overlap> overlap_;  // gone before the window
};

Benchmark base(const char* group, const std::string& variant, const char* doc) {
  Benchmark made;
  made.group = group;
  made.name = "overlap";
  made.variant = variant;
  made.doc = doc;
  made.bytes = {1024, 8192, 65536, 1 << 20, 8 << 20, 64 << 20};
  made.ranks_min = made.ranks_max = 2;
  return made;
}

}  // namespace

void add_overlapped_messages(Catalogue& catalogue) {
  for (const Side side : {Side::kSender, Side::kReceiver}) {
    for (const Receive receive : {Receive::kPosted, Receive::kLate}) {
      for (const int tests_max : {0, Overlap::kTestsMax}) {
        const Variant variant{side, receive, tests_max};
        Benchmark made =
            base("point_to_point", variant.text(),
                 "a message, one side computing for four times as long as it takes alone, MPI_Wait");
        if (tests_max == 0) made.quick_bytes = {1 << 20};
        made.make = [variant](const Setting& setting) {
          return std::make_unique<OverlappedMessage>(setting, variant);
        };
        add_in_use(catalogue, made);
      }
    }
  }
}

void add_overlapped_accesses(Catalogue& catalogue) {
  for (const bool puts : {true, false}) {
    Benchmark made = base("rma", std::string("form=overlap,operation=") + (puts ? "rput" : "rget"),
                          "an access, both computing for four times as long as it takes alone, MPI_Wait");
    made.make = [puts](const Setting& setting) { return std::make_unique<OverlappedAccess>(setting, puts); };
    add_untouched(catalogue, made);
  }
}

}  // namespace mbl
