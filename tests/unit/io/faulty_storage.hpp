// A storage whose files fail where, when and how a test says: it stands before another one. Each rank has its
// own, so a fault may be one rank's. What is begun is done at finish() only, as late as a driver may.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "storage/driver.hpp"

namespace tasuki::test {

/// What goes wrong. The test keeps it, and may change it while files are open.
struct Faults {
  Offset bad_at = INT64_MAX;     // reading and writing the bytes from here on fails,
  Count good_bytes = INT64_MAX;  // or what follows so many bytes in all,
  int reads_error = 0;           // with this; 0: not at all
  int writes_error = 0;
  int other_error = 0;                 // of resize, preallocate and sync
  std::chrono::microseconds pause{0};  // before each transfer
  Striping striping{};                 // what is told, where it has targets
  int transfers = 0;                   // that were asked for
  int mixed = 0;                       // of them: while what was begun was under way
  bool lanes_never_end = false;        // what is begun on a lane is done when that ends, or when this is over
  int lanes_need_help = 0;             // so often, of the caller, for each transfer
  int helps = 0;                       // that lanes got
};

class FaultyFile final : public FileDriver {
 public:
  FaultyFile(std::unique_ptr<FileDriver> inner, Faults& faults) : inner_(std::move(inner)), faults_(faults) {}

  int close() override { return inner_->close(); }
  std::uint64_t identity() override { return inner_->identity(); }
  int size(Offset* bytes) override { return inner_->size(bytes); }
  int resize(Offset bytes) override {
    return faults_.other_error != 0 ? faults_.other_error : inner_->resize(bytes);
  }
  int preallocate(Offset bytes) override {
    return faults_.other_error != 0 ? faults_.other_error : inner_->preallocate(bytes);
  }
  int sync() override { return faults_.other_error != 0 ? faults_.other_error : inner_->sync(); }
  Striping striping() override {
    return faults_.striping.targets > 0 ? faults_.striping : inner_->striping();
  }
  TransferResult read_at(std::span<const FilePiece> pieces) override { return move(false, pieces); }
  TransferResult write_at(std::span<const FilePiece> pieces) override { return move(true, pieces); }

  void begin(bool write, std::span<const FilePiece> pieces) override {
    if (is_under_way()) ++faults_.mixed;
    begun_write_ = write;
    begun_.assign(pieces.begin(), pieces.end());
  }
  TransferResult finish() override {
    const std::vector<FilePiece> pieces = std::exchange(begun_, {});
    return move(begun_write_, pieces);
  }
  bool is_under_way() const override { return !begun_.empty(); }
  std::unique_ptr<FileLane> open_lane() override {
    if (!faults_.lanes_never_end && faults_.lanes_need_help == 0) return FileDriver::open_lane();
    return std::make_unique<LateLane>(*this);
  }

 private:
  class LateLane final : public FileLane {
   public:
    explicit LateLane(FaultyFile& file) : file_(file) {}
    ~LateLane() override { finish(); }
    void begin(bool write, std::span<const FilePiece> pieces) override {
      write_ = write;
      pieces_.assign(pieces.begin(), pieces.end());
      help_wanted_ = file_.faults_.lanes_need_help;
    }
    bool is_over() override { return !file_.faults_.lanes_never_end && help_wanted_ == 0; }
    bool help() override {
      if (help_wanted_ == 0) return false;
      --help_wanted_;
      ++file_.faults_.helps;
      return true;
    }
    TransferResult finish() override { return file_.move(write_, std::exchange(pieces_, {})); }

   private:
    FaultyFile& file_;
    bool write_ = false;
    std::vector<FilePiece> pieces_;
    int help_wanted_ = 0;
  };

  TransferResult move(bool write, std::span<const FilePiece> pieces) {
    ++faults_.transfers;
    if (is_under_way()) ++faults_.mixed;
    if (faults_.pause.count() > 0) std::this_thread::sleep_for(faults_.pause);
    const int error = write ? faults_.writes_error : faults_.reads_error;
    std::vector<FilePiece> good;
    Count left = error == 0 ? INT64_MAX : faults_.good_bytes;
    const Offset end = error == 0 ? INT64_MAX : faults_.bad_at;
    bool fails = false;
    for (FilePiece piece : pieces) {
      const Count wanted = piece.bytes;
      piece.bytes = std::min({wanted, left, std::max<Count>(end - piece.offset, 0)});
      left -= piece.bytes;
      if (piece.bytes > 0) good.push_back(piece);
      fails = piece.bytes < wanted;
      if (fails) break;
    }
    TransferResult done;
    if (!good.empty()) done = write ? inner_->write_at(good) : inner_->read_at(good);
    if (error != 0) faults_.good_bytes -= done.bytes;
    if (done.error == 0 && fails) done.error = error;
    return done;
  }

  std::unique_ptr<FileDriver> inner_;
  Faults& faults_;
  std::vector<FilePiece> begun_;
  bool begun_write_ = false;
};

class FaultyStorage final : public Storage {
 public:
  /// `faults` outlives the storage and its files.
  explicit FaultyStorage(Faults& faults) : inner_(make_posix_storage()), faults_(faults) {}

  int open(const std::string& path, const OpenHow& how, std::unique_ptr<FileDriver>* driver) override {
    std::unique_ptr<FileDriver> inner;
    if (const int error = inner_->open(path, how, &inner)) return error;
    *driver = std::make_unique<FaultyFile>(std::move(inner), faults_);
    return 0;
  }
  int remove(const std::string& path) override { return inner_->remove(path); }

 private:
  std::unique_ptr<Storage> inner_;
  Faults& faults_;
};

}  // namespace tasuki::test
