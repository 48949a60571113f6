// Access: one data access of one rank, whichever of the fifty calls it came from (MPI 14.4).
#pragma once

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/layout.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "io/file/file.hpp"

namespace tasuki {

struct Access {
  File& file;
  bool write;
  void* buffer;  // is only read by a write
  Count count;
  Datatype* datatype;
  Offset offset = 0;     // etypes: where it begins in the view
  Count file_bytes = 0;  // of data; set by measure()

  Count etypes() const { return file_bytes / file.view.etype_in_file->size; }
};

/// Checks what does not depend on the place: the mode of the file, and that the data is a whole number of
/// etypes. Sets file_bytes.
Code measure(Access* access);

/// Checks that the access lies within what the view can reach.
Code check_place(const Access& access);

/// Moves the data. `status` (not null) says how many bytes of the user's arrived, also beside an error. A
/// read at the end of the file is short. REQUIRES: measure() and check_place() found nothing wrong.
Code transfer(const Access& access, Status* status);

/// The same by a caller that holds its range in the file, exclusively to write. Waits for nothing but the
/// storage.
Code transfer_held(const Access& access, Status* status);

/// The same as a task (io/access/carried_access.cpp): on a course that does not wait the bytes go by its
/// lane, as far as they can.
Task transfer(Course& course, const Access& access, Status* status);

/// What the status of an access says before anything is moved.
inline void begin_status(const File& file, Status* status) {
  *status = Status{};
  status->source = file.comm->rank;
  status->tag = 0;
}

/// Of the bytes of the access in the view's data.
PositionRange positions_of(const Access& access);
/// From the first byte of the file that `positions` of its view touch to the last one.
FileRange range_of(const File& file, const PositionRange& positions);

/// The access's memory, element by element.
PlacedElements elements_of(const Access& access);
/// Whether the memory consists of runs so long that they go to the storage as they are.
bool has_long_runs(const Datatype& datatype);

/// The error of the storage that stopped an access after `moved` bytes.
Code fail_transfer(const Access& access, int error, Count moved);

/// Tells the other ranks, for a scope, that this one writes much.
class MuchWriting {
 public:
  explicit MuchWriting(const Access& access)
      : state_(access.write && access.file_bytes >= kMuchBytes ? access.file.shared.get() : nullptr) {
    if (state_ != nullptr) state_->begin_writing();
  }
  ~MuchWriting() {
    if (state_ != nullptr) state_->end_writing();
  }
  MuchWriting(const MuchWriting&) = delete;
  MuchWriting& operator=(const MuchWriting&) = delete;

 private:
  static constexpr Count kMuchBytes = 256 << 10;
  SharedState* state_;
};

/// Where the bytes of the access lie one behind the other in memory, in their order; null where they do not.
std::byte* dense_data(const Access& access);

}  // namespace tasuki
