// Arguments that are arrays: the user's handles, ranks and statuses, turned into the core's for the time of a
// call. Up to 64 live on the stack.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "binding/call/call.hpp"

namespace tasuki {

/// `size` elements of T, zeroed only where the core expects it; on the heap above 64.
template <class T>
class Scratch {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit Scratch(Count size) : size_(size < 0 ? 0 : static_cast<std::size_t>(size)) {
    std::size_t bytes = 0;
    if (size_ <= kOnStack) return;
    elements_ =
        __builtin_mul_overflow(size_, sizeof(T), &bytes) ? nullptr : static_cast<T*>(std::malloc(bytes));
  }
  ~Scratch() {
    if (elements_ != stack()) std::free(elements_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() { return elements_; }
  T& operator[](std::size_t index) { return elements_[index]; }
  std::size_t size() const { return size_; }
  bool is_short_of_memory() const { return elements_ == nullptr; }

 private:
  static constexpr std::size_t kOnStack = 64;
  T* stack() { return reinterpret_cast<T*>(stack_); }

  std::size_t size_;
  alignas(T) std::byte stack_[kOnStack * sizeof(T)];
  T* elements_ = stack();
};

/// "sendtypes[3]": how an error names an element of an array.
[[gnu::cold]] inline std::string element(const char* argument, std::size_t index) {
  return std::string(argument) + "[" + std::to_string(index) + "]";
}

/// An array of handles as an array of objects.
template <class T>
class HandleArray {
 public:
  using Handle = typename HandleOf<T>::Handle;

  explicit HandleArray(Count size) : objects_(size) {}

  /// Looks all of them up. NULL handles become null where `null_allowed`.
  bool load(Call& call, const Handle* handles, const char* argument, bool null_allowed) {
    if (!ready(call, handles, argument)) return false;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (null_allowed ? !call.handle_or_null<T>(handles[i], argument, &objects_[i])
                       : !call.handle<T>(handles[i], argument, &objects_[i])) {
        return call.handle<T>(handles[i], element(argument, i).c_str(), &objects_[i]);  // names the element
      }
    }
    return true;
  }
  /// The datatypes of blocks, which must be committed. That of a block without elements is not looked at.
  bool load_blocks(Call& call, const Handle* handles, const char* argument, CountArray counts) {
    if (!ready(call, handles, argument)) return false;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (counts[i] == 0)
        objects_[i] = call.type_of_nothing();
      else if (!call.committed(handles[i], argument, &objects_[i]))
        return call.committed(handles[i], element(argument, i).c_str(), &objects_[i]);
    }
    return true;
  }
  /// All null, for an OUT array.
  bool clear(Call& call, const Handle* handles, const char* argument) {
    if (!ready(call, handles, argument)) return false;
    for (std::size_t i = 0; i < objects_.size(); ++i) objects_[i] = nullptr;
    return true;
  }
  /// INOUT: drops the handles of what the core set to null.
  void settle(Call& call, Handle* handles) {
    for (std::size_t i = 0; i < objects_.size(); ++i) call.settle<T>(objects_[i], &handles[i]);
  }
  /// OUT: gives the user handles of the objects, up to the first null. Returns false, and gives none, when
  /// there are not enough.
  bool give(Call& call, Handle* handles) {
    std::size_t size = 0;
    while (size < objects_.size() && objects_[size] != nullptr) ++size;
    if (size != 0 && !call.make_room(size)) {
      for (std::size_t i = 0; i < size; ++i) {
        if (objects_[i]->predefined == 0) release(objects_[i]);
      }
      return false;
    }
    for (std::size_t i = 0; i < size; ++i) handles[i] = call.give<T>(objects_[i]);
    return true;
  }
  T** data() { return objects_.data(); }

