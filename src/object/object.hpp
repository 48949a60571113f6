// Object: what every MPI object has: its kind, a reference count, a name, and the places where the binding
// notes the handle it gave out. The core passes pointers; handles exist only in the binding.
//
// Life: an object is made with one reference, which belongs to the user (or to the Process for a predefined
// one). What keeps a pointer beyond a call retains it. MPI_X_free releases the user's reference.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace tasuki {

enum class Kind : std::uint8_t {
  kComm = 1,
  kGroup,
  kDatatype,
  kOp,
  kRequest,
  kInfo,
  kErrhandler,
  kMessage,
  kSession,
  kWin,
  kFile,
};

struct Object {
  explicit Object(Kind object_kind) : kind(object_kind) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const Kind kind;
  std::uint16_t predefined = 0;  // the number of a predefined object (base/predefined.hpp), 0 for a user's
  std::uint32_t handle = 0;      // the binding's: the handle given out, 0 for none
  std::int64_t references = 1;   // guarded by the process lock
};

template <class T>
T* retain(T* object) {
  if (object != nullptr) ++object->references;
  return object;
}

/// Gives back one reference; the last one deletes the object. Null is legal.
template <class T>
void release(T* object) {
  if (object != nullptr && --object->references == 0) delete object;
}

/// Owns one reference.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* adopted) : object_(adopted) {}
  static Ref share(T* object) { return Ref(retain(object)); }
  Ref(const Ref& other) : object_(retain(other.object_)) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { release(object_); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* take() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace tasuki
