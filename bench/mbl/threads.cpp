// Threads of one rank that call at the same time, each with a partner thread in the other rank: messages at a
// rate and back and forth, on one communicator with a tag for each pair, or on a communicator for each.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "buffers.hpp"
#include "suite.hpp"

namespace mbl {
namespace {

constexpr int kWindow = 64;   // as in rate of one thread
constexpr int kTag = 1;       // and those above: one for each pair
constexpr int kLooks = 2000;  // before a thread sleeps that waits for work

/// Threads that do the same at once, each with its number. The caller's is number 0.
class Team {
 public:
  explicit Team(int size) {
    for (int number = 1; number < size; ++number) threads_.emplace_back([this, number] { serve(number); });
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    work_ = nullptr;
    begin();
    for (std::thread& one : threads_) one.join();
  }

  /// Returns when all have done it.
  void run(const std::function<void(int number)>& work) {
    work_ = &work;
    left_.store(static_cast<int>(threads_.size()));
    begin();
    work(0);
    for (int left = left_.load(); left != 0; left = left_.load()) left_.wait(left);
  }

 private:
  void begin() {
    turn_.fetch_add(1);
    turn_.notify_all();
  }

  void serve(int number) {
    for (unsigned done = 0;; ++done) {
      for (int looks = 0; turn_.load() == done; ++looks) {
        if (looks > kLooks) turn_.wait(done);
      }
      if (work_ == nullptr) return;
      (*work_)(number);
      if (left_.fetch_sub(1) == 1) left_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  std::atomic<unsigned> turn_{0};
  std::atomic<int> left_{0};
  const std::function<void(int)>* work_ = nullptr;  // null: the end
};

/// How threads are told apart.
enum class Apart { kTags, kCommunicators };

/// What both patterns have: a team, a communicator and a buffer for each thread.
class Threads : public Pattern {
 public:
  Threads(const Setting& setting, int threads, Apart apart, int messages)
      : setting_(setting), peer_(1 - setting.rank), count_(static_cast<int>(setting.bytes)), team_(threads) {
    int level = MPI_THREAD_SINGLE;
    require(MPI_Query_thread(&level), "MPI_Query_thread");
    multiple_ = level == MPI_THREAD_MULTIPLE;
    for (int number = 0; number < threads; ++number) {
      buffers_.push_back(std::make_unique<Buffer>(setting.bytes * messages));
      use_.gives(buffers_.back()->data(), buffers_.back()->size());
      use_.gets(buffers_.back()->data(), buffers_.back()->size());
      comms_.push_back(setting.comm);
      if (apart == Apart::kCommunicators) require(MPI_Comm_dup(setting.comm, &comms_.back()), "MPI_Comm_dup");
    }
  }
  ~Threads() override {
    for (MPI_Comm& comm : comms_) {
      if (comm != setting_.comm) MPI_Comm_free(&comm);
    }
  }

  void run(int rounds) override {
    team_.run([this, rounds](int number) {
      for (int round = 0; round < rounds; ++round) play(number);
    });
  }

  std::string check() override {
    if (!multiple_) return std::string(kUnsupported) + "MPI_THREAD_MULTIPLE";
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      fill(buffers_[i]->data(), buffers_[i]->size(), seed_of(static_cast<int>(i), setting_.rank));
    }
    run(1);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const std::uint64_t seed = seed_of(static_cast<int>(i), whose());
      const std::string wrong = compare(buffers_[i]->data(), buffers_[i]->size(), seed);
      if (!wrong.empty()) return "thread " + std::to_string(i) + ": " + wrong;
    }
    return {};
  }

 protected:
  /// One thread's part of a round.
  virtual void play(int number) = 0;
  /// The rank whose data a round leaves in the buffers.
  virtual int whose() const = 0;

  int count() const { return count_; }
  int peer() const { return peer_; }
  bool is_first() const { return setting_.rank == 0; }
  unsigned char* buffer(int number) { return buffers_[static_cast<std::size_t>(number)]->data(); }
  MPI_Comm comm(int number) const { return comms_[static_cast<std::size_t>(number)]; }

