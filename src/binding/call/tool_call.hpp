// ToolCall: what the entries of MPI_T do around their one core function: find the Process (MPI_T may be used
// before MPI_Init and after MPI_Finalize), lock it and the Tool, and turn handles into the core's and back.
// Errors are returned; no error handler is invoked (MPI 15.3).
#pragma once

#include <algorithm>
#include <mutex>
#include <string>

#include "binding/call/call.hpp"
#include "tool/tool.hpp"

namespace tasuki {

class ToolCall {
 public:
  ToolCall() : ToolCall(binding.process != nullptr ? *binding.process : outside()) {}
  ~ToolCall() {
    if (locked_ && --call_depth == 0) process.lock.unlock();
  }
  ToolCall(const ToolCall&) = delete;
  ToolCall& operator=(const ToolCall&) = delete;

  Process& process;

  bool initialized() const { return process.tool->initialized > 0; }
  int end(Code code) const { return abi::error_from_core(code); }

  MPI_Datatype give(Datatype* type) const {
    return abi::handle_of<MPI_Datatype>(abi::handle_of_number(type->predefined));
  }
  MPI_Info give(Info* info) const {
    const std::uint32_t value = binding.handles.acquire(info);
    if (value == 0) release(info);
    return value != 0 ? abi::handle_of<MPI_Info>(abi::bits_of_table_value(value)) : MPI_INFO_NULL;
  }
  /// An info argument: null for MPI_INFO_NULL. Returns false for one that is none.
  bool info(MPI_Info handle, Info** object) const {
    *object = handle != MPI_INFO_NULL ? find<Info>(handle) : nullptr;
    return handle == MPI_INFO_NULL || *object != nullptr;
  }
  /// What a variable is to be bound to; null where it is bound to nothing, or the handle is invalid.
  Comm* object(Bind bind, void* handle) const {
    if (bind != Bind::kComm || handle == nullptr) return nullptr;
    return find<Comm>(*static_cast<MPI_Comm*>(handle));
  }

 private:
  explicit ToolCall(Process& its_process)
      : process(its_process), locked_(binding.locking || binding.process == nullptr) {
    lock();
    tool_lock_ = std::unique_lock(process.tool->mutex);
  }
  void lock() {
    if (locked_ && call_depth++ == 0) process.lock.lock();
  }
  template <class T>
  T* find(typename HandleOf<T>::Handle handle) const {
    const abi::Bits bits = abi::bits_of(handle);
    const std::uint32_t value = abi::table_value(bits);
    Object* object = value != 0 ? binding.handles.find(value, HandleOf<T>::kKind)
                                : process.objects->predefined[abi::predefined_number(bits)];
    return object != nullptr && object->kind == HandleOf<T>::kKind ? static_cast<T*>(object) : nullptr;
  }

  bool locked_;
  std::unique_lock<std::recursive_mutex> tool_lock_;
};

template <class Pointer>
ToolHandle tool_handle_of(Pointer handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}
inline ToolHandle performance_handle(MPI_T_pvar_handle handle) {
  return handle == MPI_T_PVAR_ALL_HANDLES ? kAllHandles : tool_handle_of(handle);
}
template <class Pointer>
Pointer pointer_of(ToolHandle handle) {
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(handle));
}

/// Copies a string to a tool (MPI 15.3.3): at most *length - 1 characters and a NUL; *length becomes the
/// bytes that the whole string takes. `to` is null where the tool wants the length alone, or neither.
inline void store_tool_string(const std::string& text, char* user, int* length) {
  if (length == nullptr) return;
  if (user != nullptr && *length > 0) {
    const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    text.copy(user, copied);
    user[copied] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

/// Calls a tool's functions with the handles and numbers of this library's ABI. Has no state.
class AbiToolCallbacks final : public ToolCallbacks {
 public:
  void event(AnyFunction function, ToolHandle instance, ToolHandle registration, Safety safety,
             void* user_data) override;
  void dropped(AnyFunction function, Count count, ToolHandle registration, int source, Safety safety,
               void* user_data) override;
  void freed(AnyFunction function, ToolHandle registration, Safety safety, void* user_data) override;
};

}  // namespace tasuki
