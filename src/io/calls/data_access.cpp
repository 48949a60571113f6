// The data accesses of MPI 14.4: explicit offsets, individual and shared file pointers, in order of ranks;
// blocking, nonblocking, collective, and split in two.
//
// The blocking and the nonblocking form of an access are one task (io/course/): a blocking call runs it to
// its end, a nonblocking one, and the begin of a split one, begins it and lets progress go on
// (io/file/pending.hpp). Its place is that of the call, and so are file pointers, but for accesses in order,
// which wait for others.
#include <memory>
#include <string>
#include <utility>

#include "check/checks.hpp"
#include "io/access/access.hpp"
#include "io/api.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "io/file/pending.hpp"
#include "io/two_phase/collective_access.hpp"

namespace tasuki {
namespace {

/// Where an access begins.
enum class Pointer : std::uint8_t { kExplicit, kIndividual, kShared, kOrdered };

Code check_pointer(const File& file, Pointer pointer) {
  if (!file.is_sequential() || pointer == Pointer::kShared || pointer == Pointer::kOrdered) return kSuccess;
  return file.process.fail(
      kErrUnsupportedOperation,
      "\"%.400s\" was opened with MPI_MODE_SEQUENTIAL: only the shared file pointer can be used",
      file.name.c_str());
}

/// Checks an access and gives it its place, but where it is that of the shared file pointer. A file pointer
/// moves on by what is asked for, whatever will be there.
Code prepare(Access* access, Pointer pointer) {
  File& file = access->file;
  Code code = check_pointer(file, pointer);
  if (code == kSuccess) code = measure(access);
  if (code != kSuccess || pointer == Pointer::kOrdered || pointer == Pointer::kShared) return code;
  if (pointer == Pointer::kIndividual) access->offset = file.position;
  code = check_place(*access);
  if (code == kSuccess && pointer == Pointer::kIndividual) file.position += access->etypes();
  return code;
}

/// Counts an access that is no collective one.
void note_alone(const Access& access, const Status& status) {
  FileCounts& counts = access.file.process.counters.files;
  (access.write ? counts.independent_writes : counts.independent_reads)
      .add(static_cast<std::uint64_t>(status.bytes));
}

Task transfer_in_order(Course& course, Access& access, Code code, Status* status) {
  code = co_await place_in_order(course, &access, code);
  if (code == kSuccess) code = check_place(access);
  co_return co_await transfer_collectively(course, access, code, status);
}

/// A rank whose arguments are wrong, as `code` says, takes part with nothing: the others may wait for it.
Task transfer_together(Course& course, Access& access, Pointer pointer, Code code, Status* status) {
  return pointer == Pointer::kOrdered ? transfer_in_order(course, access, code, status)
                                      : transfer_collectively(course, access, code, status);
}

Code access_now(Access access, Pointer pointer, Status* status) {
  if (const Code code = prepare(&access, pointer)) return code;
  if (pointer == Pointer::kShared) {
    access.offset = access.file.shared->advance(access.etypes());
    if (const Code code = check_place(access)) return code;
  }
  Status ignored;
  if (status == nullptr) status = &ignored;
  const Code code = transfer(access, status);
  note_alone(access, *status);
  return code;
}

Code access_together(Access access, Pointer pointer, Status* status) {
  File& file = access.file;
  const Code code = prepare(&access, pointer);
  finish_pending_collectives(file);
  Course course(file.process, Course::Waits::kInTheCall);
  Status ignored;
  return course.run(transfer_together(course, access, pointer, code, status != nullptr ? status : &ignored));
}

// With TASUKI_CHECK=3 nothing else may use the memory of an access until that is waited for.

Code check_buffer(const Access& access) {
  const Checks* checks = access.file.process.checks.get();
  if (checks == nullptr || !checks->keeps_buffers()) return kSuccess;
  const Area area(access.buffer, access.count, access.datatype);
  return access.write ? checks->check_send_buffer(area, "buf") : checks->check_receive_buffer(area, "buf");
}

void keep_buffer(const Access& access, FileRequest& request) {
  Checks* checks = access.file.process.checks.get();
  if (checks == nullptr || !checks->keeps_buffers()) return;
  request.has_pending_buffers = true;
  checks->begin(&request, std::string(checks->call()) + " (\"" + access.file.name + "\")",
                {{Area(access.buffer, access.count, access.datatype), !access.write}});
}

/// Of one that no request stands for.
Code give_buffer_back(FileRequest& request) {
  if (!std::exchange(request.has_pending_buffers, false)) return kSuccess;
  return request.file->process.checks->end(&request);
}

struct PendingIndependentAccess final : PendingAccess {
  PendingIndependentAccess(const Access& its_access, Pointer its_pointer)
      : PendingAccess(its_access.file, *its_access.datatype), access(its_access), pointer(its_pointer) {}

