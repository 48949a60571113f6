// Error handlers (MPI 9.3).
#include "object/errhandler.hpp"

#include "base/calls/call_board.hpp"
#include "base/calls/function.hpp"
#include "job/launcher.hpp"
#include "object/api.hpp"
#include "object/callbacks.hpp"
#include "object/objects.hpp"
#include "object/session.hpp"

namespace tasuki {
namespace {

Code create_errhandler(Kind owner, AnyFunction function, Errhandler** errhandler) {
  Errhandler* made = new Errhandler;
  made->owner = owner;
  made->function = function;
  *errhandler = made;
  return kSuccess;
}

/// The exit status of a job that an error ends: the error's class where an exit status can hold it.
int exit_status(Code code) {
  const int error_class = error_class_bits(code);
  return error_class > 0 && error_class < 126 ? error_class : 1;
}

}  // namespace

Code check_errhandler(Process& process, const Errhandler& errhandler, Kind owner) {
  if (errhandler.predefined != 0 || errhandler.owner == owner) return kSuccess;
  const char* const name = owner == Kind::kComm   ? "Comm"
                           : owner == Kind::kWin  ? "Win"
                           : owner == Kind::kFile ? "File"
                                                  : "Session";
  return process.fail(kErrErrhandler, "errhandler was not made by MPI_%s_create_errhandler", name);
}

Code set_errhandler(Process& process, ErrorOwner& owner, Kind kind, Errhandler* errhandler) {
  if (const Code code = check_errhandler(process, *errhandler, kind)) return code;
  owner.errhandler = Ref<Errhandler>::share(errhandler);
  owner.errhandler_set = true;
  return kSuccess;
}

Errhandler* get_errhandler(const ErrorOwner& owner) {
  Errhandler* const found = owner.errhandler.get();
  return found->predefined != 0 ? found : retain(found);
}

void call_errhandler(Process& process, const Errhandler& handler, Object* owner, Code code) {
  if (handler.function != nullptr) {
    const Ref<Errhandler> alive = Ref<Errhandler>::share(const_cast<Errhandler*>(&handler));
    process.callbacks->error_handler(handler.function, owner, code);
    return;
  }
  if (handler.predefined == kMpiErrorsReturn) return;
  const Function call = present_call(process.line);
  const std::string name = call != Function::kNone ? std::string(function_name(call)) + ": " : std::string();
  process.launcher.abort(exit_status(code), name + error_text(process, code));
}

namespace api {

Code comm_create_errhandler(Process&, AnyFunction comm_errhandler_fn, Errhandler** errhandler) {
  return create_errhandler(Kind::kComm, comm_errhandler_fn, errhandler);
}

Code win_create_errhandler(Process&, AnyFunction win_errhandler_fn, Errhandler** errhandler) {
  return create_errhandler(Kind::kWin, win_errhandler_fn, errhandler);
}

Code file_create_errhandler(Process&, AnyFunction file_errhandler_fn, Errhandler** errhandler) {
  return create_errhandler(Kind::kFile, file_errhandler_fn, errhandler);
}

Code session_create_errhandler(Process&, AnyFunction session_errhandler_fn, Errhandler** errhandler) {
  return create_errhandler(Kind::kSession, session_errhandler_fn, errhandler);
}

Code comm_set_errhandler(Process& process, Comm* comm, Errhandler* errhandler) {
  return set_errhandler(process, *comm, Kind::kComm, errhandler);
}

Code comm_get_errhandler(Process&, Comm* comm, Errhandler** errhandler) {
  *errhandler = get_errhandler(*comm);
  return kSuccess;
}

Code comm_call_errhandler(Process& process, Comm* comm, int errorcode) {
  const Ref<Comm> alive = Ref<Comm>::share(comm);
  call_errhandler(process, *comm->errhandler, comm, errorcode);
  return kSuccess;
}

Code errhandler_free(Process&, Errhandler** errhandler) {
  if ((*errhandler)->predefined == 0) release(*errhandler);
  *errhandler = nullptr;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
