// A file that is opened when it is first needed.
#include "storage/deferred.hpp"

#include <cerrno>
#include <utility>

namespace tasuki {
namespace {

class DeferredFile final : public FileDriver {
 public:
  DeferredFile(Storage& storage, std::string path, OpenHow how, const Striping& striping)
      : storage_(storage), path_(std::move(path)), how_(std::move(how)), striping_(striping) {}

  int close() override {
    closed_ = true;
    return file_ != nullptr ? file_->close() : 0;
  }
  std::uint64_t identity() override { return file_ != nullptr ? file_->identity() : 0; }
  int size(Offset* bytes) override {
    const int error = open();
    return error != 0 ? error : file_->size(bytes);
  }
  int resize(Offset bytes) override {
    const int error = open();
    return error != 0 ? error : file_->resize(bytes);
  }
  int preallocate(Offset bytes) override {
    const int error = open();
    return error != 0 ? error : file_->preallocate(bytes);
  }
  int sync() override { return file_ != nullptr ? file_->sync() : 0; }
  Striping striping() override { return striping_; }

  TransferResult read_at(std::span<const FilePiece> pieces) override {
    const int error = open();
    return error != 0 ? TransferResult{.error = error} : file_->read_at(pieces);
  }
  TransferResult write_at(std::span<const FilePiece> pieces) override {
    const int error = open();
    return error != 0 ? TransferResult{.error = error} : file_->write_at(pieces);
  }
  void begin(bool write, std::span<const FilePiece> pieces) override {
    begin_error_ = open();
    if (begin_error_ == 0) file_->begin(write, pieces);
  }
  TransferResult finish() override {
    return begin_error_ != 0 ? TransferResult{.error = begin_error_} : file_->finish();
  }
  std::unique_ptr<FileLane> open_lane() override {
    return open() == 0 ? file_->open_lane() : FileDriver::open_lane();
  }
  bool is_under_way() const override {
    return begin_error_ == 0 && file_ != nullptr && file_->is_under_way();
  }

 private:
  int open() {
    if (closed_) return EBADF;
    return file_ != nullptr ? 0 : storage_.open(path_, how_, &file_);
  }

  Storage& storage_;
  const std::string path_;
  const OpenHow how_;
  const Striping striping_;
  std::unique_ptr<FileDriver> file_;  // null: not needed so far
  int begin_error_ = 0;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<FileDriver> make_deferred_driver(Storage& storage, const std::string& path,
                                                 const OpenHow& how, const Striping& striping) {
  return std::make_unique<DeferredFile>(storage, path, how, striping);
}

}  // namespace tasuki
