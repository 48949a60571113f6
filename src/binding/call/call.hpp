// Call: what every entry does around its one core function. It finds the process, locks it where threads may
// meet, checks the arguments, turns handles into objects and back, and ends an error in the error handler.
//
// An entry reads: Call call(Function::kX, site); if a check fails, return call.fail(); call.note(…) puts its
// arguments on the rank's line (base/calls/call_board.hpp), for the doctor; return call.end(api::x(…)).
// Checks are inline and cheap; whatever happens on an error is out of line in call.cpp.
//
// A user's error handler runs last, when the call is over (leave()): the lock is free, the line is closed,
// the OUT arguments are written. So a handler may be left by longjmp or an exception, and what it makes of
// the code is what the call returns.
//
// The Binding below is the only global of the library: it leads to the current Process.
//
// Thread safety: with MPI_THREAD_MULTIPLE a Call holds Process::lock; docs/threads.md says when it lets go of
// it. While a user's callback runs the lock is free, so a call that the callback makes is as any other.
#pragma once

#include <pthread.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/calls/call_board.hpp"
#include "base/calls/function.hpp"
#include "base/process.hpp"
#include "binding/abi/abi.hpp"
#include "binding/call/call_site.hpp"
#include "binding/call/callbacks.hpp"
#include "binding/handles/handle_kinds.hpp"
#include "binding/handles/handle_origins.hpp"
#include "binding/handles/handle_table.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/objects.hpp"
#include "p2p/arrived_message.hpp"

