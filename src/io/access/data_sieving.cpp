// Data sieving: see data_sieving.hpp.
#include "io/access/data_sieving.hpp"

#include <algorithm>
#include <utility>

#include "io/access/read_modify_write.hpp"
#include "storage/piece_calls.hpp"

namespace tasuki {
namespace {

// What files cost, in nanoseconds, as bench/io.cpp and loops of pread and pwrite show it on a virtual machine
// with files in memory (tmpfs) and on a disk (ext4, cached). It decides what is fast, never what is right.
struct FileCosts {
  double call;         // a run by itself
  double byte;         // of a run
  double window_byte;  // of a sieved window: read; or read and written back
};
constexpr FileCosts kReadMemory{300, 0.2, 0.2};
constexpr FileCosts kReadDisk{300, 0.1, 0.1};
constexpr FileCosts kWriteMemory{430, 0.2, 0.35};
constexpr FileCosts kWriteDisk{1200, 0.25, 0.23};
/// What the driver reads over by itself, so that a call takes many runs.
constexpr double kGapRunNs = 60;
constexpr double kCopyRunNs = 10;  // a run between the window and the user's memory
constexpr double kCopyByteNs = 0.05;
/// The system writes to one file for one rank at a time, so where several write what counts is how long each
/// keeps the others out: half of a sieved window's time goes into reading and copying.
constexpr double kShareWriting = 0.5;

constexpr Count kRunBytesMax = 64 << 10;  // longer ones never gain by it

const FileCosts& costs_of(const WindowShape& shape) {
  if (shape.write) return shape.in_memory ? kWriteMemory : kWriteDisk;
  return shape.in_memory ? kReadMemory : kReadDisk;
}

}  // namespace

bool sieving_pays(const WindowShape& shape) {
  if (shape.runs < 2 || shape.bytes == shape.extent) return false;
  const FileCosts& costs = costs_of(shape);
  const auto runs = static_cast<double>(shape.runs);
  const auto bytes = static_cast<double>(shape.bytes);
  const auto extent = static_cast<double>(shape.extent);
  double one_by_one = runs * costs.call + bytes * costs.byte;
  if (!shape.write && (shape.extent - shape.bytes) / (shape.runs - 1) <= kGapBytesMax)
    one_by_one = costs.call + runs * kGapRunNs + extent * costs.byte;
  const double window = extent * costs.window_byte;
  const double calls = (shape.write ? 2 : 1) * costs.call;
  double sieved = calls + window + runs * kCopyRunNs + bytes * kCopyByteNs;
  if (shape.write && shape.in_memory && shape.contended) sieved *= kShareWriting;
  return sieved < one_by_one;
}

std::unique_ptr<Sieve> Sieve::make(File& file, bool write, bool locked, const PositionRange& range) {
  const HintSwitch wanted = write ? file.hints.sieve_write : file.hints.sieve_read;
  if (wanted == HintSwitch::kDisable || range.bytes() == 0) return nullptr;
  if (write && !can_fill_holes(file)) return nullptr;
  const FileMap& map = map_of_view(file);
  if (wanted == HintSwitch::kAutomatic && map.run_bytes() > kRunBytesMax) return nullptr;
  if (map.run_at(range.begin).bytes >= range.bytes() || !map.is_ordered(range.end)) return nullptr;
  const Count bytes = write ? file.hints.sieve_write_bytes : file.hints.sieve_read_bytes;
  return std::unique_ptr<Sieve>(new Sieve(file, write, locked, wanted, std::max<Count>(bytes, 1)));
}

FileRange Sieve::extent_of(const PositionRange& window) const {
  const FileMap& map = map_of_view(file_);
  return {map.offset_of(window.begin), map.offset_of(window.end - 1) + 1};
}

PositionRange Sieve::window_of(const PositionRange& range) const {
  const FileMap& map = map_of_view(file_);
  const Offset begin = map.offset_of(range.begin);
  const Offset before = begin / window_bytes_ * window_bytes_;
  const Offset end = before > INT64_MAX - window_bytes_ ? INT64_MAX : before + window_bytes_;
  return map.range_in(range, begin, end);
}

bool Sieve::pays(const PositionRange& window) const {
  const Count extent = extent_of(window).bytes();
  if (extent == window.bytes()) return false;
  if (wanted_ == HintSwitch::kEnable) return true;
  const Count run_bytes = std::max<Count>(map_of_view(file_).run_bytes(), 1);
  return sieving_pays({.write = write_,
                       .in_memory = file_.in_memory,
                       .contended = write_ && file_.shared->others_write(),
                       .runs = (window.bytes() + run_bytes - 1) / run_bytes,
                       .bytes = window.bytes(),
                       .extent = extent});
}

bool Sieve::move(const PositionRange& window, std::byte* packed, TransferResult* done) {
  const FileRange extent = extent_of(window);
  if (!write_) {
    *done = read(window, extent, packed);
  } else if (!write(window, extent, packed, done)) {
    return false;
  }
  ++file_.process.counters.files.sieved_windows;
  return true;
}

TransferResult Sieve::read(const PositionRange& window, const FileRange& extent, std::byte* packed) {
  std::byte* memory = buffer_.take(extent.bytes());
  const FilePiece piece{extent.begin, memory, extent.bytes()};
  TransferResult done = file_.driver->read_at({&piece, 1});
  const FileMap& map = map_of_view(file_);
  const PositionRange got =
      done.bytes == piece.bytes ? window : map.range_in(window, extent.begin, extent.begin + done.bytes);
  if (got.bytes() > 0) map.from_window(got, packed, memory, extent.begin);
  done.bytes = got.bytes();
  return done;
}

bool Sieve::write(const PositionRange& window, const FileRange& extent, const std::byte* packed,
                  TransferResult* done) {
  const RangeLock lock(locked_ ? nullptr : file_.locks.get(), extent, RangeUse::kExclusive);
  std::byte* memory = buffer_.take(extent.bytes());
  const FilePiece piece{extent.begin, memory, extent.bytes()};
  if (read_with_zeros(*file_.driver, piece).error != 0) return false;
  const FileMap& map = map_of_view(file_);
  map.to_window(window, packed, memory, extent.begin);
  *done = file_.driver->write_at({&piece, 1});
  const Offset end = extent.begin + done->bytes;
  done->bytes = end == extent.end ? window.bytes() : map.range_in(window, extent.begin, end).bytes();
  return true;
}

}  // namespace tasuki
