// The entries about the program itself (MPI chapter 11): start and end, threads, versions, time, and the ABI
// queries of MPI 5.0, chapter 20. Those that are legal at any time need no Process.
#include "environment/environment.hpp"

#include <time.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "binding/call/arguments.hpp"
#include "binding/call/call.hpp"
#include "binding/collect_leaks.hpp"
#include "binding/process_lifetime.hpp"
#include "job/launcher.hpp"
#include "object/api.hpp"

namespace tasuki {
namespace {

constexpr const char* kLibraryVersion = "Tasuki 0.1.0";

int start(Function function, const void* site, ThreadLevel level) {
  const std::lock_guard guard(lifetime_mutex());
  if (binding.world_state != WorldState::kBefore) {
    const std::string text =
        std::string(function_name(function)) + (binding.world_state == WorldState::kRunning
                                                    ? " called a second time"
                                                    : " called after MPI_Finalize: MPI starts only once");
    if (binding.process != nullptr) binding.process->launcher.abort(1, text);
    die(text.c_str());
  }
  std::string error;
  if (!begin_use(level, level == ThreadLevel::kMultiple, {function, site}, &error)) die(error.c_str());
  Call call(function, site);
  call.process.thread_level = granted(level);
  binding.world_state = WorldState::kRunning;
  binding.main_thread = pthread_self();
  return call.end(start_world(call.process));
}

bool is_thread_level(ThreadLevel level) {
  return level == ThreadLevel::kSingle || level == ThreadLevel::kFunneled ||
         level == ThreadLevel::kSerialized || level == ThreadLevel::kMultiple;
}

double clock_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace
}  // namespace tasuki

using namespace tasuki;

extern "C" int PMPI_Init(int*, char***) {
  return start(Function::kInit, call_site(__builtin_return_address(0)), ThreadLevel::kSingle);
}

extern "C" int PMPI_Init_thread(int*, char***, int required, int* provided) {
  const int level = abi::thread_level_to_core(required);
  if (!is_thread_level(static_cast<ThreadLevel>(level))) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "MPI_Init_thread: required = %d, expected MPI_THREAD_SINGLE, _FUNNELED, "
                  "_SERIALIZED or _MULTIPLE",
                  required);
    die(text);
  }
  const int code =
      start(Function::kInit_thread, call_site(__builtin_return_address(0)), static_cast<ThreadLevel>(level));
  if (provided != nullptr) {
    *provided = abi::thread_level_from_core(static_cast<int>(binding.process->thread_level));
  }
  return code;
}

extern "C" int PMPI_Finalize(void) {
  std::unique_lock guard(lifetime_mutex());
  const void* const site = call_site(__builtin_return_address(0));
  int result = MPI_SUCCESS;
  {
    Call call(Function::kFinalize, site);
    if (binding.world_state != WorldState::kRunning) {
      call.refuse(kErrOther, "MPI_Init was not called, or MPI_Finalize was called already");
      guard.unlock();
      return call.fail();
    }
    const Code first = begin_end_of_world(call.process);
    const bool reports = is_last_user() && binding.notes_origins;
    if (reports) report_leaked_handles();
    const Code then = finish_world(call.process);
    if (reports) report_unreceived_messages();
    if (first != 0 || then != 0) {
      guard.unlock();  // longjmp may leave an error handler
      result = call.end(first != 0 ? first : then);
    }
  }
  if (!guard.owns_lock()) guard.lock();
  if (is_last_user()) {
    Call call(Function::kFinalize, site);
    rest(call.process);
  }
  binding.world_state = WorldState::kAfter;
  end_use();
  return result;
}

