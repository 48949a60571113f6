// A driver around another one: lets go of the process lock, waits for its turn, and asks the other one.
#include "io/file/unlocked_driver.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "storage/deferred.hpp"

namespace tasuki {
namespace {

using Tell = std::function<void(const std::string&)>;

/// What a driver tells while the lock is free, until it is held again. Its turn guards it.
struct Told {
  std::vector<std::string> lines;
};

OpenHow telling_later(const OpenHow& how, const std::shared_ptr<Told>& told) {
  OpenHow later = how;
  if (how.tell) later.tell = [told](const std::string& line) { told->lines.push_back(line); };
  return later;
}

/// Invariants: the turn is held whenever `inner_` is asked; from begin() to finish() it stays with the thread
/// that began.
class UnlockedDriver final : public FileDriver {
  class Turn {
   public:
    explicit Turn(UnlockedDriver& driver) : driver_(driver) { driver_.take_turn(); }
    ~Turn() { driver_.give_turn(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    UnlockedDriver& driver_;
  };

  template <class Question>
  auto ask(const Question& question) {
    const auto answer = [&] {
      const Progress::Release released(progress_);
      const Turn turn(*this);
      return question();
    }();
    tell_all();
    return answer;
  }

  void take_turn() {
    std::unique_lock guard(mutex_);
    free_.wait(guard, [this] { return !taken_; });
    taken_ = true;
  }
  void give_turn() {
    std::vector<std::string> lines = std::exchange(told_->lines, {});
    const std::lock_guard guard(mutex_);
    for (std::string& line : lines) lines_.push_back(std::move(line));
    taken_ = false;
    free_.notify_one();
  }
  void tell_all() {
    std::vector<std::string> lines;
    {
      const std::lock_guard guard(mutex_);
      lines.swap(lines_);
    }
    for (const std::string& line : lines) tell_(line);
  }

 public:
  UnlockedDriver(std::unique_ptr<FileDriver> inner, Progress& progress, Tell tell, std::shared_ptr<Told> told)
      : inner_(std::move(inner)), progress_(progress), tell_(std::move(tell)), told_(std::move(told)) {}

  int close() override {
    return ask([this] { return inner_->close(); });
  }
  std::uint64_t identity() override {
    return ask([this] { return inner_->identity(); });
  }
  bool is_in_memory() override {
    return ask([this] { return inner_->is_in_memory(); });
  }
  int size(Offset* bytes) override {
    return ask([=, this] { return inner_->size(bytes); });
  }
  int resize(Offset bytes) override {
    return ask([=, this] { return inner_->resize(bytes); });
  }
  int preallocate(Offset bytes) override {
    return ask([=, this] { return inner_->preallocate(bytes); });
  }
  bool writes_beside_others(Offset end) override {
    return ask([=, this] { return inner_->writes_beside_others(end); });
  }
  int sync() override {
    return ask([this] { return inner_->sync(); });
  }
  Striping striping() override {
    return ask([this] { return inner_->striping(); });
  }
  TransferResult read_at(std::span<const FilePiece> pieces) override {
    return ask([&] { return inner_->read_at(pieces); });
  }
  TransferResult write_at(std::span<const FilePiece> pieces) override {
    return ask([=, this] { return inner_->write_at(pieces); });
  }
  void begin(bool write, std::span<const FilePiece> pieces) override {
    const Progress::Release released(progress_);
    take_turn();
    inner_->begin(write, pieces);
  }
  TransferResult finish() override {
    TransferResult done;
    {
      const Progress::Release released(progress_);
      done = inner_->finish();
      give_turn();
    }
    tell_all();
    return done;
  }
  bool is_under_way() const override { return inner_->is_under_way(); }
  /// Which nobody waits for, and so needs no turn.
  std::unique_ptr<FileLane> open_lane() override {
    std::unique_ptr<FileLane> lane;
    ask([&] {
      lane = inner_->open_lane();
      return true;
    });
    return lane;
  }

 private:
  std::unique_ptr<FileDriver> inner_;
  Progress& progress_;
  Tell tell_;
  std::shared_ptr<Told> told_;
  std::mutex mutex_;              // of what follows
  std::condition_variable free_;  // !taken_
  bool taken_ = false;
  std::vector<std::string> lines_;  // to be told
};

}  // namespace

int open_unlocked(Storage& storage, Progress& progress, const std::string& path, const OpenHow& how,
                  std::unique_ptr<FileDriver>* driver) {
  if (!progress.is_locking()) return storage.open(path, how, driver);
  const auto told = std::make_shared<Told>();
  const OpenHow later = telling_later(how, told);
  std::unique_ptr<FileDriver> opened;
  int error = 0;
  {
    const Progress::Release released(progress);
    error = storage.open(path, later, &opened);
  }
  for (const std::string& line : std::exchange(told->lines, {})) how.tell(line);
  if (error == 0) *driver = std::make_unique<UnlockedDriver>(std::move(opened), progress, how.tell, told);
  return error;
}

std::unique_ptr<FileDriver> defer_unlocked(Storage& storage, Progress& progress, const std::string& path,
                                           const OpenHow& how, const Striping& striping) {
  if (!progress.is_locking()) return make_deferred_driver(storage, path, how, striping);
  const auto told = std::make_shared<Told>();
  return std::make_unique<UnlockedDriver>(
      make_deferred_driver(storage, path, telling_later(how, told), striping), progress, how.tell, told);
}

}  // namespace tasuki
