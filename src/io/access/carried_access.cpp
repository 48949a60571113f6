// An access that a course carries: see access.hpp. One that does not wait goes one of these ways:
//   direct     long runs of the memory: what the storage moves, on the lane, all at once where that is little
//              to describe
//   staged     many short runs of the memory: through a stage, which moves on the lane
//   in slices  where the file is sieved: a slice at each look of progress, under a lock on its range
//   converted  file and memory differ: at one look of progress, under a lock
#include <algorithm>
#include <memory>
#include <vector>

#include "base/user_memory.hpp"
#include "io/access/access.hpp"
#include "io/access/file_stream.hpp"
#include "io/file/agreement.hpp"
#include "io/file/pending.hpp"

namespace tasuki {
namespace {

constexpr Count kCarriedStageBytes = 4 << 20;  // of memory's short runs: the lane works while others compute
constexpr Count kSliceOfSievedBytes = 1 << 20;
constexpr std::size_t kCarriedPiecesMax = 4096;  // in one transfer

class CarriedAccess {
 public:
  CarriedAccess(Course& course, const Access& access, Status* status)
      : course_(course),
        access_(access),
        file_(access.file),
        positions_(positions_of(access)),
        status_(status) {}

  Task move();

 private:
  Task move_direct();
  Task move_staged();
  Task move_in_slices();
  Task move_converted();
  Task move_pieces();
  Code make_stage(Count bytes_max);
  bool is_sieved() const;
  bool is_over() const { return stopped_ || moved_ == access_.file_bytes; }
  void add(std::byte* memory, Count bytes);

