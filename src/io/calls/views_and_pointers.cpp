// Views and file pointers (MPI 14.3, 14.4.3, 14.4.4), extents of datatypes in a file and user-defined data
// representations (14.5).
#include <cstring>

#include "base/user_memory.hpp"
#include "coll/byte_collectives.hpp"
#include "datatype/predefined.hpp"
#include "io/api.hpp"
#include "io/file/agreed_hints.hpp"
#include "io/file/agreement.hpp"
#include "io/file/pending.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kNameMax = 127;  // MPI_MAX_DATAREP_STRING of the ABIs, without the final NUL

Code refuse_sequential(const File& file, const char* what) {
  if (!file.is_sequential()) return kSuccess;
  return file.process.fail(kErrUnsupportedOperation, "\"%.400s\" was opened with MPI_MODE_SEQUENTIAL: %s",
                           file.name.c_str(), what);
}

/// A number that differs where two names do (but for chance).
std::int64_t fingerprint(std::string_view name, std::int64_t more) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ static_cast<std::uint64_t>(more);
  for (const char character : name) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  }
  return static_cast<std::int64_t>(hash);
}

/// Where a seek leads to, in etypes; kErrArg when that is before the view's begin or beyond reach.
Code find_target(File& file, Offset offset, int whence, Offset current, Offset* target) {
  Process& process = file.process;
  Offset from = 0;
  if (whence == kSeekCur) {
    from = current;
  } else if (whence == kSeekEnd) {
    Offset bytes = 0;
    if (const int error = file.driver->size(&bytes)) {
      return fail_system(process, error, "find the size of", file.name);
    }
    from = file.view.end_in_etypes(bytes);
  } else if (whence != kSeekSet) {
    return process.fail(kErrArg, "whence = %d, expected MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END", whence);
  }
  if (__builtin_add_overflow(from, offset, target) || *target < 0)
    return process.fail(kErrArg, "offset = %lld from %lld on, which leads outside of the view",
                        static_cast<long long>(offset), static_cast<long long>(from));
  return kSuccess;
}

Code find_representation(Process& process, const char* name, std::shared_ptr<DataRepresentation>* found) {
  const auto& known = process.files->representations;
  const auto entry = known.find(name);
  if (entry == known.end())
    return process.fail(
        kErrUnsupportedDatarep,
        "datarep = \"%.128s\", expected \"native\", \"internal\", \"external32\" or a registered one", name);
  *found = entry->second;
  return kSuccess;
}

/// The displacement of a new view, where MPI_DISPLACEMENT_CURRENT stands for the shared file pointer.
Code find_displacement(const File& file, Offset disp, Offset* found) {
  *found = disp;
  if (file.is_sequential() != (disp == kDisplacementCurrent)) {
    return file.process.fail(kErrArg,
                             file.is_sequential()
                                 ? "disp = %lld, expected MPI_DISPLACEMENT_CURRENT, as the file was "
                                   "opened with MPI_MODE_SEQUENTIAL"
                                 : "disp = MPI_DISPLACEMENT_CURRENT, which needs MPI_MODE_SEQUENTIAL",
                             static_cast<long long>(disp));
  }
  if (file.is_sequential()) *found = file.view.byte_offset(file.shared->position());
  return kSuccess;
}

/// MPI_File_get_view gives derived types as new objects and predefined ones as they are. Null: no memory.
Datatype* for_user(Datatype* type) {
  return basic_info(*type) != nullptr ? type : clone_with_origin(*type);
}

Code make_new_view(File& file, Offset disp, Datatype* etype, Datatype* filetype, const char* datarep,
                   View* view) {
  Process& process = file.process;
  if (file.split.active != Split::kNone)
    return process.fail(kErrIo, "a split collective is active on the file: end it before setting a view");
  Offset displacement = 0;
  if (const Code code = find_displacement(file, disp, &displacement)) return code;
  std::shared_ptr<DataRepresentation> representation;
  if (const Code code = find_representation(process, datarep, &representation)) return code;
  return make_view(process, displacement, etype, filetype, std::move(representation), file.can_write(), view);
}

}  // namespace