namespace tasuki {

/// Whether the program is before MPI_Init, between it and MPI_Finalize, or after MPI_Finalize.
enum class WorldState : int { kBefore, kRunning, kAfter };

struct Binding {
  Process* process = nullptr;  // while running, else null
  bool locking = false;        // MPI_THREAD_MULTIPLE
  bool notes_origins = false;  // of each handle: TASUKI_CHECK=3
  bool told_holders = false;   // which calls gave most handles, when there were no more
  WorldState world_state = WorldState::kBefore;
  HandleTable handles;
  DueHandler due_handler;
  pthread_t main_thread = 0;
  Origins origins;
};
extern Binding binding;

/// How deep in calls this thread is; kept with MPI_THREAD_MULTIPLE only.
extern thread_local int call_depth [[gnu::tls_model("initial-exec")]];

/// Where on the stack this thread's outermost callback began (callbacks.cpp); 0: none runs. A call that lies
/// above it on the stack knows that longjmp or an exception left the callback and the call around it.
extern thread_local std::uintptr_t callback_frame [[gnu::tls_model("initial-exec")]];

/// The Process of the calls that are legal at any time, outside MPI_Init .. MPI_Finalize. Made on first use.
Process& outside();

/// A tag: this call is legal before MPI_Init and after MPI_Finalize too (MPI 11.4.1).
struct AnyTime {};

/// A tag: this call belongs to the chapter on files, whose errors go to the file's error handler, or to that
/// of MPI_FILE_NULL where there is none (MPI 14.7), and never to the communicator's.
struct FileCall {};

class Call {
 public:
  /// `site`: where the entry returns to.
  [[gnu::always_inline]] Call(Function function, const void* site)
      : process(running(function)), function_(function) {
    begin(site, binding.locking);
  }
  Call(Function function, const void* site, AnyTime)
      : process(binding.process != nullptr ? *binding.process : outside()), function_(function) {
    begin(site, binding.locking || binding.process == nullptr);
  }
  Call(Function function, const void* site, FileCall) : Call(function, site) {
    owner_ = &process.objects->null_file;
  }
  [[gnu::always_inline]] ~Call() {
    std::atomic<std::uint64_t>& word = process.line.word;
    if (way_out_ == WayOut::kPlain) [[likely]]
      word.store(word.load(std::memory_order_relaxed) & ~kInside, std::memory_order_relaxed);
    else
      restore_outer();
    if (locked_) unlock();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Process& process;

  /// Ends the call with the core's result: MPI_SUCCESS, or what the error handler leaves, in the ABI's
  /// numbers.
  int end(Code code) {
    if (code == 0) [[likely]]
      return MPI_SUCCESS;
    code_ = code;
    return fail();
  }
  /// Ends the call with the error that a check found.
  [[gnu::cold, gnu::noinline]] int fail();
  /// Ends MPI_X_call_errhandler: calls the handler that the core chose, if it is a user's. What that makes of
  /// the code is its own matter (MPI 9.3.4).
  int end_with_handler(Code code);

  void blame_if_valid_errhandler(MPI_Errhandler handler) {
    errhandler_ = lookup<Errhandler>(abi::bits_of(handler));
  }

  /// Puts an argument on the rank's line.
  template <class T, class Value>
  [[gnu::always_inline]] void note(std::atomic<T> CallLine::*field, Value value) {
    if constexpr (std::is_pointer_v<Value>) {
      (process.line.*field).store(reinterpret_cast<T>(value), std::memory_order_relaxed);
    } else {
      (process.line.*field).store(static_cast<T>(value), std::memory_order_relaxed);
    }
  }

  // Handles. Each check returns false, and keeps the error, when the argument is not what was expected.

  template <class T>
  [[gnu::always_inline]] bool handle(typename HandleOf<T>::Handle value, const char* argument, T** object) {
    *object = lookup<T>(abi::bits_of(value));
    if (*object == nullptr) [[unlikely]]
      return bad_handle<T>(value, argument);
    if constexpr (std::is_base_of_v<ErrorOwner, T>) {
      if (owner_ == nullptr || HandleOf<T>::kKind == Kind::kFile) owner_ = *object;
    }
    if constexpr (std::is_same_v<T, Message>) owner_ = (*object)->comm.get();
    return true;
  }
  template <class T>
  bool handle_or_null(typename HandleOf<T>::Handle value, const char* argument, T** object) {
    if (value == HandleOf<T>::null()) {
      *object = nullptr;
      return true;
    }
    return handle<T>(value, argument, object);
  }
  /// An argument that may be insignificant at this rank: null when it names no object.
  template <class T>
  T* lookup_or_null(typename HandleOf<T>::Handle value) const {
    return lookup<T>(abi::bits_of(value));
  }
  /// A datatype to communicate with.
  [[gnu::always_inline]] bool committed(MPI_Datatype value, const char* argument, Datatype** type) {
    if (!handle<Datatype>(value, argument, type)) return false;
    return (*type)->committed || uncommitted(*type, argument);
  }

  /// A handle of `object` for the user, which is one more use of it. The NULL handle for null.
  template <class T>
  typename HandleOf<T>::Handle give(T* object) {
    if (object == nullptr) return HandleOf<T>::null();
    return abi::handle_of<typename HandleOf<T>::Handle>(bits_of_object(object));
  }
  /// After a core call that may have set `object` to null: drops the user's handle then.
  template <class T>
  void settle(T* object, typename HandleOf<T>::Handle* handle) {
    if (object != nullptr || *handle == HandleOf<T>::null()) return;
    const std::uint32_t value = abi::table_value(abi::bits_of(*handle));
    if (value != 0) binding.handles.drop(value);
    *handle = HandleOf<T>::null();
  }

  // Numbers.

  bool count(Count value, const char* argument, int error_class = kErrCount) {
    return value >= 0 || negative(value, argument, error_class);
  }
  bool dest(int value, const char* argument, const Comm* comm) {
    return static_cast<unsigned>(value) < peer_count(comm) || value == MPI_PROC_NULL ||
           bad_rank(value, argument, comm, false);
  }
  bool source(int value, const char* argument, const Comm* comm) {
    return static_cast<unsigned>(value) < peer_count(comm) || value == MPI_ANY_SOURCE ||
           value == MPI_PROC_NULL || bad_rank(value, argument, comm, true);
  }
  bool tag(int value, const char* argument) {
    return (value >= 0 && value <= kTagMax) || bad_tag(value, argument, false);
  }
  bool tag_or_any(int value, const char* argument) {
    return (value >= 0 && value <= kTagMax) || value == MPI_ANY_TAG || bad_tag(value, argument, true);
  }
  /// A rank that the core checks further: any rank, MPI_PROC_NULL …
  bool rank(int value, int core_value, const char* argument) {
    return core_value != abi::kNoConstant || bad_constant(value, argument, kErrRank);
  }
  /// A constant of an enumeration that this ABI's table does not know.
  bool constant(int value, int core_value, const char* argument, int error_class) {
    return core_value != abi::kNoConstant || bad_constant(value, argument, error_class);
  }
  bool counts(CountArray values, int length, const char* argument);
  bool array(const void* values, Count length, const char* argument) {
    return values != nullptr || length <= 0 || null_pointer(argument);
  }
  bool pointer(const void* value, const char* argument) { return value != nullptr || null_pointer(argument); }
  /// The place of an OUT handle: an address, and there is a handle to put there.
  bool handle_place(const void* value, const char* argument) {
    return pointer(value, argument) && (binding.handles.has_free_slot() || make_room(1));
  }
  /// Sees to it that there are `count` handles to give. The call may still be refused then.
  [[gnu::cold, gnu::noinline]] bool make_room(std::size_t count);
  /// A string of the user's that the core copies, of at most `bytes_max` bytes with its NUL: a limit of the
  /// ABI, or one above any that a system has.
  static constexpr std::size_t kTextBytesMax = 64 << 10;
  bool text(const char* value, const char* argument, int error_class = kErrArg,
            std::size_t bytes_max = kTextBytesMax) {
    if (value == nullptr) return null_pointer(argument);
    return strnlen(value, bytes_max) < bytes_max || too_long(value, argument, error_class, bytes_max);
  }

  // Data: a buffer with its count and datatype.

  [[gnu::always_inline]] bool data(const void* buffer, const char* argument, Count count_value,
                                   const char* count_name, MPI_Datatype type_value, const char* type_name,
                                   Datatype** type) {
    return count(count_value, count_name) && committed(type_value, type_name, type) &&
           this->buffer(buffer, argument, count_value, **type);
  }
  /// The data of one message, of a broadcast, or of each neighbour: with a count of 0 the datatype may be
  /// MPI_DATATYPE_NULL, or not committed.
  [[gnu::always_inline]] bool message(const void* buffer, const char* argument, Count count_value,
                                      const char* count_name, MPI_Datatype type_value, const char* type_name,
                                      Datatype** type) {
    if (!count(count_value, count_name)) return false;
    *type = lookup<Datatype>(abi::bits_of(type_value));
    if (*type == nullptr || !(*type)->committed) [[unlikely]] {
      *type = nothing(count_value, type_value, type_name, *type);
      if (*type == nullptr) return false;
    }
    return this->buffer(buffer, argument, count_value, **type);
  }
  [[gnu::always_inline]] bool buffer(const void* buffer, const char* argument, Count count,
                                     const Datatype& type) {
    if (abi::is_in_place(buffer)) [[unlikely]]
      return in_place(argument);
    return buffer != nullptr || count == 0 || null_buffer(argument, count, type);
  }
  /// The datatype that stands in the core for one that is not looked at.
  Datatype* type_of_nothing() { return static_cast<Datatype*>(process.objects->predefined[kMpiByte]); }
  /// Whether no blocks go this way; then count, datatype and buffer are not looked at.
  bool is_without_blocks(int blocks, Datatype** type) {
    if (blocks == 0) *type = type_of_nothing();
    return blocks == 0;
  }
  bool not_in_place(const void* buffer, const char* argument) {
    return !abi::is_in_place(buffer) || in_place(argument);
  }

  // Rooted collectives: the part that this process takes (MPI 6.2.3).

  struct Roles {
    int root;          // in the core's numbers
    bool root_here;    // this process is the root
    bool member_here;  // this process is in the group that talks to the root
  };
  bool root(int value, const char* argument, const Comm* comm, Roles* roles);

  // Neighbourhood collectives: how many blocks go out and come in (MPI 8.6).

  struct Degrees {
    int out = 0;
    int in = 0;
  };
  bool neighborhood(const Comm* comm, Degrees* degrees);

  /// Keeps the error of a check that the entry makes itself. Returns false.
  [[gnu::format(printf, 3, 4), gnu::cold]] bool refuse(int error_class, const char* format, ...);

 private:
  template <class T>
  T* lookup(abi::Bits bits) const {
    const std::uint32_t value = abi::table_value(bits);
    Object* object = value != 0 ? binding.handles.find(value, HandleOf<T>::kKind) : nullptr;
    if (object != nullptr) return static_cast<T*>(object);
    object = process.objects->predefined[abi::predefined_number(bits)];
    return object != nullptr && object->kind == HandleOf<T>::kKind ? static_cast<T*>(object) : nullptr;
  }
  static unsigned peer_count(const Comm* comm) {
    const auto& endpoints = comm->peers().endpoints;
    return static_cast<unsigned>(endpoints.size());
  }
  abi::Bits bits_of_object(Object* object) {
    if (object->predefined != 0) return abi::handle_of_number(object->predefined);
    if (binding.notes_origins) [[unlikely]]
      object = own_request(object);
    const std::uint32_t value = binding.handles.acquire(object);
    if (value == 0) [[unlikely]]
      end_without_handle();
    if (binding.notes_origins) [[unlikely]]
      note_origin(value);
    return abi::bits_of_table_value(value);
  }
  /// What the destructor does to the rank's line.
  enum class WayOut : unsigned char {
    kPlain,   // close it
    kNested,  // put the line of the enclosing call back
    kLeft,    // nothing: leave() closed it
  };

  [[gnu::always_inline]] void begin(const void* site, bool locking) {
    locked_ = locking;
    if (locking) lock();
    std::uint64_t word = process.line.word.load(std::memory_order_relaxed);
    way_out_ = WayOut::kPlain;
    if ((word & kInside) != 0 || is_poll_due(word)) [[unlikely]]
      word = prepare(word);
    process.line.word.store(next_call(word, function_), std::memory_order_relaxed);
    process.line.site.store(reinterpret_cast<std::uint64_t>(site), std::memory_order_relaxed);
    process.error_owner = nullptr;
  }
  static Process& running(Function function) {
    if (binding.process == nullptr) [[unlikely]]
      not_running(function);
    return *binding.process;
  }
  template <class T>
  [[gnu::cold, gnu::noinline]] bool bad_handle(typename HandleOf<T>::Handle value, const char* argument) {
    return bad_handle(value == HandleOf<T>::null(), static_cast<std::uint64_t>(abi::bits_of(value)), argument,
                      HandleOf<T>::kNoun, HandleOf<T>::kNullName, HandleOf<T>::kErrorClass);
  }

  [[gnu::cold]] bool bad_handle(bool null, std::uint64_t bits, const char* argument, const char* noun,
                                const char* null_name, int error_class);
  [[gnu::cold]] bool uncommitted(const Datatype* type, const char* argument);
  [[gnu::cold]] bool negative(Count value, const char* argument, int error_class);
  [[gnu::cold]] bool bad_rank(int value, const char* argument, const Comm* comm, bool any_source);
  [[gnu::cold]] bool bad_tag(int value, const char* argument, bool any_tag);
  [[gnu::cold]] bool bad_constant(int value, const char* argument, int error_class);
  [[gnu::cold]] bool null_pointer(const char* argument);
  [[gnu::cold]] bool too_long(const char* value, const char* argument, int error_class,
                              std::size_t bytes_max);
  [[gnu::cold]] bool in_place(const char* argument);
  [[gnu::cold, gnu::noinline]] Datatype* nothing(Count count, MPI_Datatype value, const char* argument,
                                                 Datatype* type);
  bool null_buffer(const char* argument, Count count, const Datatype& type);
  [[gnu::cold]] int invoke_errhandler(ErrorOwner* owner, const std::string& text);
  [[gnu::cold]] int call_due_handler();
  [[gnu::cold]] Object* own_request(Object* object);
  [[gnu::cold]] void note_origin(std::uint32_t value);
  [[gnu::cold, noreturn]] void end_without_handle();
  [[gnu::cold, noreturn]] static void not_running(Function function);
  [[gnu::noinline]] std::uint64_t prepare(std::uint64_t word);
  void keep_outer();
  [[gnu::cold, gnu::noinline]] void restore_outer();
  [[gnu::cold]] void leave();
  [[gnu::noinline]] void lock();
  [[gnu::noinline]] void unlock();

  const Function function_;
  bool locked_;
  WayOut way_out_;
  LineValues outer_;  // of the call that a callback made this one in; else unset
  ErrorOwner* owner_ = nullptr;
  Errhandler* errhandler_ = nullptr;
  Code code_ = 0;
};

/// An OUT handle after an error.
template <class T>
void null_out(typename HandleOf<T>::Handle* handle) {
  if (handle != nullptr) *handle = HandleOf<T>::null();
}

/// Of the entries that are legal at any time and in any thread, and make a Call only to fail. Returns
/// MPI_SUCCESS, or fails for the first (argument, its name) that is NULL.
int null_argument(Function function, const void* site,
                  std::initializer_list<std::pair<const void*, const char*>> arguments);

/// Prints one line and ends this process; for errors before MPI_Init and after MPI_Finalize.
[[noreturn]] void die(const char* message);

}  // namespace tasuki
