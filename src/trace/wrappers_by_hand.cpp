// Start and end of the recording; and the completion calls, which must remember handles before the library
// sets them to MPI_REQUEST_NULL, and need the statuses of receives even where the program ignores them.
#include "trace/wrappers_by_hand.hpp"

#include <cstdarg>
#include <memory>

#include "trace/call.hpp"
#include "trace/place/call_site.hpp"

namespace tasuki::trace::TASUKI_TRACE_ABI {
namespace {

/// The handles of a completion call as they were before it, and statuses where the program has none.
class Completion {
 public:
  Completion(Call& call, int count, const MPI_Request* requests, MPI_Status* statuses, bool ignored)
      : call_(call),
        count_(call.active() && count > 0 ? count : 0),
        requests_(requests),
        statuses_(statuses) {
    const std::size_t size = static_cast<std::size_t>(count_);
    if (count_ > kFew) more_handles_.reset(new MPI_Request[size]);
    handles_ = count_ > kFew ? more_handles_.get() : few_handles_;
    for (int i = 0; i < count_; ++i) handles_[i] = requests[i];
    if (!ignored || count_ == 0) return;
    if (count_ > kFew) more_statuses_.reset(new MPI_Status[size]);
    statuses_ = count_ > kFew ? more_statuses_.get() : few_statuses_;
  }

  MPI_Status* statuses() const { return statuses_; }

  /// Request `number` is complete; its status stands at `place`.
  void done(int number, int place) {
    if (number < 0 || number >= count_ || handles_[number] == MPI_REQUEST_NULL) return;
    call_.completed(key_of(handles_[number]), &statuses_[place], requests_[number] != MPI_REQUEST_NULL);
  }
  void all_done() {
    for (int i = 0; i < count_; ++i) done(i, i);
  }

 private:
  static constexpr int kFew = 16;
  Call& call_;
  int count_;
  const MPI_Request* requests_;
  MPI_Status* statuses_;
  MPI_Request* handles_ = nullptr;
  MPI_Request few_handles_[kFew];
  MPI_Status few_statuses_[kFew];
  std::unique_ptr<MPI_Request[]> more_handles_;
  std::unique_ptr<MPI_Status[]> more_statuses_;
};

void begin_recording(std::int64_t begin, Function function) {
  open_part();
  Recorder& recorder = Recorder::get();
  if (!recorder.opened()) return;
  Record record;
  record.begin = begin;
  record.end = recorder.ticks();
  record.function = static_cast<std::uint16_t>(function);
  Recorder::Lock lock(recorder);
  recorder.append(record, {}, {}, {kFunctionNames[record.function], call_site(), python_place()});
}

constexpr int kPause = 0;     // MPI_Pcontrol: record nothing
constexpr int kGoOn = 1;      // record
constexpr int kFlush = 2;     // write what is there
constexpr int kNumbered = 3;  // from here on: a phase of that number
constexpr int kNamed = 100;   // a phase with the name that follows

}  // namespace

int traced_Init(int* argc, char*** argv) {
  const std::int64_t begin = Recorder::get().ticks();
  const int code = real.Init(argc, argv);
  if (code == MPI_SUCCESS) begin_recording(begin, Function::kInit);
  return code;
}

int traced_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const std::int64_t begin = Recorder::get().ticks();
  const int code = real.Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin_recording(begin, Function::kInit_thread);
  return code;
}

int traced_Finalize() {
  forget_world();
  int code = MPI_SUCCESS;
  {
    Call call(Function::kFinalize);
    call.begin();
    code = call.end(real.Finalize());
  }
  Recorder::get().close();
  return code;
}

int traced_Abort(MPI_Comm comm, int errorcode) {
  Recorder::get().flush();
  return real.Abort(comm, errorcode);
}

int traced_Pcontrol(const int level, ...) {
  va_list rest;
  va_start(rest, level);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  Recorder& recorder = Recorder::get();
  if (!recorder.opened()) return real.Pcontrol(level, argument);
  if (level == kPause) recorder.pause(true);
  if (level == kGoOn) recorder.pause(false);
  if (level == kFlush) recorder.flush();
  if (level >= kNumbered && level < kNamed) recorder.set_phase(std::to_string(level));
  if (level == kNamed) recorder.set_phase(argument != nullptr ? static_cast<const char*>(argument) : "");
  return real.Pcontrol(level, argument);
}

