// Opening, closing and deleting files (MPI 14.2.1 to 14.2.3).
//
// Opening takes two agreements and a broadcast between them: all arguments are right; rank 0 opens (and
// makes, if asked) the file and the shared state, and sends where they are; the others open theirs, of a file
// that is there at the same time as rank 0; all agree. So no rank returns before the file is open everywhere,
// and an error at one is an error at all. All of that goes over the user's communicator, which mostly has a
// node segment (coll/shm/node_segment.hpp): the file's own gets one at its first collective.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>

#include "coll/byte_collectives.hpp"
#include "coll/run/communicator_state.hpp"
#include "coll/shm/node_segment.hpp"
#include "communicator/comm_create.hpp"
#include "io/api.hpp"
#include "io/file/agreed_hints.hpp"
#include "io/file/agreement.hpp"
#include "io/file/explain_file.hpp"
#include "io/file/pending.hpp"
#include "io/file/phase_times.hpp"
#include "io/file/unlocked_driver.hpp"
#include "io/shared/mapped_state.hpp"
#include "io/shared/served_state.hpp"
#include "node/node.hpp"
#include "object/objects.hpp"
#include "p2p/remote_job.hpp"
#include "placement/node_map.hpp"

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

/// 0 or errno. What is removed may be large, and its storage far away.
int remove_unlocked(Process& process, const std::string& path) {
  const Progress::Release released(*process.progress);
  return process.files->storage->remove(path);
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

OpenHow open_how(File& file, const Comm& comm, bool create) {
  const IoHints& hints = file.hints;
  OpenHow how{.read = file.can_read(), .write = file.can_write()};
  if (hints.permissions >= 0) how.permissions = static_cast<unsigned>(hints.permissions);
  how.create = create && (file.amode & kModeCreate) != 0;
  how.exclusive = how.create && (file.amode & kModeExcl) != 0;
  how.striping = {hints.striping_factor, hints.striping_unit_bytes, hints.start_device};
  how.several_write = comm.size() > 1 && file.process.node.processors_available() > 1;
  how.io_uring = hints.io_uring;
  how.tell = [&file](const std::string& line) { explain_file(file, "%s", line.c_str()); };
  return how;
}

Code open_driver(File& file, const Comm& comm, bool create) {
  const int error = open_unlocked(*file.process.files->storage, *file.process.progress, file.name,
                                  open_how(file, comm, create), &file.driver);
  return error == 0 ? kSuccess : fail_system(file.process, error, "open", file.name);
}

/// With romio_no_indep_rw those that aggregate open the file with the others' knowledge, and rank 0, which
/// makes it; the others do when they need it.
bool opens_at_once(const File& file, const Comm& comm) {
  const std::vector<int>& aggregators = file.aggregators;
  return !file.hints.defers_open() ||
         std::find(aggregators.begin(), aggregators.end(), comm.rank) != aggregators.end();
}

/// The default view: the bytes of the file.
Code set_first_view(File& file) {
  Process& process = file.process;
  Datatype* byte = predefined_object<Datatype>(*process.objects, kMpiByte);
  return make_view(process, 0, byte, byte, process.files->representations.at("native"), file.can_write(),
                   &file.view);
}

/// Where file pointers begin: with MPI_MODE_APPEND at the end of the file.
Code find_first_position(File& file) {
  if ((file.amode & kModeAppend) == 0) return kSuccess;
  const int error = file.driver->size(&file.position);
  return error == 0 ? kSuccess : fail_system(file.process, error, "find the size of", file.name);
}

/// What rank 0 sends the others once the file is there.
struct Opened {
  std::int32_t failed;
  std::int32_t in_memory;
  Context context;         // of the file's communicator
  BlockAddress shared;     // where the ranks map what they share
  Offset position;         // where file pointers begin
  std::uint64_t identity;  // of the file, for locks on its ranges
  Striping striping;
};

/// A driver that knows none leaves the name.
std::uint64_t identity_of(File& file) {
  const std::uint64_t identity = file.driver->identity();
  return identity != 0 ? identity : std::hash<std::string>{}(file.name);
}

/// Alike at all ranks of the file. `comm` here and below: the user's.
bool is_on_one_node(Comm& comm) {
  return node_map(comm).nodes() == 1;
}

Code share_as_first(File& file, Comm& comm, Opened* opened) {
  if (!is_on_one_node(comm)) {
    file.shared = std::make_unique<ServedState>(*file.comm);
  } else {
    std::string error;
    auto mapped = MappedState::create(*file.comm, node_segment_of(comm) != nullptr, &error);
    if (mapped == nullptr) return file.process.fail(kErrNoMem, "%s", error.c_str());
    opened->shared = mapped->address();
    file.shared = std::move(mapped);
  }
  file.shared->set_position(file.position);
  return kSuccess;
}

Code share_as_other(File& file, Comm& comm, const Opened& opened) {
  if (!is_on_one_node(comm)) {
    file.shared = std::make_unique<ServedState>(*file.comm);
    return kSuccess;
  }
  std::string error;
  file.shared = MappedState::open(opened.shared, *file.comm, &error);
  return file.shared != nullptr ? kSuccess : file.process.fail(kErrNoMem, "%s", error.c_str());
}

void make_locks(File& file, std::uint64_t identity) {
  file.locks = make_range_locks(*file.comm, identity, *file.shared, file.process.files->job_locks);
}

/// The file's own communicator: of the same processes, with a context that rank 0 chose.
Ref<Comm> duplicate(Comm& comm, Context context) {
  return Ref<Comm>(make_comm(comm, context, comm.group));
}

Code open_first(File& file, Comm& comm, Opened* opened) {
  Code code = open_driver(file, comm, true);
  if (code == kSuccess) code = set_first_view(file);
  if (code == kSuccess) code = find_first_position(file);
  if (code == kSuccess) {
    opened->context = make_context(file.process);
    file.comm = duplicate(comm, opened->context);
    code = share_as_first(file, comm, opened);
  }
  if (code == kSuccess) {
    opened->position = file.position;
    opened->striping = file.driver->striping();
    opened->identity = identity_of(file);
    file.in_memory = file.driver->is_in_memory();
    opened->in_memory = file.in_memory ? 1 : 0;
    make_locks(file, opened->identity);
  }
  opened->failed = code != kSuccess ? 1 : 0;
  return code;
}

/// Whether rank 0 makes the file if it is not there.
bool may_be_made(const File& file) {
  return (file.amode & kModeCreate) != 0;
}

/// Before rank 0 says that the file is there: opens it, if it is. Not where another node's system may go on
/// to say of a file that it is not there once it was asked too early.
Code open_ahead(File& file, Comm& comm) {
  if (!opens_at_once(file, comm) || (may_be_made(file) && !is_on_one_node(comm))) return kSuccess;
  const Code code = open_driver(file, comm, false);
  return may_be_made(file) ? kSuccess : code;
}

Code open_other(File& file, Comm& comm, const Opened& opened) {
  if (!opens_at_once(file, comm)) {
    file.driver = defer_unlocked(*file.process.files->storage, *file.process.progress, file.name,
                                 open_how(file, comm, false), opened.striping);
  } else if (file.driver == nullptr) {
    if (const Code code = open_driver(file, comm, false)) return code;
  }
  if (const Code code = set_first_view(file)) return code;
  file.comm = duplicate(comm, opened.context);
  if (const Code code = share_as_other(file, comm, opened)) return code;
  file.position = opened.position;
  file.in_memory = opened.in_memory != 0;
  make_locks(file, opened.identity);
  return kSuccess;
}

/// Whether the ranks of each node address each other's symmetric memory. Collective, as what tells that may
/// have to be made.
bool share_memory(Comm& comm) {
  if (is_on_one_node(comm)) return node_segment_of(comm) != nullptr;
  return may_have_hierarchy(comm) && hierarchy_of(comm) != nullptr;
}

/// REQUIRES: all ranks of the file come here.
Code open_everywhere(File& file, Comm& comm) {
  Opened opened{};
  file.shares_memory = share_memory(comm);
  Code code = comm.rank == 0 ? open_first(file, comm, &opened) : open_ahead(file, comm);
  if (const Code failed = bcast_bytes(comm, &opened, sizeof opened, 0)) return failed;
  file.striping = opened.striping;
  if (comm.rank != 0 && opened.failed == 0 && code == kSuccess) code = open_other(file, comm, opened);
  code = agree(comm, code);
  if (file.shared != nullptr) file.shared->stop_sharing();
  return code;
}

/// Ends the file of this rank and, at rank 0, the file itself if that was asked for.
Code close_here(File& file) {
  file.lanes.clear();
  file.shared->settle();
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
  const OfferedHints offered = offer_first_hints(*comm, info);
  std::vector<Ballot> ballots;
  const Ballot mine{.code = code, .mode = amode, .value = offered.value};
  if (const Code failed = agree_on_mode(*comm, mine, "amode", &ballots)) return failed;
  Ref<File> file(new File(process, path_of(filename), amode));
  file->errhandler = process.objects->null_file.errhandler;
  if (const Code failed = take_first_hints(*file, *comm, info, offered, ballots)) return failed;
  if (const Code failed = open_everywhere(*file, *comm)) return failed;
  if (file->comm->rank == 0) explain_hints_of_storage(*file, info);
  *fh = file.take();
  return kSuccess;
}

Code file_close(Process& process, File** fh) {
  File& file = **fh;
  Code code = kSuccess;
  if (file.split.active != Split::kNone)
    code = process.fail(kErrIo, "a split collective is active on the file: end it before closing");
  finish_pending(file);
  if (const Code failed = agree(*file.comm, code)) return failed;
  code = close_here(file);
  if (file.comm->rank == 0 && (file.amode & kModeDeleteOnClose) != 0) {
    const int error = remove_unlocked(process, file.name);
    if (error != 0 && code == kSuccess) code = fail_system(process, error, "delete", file.name);
  }
  write_phase_spans(process);
  code = agree(*file.comm, code);
  file.locks = nullptr;
  file.shared = nullptr;
  if (code != kSuccess) process.files->closed_in_error = Ref<File>::share(&file);
  release(*fh);
  *fh = nullptr;
  tell_connections(process);
  return code;
}

Code file_delete(Process& process, const char* filename, Info*) {
  if (const Code code = check_name(process, filename)) return code;
  const std::string path = path_of(filename);
  const int error = remove_unlocked(process, path);
  return error == 0 ? kSuccess : fail_system(process, error, "delete", path);
}

}  // namespace api
}  // namespace tasuki
