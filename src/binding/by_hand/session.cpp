// The entries that begin and end a session (MPI 11.3): they are users of the Process, as MPI_Init is.
#include "communicator/sessions.hpp"

#include <string>

#include "binding/call/call.hpp"
#include "binding/collect_leaks.hpp"
#include "binding/process_lifetime.hpp"
#include "environment/environment.hpp"
#include "job/launcher.hpp"
#include "object/errhandler.hpp"

using namespace tasuki;

namespace {

/// The checks that need no Process, and the session's beginning. Errors go to `errhandler`; `guard` is
/// unlocked by then, because longjmp may leave the handler.
int begin_session(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session, const void* site,
                  ThreadLevel* level, std::unique_lock<std::mutex>* guard) {
  Call call(Function::kSession_init, site, AnyTime{});
  const auto refuse = [&](Code code) {
    null_out<Session>(session);
    guard->unlock();
    return code != 0 ? call.end(code) : call.fail();
  };
  call.blame_if_valid_errhandler(errhandler);
  Info* core_info = nullptr;
  Errhandler* core_errhandler = nullptr;
  if (!call.handle_or_null<Info>(info, "info", &core_info) ||
      !call.handle<Errhandler>(errhandler, "errhandler", &core_errhandler) ||
      !call.handle_place(session, "session")) {
    return refuse(0);
  }
  if (const Code code = check_errhandler(call.process, *core_errhandler, Kind::kSession)) return refuse(code);
  if (const Code code = requested_thread_level(call.process, core_info, level)) return refuse(code);
  std::string error;
  if (begin_use(*level, true, {Function::kSession_init, site}, &error)) return MPI_SUCCESS;
  call.refuse(kErrOther, "%s", error.c_str());
  return refuse(0);
}

}  // namespace

extern "C" int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  std::unique_lock guard(lifetime_mutex());
  ThreadLevel level = ThreadLevel::kMultiple;  // what a session costs is the same at any level
  const void* const site = call_site(__builtin_return_address(0));
  if (const int code = begin_session(info, errhandler, session, site, &level, &guard); code != MPI_SUCCESS)
    return code;
  Call call(Function::kSession_init, site);
  Errhandler* core_errhandler = nullptr;
  call.handle<Errhandler>(errhandler, "errhandler",
                          &core_errhandler);  // this Process's, where it is predefined
  if (is_last_user()) call.process.launcher.mark_initialized();
  *session = call.give<Session>(new Session(call.process, granted(level), core_errhandler));
  return MPI_SUCCESS;
}

extern "C" int PMPI_Session_finalize(MPI_Session* session) {
  std::unique_lock guard(lifetime_mutex());
  {
    Call call(Function::kSession_finalize, call_site(__builtin_return_address(0)));
    Session* core_session = nullptr;
    if (!call.pointer(session, "session") || !call.handle<Session>(*session, "session", &core_session)) {
      guard.unlock();
      return call.fail();
    }
    const Ref<Session> last(core_session);
    finish_session(*last);
    call.settle<Session>(nullptr, session);
    if (is_last_user() && binding.notes_origins) report_leaked_handles();
    if (is_last_user()) rest(call.process);
  }
  end_use();
  return MPI_SUCCESS;
}

// clang-format off
extern "C" decltype(PMPI_Session_init) MPI_Session_init
    __attribute__((weak, alias("PMPI_Session_init")));
extern "C" decltype(PMPI_Session_finalize) MPI_Session_finalize
    __attribute__((weak, alias("PMPI_Session_finalize")));
// clang-format on
