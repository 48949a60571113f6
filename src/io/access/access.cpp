// What all data accesses end in: the user's memory, by its datatype, over the bytes that the view shows.
//
// Three ways for the memory, one for the file (FileStream):
//   direct     the runs of the memory are what the driver moves: dense buffers, and datatypes of long runs
//   staged     many short runs are packed into a stage and move from there
//   converted  file and memory differ: basic elements are converted through the stage
#include "io/access/access.hpp"

#include <algorithm>
#include <memory>

#include "base/user_memory.hpp"
#include "datatype/layout.hpp"
#include "io/access/converted_access.hpp"
#include "io/access/file_stream.hpp"
#include "io/file/agreement.hpp"

namespace tasuki {
namespace {

constexpr Count kDirectRunBytesMin = 512;  // shorter ones cost less in a copy than as parts of a system call

/// Returns the bytes of the user's that were moved.
Count move_direct(const Access& access, FileStream& stream) {
  const PlacedElements elements = elements_of(access);
  for (Count position = 0; position < access.file_bytes && !stream.over();) {
    const Run run = run_at(elements, position);
    const Count bytes = std::min(run.bytes, access.file_bytes - position);
    stream.move(reinterpret_cast<std::byte*>(run.place), bytes);
    position += bytes;
  }
  stream.flush();
  return stream.moved();
}

Code move_staged(const Access& access, FileStream& stream, Count* moved) {
  PackCursor cursor(*access.datatype, access.count);
  const Count stage_bytes = std::min(kStageBytes, access.file_bytes);
  const std::unique_ptr<std::byte[]> stage = allocate_for_user(stage_bytes);
  if (stage == nullptr) return fail_memory(access.file.process, "count", access.count);
  while (cursor.position() < access.file_bytes && !stream.over()) {
    const Count begin = stream.moved();
    Count bytes = std::min(stage_bytes, access.file_bytes - begin);
    if (access.write) cursor.pack(access.buffer, stage.get(), static_cast<std::size_t>(bytes));
    stream.move(stage.get(), bytes);
    stream.flush();
    bytes = stream.moved() - begin;
    if (!access.write) cursor.unpack(access.buffer, stage.get(), static_cast<std::size_t>(bytes));
    *moved = stream.moved();
  }
  return kSuccess;
}

}  // namespace

PlacedElements elements_of(const Access& access) {
  return {reinterpret_cast<std::uintptr_t>(access.buffer), access.count, access.datatype->extent,
          *access.datatype->layout};
}

bool has_long_runs(const Datatype& datatype) {
  return datatype.contiguous || datatype.size / datatype.layout->runs >= kDirectRunBytesMin;
}

PositionRange positions_of(const Access& access) {
  const Count begin = access.offset * access.file.view.etype_in_file->size;
  return {begin, begin + access.file_bytes};
}

FileRange range_of(const File& file, const PositionRange& positions) {
  return {file.view.run_at(positions.begin).offset, file.view.run_at(positions.end - 1).offset + 1};
}

Code fail_transfer(const Access& access, int error, Count moved) {
  File& file = access.file;
  const std::string doing = (access.write ? "write " : "read ") + std::to_string(access.file_bytes) +
                            " bytes at offset " + std::to_string(access.offset) + " (" +
                            std::to_string(moved) + " moved) of";
  return fail_system(file.process, error, doing.c_str(), file.name);
}

Code measure(Access* access) {
  File& file = access->file;
  Process& process = file.process;
  if (access->write && !file.can_write())
    return process.fail(kErrReadOnly, "\"%.400s\" was opened with MPI_MODE_RDONLY", file.name.c_str());
  if (!access->write && !file.can_read())
    return process.fail(kErrAccess, "\"%.400s\" was opened with MPI_MODE_WRONLY", file.name.c_str());
  const Code code = bytes_in_file(process, *file.view.representation, *access->datatype, access->count,
                                  &access->file_bytes);
  if (code != kSuccess) return code;
  const Count unit = file.view.etype_in_file->size;
  if (access->file_bytes % unit == 0) return kSuccess;
  return process.fail(kErrType,
                      "the data has %lld bytes in the file, expected a multiple of the etype's %lld",
                      static_cast<long long>(access->file_bytes), static_cast<long long>(unit));
}

Code check_place(const Access& access) {
  const View& view = access.file.view;
  Process& process = access.file.process;
  if (access.offset < 0)
    return process.fail(kErrArg, "offset = %lld, expected 0 or more", static_cast<long long>(access.offset));
  if (access.file_bytes > 0 && view.filetype_in_file->size == 0)
    return process.fail(kErrType, "the view's filetype has no data, expected an access of none");
  Count end = 0;
  if (__builtin_mul_overflow(access.offset, view.etype_in_file->size, &end) ||
      __builtin_add_overflow(end, access.file_bytes, &end) || (access.file_bytes > 0 && !view.reaches(end)))
    return process.fail(kErrArg, "offset = %lld, which leads beyond 63 bits of bytes in the file",
                        static_cast<long long>(access.offset));
  return kSuccess;
}

namespace {

Code transfer_with(const Access& access, bool held, Status* status) {
  File& file = access.file;
  FileStream stream(file, access.write, positions_of(access), held);
  const bool may_go_direct = has_long_runs(*access.datatype);
  if (may_go_direct && !access.datatype->contiguous) stream.sieve_if_it_pays(positions_of(access));
  if (access.write) file.written = true;
  if (!file.view.representation->is_native()) {
    const Code code = move_converted(access, stream, &status->bytes);
    if (code != kSuccess) return code;
  } else if (access.datatype->contiguous || (may_go_direct && !stream.may_sieve())) {
    status->bytes = move_direct(access, stream);
  } else {
    if (const Code code = move_staged(access, stream, &status->bytes)) return code;
  }
  return stream.error() == 0 ? kSuccess : fail_transfer(access, stream.error(), stream.moved());
}

}  // namespace

Code transfer(const Access& access, Status* status) {
  File& file = access.file;
  begin_status(file, status);
  if (access.file_bytes == 0) return kSuccess;
  const FileRange range = file.atomic ? range_of(file, positions_of(access)) : FileRange{};
  const RangeLock lock(file.locks.get(), range, access.write ? RangeUse::kExclusive : RangeUse::kShared);
  const MuchWriting writing(access);
  return transfer_with(access, file.atomic, status);
}

Code transfer_held(const Access& access, Status* status) {
  return transfer_with(access, true, status);
}

std::byte* dense_data(const Access& access) {
  const Datatype& type = *access.datatype;
  const auto buffer = reinterpret_cast<std::uintptr_t>(access.buffer);
  if (type.contiguous) return reinterpret_cast<std::byte*>(buffer);
  const Layout& layout = *type.layout;
  if (layout.shape != Layout::Shape::kRun) return nullptr;
  if (access.count > 1 && type.extent != layout.size) return nullptr;
  return reinterpret_cast<std::byte*>(buffer + static_cast<std::uintptr_t>(layout.offset));
}

}  // namespace tasuki
