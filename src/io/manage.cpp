// Questions about open files and changes of the file as a whole (MPI 14.2.4 to 14.2.8), consistency (14.6),
// error handlers (14.7).
#include <array>
#include <string_view>

#include "io/api.hpp"
#include "io/errors.hpp"
#include "io/hints.hpp"
#include "object/errhandler.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

enum class HintValue : std::uint8_t { kPositive, kBoolean, kText };
struct Hint {
  std::string_view key;
  HintValue value;
};

/// The reserved hints of MPI 14.2.8.
constexpr std::array<Hint, 15> kHints = {{
    {"access_style", HintValue::kText},
    {"collective_buffering", HintValue::kBoolean},
    {"cb_block_size", HintValue::kPositive},
    {"cb_buffer_size", HintValue::kPositive},
    {"cb_nodes", HintValue::kPositive},
    {"chunked", HintValue::kText},
    {"chunked_item", HintValue::kText},
    {"chunked_size", HintValue::kText},
    {"file_perm", HintValue::kText},
    {"io_node_list", HintValue::kText},
    {"mpi_assert_no_unaligned_access", HintValue::kBoolean},
    {"nb_proc", HintValue::kPositive},
    {"num_io_nodes", HintValue::kPositive},
    {"striping_factor", HintValue::kPositive},
    {"striping_unit", HintValue::kPositive},
}};

bool makes_sense(HintValue kind, const std::string& value) {
  switch (kind) {
    case HintValue::kPositive:
      return !value.empty() && value.size() <= 18 &&
             value.find_first_not_of("0123456789") == std::string::npos &&
             value.find_first_not_of('0') != std::string::npos;
    case HintValue::kBoolean:
      return value == "true" || value == "false";
    case HintValue::kText:
      return !value.empty();
  }
  return false;
}

/// The storage is changed by rank 0; all agree on how it went. REQUIRES: a collective call.
template <class Change>
Code change_size(File& file, Offset size, const char* doing, Change change) {
  Process& process = file.process;
  Code code = kSuccess;
  if (!file.can_write()) {
    code = process.fail(kErrReadOnly, "\"%.400s\" was opened with MPI_MODE_RDONLY", file.name.c_str());
  } else if (size < 0) {
    code = process.fail(kErrArg, "size = %lld, expected 0 or more", static_cast<long long>(size));
  }
  if (const Code failed = agree_on(*file.comm, code, "size", size)) return failed;
  if (file.comm->rank == 0) {
    const int error = change(*file.driver);
    if (error != 0) code = fail_system(process, error, doing, file.name);
  }
  return agree(*file.comm, code);
}

}  // namespace

std::string File::description() const {
  return "file \"" + name + "\", rank " + std::to_string(comm->rank);
}

Files::Files() : storage(make_posix_storage()) {
  for (const char* name : {"native", "internal", "external32"}) {
    auto made = std::make_shared<DataRepresentation>();
    made->name = name;
    if (made->name == "external32") made->form = DataRepresentation::Form::kExternal32;
    representations[name] = made;
  }
}

void take_file_hints(File& file, const Info* info) {
  if (!file.info) file.info = Ref<Info>(new Info);
  for (const Hint& hint : kHints) {
    const std::string key(hint.key);
    const std::string* value = find_info(info, key);
    if (value != nullptr && makes_sense(hint.value, *value)) set_info(file.info.get(), key, *value);
  }
}

namespace api {

Code file_set_size(Process&, File* fh, Offset size) {
  return change_size(*fh, size, "set the size of",
                     [size](FileDriver& driver) { return driver.resize(size); });
}

Code file_preallocate(Process&, File* fh, Offset size) {
  return change_size(*fh, size, "preallocate",
                     [size](FileDriver& driver) { return driver.preallocate(size); });
}

Code file_get_size(Process& process, File* fh, Offset* size) {
  const int error = fh->driver->size(size);
  return error == 0 ? kSuccess : fail_system(process, error, "find the size of", fh->name);
}

Code file_get_group(Process& process, File* fh, Group** group) {
  *group = make_group(process, fh->comm->group->endpoints);
  return kSuccess;
}

Code file_get_amode(Process&, File* fh, int* amode) {
  *amode = fh->amode;
  return kSuccess;
}

Code file_set_info(Process&, File* fh, Info* info) {
  take_file_hints(*fh, info);
  return agree(*fh->comm, kSuccess);
}

Code file_get_info(Process&, File* fh, Info** info_used) {
  Info* made = new Info;
  made->entries = fh->info->entries;
  if (fh->name.size() <= kInfoValueMax) set_info(made, "filename", fh->name);
  *info_used = made;
  return kSuccess;
}

Code file_set_atomicity(Process&, File* fh, bool flag) {
  if (const Code code = agree_on(*fh->comm, kSuccess, "flag", flag ? 1 : 0)) return code;
  fh->atomic = flag;
  return kSuccess;
}

Code file_get_atomicity(Process&, File* fh, bool* flag) {
  *flag = fh->atomic;
  return kSuccess;
}

Code file_sync(Process& process, File* fh) {
  Code code = kSuccess;
  if (fh->written) {
    const int error = fh->driver->sync();
    fh->written = error != 0;
    if (error != 0) code = fail_system(process, error, "sync", fh->name);
  }
  return agree(*fh->comm, code);
}

Code file_set_errhandler(Process& process, File* file, Errhandler* errhandler) {
  ErrorOwner& owner = file != nullptr ? static_cast<ErrorOwner&>(*file) : process.objects->null_file;
  return set_errhandler(process, owner, Kind::kFile, errhandler);
}

Code file_get_errhandler(Process& process, File* file, Errhandler** errhandler) {
  const ErrorOwner& owner = file != nullptr ? static_cast<ErrorOwner&>(*file) : process.objects->null_file;
  *errhandler = get_errhandler(owner);
  return kSuccess;
}

Code file_call_errhandler(Process& process, File* fh, int errorcode) {
  ErrorOwner* owner = fh != nullptr ? static_cast<ErrorOwner*>(fh) : &process.objects->null_file;
  const Ref<File> alive = Ref<File>::share(fh);
  call_errhandler(process, *owner->errhandler, owner, errorcode);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
