// FileStream: see stream.hpp.
#include "io/stream.hpp"

#include <algorithm>

namespace tasuki {
namespace {

constexpr std::size_t kPiecesMax = 1024;  // in one batch: as many as one system call takes

}  // namespace

void FileStream::move(std::byte* memory, Count bytes) {
  while (bytes > 0 && !over_) {
    if (run_.bytes == 0) run_ = view_.run_at(position_);
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
  const Transfer done = write_ ? driver_.write_at(pieces_) : driver_.read_at(pieces_);
  moved_ += done.bytes;
  error_ = done.error;
  over_ = done.error != 0 || done.bytes < pieces_bytes_;
  pieces_.clear();
  pieces_bytes_ = 0;
}

}  // namespace tasuki