 private:
  bool ready(Call& call, const Handle* handles, const char* argument) {
    if (objects_.is_short_of_memory()) return call.refuse(kErrNoMem, "%s: memory is short", argument);
    return call.array(handles, static_cast<Count>(objects_.size()), argument);
  }
  Scratch<T*> objects_;
};

/// A status that the core fills in; the user's may be MPI_STATUS_IGNORE.
class StatusOut {
 public:
  explicit StatusOut(MPI_Status* user) : user_(user) {}
  Status* get() { return is_ignored() ? nullptr : &status_; }
  bool is_ignored() const { return user_ == MPI_STATUS_IGNORE; }
  bool ready(Call& call, const char* argument) { return is_ignored() || call.pointer(user_, argument); }
  /// Leaves MPI_ERROR alone (MPI 3.2.5), but for the empty status, where it is MPI_SUCCESS (MPI 3.7.3).
  void store() {
    if (is_ignored()) return;
    abi::write_status(status_, user_);
    if (status_.source == kAnySource) user_->MPI_ERROR = MPI_SUCCESS;
  }

 private:
  MPI_Status* user_;
  Status status_;
};

/// An array of statuses; the user's may be MPI_STATUSES_IGNORE.
class StatusArray {
 public:
  StatusArray(MPI_Status* user, Count size) : user_(user), statuses_(user == MPI_STATUSES_IGNORE ? 0 : size) {
    for (std::size_t i = 0; i < statuses_.size() && !statuses_.is_short_of_memory(); ++i) {
      statuses_[i] = kEmptyStatus;
    }
  }
  bool ready(Call& call, const char* argument) {
    return !statuses_.is_short_of_memory() || call.refuse(kErrNoMem, "%s: memory is short", argument);
  }
  Status* get() { return user_ == MPI_STATUSES_IGNORE ? nullptr : statuses_.data(); }
  /// Copies the first `size`, with their MPI_ERROR: these are the calls that may return MPI_ERR_IN_STATUS.
  void store(Count size) {
    if (user_ == MPI_STATUSES_IGNORE) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size < 0 ? 0 : size); ++i) {
      abi::write_status(statuses_[i], &user_[i]);
      user_[i].MPI_ERROR = abi::error_from_core(statuses_[i].error);
    }
  }

 private:
  MPI_Status* user_;
  Scratch<Status> statuses_;
};

/// An array of ints that the core knows by other numbers: ranks, distributions. What is no constant of the
/// ABI becomes abi::kNoConstant, which the core refuses.
class IntArray {
 public:
  IntArray(const int* user, Count size) : user_(user), copy_(size) {}

  template <class ToCore>
  bool load(Call& call, const char* argument, ToCore to_core) {
    if (copy_.is_short_of_memory()) return call.refuse(kErrNoMem, "%s: memory is short", argument);
    for (std::size_t i = 0; i < copy_.size() && user_ != nullptr; ++i) copy_[i] = to_core(user_[i]);
    return true;
  }
  /// The same for an enumeration: all must be constants of it.
  template <class ToCore>
  bool load_constants(Call& call, const char* argument, ToCore to_core) {
    if (!load(call, argument, to_core)) return false;
    for (std::size_t i = 0; i < copy_.size() && user_ != nullptr; ++i) {
      if (copy_[i] == abi::kNoConstant)
        return call.constant(user_[i], copy_[i], element(argument, i).c_str(), kErrArg);
    }
    return true;
  }
  const int* get() { return user_ == nullptr ? user_ : copy_.data(); }

 private:
  const int* user_;
  Scratch<int> copy_;
};

/// Copies a string to the user, cut to `size` bytes with its NUL. Returns the length without the NUL.
inline int store_string(const std::string& text, char* user, int size) {
  if (size <= 0) return 0;
  const std::size_t length = std::min(text.size(), static_cast<std::size_t>(size - 1));
  std::memcpy(user, text.data(), length);
  user[length] = '\0';
  return static_cast<int>(length);
}

/// A count for a parameter of type T: MPI_UNDEFINED when it does not fit (MPI 3.2.5, 5.1.5).
template <class T>
void store_count(Count value, T* user) {
  *user = static_cast<Count>(static_cast<T>(value)) == value ? static_cast<T>(value)
                                                             : static_cast<T>(MPI_UNDEFINED);
}

/// A view of a user's array of counts or displacements of any width.
inline CountArray count_array(const int* values) {
  return CountArray(values);
}
template <class T>
CountArray count_array(const T* values) {
  static_assert(sizeof(T) == sizeof(std::int64_t));
  return CountArray(reinterpret_cast<const std::int64_t*>(values));
}

}  // namespace tasuki
