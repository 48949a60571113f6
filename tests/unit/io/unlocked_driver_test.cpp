// That a rank's other threads use MPI while one waits for a file, that threads which use the same file take
// turns, and that different files go on at once. A storage whose writes wait until the test lets them go on.
#include "io/file/unlocked_driver.hpp"

#include <atomic>
#include <mutex>
#include <thread>

#include "io/support.hpp"

namespace tasuki::test {
namespace {

/// What the files of a GatedStorage share with the test.
struct Gate {
  std::atomic<bool> open = true;
  std::atomic<int> waiting = 0;  // writes that have come to it
};

class GatedFile final : public FileDriver {
 public:
  GatedFile(std::unique_ptr<FileDriver> inner, Gate& gate, const OpenHow& how)
      : inner_(std::move(inner)), gate_(gate), how_(how) {}

  int close() override { return inner_->close(); }
  int size(Offset* bytes) override { return inner_->size(bytes); }
  int resize(Offset bytes) override { return inner_->resize(bytes); }
  int preallocate(Offset bytes) override { return inner_->preallocate(bytes); }
  int sync() override { return inner_->sync(); }
  Striping striping() override { return inner_->striping(); }
  TransferResult read_at(std::span<const FilePiece> pieces) override { return inner_->read_at(pieces); }
  TransferResult write_at(std::span<const FilePiece> pieces) override {
    EXPECT_FALSE(inside_.exchange(true)) << "one transfer of a file at a time";
    ++gate_.waiting;
    while (!gate_.open) std::this_thread::yield();
    --gate_.waiting;
    how_.tell("a line while the lock is free");
    const TransferResult done = inner_->write_at(pieces);
    inside_ = false;
    return done;
  }

 private:
  std::unique_ptr<FileDriver> inner_;
  Gate& gate_;
  OpenHow how_;
  std::atomic<bool> inside_ = false;
};

class GatedStorage final : public Storage {
 public:
  explicit GatedStorage(Gate& gate) : inner_(make_posix_storage()), gate_(gate) {}
  int open(const std::string& path, const OpenHow& how, std::unique_ptr<FileDriver>* driver) override {
    std::unique_ptr<FileDriver> inner;
    if (const int error = inner_->open(path, how, &inner)) return error;
    *driver = std::make_unique<GatedFile>(std::move(inner), gate_, how);
    return 0;
  }
  int remove(const std::string& path) override { return inner_->remove(path); }

 private:
  std::unique_ptr<Storage> inner_;
  Gate& gate_;
};

template <class... Parameters, class... Arguments>
void call(Code (*function)(Process&, Parameters...), Process& process, Arguments... arguments) {
  const std::lock_guard lock(process.lock);
  EXPECT_EQ(function(process, arguments...), kSuccess);
}

class UnlockedDriver : public testing::Test {
 protected:
  void run(const std::function<void(Process&)>& body) {
    WorldOptions options;
    options.thread_level = ThreadLevel::kMultiple;
    run_ranks(
        1,
        [&](Process& process) {
          process.files->storage = std::make_unique<GatedStorage>(gate_);
          body(process);
        },
        options);
  }
  File* opened(Process& process, const FileName& name) {
    File* file = nullptr;
    call(api::file_open, process, process.objects->self, name.get(), kModeRdwr | kModeCreate,
         static_cast<Info*>(nullptr), &file);
    return file;
  }
  void write(Process& process, File* file, Offset offset, unsigned char value, Count bytes) {
    const Bytes data(static_cast<std::size_t>(bytes), value);
    call(api::file_write_at, process, file, offset, data.data(), bytes, named(process, kMpiByte),
         static_cast<Status*>(nullptr));
  }
  void wait_for(int writes) {
    while (gate_.waiting != writes) std::this_thread::yield();
  }

  Gate gate_;
};

TEST_F(UnlockedDriver, OtherThreadsGoOnWhileAFileIsWritten) {
  const FileName name;
  run([&](Process& process) {
    File* file = opened(process, name);
    gate_.open = false;
    std::thread writer([&] { write(process, file, 0, 7, 1000); });
    wait_for(1);
    int flag = 0;
    {
      const std::lock_guard lock(process.lock);  // would wait for ever, if the writer held it
      process.progress->poll();
      flag = 1;
    }
    EXPECT_EQ(flag, 1);
    gate_.open = true;
    writer.join();
    call(api::file_close, process, &file);
  });
  EXPECT_EQ(content(name.get()), Bytes(1000, 7));
}

TEST_F(UnlockedDriver, DifferentFilesAreWrittenAtOnce) {
  const FileName one, other;
  run([&](Process& process) {
    File* files[] = {opened(process, one), opened(process, other)};
    gate_.open = false;
    std::thread first([&] { write(process, files[0], 0, 1, 100); });
    std::thread second([&] { write(process, files[1], 0, 2, 100); });
    wait_for(2);
    gate_.open = true;
    first.join();
    second.join();
    for (File* file : files) call(api::file_close, process, &file);
  });
  EXPECT_EQ(content(one.get()), Bytes(100, 1));
  EXPECT_EQ(content(other.get()), Bytes(100, 2));
}

TEST_F(UnlockedDriver, ThreadsTakeTurnsWithOneFile) {
  constexpr int kThreads = 4, kSteps = 30;
  constexpr Count kBytes = 5000;
  const FileName name;
  run([&](Process& process) {
    File* file = opened(process, name);
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        for (int step = 0; step < kSteps; ++step) {
          const Offset offset = (step * kThreads + number) * kBytes;
          write(process, file, offset, static_cast<unsigned char>(number + 1), kBytes);
          Bytes back(static_cast<std::size_t>(kBytes));
          call(api::file_read_at, process, file, offset, back.data(), kBytes, named(process, kMpiByte),
               static_cast<Status*>(nullptr));
          EXPECT_EQ(back, Bytes(static_cast<std::size_t>(kBytes), static_cast<unsigned char>(number + 1)));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    call(api::file_close, process, &file);
  });
}

}  // namespace
}  // namespace tasuki::test