namespace api {

Code file_set_view(Process&, File* fh, Offset disp, Datatype* etype, Datatype* filetype, const char* datarep,
                   Info* info) {
  finish_pending(*fh);
  View view;
  const Code code = make_new_view(*fh, disp, etype, filetype, datarep, &view);
  const Count unit = code == kSuccess ? view.etype_in_file->extent : 0;
  if (const Code failed =
          agree_on(*fh->comm, code, "datarep or the extent of etype", fingerprint(datarep, unit)))
    return failed;
  fh->view = std::move(view);
  fh->has_first_view = false;
  fh->views = nullptr;
  fh->map = nullptr;
  fh->position = 0;
  if (fh->comm->rank == 0) fh->shared->set_position(0);
  return change_hints(*fh, info);
}

Code file_get_view(Process& process, File* fh, Offset* disp, Datatype** etype, Datatype** filetype,
                   std::string* datarep) {
  *disp = fh->view.displacement;
  *etype = for_user(fh->view.etype.get());
  *filetype = *etype == nullptr ? nullptr : for_user(fh->view.filetype.get());
  if (*filetype == nullptr) {
    if (*etype != nullptr && *etype != fh->view.etype.get()) release(*etype);
    return process.fail(kErrNoMem, "the view's datatypes take more memory than can be had");
  }
  *datarep = fh->view.representation->name;
  return kSuccess;
}

Code file_seek(Process&, File* fh, Offset offset, int whence) {
  if (const Code code = refuse_sequential(*fh, "it has no individual file pointers")) return code;
  Offset target = 0;
  if (const Code code = find_target(*fh, offset, whence, fh->position, &target)) return code;
  fh->position = target;
  return kSuccess;
}

Code file_get_position(Process&, File* fh, Offset* offset) {
  if (const Code code = refuse_sequential(*fh, "it has no individual file pointers")) return code;
  *offset = fh->position;
  return kSuccess;
}

Code file_get_byte_offset(Process& process, File* fh, Offset offset, Offset* disp) {
  if (const Code code = refuse_sequential(*fh, "offsets mean nothing there")) return code;
  const View& view = fh->view;
  Count end = 0;
  if (offset < 0 || __builtin_mul_overflow(offset, view.etype_in_file->size, &end) || end == INT64_MAX ||
      (view.filetype_in_file->size > 0 && !view.reaches(end + 1)))
    return process.fail(kErrArg, "offset = %lld, expected one from 0 on that leads to 63 bits of bytes",
                        static_cast<long long>(offset));
  *disp = view.byte_offset(offset);
  return kSuccess;
}

Code file_seek_shared(Process&, File* fh, Offset offset, int whence) {
  finish_pending_collectives(*fh);
  Comm& comm = *fh->comm;
  Code code = refuse_sequential(*fh, "its shared file pointer cannot be set");
  std::vector<Ballot> ballots;
  if (const Code failed =
          agree_on_mode(comm, {.code = code, .mode = whence, .value = offset}, "whence", &ballots))
    return failed;
  if (const Code failed = same_for_all(comm, ballots, "offset", [](const Ballot& at) { return at.value; }))
    return failed;
  Offset target = 0;
  if (comm.rank == 0) {
    code = find_target(*fh, offset, whence, fh->shared->position(), &target);
    if (code == kSuccess) fh->shared->set_position(target);
  }
  return follow_first(comm, code);
}

Code file_get_position_shared(Process&, File* fh, Offset* offset) {
  if (const Code code = refuse_sequential(*fh, "its shared file pointer cannot be asked for")) return code;
  *offset = fh->shared->position();
  return kSuccess;
}

Code file_get_type_extent(Process& process, File* fh, Datatype* datatype, Count* extent) {
  Ref<Datatype> in_file;
  const Code code = type_in_file(process, *fh->view.representation, datatype, &in_file);
  if (code != kSuccess) return code;
  *extent = in_file->extent;
  return kSuccess;
}

Code register_datarep(Process& process, const char* datarep, AnyFunction read_conversion_fn,
                      AnyFunction write_conversion_fn, AnyFunction dtype_file_extent_fn, void* extra_state,
                      bool wide) {
  const std::size_t length = std::strlen(datarep);
  if (length == 0 || length > kNameMax)
    return process.fail(kErrArg, "datarep = \"%.32s\" has %zu characters, expected 1..%zu", datarep, length,
                        kNameMax);
  auto& known = process.files->representations;
  if (known.contains(datarep))
    return process.fail(kErrDupDatarep, "datarep = \"%s\", which is defined already", datarep);
  auto made = std::make_shared<DataRepresentation>();
  made->name = datarep;
  made->form = DataRepresentation::Form::kRegistered;
  made->read_conversion = read_conversion_fn;
  made->write_conversion = write_conversion_fn;
  made->file_extent = dtype_file_extent_fn;
  made->extra_state = extra_state;
  made->wide = wide;
  known[datarep] = made;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