  Course& course_;
  const Access& access_;
  File& file_;
  const PositionRange positions_;
  Status* status_;
  Count moved_ = 0;
  bool stopped_ = false;  // by the end of the file, or `error_`
  int error_ = 0;
  std::vector<FilePiece> pieces_;
  Count pieces_bytes_ = 0;
  std::unique_ptr<std::byte[]> stage_;
  Count stage_bytes_ = 0;
};

/// A stream is asked, which nothing is moved by.
bool CarriedAccess::is_sieved() const {
  FileStream stream(file_, access_.write, positions_, true);
  if (has_long_runs(*access_.datatype) && !access_.datatype->contiguous) stream.sieve_if_it_pays(positions_);
  return stream.may_sieve();
}

Task CarriedAccess::move() {
  RangeLock lock;
  if (file_.atomic) {
    co_await take_lock(course_, &lock, file_.locks.get(), range_of(file_, positions_),
                       access_.write ? RangeUse::kExclusive : RangeUse::kShared);
  }
  const MuchWriting writing(access_);
  if (access_.write) file_.written = true;
  if (!file_.view.representation->is_native()) co_return co_await move_converted();
  Code code = kSuccess;
  co_await turn_at_driver(course_, file_);
  if (is_sieved()) {
    code = co_await move_in_slices();
  } else if (has_long_runs(*access_.datatype)) {
    code = co_await move_direct();
  } else {
    code = co_await move_staged();
  }
  status_->bytes = moved_;
  if (code == kSuccess && error_ != 0) code = fail_transfer(access_, error_, moved_);
  co_return code;
}

Task CarriedAccess::move_converted() {
  RangeLock lock;
  if (access_.write && !file_.atomic) {
    co_await take_lock(course_, &lock, file_.locks.get(), range_of(file_, positions_), RangeUse::kExclusive);
  }
  co_await turn_at_driver(course_, file_);
  co_return transfer_held(access_, status_);
}

/// Of the next bytes of the view, which lie at `memory`: the pieces.
void CarriedAccess::add(std::byte* memory, Count bytes) {
  const Count end = pieces_bytes_ + bytes;
  while (pieces_bytes_ < end && pieces_.size() < kCarriedPiecesMax) {
    const FileRun run = file_.view.run_at(positions_.begin + moved_ + pieces_bytes_);
    const Count here = std::min(run.bytes, end - pieces_bytes_);
    FilePiece* last = pieces_.empty() ? nullptr : &pieces_.back();
    if (last != nullptr && last->offset + last->bytes == run.offset && last->memory + last->bytes == memory) {
      last->bytes += here;
    } else {
      pieces_.push_back({run.offset, memory, here});
    }
    memory += here;
    pieces_bytes_ += here;
  }
}

Task CarriedAccess::move_pieces() {
  RangeLock lock;
  if (access_.write && !file_.atomic) {
    const FileRange range{pieces_.front().offset, pieces_.back().offset + pieces_.back().bytes};
    co_await take_lock(course_, &lock, file_.locks.get(), range, RangeUse::kShared);
  }
  const TransferResult done = co_await transfer_pieces(course_, *file_.driver, access_.write, pieces_);
  moved_ += done.bytes;
  error_ = done.error;
  stopped_ = done.error != 0 || done.bytes < pieces_bytes_;
  pieces_.clear();
  pieces_bytes_ = 0;
  co_return kSuccess;
}

Task CarriedAccess::move_direct() {
  const PlacedElements elements = elements_of(access_);
  while (!is_over()) {
    while (moved_ + pieces_bytes_ < access_.file_bytes && pieces_.size() < kCarriedPiecesMax) {
      const Count position = moved_ + pieces_bytes_;
      const Run run = run_at(elements, position);
      add(reinterpret_cast<std::byte*>(run.place), std::min(run.bytes, access_.file_bytes - position));
    }
    co_await move_pieces();
  }
  co_return kSuccess;
}

Code CarriedAccess::make_stage(Count bytes_max) {
  stage_bytes_ = std::min(bytes_max, access_.file_bytes);
  stage_ = allocate_for_user(stage_bytes_);
  return stage_ != nullptr ? kSuccess : fail_memory(file_.process, "count", access_.count);
}

Task CarriedAccess::move_staged() {
  if (const Code code = make_stage(kCarriedStageBytes)) co_return code;
  PackCursor cursor(*access_.datatype, access_.count);
  while (!is_over()) {
    const Count begin = moved_;
    const Count bytes =
        std::min({stage_bytes_, access_.file_bytes - begin, course_.is_awaited ? kStageBytes : stage_bytes_});
    if (access_.write) cursor.pack(access_.buffer, stage_.get(), static_cast<std::size_t>(bytes));
    while (!stopped_ && moved_ < begin + bytes) {
      add(stage_.get() + (moved_ - begin), begin + bytes - moved_);
      co_await move_pieces();
    }
    if (!access_.write) cursor.unpack(access_.buffer, stage_.get(), static_cast<std::size_t>(moved_ - begin));
  }
  co_return kSuccess;
}

Task CarriedAccess::move_in_slices() {
  if (const Code code = make_stage(kSliceOfSievedBytes)) co_return code;
  PackCursor cursor(*access_.datatype, access_.count);
  while (!is_over()) {
    const Count bytes = std::min(stage_bytes_, access_.file_bytes - moved_);
    const PositionRange slice{positions_.begin + moved_, positions_.begin + moved_ + bytes};
    if (access_.write) cursor.pack(access_.buffer, stage_.get(), static_cast<std::size_t>(bytes));
    {
      RangeLock lock;
      if (access_.write && !file_.atomic) {
        co_await take_lock(course_, &lock, file_.locks.get(), range_of(file_, slice), RangeUse::kExclusive);
      }
      co_await turn_at_driver(course_, file_);
      FileStream stream(file_, access_.write, slice, true);
      stream.move(stage_.get(), bytes);
      stream.flush();
      moved_ += stream.moved();
      error_ = stream.error();
      stopped_ = stream.over();
      if (!access_.write)
        cursor.unpack(access_.buffer, stage_.get(), static_cast<std::size_t>(stream.moved()));
    }
    co_await next_look(course_);
  }
  co_return kSuccess;
}

}  // namespace

Task transfer(Course& course, const Access& access, Status* status) {
  if (course.waits()) co_return transfer(access, status);
  begin_status(access.file, status);
  if (access.file_bytes == 0) co_return kSuccess;
  CarriedAccess carried(course, access, status);
  co_return co_await carried.move();
}

}  // namespace tasuki
