// Opening, closing and deleting files (MPI 14.2.1 to 14.2.3).
//
// Opening takes two agreements and a broadcast between them: all arguments are right; rank 0 opens (and
// makes, if asked) the file and the shared block, and tells; the others open theirs; all have got there. So
// no rank returns before the file is open everywhere, and an error at one is an error at all.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "coll/coll.hpp"
#include "io/api.hpp"
#include "io/errors.hpp"
#include "io/hints.hpp"
#include "object/comm_create.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

/// Prefixes that name a kind of file system for ROMIO; its users write them, and they change nothing here.
constexpr std::array<std::string_view, 10> kPrefixes = {
    "ufs:", "nfs:", "xfs:", "pfs:", "gpfs:", "lustre:", "ime:", "pvfs2:", "panfs:", "daos:"};

std::string path_of(const char* filename) {
  const std::string_view name(filename);
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return std::string(name.substr(prefix.size()));
  }
  return std::string(name);
}

Code check_amode(Process& process, int amode) {
  constexpr int kAccess = kModeRdonly | kModeRdwr | kModeWronly;
  if (amode < 0 || (amode & ~kModeAll) != 0)
    return process.fail(kErrAmode, "amode = 0x%x has bits that are no MPI_MODE",
                        static_cast<unsigned>(amode));
  const int access = amode & kAccess;
  if (access == 0 || (access & (access - 1)) != 0)
    return process.fail(kErrAmode,
                        "amode has %s of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR, expected one",
                        access == 0 ? "none" : "several");
  if (access == kModeRdonly && (amode & (kModeCreate | kModeExcl)) != 0)
    return process.fail(kErrAmode,
                        "amode has MPI_MODE_RDONLY with %s, which needs a file that can be written",
                        (amode & kModeCreate) != 0 ? "MPI_MODE_CREATE" : "MPI_MODE_EXCL");
  if (access == kModeRdwr && (amode & kModeSequential) != 0)
    return process.fail(kErrAmode, "amode has MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL, expected one of them");
  return kSuccess;
}

Code check_name(Process& process, const char* filename) {
  if (!path_of(filename).empty()) return kSuccess;
  return process.fail(kErrBadFile, "filename = \"%s\", expected the name of a file", filename);
}

unsigned permissions_of(const Info* info) {
  const std::string* hint = find_info(info, "file_perm");
  if (hint == nullptr) return 0666;
  char* end = nullptr;
  const unsigned long value = std::strtoul(hint->c_str(), &end, 8);
  return *end == '\0' && !hint->empty() && value <= 0777 ? static_cast<unsigned>(value) : 0666;
}

Code open_driver(File& file, const Info* info, bool create) {
  OpenHow how{.read = file.can_read(), .write = file.can_write(), .permissions = permissions_of(info)};
  how.create = create && (file.amode & kModeCreate) != 0;
  how.exclusive = how.create && (file.amode & kModeExcl) != 0;
  const int error = file.process.files->storage->open(file.name, how, &file.driver);
  return error == 0 ? kSuccess : fail_system(file.process, error, "open", file.name);
}

/// The default view: the bytes of the file. With MPI_MODE_APPEND the file pointers begin at its end.
Code set_first_view(File& file) {
  Process& process = file.process;
  Datatype* byte = predefined_object<Datatype>(*process.objects, kMpiByte);
  const Code code = make_view(process, 0, byte, byte, process.files->representations.at("native"),
                              file.can_write(), &file.view);
  if (code != kSuccess || (file.amode & kModeAppend) == 0) return code;
  const int error = file.driver->size(&file.position);
  return error == 0 ? kSuccess : fail_system(process, error, "find the size of", file.name);
}

/// What rank 0 tells the others once the file is there.
struct Opened {
  std::int32_t failed;
  std::int32_t unused;
  SegmentAddress shared;
};

Code open_first(File& file, const Info* info, Opened* opened) {
  Code code = open_driver(file, info, true);
  if (code == kSuccess) code = set_first_view(file);
  std::string error;
  if (code == kSuccess) {
    file.shared = SharedState::create(file.comm->size() == 1, &error);
    if (file.shared == nullptr) code = file.process.fail(kErrNoMem, "%s", error.c_str());
  }
  if (code == kSuccess) {
    file.shared->set_position(file.position);
    opened->shared = file.shared->address();
  }
  opened->failed = code != kSuccess ? 1 : 0;
  return code;
}

