// PieceMover: see piece_mover.hpp.
#include "storage/piece_mover.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace tasuki {
namespace {

ssize_t move_once(int fd, bool write, const iovec* vectors, const PieceCall& call, int flags) {
  const int count = static_cast<int>(call.vectors);
  if (flags != 0) return preadv2(fd, vectors, count, call.offset, flags);
  if (count == 1) {
    return write ? pwrite(fd, vectors->iov_base, vectors->iov_len, call.offset)
                 : pread(fd, vectors->iov_base, vectors->iov_len, call.offset);
  }
  return write ? pwritev(fd, vectors, count, call.offset) : preadv(fd, vectors, count, call.offset);
}

bool is_one_call(std::span<const FilePiece> pieces) {
  return pieces.empty() || (pieces.size() == 1 && pieces[0].bytes <= kCallBytesMax);
}

/// An outcome that says nothing about the file.
bool says_again(std::int64_t result) {
  return result == -EAGAIN || result == -EINTR || result == -ECANCELED;
}

}  // namespace

/// System calls with `flags`, of preadv2, until all is moved, the file ends or something is wrong.
void PieceMover::go_on(bool write, std::span<const FilePiece> pieces, Reached* reached, int flags) {
  std::array<iovec, kCallVectorsMax> vectors;
  TransferResult& done = reached->done;
  done.error = 0;
  while (reached->place.index < pieces.size()) {
    const PieceCall call = make_call(pieces, reached->place, write ? nullptr : gap_memory_.data(), vectors);
    const ssize_t moved = move_once(fd_, write, vectors.data(), call, flags);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) done.error = errno;
    if (moved == 0 && write) done.error = EIO;  // a file system that takes nothing and gives no reason
    if (moved <= 0) return;
    done.bytes += advance(pieces, &reached->place, moved);
  }
}

TransferResult PieceMover::move(bool write, std::span<const FilePiece> pieces) {
  const bool may_take_ring =
      ring_use_ == HintSwitch::kEnable || (ring_use_ == HintSwitch::kAutomatic && !write && cache_tells_);
  if (may_take_ring && !is_one_call(pieces)) {
    begin(write, pieces);
    return finish();
  }
  Reached reached;
  go_on(write, pieces, &reached);
  return reached.done;
}

void PieceMover::begin(bool write, std::span<const FilePiece> pieces) {
  end();
  reached_ = {};
  if (ring_use_ == HintSwitch::kAutomatic && !write && cache_tells_) {
    go_on(write, pieces, &reached_, RWF_NOWAIT);
    const int error = reached_.done.error;
    if (error == EAGAIN && has_ring()) return launch(write, pieces);
    if (error == EOPNOTSUPP || error == EINVAL || error == ENOSYS || error == EPERM) cache_tells_ = false;
    if (error == 0) return;
  } else if (ring_use_ == HintSwitch::kEnable && !pieces.empty() && has_ring()) {
    return launch(write, pieces);
  }
  go_on(write, pieces, &reached_);
}

bool PieceMover::read_from_cache(std::span<const FilePiece> pieces, TransferResult* result) {
  if (!cache_tells_) return false;
  Reached reached;
  go_on(false, pieces, &reached, RWF_NOWAIT);
  *result = reached.done;
  return reached.done.error == 0;
}

TransferResult PieceMover::finish() {
  if (under_way_) land();
  return reached_.done;
}

void PieceMover::end() {
  if (under_way_) land();
}

bool PieceMover::has_ring() {
  if (ring_ != nullptr) return true;
  std::string refusal;
  ring_ = make_ring_(&refusal);
  if (ring_ != nullptr) return true;
  ring_use_ = HintSwitch::kDisable;
  if (tell_) tell_("tasuki_io_uring: there is no io_uring (" + refusal + "): preadv and pwritev do it");
  return false;
}

/// Gives the ring what is left from reached_.place on.
void PieceMover::launch(bool write, std::span<const FilePiece> pieces) {
  write_ = write;
  reached_.done.error = 0;
  pieces_.assign(pieces.begin(), pieces.end());
  calls_.clear();
  vectors_.clear();
  ring_calls_.clear();
  std::array<iovec, kCallVectorsMax> vectors;
  for (PiecePlace place = reached_.place; place.index < pieces.size(); place = calls_.back().end) {
    calls_.push_back(make_call(pieces, place, write ? nullptr : gap_memory_.data(), vectors));
    vectors_.insert(vectors_.end(), vectors.begin(),
                    vectors.begin() + static_cast<std::ptrdiff_t>(calls_.back().vectors));
  }
  const iovec* next = vectors_.data();
  for (const PieceCall& call : calls_) {
    ring_calls_.push_back({call.offset, next, call.vectors});
    next += call.vectors;
  }
  under_way_ = true;
  ring_->begin(fd_, write, ring_calls_);
}

/// Waits for the ring, and does by system calls what it left undone.
void PieceMover::land() {
  under_way_ = false;
  if (!ring_->finish()) ring_ = nullptr;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const std::int64_t result = ring_calls_[i].result;
    if (result > 0) reached_.done.bytes += advance(pieces_, &reached_.place, result);
    if (result == calls_[i].bytes) continue;
    if (result < 0 && !says_again(result)) {
      reached_.done.error = static_cast<int>(-result);
    } else {
      go_on(write_, pieces_, &reached_);
    }
    return;
  }
}

}  // namespace tasuki
