// The cold side of Call: the texts of errors, and what the error handlers do with them.
#include "binding/call/call.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "binding/call/tool_call.hpp"
#include "binding/handles/handle_holders.hpp"
#include "environment/environment.hpp"
#include "job/launcher.hpp"
#include "object/errhandler.hpp"
#include "object/topology.hpp"
#include "progress/progress.hpp"

constinit thread_local const void* tasuki_fortran_site = nullptr;

/// Advice that goes with every error; null: none. The Fortran libraries set it for a program that was
/// compiled in a way that explains errors.
extern "C" {
[[gnu::visibility("default")]] constinit const char* tasuki_fortran_hint = nullptr;
}

namespace tasuki {

constinit Binding binding;
constinit thread_local int call_depth = 0;
constinit thread_local std::uintptr_t callback_frame = 0;

namespace {

constexpr const char* kHintMark = "; hint: ";  // what follows it is advice, the same for every such error

/// "MPI_Send: dest = 7, expected 0..3 or MPI_PROC_NULL (communicator MPI_COMM_WORLD, rank 0); hint: …"
std::string describe(Process& process, const char* call, const ErrorOwner* owner, Code code) {
  std::string text = call;
  text += ": ";
  const std::string& cause = process.errors.cause(code);
  const std::size_t hint = std::min(cause.find(kHintMark), cause.size());
  if (!cause.empty()) {
    text += cause.substr(0, hint);
  } else {
    const char* meaning = error_class_description(error_class_bits(code));
    text += meaning != nullptr ? meaning : "a user function returned " + std::to_string(code);
  }
  if (owner != nullptr && owner != &process.objects->null_file) {
    text += " (" + owner->description() + ")";
  } else if (binding.world_state == WorldState::kRunning) {
    text += " (rank " + std::to_string(process.rank) + " of MPI_COMM_WORLD)";
  }
  text += cause.substr(hint);
  if (tasuki_fortran_hint != nullptr) text.append(kHintMark).append(tasuki_fortran_hint);
  return text;
}

/// Whether a user's error handler has called itself, through errors, some dozens of times. longjmp or an
/// exception may leave a handler: the stack is then no longer below the frame of the last one, and the count
/// starts anew.
bool is_endless_error(const void* frame) {
  constexpr int kDepthMax = 50;
  thread_local std::uintptr_t last_frame = 0;
  thread_local int depth = 0;
  const auto here = reinterpret_cast<std::uintptr_t>(frame);
  depth = here < last_frame ? depth + 1 : 1;
  last_frame = here;
  return depth > kDepthMax;
}

/// Whether longjmp or an exception left this thread's callback: the stack, which grows downwards, is free up
/// to `call` at least. Forgets the callback then.
bool was_callback_left(const Call* call) {
  if (callback_frame == 0 || callback_frame > reinterpret_cast<std::uintptr_t>(call)) return false;
  callback_frame = 0;
  return true;
}

/// The owner of the error handler for errors that belong to no communicator, window, file or session:
/// MPI_COMM_SELF (MPI 9.3), but MPI_COMM_WORLD where the program has set that one's handler alone, as
/// programs from before MPI 4 do. Null outside MPI_Init .. MPI_Finalize.
ErrorOwner* default_owner(const Objects& objects) {
  if (objects.self == nullptr || objects.world == nullptr) return objects.self;
  return objects.world->errhandler_set && !objects.self->errhandler_set ? objects.world : objects.self;
}

}  // namespace

Process& outside() {
  static AbiToolCallbacks tool_callbacks;
  static Process* const process = [] {
    Process* const made = make_outside_process();
    made->tool->callbacks = &tool_callbacks;
    return made;
  }();
  return *process;
}

void die(const char* message) {
  std::fflush(stdout);
  std::fprintf(stderr, "tasuki: %s\n", message);
  _exit(1);
}

int null_argument(Function function, const void* site,
                  std::initializer_list<std::pair<const void*, const char*>> arguments) {
  for (const auto& [pointer, argument] : arguments) {
    if (pointer != nullptr) continue;
    Call call(function, site, AnyTime{});
    call.pointer(pointer, argument);
    return call.fail();
  }
  return MPI_SUCCESS;
}

void Call::not_running(Function function) {
  char text[200];
  std::snprintf(text, sizeof text, "%s called %s", function_name(function),
                binding.world_state == WorldState::kBefore
                    ? "before MPI_Init; hint: MPI_Init or MPI_Init_thread comes first"
                    : "after MPI_Finalize; hint: MPI_Finalize comes last");
  die(text);
}

/// With several threads the line may show a call of another thread, which waits. That thread puts its call on
/// the line again when its wait goes on (Progress::take_back).
void Call::keep_outer() {
  if (locked_ ? call_depth <= 1 : was_callback_left(this)) return;
  way_out_ = WayOut::kNested;
  outer_ = values_of(process.line);
}

/// What a call inside another one does first, and every 128th call: one turn of the progress loop. Short
/// messages and flags are sent and received without it, so a rank that never waits would otherwise serve
/// neither its peers nor the doctor. Returns the line's word anew: callbacks may have made calls.
std::uint64_t Call::prepare(std::uint64_t word) {
  if ((word & kInside) != 0) {
    keep_outer();
    return word;
  }
  if (process.progress != nullptr) process.progress->poll_in_passing();
  return process.line.word.load(std::memory_order_relaxed);
}

void Call::restore_outer() {
  if (way_out_ == WayOut::kLeft) return;
  const std::uint64_t word = process.line.word.load(std::memory_order_relaxed);
  constexpr std::uint64_t kCall = kInside | kFunctionBits;
  outer_.word = (word & ~kCall) | (outer_.word & kCall);  // the number of calls goes on
  put_back(outer_, &process.line);
}

/// Ends the call early: closes the line and unlocks. The destructor then does nothing.
void Call::leave() {
  if (way_out_ == WayOut::kNested) {
    restore_outer();
  } else {
    process.line.word.fetch_and(~kInside, std::memory_order_relaxed);
  }
  way_out_ = WayOut::kLeft;
  if (std::exchange(locked_, false)) unlock();
}

void Call::lock() {
  int& depth = call_depth;
  if (depth == 0) [[likely]] {
    depth = 1;
    return process.lock.lock();
  }
  // Where a callback was left this thread has held the lock ever since.
  depth = was_callback_left(this) ? 1 : depth + 1;
}

void Call::unlock() {
  if (call_depth == 1 && process.tool != nullptr && process.tool->is_due()) [[unlikely]]
    process.tool->tell();
  if (--call_depth == 0) process.lock.unlock();
}

int Call::fail() {
  ErrorOwner* owner = owner_ != nullptr ? owner_ : process.error_owner;
  const std::string text = describe(process, function_name(function_), owner, code_);
  // What a user's function returned goes back as it is.
  if (!process.errors.take_returned(code_)) code_ = process.errors.record(error_class_bits(code_), text);
  return invoke_errhandler(owner, text);
}

bool Call::refuse(int error_class, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  code_ = process.errors.record(error_class, text);
  return false;
}

/// The noun of the kind of object that `bits` is a handle of, or null.
const char* kind_of_handle(const Process& process, abi::Bits bits) {
  const std::uint32_t value = abi::table_value(bits);
  const Object* object = process.objects->predefined[abi::predefined_number(bits)];
  if (value != 0) object = binding.handles.find(value);
  return object != nullptr ? noun_of(object->kind) : nullptr;
}

bool Call::bad_handle(bool null, std::uint64_t bits, const char* argument, const char* noun,
                      const char* null_name, int error_class) {
  if (null) return refuse(error_class, "%s = %s, expected a valid %s", argument, null_name, noun);
  const char* other = kind_of_handle(process, static_cast<abi::Bits>(bits));
  if (other != nullptr)
    return refuse(error_class, "%s = 0x%" PRIx64 ", the handle of a valid %s, expected that of a valid %s",
                  argument, bits, other, noun);
  return refuse(error_class,
                "%s = 0x%" PRIx64
                ", which is no %s, expected a valid one; hint: it has been freed, or never existed",
                argument, bits, noun);
}

bool Call::uncommitted(const Datatype* type, const char* argument) {
  return refuse(
      kErrType,
      "%s = %s, which is not committed, expected a committed one; hint: MPI_Type_commit comes before "
      "its first use in communication",
      argument, type->name.empty() ? "a derived datatype" : type->name.c_str());
}

/// The type of a message without data: MPI_BYTE. Of one with data: null, and keeps the error.
Datatype* Call::nothing(Count count, MPI_Datatype value, const char* argument, Datatype* type) {
  if (count == 0 && (value == MPI_DATATYPE_NULL || type != nullptr)) return type_of_nothing();
  committed(value, argument, &type);
  return nullptr;
}

bool Call::negative(Count value, const char* argument, int error_class) {
  constexpr const char* kOverflow = "; hint: counts above 2147483647 need the function whose name ends in _c";
  const bool may_have_overflown = value < -1000 && value >= INT32_MIN;
  return refuse(error_class, "%s = %" PRId64 ", expected 0 or more%s", argument, value,
                may_have_overflown ? kOverflow : "");
}

/// A rank as the program may have written it.
std::string printed_rank(int value) {
  switch (value) {
    case MPI_ANY_SOURCE:
      return "MPI_ANY_SOURCE";
    case MPI_PROC_NULL:
      return "MPI_PROC_NULL";
    case MPI_ROOT:
      return "MPI_ROOT";
    default:
      return std::to_string(value);
  }
}

/// The hint on a rank that MPI_COMM_WORLD has and `comm` has not.
std::string hint_on_rank(const Process& process, int value, const Comm* comm, const char* argument) {
  if (value < 0 || value >= process.size || comm == process.objects->world) return {};
  return std::string("; hint: ") + argument +
         " counts in the communicator's group, not in MPI_COMM_WORLD (MPI_Group_translate_ranks translates)";
}

bool Call::bad_rank(int value, const char* argument, const Comm* comm, bool any_source) {
  const std::string hint = value == MPI_ANY_SOURCE ? "; hint: only a receive takes it"
                                                   : hint_on_rank(process, value, comm, argument);
  return refuse(kErrRank, "%s = %s, expected 0..%u%s or MPI_PROC_NULL%s", argument,
                printed_rank(value).c_str(), peer_count(comm) - 1, any_source ? ", MPI_ANY_SOURCE" : "",
                hint.c_str());
}

bool Call::bad_tag(int value, const char* argument, bool any_tag) {
  if (value == MPI_ANY_TAG)
    return refuse(kErrTag, "%s = MPI_ANY_TAG, expected 0..%d (MPI_TAG_UB); hint: only a receive takes it",
                  argument, kTagMax);
  return refuse(kErrTag, "%s = %d, expected 0..%d (MPI_TAG_UB)%s", argument, value, kTagMax,
                any_tag ? " or MPI_ANY_TAG" : "");
}

bool Call::bad_constant(int value, const char* argument, int error_class) {
  return refuse(error_class, "%s = %d, expected one of the constants that the function lists", argument,
                value);
}

bool Call::null_pointer(const char* argument) {
  return refuse(kErrArg, "%s = NULL, expected an address", argument);
}

bool Call::too_long(const char* value, const char* argument, int error_class, std::size_t bytes_max) {
  const std::size_t length = strnlen(value, kTextBytesMax);
  return refuse(error_class, "%s = \"%.32s...\" has %zu characters%s, expected at most %zu", argument, value,
                length, length == kTextBytesMax ? " or more" : "", bytes_max - 1);
}

bool Call::in_place(const char* argument) {
  return refuse(kErrBuffer,
                "%s = MPI_IN_PLACE, expected an address; hint: it is for the buffers of collectives, where "
                "the standard "
                "allows it",
                argument);
}

bool Call::null_buffer(const char* argument, Count count, const Datatype& type) {
  // A derived type may hold absolute addresses, for which the buffer is MPI_BOTTOM: null. No data lie in the
  // first page.
  constexpr Count kPageBytes = 4096;
  if (type.size == 0 || type.true_lb >= kPageBytes) return true;
  return refuse(kErrBuffer, "%s = NULL, expected the address of %" PRId64 " elements of %s", argument, count,
                type.name.empty() ? "a datatype" : type.name.c_str());
}

bool Call::counts(CountArray values, int length, const char* argument) {
  if (length <= 0) return true;
  if (!values) return null_pointer(argument);
  for (int i = 0; i < length; ++i) {
    const Count value = values[static_cast<std::size_t>(i)];
    if (value < 0) [[unlikely]] {
      return refuse(kErrCount, "%s[%d] = %" PRId64 ", expected 0 or more", argument, i, value);
    }
  }
  return true;
}

bool Call::root(int value, const char* argument, const Comm* comm, Roles* roles) {
  roles->root = abi::rank_to_core(value);
  const bool is_member = static_cast<unsigned>(value) < peer_count(comm);
  if (!comm->is_inter()) {
    roles->root_here = value == comm->rank;
    roles->member_here = true;
    return is_member || refuse(kErrRoot, "%s = %s, expected 0..%u%s", argument, printed_rank(value).c_str(),
                               peer_count(comm) - 1, hint_on_rank(process, value, comm, argument).c_str());
  }
  roles->root_here = value == MPI_ROOT;
  roles->member_here = is_member;
  return is_member || value == MPI_ROOT || value == MPI_PROC_NULL ||
         refuse(kErrRoot, "%s = %s, expected 0..%u of the remote group, MPI_ROOT or MPI_PROC_NULL", argument,
                printed_rank(value).c_str(), peer_count(comm) - 1);
}

bool Call::neighborhood(const Comm* comm, Degrees* degrees) {
  code_ = check_neighborhood(*comm);
  if (code_ != 0) return false;
  *degrees = {comm->topology->outdegree(), comm->topology->indegree()};
  return true;
}

/// Sends that complete at once share a request. Where origins are noted each gets its own, so that the report
/// on leaks can name the call that began a send and was never waited for.
Object* Call::own_request(Object* object) {
  if (object->kind != Kind::kRequest || static_cast<Request*>(object)->comm) return object;
  release(object);
  return new SentRequest(process);
}

void Call::note_origin(std::uint32_t value) {
  binding.origins.note(value, {function_name(function_), process.line.site.load(std::memory_order_relaxed)});
}

bool Call::make_room(std::size_t count) {
  HandleTable& handles = binding.handles;
  const std::uint32_t size = handles.size();
  if (handles.make_room(static_cast<std::uint32_t>(std::min<std::size_t>(count, HandleTable::kLimitMax)))) {
    const Origin origin{function_name(function_), process.line.site.load(std::memory_order_relaxed)};
    for (std::uint32_t slot = size; slot < handles.size(); ++slot)
      binding.origins.note_new_slot(slot, origin);
    return true;
  }
  const HandleHolders holders = find_holders(handles, binding.origins);
  code_ = process.errors.record(kErrNoMem, describe(holders, handles));
  if (!std::exchange(binding.told_holders, true)) report(holders, process.launcher);
  return false;
}

/// Another thread, or a callback, took what make_room() had left.
void Call::end_without_handle() {
  const std::string held = describe(find_holders(binding.handles, binding.origins), binding.handles);
  process.launcher.abort(1, std::string(function_name(function_)) + ": " + held);
  __builtin_unreachable();  // gcc does not see that a virtual function never returns
}

int Call::invoke_errhandler(ErrorOwner* owner, const std::string& text) {
  if (owner == nullptr) owner = default_owner(*process.objects);
  const Errhandler* handler = errhandler_;
  if (handler != nullptr && handler->owner == Kind::kSession) owner = &process.objects->null_session;
  if (handler == nullptr) {
    handler = (owner != nullptr ? owner->errhandler : process.objects->initial_errhandler).get();
  }
  if (handler->predefined == kMpiErrorsReturn) return abi::error_from_core(code_);
  if (handler->function != nullptr) {
    if (is_endless_error(&owner)) {
      process.launcher.abort(1, text + "; its error handler causes the same error again and again");
    }
    process.callbacks->error_handler(handler->function, owner, code_);
    return call_due_handler();
  }
  const int error_class = error_class_bits(code_);
  process.launcher.abort(error_class > 0 && error_class < 126 ? error_class : 1, text);
  __builtin_unreachable();  // gcc does not see that a virtual function never returns
}

int Call::end_with_handler(Code code) {
  if (code != 0) return end(code);
  if (binding.due_handler.function != nullptr) call_due_handler();
  return MPI_SUCCESS;
}

int Call::call_due_handler() {
  const DueHandler handler = std::exchange(binding.due_handler, {});
  const bool locking = locked_;
  leave();
  const int left = handler.call();
  if (!handler.lent) return left;
  if (locking) lock();
  handler.take_back();
  if (locking) unlock();
  return left;
}

}  // namespace tasuki
