// The data accesses of MPI 14.4: explicit offsets, individual and shared file pointers, in order of ranks;
// blocking, nonblocking, collective, and split in two.
//
// A nonblocking access does its transfer at once, and so does the begin of a split one: a file of the
// operating system has nothing to offer that would go on by itself.
#include "io/access/access.hpp"
#include "io/api.hpp"
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

/// Checks an access and gives it its place. A file pointer moves on by what is asked for, whatever will be
/// there.
Code prepare(Access* access, Pointer pointer) {
  File& file = access->file;
  Code code = check_pointer(file, pointer);
  if (code == kSuccess) code = measure(access);
  if (pointer == Pointer::kOrdered) code = place_in_order(access, code);
  if (code != kSuccess) return code;
  if (pointer == Pointer::kIndividual) access->offset = file.position;
  if (pointer == Pointer::kShared) access->offset = file.shared->advance(access->etypes());
  code = check_place(*access);
  if (code == kSuccess && pointer == Pointer::kIndividual) file.position += access->etypes();
  return code;
}

/// An access that is no collective one, or waits for no other rank.
Code transfer_alone(const Access& access, Status* status) {
  const Code code = transfer(access, status);
  FileCounts& counts = access.file.process.counters.files;
  (access.write ? counts.independent_writes : counts.independent_reads)
      .add(static_cast<std::uint64_t>(status->bytes));
  return code;
}

Code access_now(Access access, Pointer pointer, Status* status) {
  if (const Code code = prepare(&access, pointer)) return code;
  Status ignored;
  return transfer_alone(access, status != nullptr ? status : &ignored);
}

/// A rank whose arguments are wrong takes part with nothing: the others may wait for it.
Code access_together(Access access, Pointer pointer, Status* status) {
  const Code code = prepare(&access, pointer);
  Status ignored;
  return transfer_collectively(access, code, status != nullptr ? status : &ignored);
}

Code access_later(Access access, Pointer pointer, Request** request) {
  if (const Code code = prepare(&access, pointer)) return code;
  auto* made = new FileRequest(access.file);
  const Code code = transfer_alone(access, &made->status);
  made->status.error = code;
  made->complete();
  *request = made;
  return kSuccess;
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
Code begin_split(Access access, Pointer pointer, Split split) {
  SplitState& state = access.file.split;
  if (state.active != Split::kNone)
    return access.file.process.fail(kErrIo, "a split collective is active on the file: call %s_end first",
                                    split_name(state.active));
  const Code code = prepare(&access, pointer);
  state.code = transfer_collectively(access, code, &state.status);
  if (code != kSuccess) return code;
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
  state.active = Split::kNone;
  if (status != nullptr) *status = state.status;
  return state.code;
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
  return access_later({*fh, false, buf, count, datatype, offset}, Pointer::kExplicit, request);
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
  return access_later({*fh, false, buf, count, datatype, 0}, Pointer::kIndividual, request);
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
  return access_later({*fh, true, const_cast<void*>(buf), count, datatype, offset}, Pointer::kExplicit,
                      request);
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
  return access_later({*fh, true, const_cast<void*>(buf), count, datatype, 0}, Pointer::kIndividual, request);
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
