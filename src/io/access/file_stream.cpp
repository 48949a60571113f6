// FileStream: see file_stream.hpp.
#include "io/access/file_stream.hpp"

#include <algorithm>

namespace tasuki {
namespace {

constexpr std::size_t kPiecesMax = 1024;  // in one batch: as many as one system call takes

}  // namespace

FileStream::FileStream(File& file, bool write, const PositionRange& positions, bool held)
    : file_(file), write_(write), held_(held), position_(positions.begin) {
  if (!file.view.filetype_in_file->contiguous) sieve_ = Sieve::make(file, write, held, positions);
}

/// By the first window and by the whole: views differ from window to window.
void FileStream::sieve_if_it_pays(const PositionRange& positions) {
  if (sieve_ != nullptr && !sieve_->pays(sieve_->window_of(positions)) && !sieve_->pays(positions))
    sieve_ = nullptr;
}

void FileStream::move(std::byte* memory, Count bytes) {
  if (sieve_ != nullptr) {
    move_by_windows(memory, bytes);
  } else {
    move_runs(memory, bytes);
  }
}

void FileStream::move_by_windows(std::byte* memory, Count bytes) {
  while (bytes > 0 && !over_) {
    const PositionRange window = sieve_->window_of({position_, position_ + bytes});
    const Count part = window.bytes();
    if (!sieve_->pays(window) || !sieve_window(window, memory)) move_runs(memory, part);
    memory += part;
    bytes -= part;
  }
}

bool FileStream::sieve_window(const PositionRange& window, std::byte* memory) {
  flush();
  TransferResult done;
  if (over_ || !sieve_->move(window, memory, &done)) return false;
  note(done, window.bytes());
  position_ = window.end;
  run_.bytes = 0;
  return true;
}

void FileStream::move_runs(std::byte* memory, Count bytes) {
  while (bytes > 0 && !over_) {
    if (run_.bytes == 0) run_ = file_.view.run_at(position_);
    const Count part = std::min(bytes, run_.bytes);
    add(run_.offset, memory, part);
    run_.offset += part;
    run_.bytes -= part;
    position_ += part;
    memory += part;
    bytes -= part;
  }
}

void FileStream::add(Offset offset, std::byte* memory, Count bytes) {
  pieces_bytes_ += bytes;
  if (!pieces_.empty()) {
    FilePiece& last = pieces_.back();
    if (last.offset + last.bytes == offset && last.memory + last.bytes == memory) {
      last.bytes += bytes;
      return;
    }
    if (pieces_.size() == kPiecesMax) {
      pieces_bytes_ -= bytes;
      flush();
      if (over_) return;
      pieces_bytes_ = bytes;
    }
  }
  pieces_.push_back({offset, memory, bytes});
}

void FileStream::flush() {
  if (pieces_.empty() || over_) return;
  note(write_ ? write_pieces() : file_.driver->read_at(pieces_), pieces_bytes_);
  pieces_.clear();
  pieces_bytes_ = 0;
}

void FileStream::note(const TransferResult& done, Count wanted_bytes) {
  moved_ += done.bytes;
  error_ = done.error;
  over_ = done.error != 0 || done.bytes < wanted_bytes;
}

TransferResult FileStream::write_pieces() {
  const FileRange range{pieces_.front().offset, pieces_.back().offset + pieces_.back().bytes};
  const RangeLock lock(held_ ? nullptr : file_.locks.get(), range, RangeUse::kShared);
  return file_.driver->write_at(pieces_);
}

}  // namespace tasuki
