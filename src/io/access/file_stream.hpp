// FileStream: the data of a view from some position on, as one stream of bytes that is read or written in
// order. It cuts what it is given at the view's runs and hands it to the driver in batches, or has it sieved
// window by window (io/access/data_sieving.hpp).
//
// What is written holds its range shared while it is, or the caller holds all of it, as in atomic mode.
#pragma once

#include <memory>
#include <vector>

#include "base/types.hpp"
#include "io/access/data_sieving.hpp"
#include "io/file/file.hpp"
#include "storage/driver.hpp"

namespace tasuki {

class FileStream {
 public:
  /// `file` outlives the stream. `positions`: of the view's data that are to be moved. `held`: the caller
  /// holds their range in the file, exclusively where they are written.
  FileStream(File& file, bool write, const PositionRange& positions, bool held);

  /// The next `bytes` of the stream are those at `memory`, which must stay until they have been moved: some
  /// of them when the batch is full, all of them after flush(). Does nothing once the stream is over.
  void move(std::byte* memory, Count bytes);
  void flush();

  /// Sieves no more of `positions` if that does not seem to pay: for a caller whose memory could go straight
  /// to the file.
  void sieve_if_it_pays(const PositionRange& positions);
  /// Whether it may sieve: then many bytes at a time are better than one run after the other.
  bool may_sieve() const { return sieve_ != nullptr; }
  /// The bytes that were moved so far, in order.
  Count moved() const { return moved_; }
  /// Nothing more can be moved: an error, or the end of the file.
  bool over() const { return over_; }
  int error() const { return error_; }

 private:
  void move_by_windows(std::byte* memory, Count bytes);
  bool sieve_window(const PositionRange& window, std::byte* memory);
  void move_runs(std::byte* memory, Count bytes);
  void add(Offset offset, std::byte* memory, Count bytes);
  void note(const TransferResult& done, Count wanted_bytes);
  TransferResult write_pieces();

  File& file_;
  const bool write_;
  const bool held_;
  Count position_;                // of what comes next
  FileRun run_{0, 0};             // the rest of the run that `position_` lies in; empty: not looked up yet
  std::unique_ptr<Sieve> sieve_;  // null: all goes run by run
  std::vector<FilePiece> pieces_;
  Count pieces_bytes_ = 0;
  Count moved_ = 0;
  int error_ = 0;
  bool over_ = false;
};

}  // namespace tasuki
