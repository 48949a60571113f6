// How arguments of Fortran become arguments of C, and results come back: what the generated entries are made
// of. bindgen/fortran_entries.py says which parameter gets which.
//
// Objects here live for the one expression that calls C: they are made from Fortran's arguments, convert to
// what C takes, and their destructors write the results back.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "fortran/abi.hpp"
#include "fortran/sentinels.hpp"

extern "C" constinit thread_local const void* tasuki_fortran_site [[gnu::tls_model("initial-exec")]];

namespace tasuki::fortran {

/// What the doctor and error messages name as the place of the call: the program's, not this library's.
class Site {
 public:
  explicit Site(const void* site) { tasuki_fortran_site = site; }
  ~Site() { tasuki_fortran_site = nullptr; }
};

/// The result of a procedure; `ierror` may be absent. Where it lies nowhere, because an old program has left
/// it out, this store faults: the section tasuki_ierror says where such stores are (ierror.cpp).
[[gnu::always_inline]] inline void give(Fint* ierror, int code) {
  if (ierror == nullptr) return;
#if defined __x86_64__
  asm volatile(
      "1: movl %1, %0\n\t.pushsection tasuki_ierror, \"a\"\n\t.balign 4\n\t.long 1b - .\n\t.popsection"
      : "=m"(*ierror)
      : "ri"(code));
#else
  *ierror = code;
#endif
}
/// From now on a fault of such a store is told in words. The program's own handlers get all others.
void watch_ierror();

// ----- handles ------------------------------------------------------------------------------------------

template <class Handle>
[[gnu::always_inline]] inline Handle c_handle(Fint value) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(static_cast<std::intptr_t>(value));
  else
    return value;
}
template <class Handle>
[[gnu::always_inline]] inline Fint number(Handle value) {
  if constexpr (std::is_pointer_v<Handle>)
    return static_cast<Fint>(reinterpret_cast<std::intptr_t>(value));
  else
    return value;
}

/// Whether an INTEGER and a handle of C are the same bytes, so that C can use Fortran's.
template <class Handle>
inline constexpr bool kSameBytes = !std::is_pointer_v<Handle>;

/// A handle that C makes.
template <class Handle>
class HandleOut {
 public:
  explicit HandleOut(Fint* place) : place_(place) {}
  ~HandleOut() {
    if (place_ != nullptr) *place_ = number(value_);
  }
  HandleOut(const HandleOut&) = delete;
  HandleOut& operator=(const HandleOut&) = delete;
  operator Handle*() { return place_ != nullptr ? &value_ : nullptr; }

 protected:
  Fint* place_;
  Handle value_{};
};

/// A handle that C may change.
template <class Handle>
class HandleInOut : public HandleOut<Handle> {
 public:
  explicit HandleInOut(Fint* place) : HandleOut<Handle>(place) {
    if (place != nullptr) this->value_ = c_handle<Handle>(*place);
  }
};

/// Arrays of handles: the user's own where the bytes are the same, else a copy.
template <class Handle>
class HandleArray {
 public:
  HandleArray(const Fint* array, std::int64_t count)
      : array_(const_cast<Fint*>(array)), count_(array != nullptr && count > 0 ? count : 0) {
    if constexpr (!kSameBytes<Handle>) {
      if (count_ > kInline) more_ = std::make_unique<Handle[]>(static_cast<std::size_t>(count_));
    }
  }
  HandleArray(const HandleArray&) = delete;
  HandleArray& operator=(const HandleArray&) = delete;
  operator Handle*() {
    if constexpr (kSameBytes<Handle>)
      return array_;
    else
      return array_ != nullptr ? values() : nullptr;
  }

 protected:
  static constexpr std::int64_t kInline = 32;

  Handle* values() { return more_ != nullptr ? more_.get() : inline_; }
  void load() {
    if constexpr (!kSameBytes<Handle>) {
      for (std::int64_t i = 0; i < count_; ++i) values()[i] = c_handle<Handle>(array_[i]);
    }
  }
  void store() {
    if constexpr (!kSameBytes<Handle>) {
      for (std::int64_t i = 0; i < count_; ++i) array_[i] = number(values()[i]);
    }
  }

 private:
  Fint* array_;
  std::int64_t count_;
  std::conditional_t<kSameBytes<Handle>, char, Handle> inline_[kSameBytes<Handle> ? 1 : kInline];
  std::unique_ptr<Handle[]> more_;
};