 private:
  static std::uint64_t seed_of(int thread, int rank) {
    return static_cast<std::uint64_t>(2 * thread + rank + 1);
  }

  Setting setting_;
  int peer_, count_;
  bool multiple_ = false;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<MPI_Comm> comms_;
  Team team_;
};

class ThreadsRate : public Threads {
 public:
  ThreadsRate(const Setting& setting, int threads, Apart apart) : Threads(setting, threads, apart, kWindow) {}

 private:
  void play(int number) override {
    MPI_Request requests[kWindow];
    const int tag = kTag + number;
    if (is_first()) use_.write(number);
    for (int i = 0; i < kWindow; ++i) {
      void* place = buffer(number) + static_cast<std::int64_t>(count()) * i;
      if (is_first()) {
        require(MPI_Isend(place, count(), MPI_BYTE, peer(), tag, comm(number), &requests[i]), "MPI_Isend");
      } else {
        require(MPI_Irecv(place, count(), MPI_BYTE, peer(), tag, comm(number), &requests[i]), "MPI_Irecv");
      }
    }
    require(MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    if (is_first()) {
      require(MPI_Recv(nullptr, 0, MPI_BYTE, peer(), tag, comm(number), MPI_STATUS_IGNORE), "MPI_Recv");
    } else {
      use_.read(number);
      require(MPI_Send(nullptr, 0, MPI_BYTE, peer(), tag, comm(number)), "MPI_Send");
    }
  }
  int whose() const override { return 0; }
};

class ThreadsPingPong : public Threads {
 public:
  ThreadsPingPong(const Setting& setting, int threads, Apart apart) : Threads(setting, threads, apart, 1) {}

 private:
  void play(int number) override {
    if (is_first()) send(number);
    require(
        MPI_Recv(buffer(number), count(), MPI_BYTE, peer(), kTag + number, comm(number), MPI_STATUS_IGNORE),
        "MPI_Recv");
    use_.read(number);
    if (!is_first()) send(number);
  }
  void send(int number) {
    use_.write(number);
    require(MPI_Send(buffer(number), count(), MPI_BYTE, peer(), kTag + number, comm(number)), "MPI_Send");
  }
  int whose() const override { return 0; }  // rank 1 sends back what it got
};

template <class Made>
void add(Catalogue& catalogue, const std::string& pattern, const char* doc, int threads, double divisor) {
  for (const Apart apart : {Apart::kTags, Apart::kCommunicators}) {
    Benchmark made;
    made.group = "point_to_point";
    made.name = "threads";
    made.variant = "pattern=" + pattern + ",apart=" + (apart == Apart::kTags ? "tags" : "communicators") +
                   ",threads=" + std::to_string(threads);
    made.doc = doc;
    made.bytes = {0, 8, 64, 1024, 16384, 65536, 1 << 20};
    made.quick_bytes = {8, 16384};
    made.ranks_min = made.ranks_max = 2;
    made.who = Who::kFirst;
    made.divisor = divisor;
    made.factor = [threads](int) { return static_cast<double>(threads); };
    made.make = [threads, apart](const Setting& setting) {
      return std::make_unique<Made>(setting, threads, apart);
    };
    add_in_use(catalogue, made, made.quick_bytes);
  }
}

}  // namespace

void add_threads(Catalogue& catalogue, int threads_max) {
  std::vector<int> counts;
  for (int threads = 1; threads < threads_max; threads *= 2) counts.push_back(threads);
  if (threads_max > 0) counts.push_back(threads_max);
  for (const int threads : counts) {
    add<ThreadsRate>(catalogue, "rate", "a message of each thread, of 64 at once that are answered together",
                     threads, kWindow);
    add<ThreadsPingPong>(catalogue, "pingpong", "a message one way of a ping-pong, in all threads at once",
                         threads, 2);
  }
}

}  // namespace mbl
