// PieceMover: gets the pieces of a transfer between memory and an open descriptor, by calls of the system or
// by a ring of the kernel's.
//
// Automatic means: writes and single calls are system calls; a read of more takes from the page cache what
// lies there, and asks a ring for the rest. docs/io.md has the measurement behind that.
//
// Ownership: the descriptor is the caller's. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/driver.hpp"
#include "storage/piece_calls.hpp"
#include "storage/uring.hpp"

namespace tasuki {

class PieceMover {
 public:
  using Tell = std::function<void(const std::string&)>;

  PieceMover(int fd, HintSwitch ring_use, RingMaker make_ring, Tell tell)
      : fd_(fd), ring_use_(ring_use), make_ring_(std::move(make_ring)), tell_(std::move(tell)) {}

  /// FileDriver's read_at() or write_at(), begin(), finish() and is_under_way().
  TransferResult move(bool write, std::span<const FilePiece> pieces);
  void begin(bool write, std::span<const FilePiece> pieces);
  /// Reads without waiting for a device. Returns whether that was all; else `result` says nothing.
  bool read_from_cache(std::span<const FilePiece> pieces, TransferResult* result);
  TransferResult finish();
  bool is_under_way() const { return under_way_; }

  /// Waits for what was begun and never finished.
  void end();

 private:
  /// A transfer on its way.
  struct Reached {
    PiecePlace place;
    TransferResult done;  // up to there
  };

  void go_on(bool write, std::span<const FilePiece> pieces, Reached* reached, int flags = 0);
  bool has_ring();
  void launch(bool write, std::span<const FilePiece> pieces);
  void land();

  const int fd_;
  HintSwitch ring_use_;
  RingMaker make_ring_;
  Tell tell_;
  std::unique_ptr<Ring> ring_;  // made when it is first wanted
  bool cache_tells_ = true;     // whether a read may say that it would have to wait

  // Of what was begun. The lists are of use while it is under way, and keep their memory.
  bool under_way_ = false;  // in the ring
  bool write_ = false;
  Reached reached_;
  std::vector<FilePiece> pieces_;
  std::vector<PieceCall> calls_;
  std::vector<iovec> vectors_;  // of all calls
  std::vector<RingCall> ring_calls_;

  std::array<std::byte, kGapBytesMax> gap_memory_;  // never read
};

}  // namespace tasuki