int traced_Comm_set_name(MPI_Comm comm, const char* comm_name) {
  const int code = real.Comm_set_name(comm, comm_name);
  Recorder& recorder = Recorder::get();
  if (code != MPI_SUCCESS || !recorder.opened()) return code;
  Recorder::Lock lock(recorder);
  if (const Group* group = group_of(comm)) recorder.name_group(*group, comm_name);
  return code;
}

int traced_Type_free(MPI_Datatype* datatype) {
  const int code = real.Type_free(datatype);
  forget_types();
  return code;
}

int traced_Wait(MPI_Request* request, MPI_Status* status) {
  Call call(Function::kWait);
  Completion completion(call, 1, request, status, status == MPI_STATUS_IGNORE);
  call.begin();
  const int code = call.end(real.Wait(request, completion.statuses()));
  if (code == MPI_SUCCESS) completion.all_done();
  return code;
}

int traced_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  Call call(Function::kWaitall);
  Completion completion(call, count, array_of_requests, array_of_statuses,
                        array_of_statuses == MPI_STATUSES_IGNORE);
  call.begin();
  const int code = call.end(real.Waitall(count, array_of_requests, completion.statuses()));
  if (code == MPI_SUCCESS) completion.all_done();
  return code;
}

int traced_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  Call call(Function::kWaitany);
  Completion completion(call, count, array_of_requests, status, status == MPI_STATUS_IGNORE);
  call.begin();
  const int code = call.end(real.Waitany(count, array_of_requests, indx, completion.statuses()));
  if (code == MPI_SUCCESS) completion.done(*indx, 0);
  return code;
}

int traced_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                    MPI_Status array_of_statuses[]) {
  Call call(Function::kWaitsome);
  Completion completion(call, incount, array_of_requests, array_of_statuses,
                        array_of_statuses == MPI_STATUSES_IGNORE);
  call.begin();
  const int code =
      call.end(real.Waitsome(incount, array_of_requests, outcount, array_of_indices, completion.statuses()));
  for (int i = 0; code == MPI_SUCCESS && i < *outcount; ++i) completion.done(array_of_indices[i], i);
  return code;
}

int traced_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Call call(Function::kTest);
  Completion completion(call, 1, request, status, status == MPI_STATUS_IGNORE);
  call.begin();
  const int code = call.end(real.Test(request, flag, completion.statuses()));
  if (code != MPI_SUCCESS) return code;
  *flag != 0 ? completion.all_done() : call.unanswered();
  return code;
}

int traced_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  Call call(Function::kTestall);
  Completion completion(call, count, array_of_requests, array_of_statuses,
                        array_of_statuses == MPI_STATUSES_IGNORE);
  call.begin();
  const int code = call.end(real.Testall(count, array_of_requests, flag, completion.statuses()));
  if (code != MPI_SUCCESS) return code;
  *flag != 0 ? completion.all_done() : call.unanswered();
  return code;
}

int traced_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  Call call(Function::kTestany);
  Completion completion(call, count, array_of_requests, status, status == MPI_STATUS_IGNORE);
  call.begin();
  const int code = call.end(real.Testany(count, array_of_requests, indx, flag, completion.statuses()));
  if (code != MPI_SUCCESS) return code;
  *flag != 0 ? completion.done(*indx, 0) : call.unanswered();
  return code;
}

int traced_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                    MPI_Status array_of_statuses[]) {
  Call call(Function::kTestsome);
  Completion completion(call, incount, array_of_requests, array_of_statuses,
                        array_of_statuses == MPI_STATUSES_IGNORE);
  call.begin();
  const int code =
      call.end(real.Testsome(incount, array_of_requests, outcount, array_of_indices, completion.statuses()));
  if (code == MPI_SUCCESS && *outcount == 0) call.unanswered();
  for (int i = 0; code == MPI_SUCCESS && i < *outcount; ++i) completion.done(array_of_indices[i], i);
  return code;
}

int traced_Start(MPI_Request* request) {
  Call call(Function::kStart);
  call.begin();
  const int code = call.end(real.Start(request));
  if (code == MPI_SUCCESS) call.started(key_of(*request));
  return code;
}

int traced_Startall(int count, MPI_Request array_of_requests[]) {
  Call call(Function::kStartall);
  call.begin();
  const int code = call.end(real.Startall(count, array_of_requests));
  for (int i = 0; code == MPI_SUCCESS && i < count; ++i) call.started(key_of(array_of_requests[i]));
  return code;
}

int traced_Request_free(MPI_Request* request) {
  Call call(Function::kRequest_free);
  call.freed(key_of(*request));
  call.begin();
  return call.end(real.Request_free(request));
}

}  // namespace tasuki::trace::TASUKI_TRACE_ABI