extern "C" int PMPI_Initialized(int* flag) {
  if (flag == nullptr) return MPI_ERR_ARG;
  *flag = binding.world_state != WorldState::kBefore;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Finalized(int* flag) {
  if (flag == nullptr) return MPI_ERR_ARG;
  *flag = binding.world_state == WorldState::kAfter;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Query_thread(int* provided) {
  Call call(Function::kQuery_thread, call_site(__builtin_return_address(0)));
  if (!call.pointer(provided, "provided")) return call.fail();
  *provided = abi::thread_level_from_core(static_cast<int>(call.process.thread_level));
  return MPI_SUCCESS;
}

extern "C" int PMPI_Is_thread_main(int* flag) {
  Call call(Function::kIs_thread_main, call_site(__builtin_return_address(0)));
  if (!call.pointer(flag, "flag")) return call.fail();
  *flag = pthread_equal(pthread_self(), binding.main_thread) != 0;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Abort(MPI_Comm comm, int errorcode) {
  if (binding.process == nullptr) {
    std::fprintf(stderr, "tasuki: MPI_Abort with code %d\n", errorcode);
    _exit((errorcode & 0xff) != 0 ? errorcode & 0xff : 1);
  }
  Call call(Function::kAbort, call_site(__builtin_return_address(0)));
  const Comm* which = call.lookup_or_null<Comm>(comm);
  std::string text = "MPI_Abort with code " + std::to_string(errorcode);
  if (which != nullptr && which != call.process.objects->world && !which->name.empty()) {
    text += " on " + which->name;
  }
  text += ", called by rank " + std::to_string(call.process.rank);
  call.process.launcher.abort(errorcode, text);
  __builtin_unreachable();  // gcc does not see that a virtual function never returns
}

extern "C" int PMPI_Pcontrol(const int, ...) {
  return MPI_SUCCESS;  // for tools that interpose it (MPI 15.2.3)
}

extern "C" double PMPI_Wtime(void) {
  return clock_seconds();
}

extern "C" double PMPI_Wtick(void) {
  timespec resolution;
  clock_getres(CLOCK_MONOTONIC, &resolution);
  return static_cast<double>(resolution.tv_sec) + 1e-9 * static_cast<double>(resolution.tv_nsec);
}

extern "C" int PMPI_Get_version(int* version, int* subversion) {
  if (const int code = null_argument(Function::kGet_version, call_site(__builtin_return_address(0)),
                                     {{version, "version"}, {subversion, "subversion"}}))
    return code;
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Get_library_version(char* version, int* resultlen) {
  if (const int code = null_argument(Function::kGet_library_version, call_site(__builtin_return_address(0)),
                                     {{version, "version"}, {resultlen, "resultlen"}}))
    return code;
  const std::string text = std::string(kLibraryVersion) + ", " + abi::kName;
  *resultlen = store_string(text, version, MPI_MAX_LIBRARY_VERSION_STRING);
  return MPI_SUCCESS;
}

extern "C" int PMPI_Get_processor_name(char* name, int* resultlen) {
  Call call(Function::kGet_processor_name, call_site(__builtin_return_address(0)));
  if (!call.pointer(name, "name") || !call.pointer(resultlen, "resultlen")) return call.fail();
  const std::string own = call.process.directory.processor_name(MPI_MAX_PROCESSOR_NAME - 1);
  *resultlen = store_string(own, name, MPI_MAX_PROCESSOR_NAME);
  return MPI_SUCCESS;
}

extern "C" int PMPI_Abi_get_version(int* abi_major, int* abi_minor) {
  if (const int code = null_argument(Function::kAbi_get_version, call_site(__builtin_return_address(0)),
                                     {{abi_major, "abi_major"}, {abi_minor, "abi_minor"}}))
    return code;
  *abi_major = abi::kAbiMajor;
  *abi_minor = abi::kAbiMinor;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Abi_get_info(MPI_Info* info) {
  Call call(Function::kAbi_get_info, call_site(__builtin_return_address(0)), AnyTime{});
  if (!call.handle_place(info, "info")) return call.fail();
  Info* core_info = nullptr;
  Code code = api::info_create(call.process, &core_info);
  const auto set = [&](const char* key, std::size_t bytes) {
    if (code == 0) code = api::info_set(call.process, core_info, key, std::to_string(bytes).c_str());
  };
  set("mpi_aint_size", sizeof(MPI_Aint));
  set("mpi_count_size", sizeof(MPI_Count));
  set("mpi_offset_size", sizeof(MPI_Offset));
  *info = call.give<Info>(code == 0 ? core_info : nullptr);
  return call.end(code);
}

extern "C" int PMPI_Get_address(const void* location, MPI_Aint* address) {
  Call call(Function::kGet_address, call_site(__builtin_return_address(0)));
  if (!call.pointer(address, "address")) return call.fail();
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}

extern "C" MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) {
  return base + disp;
}

extern "C" MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return addr1 - addr2;
}

// The names that a tool may interpose (MPI 15.2).
// clang-format off
extern "C" decltype(PMPI_Init) MPI_Init
    __attribute__((weak, alias("PMPI_Init")));
extern "C" decltype(PMPI_Init_thread) MPI_Init_thread
    __attribute__((weak, alias("PMPI_Init_thread")));
extern "C" decltype(PMPI_Finalize) MPI_Finalize
    __attribute__((weak, alias("PMPI_Finalize")));
extern "C" decltype(PMPI_Initialized) MPI_Initialized
    __attribute__((weak, alias("PMPI_Initialized")));
extern "C" decltype(PMPI_Finalized) MPI_Finalized
    __attribute__((weak, alias("PMPI_Finalized")));
extern "C" decltype(PMPI_Query_thread) MPI_Query_thread
    __attribute__((weak, alias("PMPI_Query_thread")));
extern "C" decltype(PMPI_Is_thread_main) MPI_Is_thread_main
    __attribute__((weak, alias("PMPI_Is_thread_main")));
extern "C" decltype(PMPI_Abort) MPI_Abort
    __attribute__((weak, alias("PMPI_Abort")));
extern "C" decltype(PMPI_Pcontrol) MPI_Pcontrol
    __attribute__((weak, alias("PMPI_Pcontrol")));
extern "C" decltype(PMPI_Wtime) MPI_Wtime
    __attribute__((weak, alias("PMPI_Wtime")));
extern "C" decltype(PMPI_Wtick) MPI_Wtick
    __attribute__((weak, alias("PMPI_Wtick")));
extern "C" decltype(PMPI_Get_version) MPI_Get_version
    __attribute__((weak, alias("PMPI_Get_version")));
extern "C" decltype(PMPI_Get_library_version) MPI_Get_library_version
    __attribute__((weak, alias("PMPI_Get_library_version")));
extern "C" decltype(PMPI_Get_processor_name) MPI_Get_processor_name
    __attribute__((weak, alias("PMPI_Get_processor_name")));
extern "C" decltype(PMPI_Abi_get_version) MPI_Abi_get_version
    __attribute__((weak, alias("PMPI_Abi_get_version")));
extern "C" decltype(PMPI_Abi_get_info) MPI_Abi_get_info
    __attribute__((weak, alias("PMPI_Abi_get_info")));
extern "C" decltype(PMPI_Get_address) MPI_Get_address
    __attribute__((weak, alias("PMPI_Get_address")));
extern "C" decltype(PMPI_Aint_add) MPI_Aint_add
    __attribute__((weak, alias("PMPI_Aint_add")));
extern "C" decltype(PMPI_Aint_diff) MPI_Aint_diff
    __attribute__((weak, alias("PMPI_Aint_diff")));
// clang-format on
