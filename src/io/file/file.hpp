// File: an open file of MPI (chapter 14), its view, and what a process knows about files in general.
//
// Units: an offset of the user's is in etypes of the view; a position in a view is in bytes of data in the
// file, without holes; an offset of a driver is in bytes of the file.
//
// Ownership: the user's handle owns the File, requests under way keep it. The communicator is a duplicate
// that only the file's own agreements use. Thread safety: the process lock.
//
// Invariants:
//  1. The view's file types have nonnegative, ascending places; without overlap if the file can be written.
//  2. Nonblocking accesses, and split ones between their calls, are under way in `process.files->pending`
//     (io/file/pending.hpp). While there are any the file's view and hints stay as they are.
//  3. Collective accesses, blocking or not, are done one after the other, in the order of their calls, which
//     is the same at all ranks: `collective_begun` of them have been called, `collective_over` have ended.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "io/file/phase_spans.hpp"
#include "io/file/reused_buffer.hpp"
#include "io/file/view_table.hpp"
#include "io/hints/hint_table.hpp"
#include "io/hints/system_hints.hpp"
#include "io/shared/owner_service.hpp"
#include "io/shared/range_locks.hpp"
#include "io/shared/shared_state.hpp"
#include "io/view/data_representation.hpp"
#include "io/view/view.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"
#include "storage/driver.hpp"

namespace tasuki {

/// MPI 14.2.1, in the core's numbers.
enum AccessMode : int {
  kModeAppend = 1,
  kModeCreate = 2,
  kModeDeleteOnClose = 4,
  kModeExcl = 8,
  kModeRdonly = 16,
  kModeRdwr = 32,
  kModeSequential = 64,
  kModeUniqueOpen = 128,
  kModeWronly = 256,
  kModeAll = 511,
};

/// What a seek counts from (MPI 14.4.3).
enum Whence : int { kSeekCur = 401, kSeekEnd = 402, kSeekSet = 403 };

/// MPI_DISPLACEMENT_CURRENT: no displacement of the user's.
inline constexpr Offset kDisplacementCurrent = INT64_MIN;

/// The split collective operations (MPI 14.4.5). One at a time may be active on a file.
enum class Split : std::uint8_t {
  kNone,
  kReadAtAll,
  kWriteAtAll,
  kReadAll,
  kWriteAll,
  kReadOrdered,
  kWriteOrdered,
};

struct FileRequest;

struct SplitState {
  Split active = Split::kNone;
  const void* buffer = nullptr;
  Ref<FileRequest> request;
};

struct File final : ErrorOwner {
  File(Process& owner, std::string path, int access_mode)
      : ErrorOwner(Kind::kFile), process(owner), name(std::move(path)), amode(access_mode) {
    enlist(process, this);
  }
  ~File() override { delist(process, *this); }
  std::string description() const override;

  bool can_read() const { return (amode & kModeWronly) == 0; }
  bool can_write() const { return (amode & kModeRdonly) == 0; }
  bool is_sequential() const { return (amode & kModeSequential) != 0; }

  Process& process;
  std::string name;  // as the system knows it
  int amode;
  Ref<Comm> comm;
  std::unique_ptr<FileDriver> driver;
  Striping striping;  // as rank 0 found it when the file was opened: alike at all ranks
  std::unique_ptr<SharedState> shared;
  std::unique_ptr<RangeLocks> locks;  // once it is open
  ReusedBuffer slices;                // two of io/two_phase/window_mover.hpp
  ReusedBuffer sieved;                // the window of io/access/data_sieving.hpp, while nobody uses it
  bool in_memory = false;             // nothing about the file waits for a device
  View view;
  std::unique_ptr<const FileMap> map;          // of the view; null: map_of_view() makes it
  bool has_first_view = true;                  // the one that opening sets, which is alike at all ranks
  std::unique_ptr<const ViewTable> views;      // all ranks'; null: not exchanged since they were set
  const ViewTable* undecided_views = nullptr;  // of which it is not known whether they leave holes
  Offset position = 0;                         // the individual file pointer, in etypes
  bool atomic = false;
  bool written = false;           // by this rank, since the last sync
  bool written_together = false;  // by some for others, since the last sync: alike at all ranks
  IoHints hints;                  // in force
  std::vector<int> aggregators;   // in their order, as hints or the last two-phase access have them; or empty
  SplitState split;
  std::uint32_t collective_accesses = 0;  // begun so far (io/file/phase_times.hpp)
  bool shares_memory = false;             // the ranks of each node address each other's symmetric memory
  std::uint64_t collective_begun = 0;
  std::uint64_t collective_over = 0;
  int independent_accesses = 0;                  // nonblocking ones that are under way
  std::vector<std::unique_ptr<FileLane>> lanes;  // idle ones
  int lanes_in_use = 0;
  bool driver_is_taken = false;  // a blocking call has a transfer under way on it, and makes progress
};

/// A nonblocking access, or a split one. Errors wait for the completion call.
struct FileRequest final : Request {
  explicit FileRequest(File& accessed)
      : Request(RequestType::kFile, *accessed.comm), file(Ref<File>::share(&accessed)) {
    active = true;
  }
  ErrorOwner* error_owner() override { return file.get(); }

  Ref<File> file;
};

class PendingAccesses;

/// A process's files in general.
struct Files {
  explicit Files(Process& process);
  ~Files();

  std::unique_ptr<Storage> storage;
  std::map<std::string, std::shared_ptr<DataRepresentation>> representations;
  std::unique_ptr<PhaseSpans> spans;        // null: not asked for
  std::unique_ptr<OwnerService> job_locks;  // io/file/job_locks.hpp; null: the job is on one node, or ends
  std::unique_ptr<PendingAccesses> pending;
  Ref<File> closed_in_error;  // alive until its error handler has heard of it
  SystemHints system_hints;
  std::vector<std::size_t> told;  // numbers of the lines that explain_file() wrote
};

}  // namespace tasuki