template <class Handle>
struct HandlesIn : HandleArray<Handle> {
  HandlesIn(const Fint* array, std::int64_t count) : HandleArray<Handle>(array, count) { this->load(); }
};
template <class Handle>
struct HandlesInOut : HandleArray<Handle> {
  HandlesInOut(Fint* array, std::int64_t count) : HandleArray<Handle>(array, count) { this->load(); }
  ~HandlesInOut() { this->store(); }
};
template <class Handle>
struct HandlesOut : HandleArray<Handle> {
  HandlesOut(Fint* array, std::int64_t count) : HandleArray<Handle>(array, count) { this->load(); }
  ~HandlesOut() { this->store(); }
};

/// How many ranks a communicator exchanges with: the remote ones of an intercommunicator. 0 for what is none.
std::int64_t peers(Fint comm);
/// The same, and 0 with MPI_IN_PLACE, which makes what is said of the blocks to send unused.
std::int64_t peers_sent_to(const void* sendbuf, Fint comm);
/// How many ranks there are at the root, and 0 elsewhere, where arguments of the root alone are not looked
/// at.
std::int64_t peers_at_root(Fint root, Fint comm);
struct Degrees {
  std::int64_t in, out;
};
/// How many neighbours a rank of a topology has.
Degrees neighbors(Fint comm);

// ----- sentinels ----------------------------------------------------------------------------------------

template <class Pointer>
[[gnu::always_inline]] inline Pointer c_buffer(Pointer address) {
  if (address == mpif.in_place || address == &MPIR_F08_MPI_IN_PLACE) [[unlikely]]
    return MPI_IN_PLACE;
  if (address == mpif.bottom || address == &MPIR_F08_MPI_BOTTOM) [[unlikely]]
    return MPI_BOTTOM;
  if (address == &mpifcmba_ || address == &MPIR_F08_MPI_BUFFER_AUTOMATIC) [[unlikely]]
    return MPI_BUFFER_AUTOMATIC;
  return address;
}

template <class Pointer>
[[gnu::always_inline]] inline Pointer c_status(Pointer place) {
  const void* const address = place;
  return address == mpif.status_ignore || address == &MPIR_F08_MPI_STATUS_IGNORE_OBJ ? MPI_STATUS_IGNORE
                                                                                     : place;
}
template <class Pointer>
[[gnu::always_inline]] inline Pointer c_statuses(Pointer place) {
  const void* const address = place;
  return address == mpif.statuses_ignore || address == MPIR_F08_MPI_STATUSES_IGNORE_OBJ ? MPI_STATUSES_IGNORE
                                                                                        : place;
}

template <class Pointer>
[[gnu::always_inline]] inline Pointer c_weights(Pointer place) {
  if (is_unweighted(place)) return const_cast<Pointer>(MPI_UNWEIGHTED);
  if (is_weights_empty(place)) return const_cast<Pointer>(MPI_WEIGHTS_EMPTY);
  return place;
}

/// A procedure of the program's. Its arguments come by reference in C, too, and a handle is the lower half of
/// C's, so C calls it as it is.
template <class Function>
[[gnu::always_inline]] inline Function* callback(Function* procedure) {
  return procedure;
}

/// Positions in arrays, which Fortran counts from 1.
[[gnu::always_inline]] inline void count_from_one(int* index) {
  if (*index != MPI_UNDEFINED) ++*index;
}
[[gnu::always_inline]] inline void count_from_one(int* indices, int count) {
  for (int i = 0; i < count; ++i) ++indices[i];
}

// ----- strings ------------------------------------------------------------------------------------------

/// A CHARACTER argument without its trailing blanks.
class Text {
 public:
  Text(const char* text, std::size_t length, bool leading = false);
  operator const char*() const { return more_ != nullptr ? more_.get() : inline_; }

 private:
  char inline_[256];
  std::unique_ptr<char[]> more_;
};

/// The same without leading blanks, as keys and values of an info have it.
struct TrimBoth : Text {
  TrimBoth(const char* text, std::size_t length) : Text(text, length, true) {}
};

/// Puts the string that C left in `from` into a CHARACTER variable, and fills it with blanks.
void give_text(const char* from, char* to, std::size_t length);

/// A CHARACTER variable that C fills with a string of up to `kBytes` bytes, the final one included. It stays
/// as it is where C writes nothing.
template <std::size_t kBytes>
class TextOut {
 public:
  TextOut(char* place, std::size_t length) : place_(place), length_(length) {
    std::memcpy(text_, kUntouched, sizeof kUntouched);
  }
  ~TextOut() {
    if (std::memcmp(text_, kUntouched, sizeof kUntouched) != 0) give_text(text_, place_, length_);
  }
  TextOut(const TextOut&) = delete;
  TextOut& operator=(const TextOut&) = delete;
  operator char*() { return text_; }

 private:
  static constexpr char kUntouched[] = "\x7f\x01\x7f";  // an empty string of C's is none of these

  char* place_;
  std::size_t length_;
  char text_[kBytes];
};

}  // namespace tasuki::fortran
