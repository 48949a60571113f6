// Looks up the groups, types and ranks that a call names, and notes what it did.
#include "trace/call.hpp"

#include "trace/library_facts.hpp"
#include "trace/place/call_site.hpp"

namespace tasuki::trace::TASUKI_TRACE_ABI {
namespace {

constexpr std::size_t kTypes = 64;

struct KnownType {
  bool scattered = false;
  std::uintptr_t handle = 0;
  std::int64_t size = 0;
  std::uint32_t generation = 0;
};

std::atomic<std::uint32_t> generation = 1;  // of all that is known of types
thread_local KnownType known_types[kTypes];
thread_local int depth = 0;  // of calls on this thread

std::int64_t bytes_of(const MPI_Status* status) {
  MPI_Count bytes = 0;
  return real.Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes >= 0 ? bytes : -1;
}

/// REQUIRES: a type.
const KnownType& known_type(MPI_Datatype type) {
  const std::uintptr_t handle = key_of(type);
  KnownType& known = known_types[(handle ^ handle >> 8) % kTypes];
  const std::uint32_t now = generation.load(std::memory_order_relaxed);
  if (known.handle == handle && known.generation == now) return known;
  MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  if (real.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) size = 0;
  const bool shaped = real.Type_get_extent_x(type, &lower, &extent) == MPI_SUCCESS &&
                      real.Type_get_true_extent_x(type, &true_lower, &true_extent) == MPI_SUCCESS;
  known = {shaped && (extent != size || true_extent != size), handle, size, now};
  return known;
}

}  // namespace

std::int64_t type_size(MPI_Datatype type) {
  return type == MPI_DATATYPE_NULL ? 0 : known_type(type).size;
}

bool is_scattered(MPI_Datatype type) {
  return type != MPI_DATATYPE_NULL && known_type(type).scattered;
}

void forget_types() {
  generation.fetch_add(1, std::memory_order_relaxed);
}

Call::Call(Function function)
    : recorder_(Recorder::get()), active_(depth++ == 0 && recorder_.opened() && recorder_.recording()) {
  record_.function = static_cast<std::uint16_t>(function);
  if (!active_) return;
  site_ = call_site();
  python_ = python_place();
}

Call::~Call() {
  --depth;
  if (!active_) return;
  Recorder::Lock lock(recorder_);
  ask_library();
  recorder_.append(record_, done_, started_, {kFunctionNames[record_.function], site_, python_});
}

/// What concerns this call: each question takes its time.
void Call::ask_library() {
  LibraryFacts& facts = LibraryFacts::get();
  if (collective_) facts.tell_algorithm(&record_);
  if (receives_ || !done_.empty()) facts.tell_queue(&record_);
  if (moved_ || much_) facts.tell_way(&record_);
}

int Call::end(int code) {
  if (!active_) return code;
  record_.end = recorder_.ticks();
  if (code != MPI_SUCCESS) record_.flags |= kFailed;
  return code;
}

void Call::on_communicator(MPI_Comm comm) {
  if (!active_) return;
  Recorder::Lock lock(recorder_);
  comm_ = comm;
  group_ = group_of(comm);
  record_.group = group_ != nullptr ? group_->number : 0;
}

void Call::on_window(MPI_Win win) {
  if (!active_) return;
  Recorder::Lock lock(recorder_);
  group_ = group_of_window(win);
  record_.group = group_ != nullptr ? group_->number : 0;
}

void Call::on_file(MPI_File file) {
  if (!active_) return;
  Recorder::Lock lock(recorder_);
  group_ = group_of_file(file);
  record_.group = group_ != nullptr ? group_->number : 0;
}

void Call::forget_communicator(MPI_Comm comm) {
  Recorder::Lock lock(recorder_);
  recorder_.forget_group(Holder::kCommunicator, key_of(comm));
  group_ = nullptr;
}

void Call::forget_window(MPI_Win win) {
  Recorder::Lock lock(recorder_);
  recorder_.forget_group(Holder::kWindow, key_of(win));
  group_ = nullptr;
}

void Call::forget_file(MPI_File file) {
  Recorder::Lock lock(recorder_);
  recorder_.forget_group(Holder::kFile, key_of(file));
  group_ = nullptr;
}

std::int32_t Call::world_rank(int rank) const {
  if (rank == MPI_ANY_SOURCE) return kAnySource;
  if (rank == MPI_PROC_NULL) return kNullProcess;
  return group_ != nullptr ? group_->peers->world_rank(rank) : kOtherWorld;
}

void Call::note(const Extent& out, const Extent& in) {
  record_.sent += out.bytes;
  record_.received += in.bytes;
  const std::int64_t block = out.block > in.block ? out.block : in.block;
  record_.block = block > record_.block ? block : record_.block;
}

void Call::note_type(std::int64_t bytes, MPI_Datatype type) {
  if (bytes < kMuchBytes) return;
  much_ = true;
  if (is_scattered(type)) record_.flags |= kScattered;
}

void Call::note_send(std::int64_t bytes, MPI_Datatype type, int dest, int tag) {
  note_type(bytes, type);
  record_.peer = world_rank(dest);
  record_.tag = tag;
  note({dest == MPI_PROC_NULL ? 0 : bytes, bytes}, {});
}

void Call::note_receive(std::int64_t bytes, MPI_Datatype type, int source, int tag) {
  note_type(bytes, type);
  record_.source = world_rank(source);
  if (source == MPI_ANY_SOURCE) record_.flags |= kWildcard;
  if (record_.peer == kNobody) record_.tag = tag == MPI_ANY_TAG ? -1 : tag;
  note({}, {source == MPI_PROC_NULL ? 0 : bytes, bytes});
  receives_ = true;
}

void Call::note_root(int root) {
  is_root_ = root == MPI_ROOT || (group_ != nullptr && root == group_->rank);
  record_.peer = root == MPI_ROOT ? kNobody : world_rank(root);
}

void Call::note_target(int rank, std::int64_t out, std::int64_t in) {
  record_.peer = world_rank(rank);
  note({out, out}, {in, in});
}

void Call::ask_neighbours() {
  if (group_ == nullptr) return;
  if (group_->sources < 0) count_neighbours(comm_, &group_->sources, &group_->destinations);
  sources_ = group_->sources;
  destinations_ = group_->destinations;
}

void Call::received(const MPI_Status* status) {
  if (!active_) return;
  record_.source = world_rank(status->MPI_SOURCE);
  if (record_.peer == kNobody) record_.tag = status->MPI_TAG;
  const std::int64_t bytes = bytes_of(status);
  if (bytes < 0) return;
  record_.received = bytes;
  record_.block = record_.sent > bytes ? record_.sent : bytes;
}

void Call::made(int code, const MPI_Request* request, bool persistent) {
  if (!active_ || code != MPI_SUCCESS || *request == MPI_REQUEST_NULL) return;
  Recorder::Lock lock(recorder_);
  OpenRequest open;
  open.handle = key_of(*request);
  open.serial = recorder_.next_request();
  if (persistent) {
    open.persistent = open.serial;
    record_.flags |= kPersistent;
  }
  open.much = much_;
  open.ranks = receives_ && group_ != nullptr ? group_->peers : nullptr;
  recorder_.open_requests().add(open);
  record_.made = 1;
}

void Call::made_communicator(int code, const MPI_Comm* comm) {
  if (code != MPI_SUCCESS || *comm == MPI_COMM_NULL || depth > 1) return;
  if (!recorder_.opened()) open_part_of_session();
  Recorder::Lock lock(recorder_);
  if (recorder_.opened()) group_of(*comm);
}

void Call::made_window(int code, const MPI_Win* win) {
  if (!active_ || code != MPI_SUCCESS) return;
  Recorder::Lock lock(recorder_);
  group_of_window(*win);
}

void Call::made_file(int code, const MPI_File* file) {
  if (!active_ || code != MPI_SUCCESS) return;
  Recorder::Lock lock(recorder_);
  group_of_file(*file);
}

void Call::started(std::uintptr_t handle) {
  if (!active_) return;
  Recorder::Lock lock(recorder_);
  OpenRequest* open = recorder_.open_requests().find(handle);
  if (open == nullptr || open->persistent < 0) return;
  open->serial = recorder_.next_request() + record_.made;
  started_.push_back(open->persistent);
  record_.flags |= kStarts;
  ++record_.made;
}

void Call::completed(std::uintptr_t handle, const MPI_Status* status, bool left) {
  if (!active_) return;
  Recorder::Lock lock(recorder_);
  OpenRequest* open = recorder_.open_requests().find(handle);
  if (open == nullptr) return;
  Done done;
  done.serial = open->serial;
  if (status != nullptr && open->ranks != nullptr) {
    done.source =
        status->MPI_SOURCE == MPI_PROC_NULL ? kNullProcess : open->ranks->world_rank(status->MPI_SOURCE);
    done.bytes = bytes_of(status);
  }
  done_.push_back(done);
  moved_ = moved_ || open->much;
  if (!left) recorder_.open_requests().remove(open);
}

void Call::freed(std::uintptr_t handle) {
  Recorder::Lock lock(recorder_);
  OpenRequest* open = recorder_.open_requests().find(handle);
  if (open != nullptr) recorder_.open_requests().remove(open);
}

}  // namespace tasuki::trace::TASUKI_TRACE_ABI
