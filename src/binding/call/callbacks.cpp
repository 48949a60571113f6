// User functions: attribute copy and delete, reductions, generalised requests, error handlers.
//
// An object that the core hands to a user function may have no handle (an internal datatype, one that the
// user freed while it is in use): Lent gives it one for as long as the call lasts.
#include "binding/call/callbacks.hpp"

#include <algorithm>
#include <climits>

#include "binding/call/call.hpp"
#include "binding/call/in_callback.hpp"

namespace tasuki {

namespace {

/// Whether an object stands for MPI_FILE_NULL or MPI_SESSION_NULL.
bool stands_for_null(const Object* object) {
  for (const Process* process : {binding.process, &outside()}) {
    if (process == nullptr) continue;
    if (object == &process->objects->null_file || object == &process->objects->null_session) return true;
  }
  return false;
}

template <class T>
class Lent {
 public:
  explicit Lent(Object* object) {
    if (object->predefined != 0) {
      handle_ = abi::handle_of<Handle>(abi::handle_of_number(object->predefined));
      return;
    }
    if (stands_for_null(object)) {
      handle_ = HandleOf<T>::null();
      return;
    }
    value_ = binding.handles.acquire(object);
    handle_ = value_ != 0 ? abi::handle_of<Handle>(abi::bits_of_table_value(value_)) : HandleOf<T>::null();
  }
  ~Lent() {
    if (value_ != 0) binding.handles.drop(value_);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  typename HandleOf<T>::Handle get() const { return handle_; }

 private:
  using Handle = typename HandleOf<T>::Handle;
  std::uint32_t value_ = 0;
  Handle handle_;
};

/// What a user function returned, as a code of the core.
Code user_code(int code) {
  if (code == MPI_SUCCESS) return 0;
  const Code core = abi::error_to_core(code);
  return core == abi::kNoConstant ? Code{kErrOther} : core;
}

template <class T, class Function>
Code call_copy(AnyFunction function, Object* owner, int keyval, void* extra_state, void* value_in,
               void** value_out, bool* keep) {
  const Lent<T> handle(owner);
  const InCallback inside;
  int flag = 0;
  const int code = reinterpret_cast<Function*>(function)(handle.get(), abi::keyval_from_core(keyval),
                                                         extra_state, value_in, value_out, &flag);
  *keep = flag != 0;
  return user_code(code);
}

template <class T, class Function>
Code call_delete(AnyFunction function, Object* owner, int keyval, void* value, void* extra_state) {
  const Lent<T> handle(owner);
  const InCallback inside;
  return user_code(
      reinterpret_cast<Function*>(function)(handle.get(), abi::keyval_from_core(keyval), value, extra_state));
}

template <class T, class Function>
int call_error_handler(const DueHandler& due) {
  auto handle = abi::handle_of<typename HandleOf<T>::Handle>(static_cast<abi::Bits>(due.handle));
  int code = abi::error_from_core(due.code);
  reinterpret_cast<Function*>(due.function)(&handle, &code);
  return code;
}

template <class T>
void choose_handle(DueHandler* due) {
  Object* const owner = due->owner;
  due->lent = owner->predefined == 0 && !stands_for_null(owner) &&
              binding.handles.find(owner->handle, owner->kind) != owner;
  if (due->lent) retain(owner);
  const Lent<T> handle(owner);
  due->handle = static_cast<std::uint64_t>(abi::bits_of(handle.get()));
  if (due->lent) binding.handles.acquire(owner);
}

}  // namespace

Code AbiCallbacks::copy_attribute(AnyFunction function, Object* owner, int keyval, void* extra_state,
                                  void* value_in, void** value_out, bool* keep) {
  switch (owner->kind) {
    case Kind::kDatatype:
      return call_copy<Datatype, MPI_Type_copy_attr_function>(function, owner, keyval, extra_state, value_in,
                                                              value_out, keep);
    case Kind::kWin:
      return call_copy<Win, MPI_Win_copy_attr_function>(function, owner, keyval, extra_state, value_in,
                                                        value_out, keep);
    default:
      return call_copy<Comm, MPI_Comm_copy_attr_function>(function, owner, keyval, extra_state, value_in,
                                                          value_out, keep);
  }
}

Code AbiCallbacks::delete_attribute(AnyFunction function, Object* owner, int keyval, void* value,
                                    void* extra_state) {
  switch (owner->kind) {
    case Kind::kDatatype:
      return call_delete<Datatype, MPI_Type_delete_attr_function>(function, owner, keyval, value,
                                                                  extra_state);
    case Kind::kWin:
      return call_delete<Win, MPI_Win_delete_attr_function>(function, owner, keyval, value, extra_state);
    default:
      return call_delete<Comm, MPI_Comm_delete_attr_function>(function, owner, keyval, value, extra_state);
  }
}

void AbiCallbacks::reduce(AnyFunction function, bool wide, const void* in, void* inout, Count count,
                          Datatype* datatype) {
  const Lent<Datatype> lent(datatype);
  const InCallback inside;
  MPI_Datatype type = lent.get();
  if (wide) {
    MPI_Count length = count;
    reinterpret_cast<MPI_User_function_c*>(function)(const_cast<void*>(in), inout, &length, &type);
    return;
  }
  // The small form counts in ints: several calls where there are more elements.
  auto* from = static_cast<char*>(const_cast<void*>(in));
  auto* to = static_cast<char*>(inout);
  while (count > 0) {
    const Count part = std::min<Count>(count, INT_MAX);
    int length = static_cast<int>(part);
    reinterpret_cast<MPI_User_function*>(function)(from, to, &length, &type);
    from += part * datatype->extent;
    to += part * datatype->extent;
    count -= part;
  }
}

Code AbiCallbacks::query_request(AnyFunction function, void* extra_state, Status* status) {
  const InCallback inside;
  MPI_Status user_status{};
  abi::write_status(*status, &user_status);
  user_status.MPI_ERROR = MPI_SUCCESS;
  const int code = reinterpret_cast<MPI_Grequest_query_function*>(function)(extra_state, &user_status);
  *status = abi::read_status(user_status);
  return user_code(code);
}

Code AbiCallbacks::free_request(AnyFunction function, void* extra_state) {
  const InCallback inside;
  return user_code(reinterpret_cast<MPI_Grequest_free_function*>(function)(extra_state));
}

Code AbiCallbacks::cancel_request(AnyFunction function, void* extra_state, bool complete) {
  const InCallback inside;
  return user_code(reinterpret_cast<MPI_Grequest_cancel_function*>(function)(extra_state, complete ? 1 : 0));
}

void AbiCallbacks::error_handler(AnyFunction function, Object* owner, Code code) {
  binding.due_handler = {.function = function, .kind = owner->kind, .owner = owner, .code = code};
  switch (owner->kind) {
    case Kind::kWin:
      return choose_handle<Win>(&binding.due_handler);
    case Kind::kFile:
      return choose_handle<File>(&binding.due_handler);
    case Kind::kSession:
      return choose_handle<Session>(&binding.due_handler);
    default:
      return choose_handle<Comm>(&binding.due_handler);
  }
}

int DueHandler::call() const {
  switch (kind) {
    case Kind::kWin:
      return call_error_handler<Win, MPI_Win_errhandler_function>(*this);
    case Kind::kFile:
      return call_error_handler<File, MPI_File_errhandler_function>(*this);
    case Kind::kSession:
      return call_error_handler<Session, MPI_Session_errhandler_function>(*this);
    default:
      return call_error_handler<Comm, MPI_Comm_errhandler_function>(*this);
  }
}

void DueHandler::take_back() const {
  binding.handles.drop(owner->handle);
  release(owner);
}

Code AbiCallbacks::convert(AnyFunction function, bool wide, void* userbuf, Datatype* datatype, Count count,
                           void* filebuf, Offset position, void* extra_state) {
  const Lent<Datatype> lent(datatype);
  const InCallback inside;
  if (wide) {
    return user_code(reinterpret_cast<MPI_Datarep_conversion_function_c*>(function)(
        userbuf, lent.get(), count, filebuf, position, extra_state));
  }
  return user_code(reinterpret_cast<MPI_Datarep_conversion_function*>(function)(
      userbuf, lent.get(), static_cast<int>(count), filebuf, position, extra_state));
}

Code AbiCallbacks::datarep_extent(AnyFunction function, Datatype* datatype, Aint* extent, void* extra_state) {
  const Lent<Datatype> lent(datatype);
  const InCallback inside;
  MPI_Aint bytes = 0;
  const int code = reinterpret_cast<MPI_Datarep_extent_function*>(function)(lent.get(), &bytes, extra_state);
  *extent = bytes;
  return user_code(code);
}

CopyFunction copy_function(AnyFunction function) {
  if (function == reinterpret_cast<AnyFunction>(MPI_COMM_NULL_COPY_FN)) return {nullptr, false};
  if (function == reinterpret_cast<AnyFunction>(MPI_COMM_DUP_FN)) return {nullptr, true};
  return {function, false};
}

AnyFunction delete_function(AnyFunction function) {
  return function == reinterpret_cast<AnyFunction>(MPI_COMM_NULL_DELETE_FN) ? nullptr : function;
}

}  // namespace tasuki