Code open_other(File& file, const Info* info, const Opened& opened) {
  if (const Code code = open_driver(file, info, false)) return code;
  if (const Code code = set_first_view(file)) return code;
  std::string error;
  file.shared = SharedState::open(opened.shared, &error);
  return file.shared != nullptr ? kSuccess : file.process.fail(kErrNoMem, "%s", error.c_str());
}

/// REQUIRES: all ranks of the file come here.
Code open_everywhere(File& file, const Info* info) {
  Opened opened{};
  Code code = kSuccess;
  if (file.comm->rank == 0) code = open_first(file, info, &opened);
  if (const Code failed = bcast_bytes(*file.comm, &opened, sizeof opened, 0)) return failed;
  if (file.comm->rank != 0 && opened.failed == 0) code = open_other(file, info, opened);
  code = agree(*file.comm, code);
  if (file.shared != nullptr) file.shared->stop_sharing();
  return code;
}

/// A communicator of the file's own: of the same processes, with a context that rank 0 chose.
Code duplicate(Comm& comm, Code code, int amode, Ref<Comm>* made) {
  std::vector<Ballot> ballots;
  const Context offer = comm.rank == 0 ? make_context(comm.process) : 0;
  const auto mode = static_cast<std::int64_t>(amode);
  if (const Code failed = agree_on(comm, code, "amode", mode)) return failed;
  Context context = offer;
  if (const Code failed = bcast_bytes(comm, &context, sizeof context, 0)) return failed;
  *made = Ref<Comm>(make_comm(comm, context, comm.group));
  return kSuccess;
}

/// Ends the file of this rank and, at rank 0, the file itself if that was asked for.
Code close_here(File& file) {
  const bool remove = (file.amode & kModeDeleteOnClose) != 0;
  int error = file.written && !remove ? file.driver->sync() : 0;
  const int close_error = file.driver->close();
  if (error == 0) error = close_error;
  if (error != 0) return fail_system(file.process, error, "close", file.name);
  return kSuccess;
}

}  // namespace

namespace api {

Code file_open(Process& process, Comm* comm, const char* filename, int amode, Info* info, File** fh) {
  if (comm->is_inter())
    return process.fail(kErrComm, "comm is an intercommunicator, expected an intracommunicator");
  Code code = check_amode(process, amode);
  if (code == kSuccess) code = check_name(process, filename);
  Ref<Comm> own;
  if (const Code failed = duplicate(*comm, code, amode, &own)) return failed;
  Ref<File> file(new File(process, path_of(filename), amode));
  file->comm = std::move(own);
  file->errhandler = process.objects->null_file.errhandler;
  take_file_hints(*file, info);
  if (const Code failed = open_everywhere(*file, info)) return failed;
  *fh = file.take();
  return kSuccess;
}

Code file_close(Process& process, File** fh) {
  File& file = **fh;
  Code code = kSuccess;
  if (file.split.active != Split::kNone)
    code = process.fail(kErrIo, "a split collective is active on the file: end it before closing");
  if (const Code failed = agree(*file.comm, code)) return failed;
  code = close_here(file);
  if (file.comm->rank == 0 && (file.amode & kModeDeleteOnClose) != 0) {
    const int error = process.files->storage->remove(file.name);
    if (error != 0 && code == kSuccess) code = fail_system(process, error, "delete", file.name);
  }
  code = agree(*file.comm, code);
  if (code != kSuccess) process.files->closed_in_error = Ref<File>::share(&file);
  release(*fh);
  *fh = nullptr;
  return code;
}

Code file_delete(Process& process, const char* filename, Info*) {
  if (const Code code = check_name(process, filename)) return code;
  const std::string path = path_of(filename);
  const int error = process.files->storage->remove(path);
  return error == 0 ? kSuccess : fail_system(process, error, "delete", path);
}

}  // namespace api
}  // namespace tasuki