  Task carry_out() override {
    ++access.file.independent_accesses;
    const Code code = co_await move();
    --access.file.independent_accesses;
    co_return code;
  }

  /// Another rank may have to say where the shared file pointer is.
  Task move() {
    File& file = access.file;
    if (pointer == Pointer::kShared) {
      co_await advance_pointer(course, *file.shared, access.etypes(), &access.offset);
      if (const Code code = check_place(access)) co_return code;
    }
    co_await take_lane(course, file);
    const Code code = co_await transfer(course, access, &request->status);
    note_alone(access, request->status);
    give_lane_back(course, file);
    co_return code;
  }

  Access access;
  const Pointer pointer;
};

struct PendingCollectiveAccess final : PendingAccess {
  PendingCollectiveAccess(const Access& its_access, Pointer its_pointer, Code prepared)
      : PendingAccess(its_access.file, *its_access.datatype),
        access(its_access),
        pointer(its_pointer),
        code(prepared) {}

  Task carry_out() override {
    File& file = access.file;
    co_await turn_of(course, file, file.collective_begun++);
    co_await take_lane(course, file);
    code = co_await transfer_together(course, access, pointer, code, &request->status);
    give_lane_back(course, file);
    ++file.collective_over;
    co_return code;
  }

  Access access;
  const Pointer pointer;
  Code code;
};

Code access_later(Access access, Pointer pointer, Request** request) {
  if (const Code code = check_buffer(access)) return code;
  if (const Code code = prepare(&access, pointer)) return code;
  auto pending = std::make_unique<PendingIndependentAccess>(access, pointer);
  keep_buffer(access, *pending->request);
  *request = access.file.process.files->pending->begin(std::move(pending)).take();
  return kSuccess;
}

/// The call of a rank whose arguments are wrong is refused, and the rank takes part with nothing.
Code begin_together(Access access, Pointer pointer, Ref<FileRequest>* request) {
  Code code = check_buffer(access);
  if (code == kSuccess) code = prepare(&access, pointer);
  auto pending = std::make_unique<PendingCollectiveAccess>(access, pointer, code);
  if (code == kSuccess) keep_buffer(access, *pending->request);
  Ref<FileRequest> begun = access.file.process.files->pending->begin(std::move(pending));
  if (code == kSuccess) *request = std::move(begun);
  return code;
}

Code access_together_later(const Access& access, Pointer pointer, Request** request) {
  Ref<FileRequest> begun;
  const Code code = begin_together(access, pointer, &begun);
  if (code == kSuccess) *request = begun.take();
  return code;
}

const char* split_name(Split split) {
  switch (split) {
    case Split::kReadAtAll:
      return "MPI_File_read_at_all";
    case Split::kWriteAtAll:
      return "MPI_File_write_at_all";
    case Split::kReadAll:
      return "MPI_File_read_all";
    case Split::kWriteAll:
      return "MPI_File_write_all";
    case Split::kReadOrdered:
      return "MPI_File_read_ordered";
    case Split::kWriteOrdered:
      return "MPI_File_write_ordered";
    case Split::kNone:
      break;
  }
  return "none";
}

/// The error of a transfer is kept for the end call, as its status is.
Code begin_split(const Access& access, Pointer pointer, Split split) {
  SplitState& state = access.file.split;
  if (state.active != Split::kNone)
    return access.file.process.fail(kErrIo, "a split collective is active on the file: call %s_end first",
                                    split_name(state.active));
  if (const Code code = begin_together(access, pointer, &state.request)) return code;
  state.active = split;
  state.buffer = access.buffer;
  return kSuccess;
}

Code end_split(File& file, Split split, const void* buffer, Status* status) {
  SplitState& state = file.split;
  if (state.active != split) {
    if (state.active == Split::kNone)
      return file.process.fail(kErrIo, "no split collective is active on the file: call %s_begin first",
                               split_name(split));
    return file.process.fail(kErrIo, "the split collective that is active on the file is %s, not this one",
                             split_name(state.active));
  }
  if (buffer != state.buffer)
    return file.process.fail(kErrBuffer, "buf = %p, expected %p as in %s_begin", buffer, state.buffer,
                             split_name(split));
  const Ref<FileRequest> request = std::move(state.request);
  file.process.files->pending->wait_for(&file, [&request] { return request->done; });
  state.active = Split::kNone;
  if (status != nullptr) *status = request->status;
  const Code changed = give_buffer_back(*request);
  return request->status.error != kSuccess ? request->status.error : changed;
}

}  // namespace

namespace api {

Code file_read_at(Process&, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                  Status* status) {
  return access_now({*fh, false, buf, count, datatype, offset}, Pointer::kExplicit, status);
}

Code file_iread_at(Process&, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                   Request** request) {
  return access_later({*fh, false, buf, count, datatype, offset}, Pointer::kExplicit, request);
}

Code file_read_at_all(Process&, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                      Status* status) {
  return access_together({*fh, false, buf, count, datatype, offset}, Pointer::kExplicit, status);
}

Code file_iread_at_all(Process&, File* fh, Offset offset, void* buf, Count count, Datatype* datatype,
                       Request** request) {
  return access_together_later({*fh, false, buf, count, datatype, offset}, Pointer::kExplicit, request);
}

Code file_read_at_all_begin(Process&, File* fh, Offset offset, void* buf, Count count, Datatype* datatype) {
  return begin_split({*fh, false, buf, count, datatype, offset}, Pointer::kExplicit, Split::kReadAtAll);
}

Code file_read_at_all_end(Process&, File* fh, void* buf, Status* status) {
  return end_split(*fh, Split::kReadAtAll, buf, status);
}

Code file_read(Process&, File* fh, void* buf, Count count, Datatype* datatype, Status* status) {
  return access_now({*fh, false, buf, count, datatype, 0}, Pointer::kIndividual, status);
}

Code file_iread(Process&, File* fh, void* buf, Count count, Datatype* datatype, Request** request) {
  return access_later({*fh, false, buf, count, datatype, 0}, Pointer::kIndividual, request);
}

Code file_read_all(Process&, File* fh, void* buf, Count count, Datatype* datatype, Status* status) {
  return access_together({*fh, false, buf, count, datatype, 0}, Pointer::kIndividual, status);
}

Code file_iread_all(Process&, File* fh, void* buf, Count count, Datatype* datatype, Request** request) {
  return access_together_later({*fh, false, buf, count, datatype, 0}, Pointer::kIndividual, request);
}

Code file_read_all_begin(Process&, File* fh, void* buf, Count count, Datatype* datatype) {
  return begin_split({*fh, false, buf, count, datatype, 0}, Pointer::kIndividual, Split::kReadAll);
}

Code file_read_all_end(Process&, File* fh, void* buf, Status* status) {
  return end_split(*fh, Split::kReadAll, buf, status);
}

Code file_read_shared(Process&, File* fh, void* buf, Count count, Datatype* datatype, Status* status) {
  return access_now({*fh, false, buf, count, datatype, 0}, Pointer::kShared, status);
}

Code file_iread_shared(Process&, File* fh, void* buf, Count count, Datatype* datatype, Request** request) {
  return access_later({*fh, false, buf, count, datatype, 0}, Pointer::kShared, request);
}

Code file_read_ordered(Process&, File* fh, void* buf, Count count, Datatype* datatype, Status* status) {
  return access_together({*fh, false, buf, count, datatype, 0}, Pointer::kOrdered, status);
}

Code file_read_ordered_begin(Process&, File* fh, void* buf, Count count, Datatype* datatype) {
  return begin_split({*fh, false, buf, count, datatype, 0}, Pointer::kOrdered, Split::kReadOrdered);
}

Code file_read_ordered_end(Process&, File* fh, void* buf, Status* status) {
  return end_split(*fh, Split::kReadOrdered, buf, status);
}

Code file_write_at(Process&, File* fh, Offset offset, const void* buf, Count count, Datatype* datatype,
                   Status* status) {
  return access_now({*fh, true, const_cast<void*>(buf), count, datatype, offset}, Pointer::kExplicit, status);
}

Code file_iwrite_at(Process&, File* fh, Offset offset, const void* buf, Count count, Datatype* datatype,
                    Request** request) {
  return access_later({*fh, true, const_cast<void*>(buf), count, datatype, offset}, Pointer::kExplicit,
                      request);
}

Code file_write_at_all(Process&, File* fh, Offset offset, const void* buf, Count count, Datatype* datatype,
                       Status* status) {
  return access_together({*fh, true, const_cast<void*>(buf), count, datatype, offset}, Pointer::kExplicit,
                         status);
}

Code file_iwrite_at_all(Process&, File* fh, Offset offset, const void* buf, Count count, Datatype* datatype,
                        Request** request) {
  return access_together_later({*fh, true, const_cast<void*>(buf), count, datatype, offset},
                               Pointer::kExplicit, request);
}

Code file_write_at_all_begin(Process&, File* fh, Offset offset, const void* buf, Count count,
                             Datatype* datatype) {
  return begin_split({*fh, true, const_cast<void*>(buf), count, datatype, offset}, Pointer::kExplicit,
                     Split::kWriteAtAll);
}

Code file_write_at_all_end(Process&, File* fh, const void* buf, Status* status) {
  return end_split(*fh, Split::kWriteAtAll, buf, status);
}

Code file_write(Process&, File* fh, const void* buf, Count count, Datatype* datatype, Status* status) {
  return access_now({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kIndividual, status);
}

Code file_iwrite(Process&, File* fh, const void* buf, Count count, Datatype* datatype, Request** request) {
  return access_later({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kIndividual, request);
}

Code file_write_all(Process&, File* fh, const void* buf, Count count, Datatype* datatype, Status* status) {
  return access_together({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kIndividual,
                         status);
}

Code file_iwrite_all(Process&, File* fh, const void* buf, Count count, Datatype* datatype,
                     Request** request) {
  return access_together_later({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kIndividual,
                               request);
}

Code file_write_all_begin(Process&, File* fh, const void* buf, Count count, Datatype* datatype) {
  return begin_split({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kIndividual,
                     Split::kWriteAll);
}

Code file_write_all_end(Process&, File* fh, const void* buf, Status* status) {
  return end_split(*fh, Split::kWriteAll, buf, status);
}

Code file_write_shared(Process&, File* fh, const void* buf, Count count, Datatype* datatype, Status* status) {
  return access_now({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kShared, status);
}

Code file_iwrite_shared(Process&, File* fh, const void* buf, Count count, Datatype* datatype,
                        Request** request) {
  return access_later({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kShared, request);
}

Code file_write_ordered(Process&, File* fh, const void* buf, Count count, Datatype* datatype,
                        Status* status) {
  return access_together({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kOrdered, status);
}

Code file_write_ordered_begin(Process&, File* fh, const void* buf, Count count, Datatype* datatype) {
  return begin_split({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kOrdered,
                     Split::kWriteOrdered);
}

Code file_write_ordered_end(Process&, File* fh, const void* buf, Status* status) {
  return end_split(*fh, Split::kWriteOrdered, buf, status);
}

}  // namespace api
}  // namespace tasuki
