// FileStream: the data of a view from some position on, as one stream of bytes that is read or written in
// order. It cuts what it is given at the view's runs and hands it to the driver in batches.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "io/driver.hpp"
#include "io/view.hpp"

namespace tasuki {

class FileStream {
 public:
  /// Both outlive the stream. `position`: bytes of data in the view.
  FileStream(const View& view, FileDriver& driver, bool write, Count position)
      : view_(view), driver_(driver), write_(write), position_(position) {
    pieces_.reserve(64);
  }

  /// The next `bytes` of the stream are those at `memory`, which must stay until they have been moved: some
  /// of them when the batch is full, all of them after flush(). Does nothing once the stream is over.
  void move(std::byte* memory, Count bytes);
  void flush();

  /// The bytes that were moved so far, in order.
  Count moved() const { return moved_; }
  /// Nothing more can be moved: an error, or the end of the file.
  bool over() const { return over_; }
  int error() const { return error_; }

 private:
  void add(Offset offset, std::byte* memory, Count bytes);

  const View& view_;
  FileDriver& driver_;
  const bool write_;
  Count position_;     // of what comes next
  FileRun run_{0, 0};  // the rest of the run that `position_` lies in; empty: not looked up yet
  std::vector<FilePiece> pieces_;
  Count pieces_bytes_ = 0;
  Count moved_ = 0;
  int error_ = 0;
  bool over_ = false;
};

}  // namespace tasuki
