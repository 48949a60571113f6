// Attributes in Fortran (MPI 5.0, 7.7 and 19.3.7): their values are INTEGERs of the kind of addresses.
//
// What Fortran sets is kept in a *cell*, whose address C stores: so a program in C gets a pointer to the
// value, as the standard has it, and Fortran gets the value back. What C sets, a pointer, comes out in
// Fortran as that address. The predefined attributes are pointers in C and values in Fortran.
//
// Thread safety: a lock guards the set of cells; each cell belongs to one attribute.
#pragma once

#include <mutex>
#include <unordered_set>

#include "fortran/arguments.hpp"

namespace tasuki::fortran {
class Cells {
 public:
  MPI_Aint* make(MPI_Aint value) {
    auto* const cell = new MPI_Aint(value);
    const std::lock_guard lock(mutex_);
    cells_.insert(cell);
    return cell;
  }
  void remove(void* cell) {
    const std::lock_guard lock(mutex_);
    if (cells_.erase(cell) != 0) delete static_cast<MPI_Aint*>(cell);
  }
  /// The attribute's value as Fortran sees it.
  MPI_Aint value(void* stored) {
    const std::lock_guard lock(mutex_);
    return cells_.count(stored) != 0 ? *static_cast<MPI_Aint*>(stored) : reinterpret_cast<MPI_Aint>(stored);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<void*> cells_;
};

inline Cells& cells() {
  static auto* const all = new Cells;  // never destroyed: programs call MPI while they end
  return *all;
}

// ----- the functions of a keyval --------------------------------------------------------------------------

using CopyFunction = void(Fint* handle, Fint* keyval, MPI_Aint* extra_state, MPI_Aint* in, MPI_Aint* out,
                          Fint* flag, Fint* ierror);
using DeleteFunction = void(Fint* handle, Fint* keyval, MPI_Aint* value, MPI_Aint* extra_state, Fint* ierror);

/// What C keeps as the extra state of a keyval that Fortran made. It lives as long as the program: attributes
/// may outlive their keyval.
struct Keyval {
  CopyFunction* copy;
  DeleteFunction* remove;
  MPI_Aint extra_state;
  bool has_integers;  // MPI-1's: extra state and values are default INTEGERs
};

template <class Handle>
int copy_attribute(Handle from, int keyval, void* state, void* in, void* out, int* flag) {
  const auto* const made = static_cast<Keyval*>(state);
  Fint handle = number(from);
  Fint key = keyval;
  Fint is_copied = 0;
  Fint code = MPI_SUCCESS;
  MPI_Aint extra_state = made->extra_state;  // the procedure may take them for default INTEGERs
  MPI_Aint value_in = cells().value(in);
  MPI_Aint value_out = 0;
  made->copy(&handle, &key, &extra_state, &value_in, &value_out, &is_copied, &code);
  *flag = is_copied != 0 ? 1 : 0;
  if (made->has_integers) value_out = static_cast<Fint>(value_out);
  if (code == MPI_SUCCESS && is_copied != 0) *static_cast<void**>(out) = cells().make(value_out);
  return code;
}

template <class Handle>
int delete_attribute(Handle from, int keyval, void* stored, void* state) {
  const auto* const made = static_cast<Keyval*>(state);
  Fint handle = number(from);
  Fint key = keyval;
  Fint code = MPI_SUCCESS;
  MPI_Aint extra_state = made->extra_state;
  MPI_Aint value = cells().value(stored);
  made->remove(&handle, &key, &value, &extra_state, &code);
  if (code == MPI_SUCCESS) cells().remove(stored);
  return code;
}

template <auto kCall, class Handle>
void create_keyval(CopyFunction* copy, DeleteFunction* remove, Fint* keyval, MPI_Aint extra_state,
                   bool has_integers, Fint* ierror) {
  auto* const made = new Keyval{copy, remove, extra_state, has_integers};
  const int code = kCall(copy_attribute<Handle>, delete_attribute<Handle>, keyval, made);
  if (code != MPI_SUCCESS) delete made;
  give(ierror, code);
}

// ----- values
// -----------------------------------------------------------------------------------------------

inline constexpr int kPredefinedKeyvals[] = {
    MPI_TAG_UB,       MPI_HOST,         MPI_IO,       MPI_WTIME_IS_GLOBAL, MPI_APPNUM,
    MPI_LASTUSEDCODE, MPI_WIN_BASE,     MPI_WIN_SIZE, MPI_WIN_DISP_UNIT,   MPI_WIN_CREATE_FLAVOR,
    MPI_WIN_MODEL,    MPI_UNIVERSE_SIZE};

/// The keyval in C. In the MPICH ABI Fortran's predefined ones are higher by one; C's are taken, too.
inline int c_keyval(Fint keyval) {
#ifdef TASUKI_ABI_MPICH
  for (const int predefined : kPredefinedKeyvals) {
    if (keyval == predefined + 1) return predefined;
  }
#endif
  return keyval;
}

inline MPI_Aint value_of(int keyval, void* stored) {
  if (keyval == MPI_WIN_BASE) return reinterpret_cast<MPI_Aint>(stored);
  if (keyval == MPI_WIN_SIZE) return *static_cast<MPI_Aint*>(stored);
  for (const int predefined : kPredefinedKeyvals) {
    if (keyval == predefined) return *static_cast<int*>(stored);
  }
  return cells().value(stored);
}

template <auto kCall, class Handle, class Value>
void get_attr(const Fint* handle, const Fint* keyval, Value* value, Fint* flag, Fint* ierror) {
  void* stored = nullptr;
  const int key = c_keyval(*keyval);
  const int code = kCall(c_handle<Handle>(*handle), key, &stored, flag);
  if (code == MPI_SUCCESS && *flag != 0) *value = static_cast<Value>(value_of(key, stored));
  give(ierror, code);
}

template <auto kCall, class Handle>
void set_attr(const Fint* handle, const Fint* keyval, MPI_Aint value, Fint* ierror) {
  MPI_Aint* const cell = cells().make(value);
  const int code = kCall(c_handle<Handle>(*handle), c_keyval(*keyval), cell);
  if (code != MPI_SUCCESS) cells().remove(cell);
  give(ierror, code);
}

template <auto kCall, class Handle>
void delete_attr(const Fint* handle, const Fint* keyval, Fint* ierror) {
  give(ierror, kCall(c_handle<Handle>(*handle), c_keyval(*keyval)));
}

template <auto kCall>
void free_keyval(Fint* keyval, Fint* ierror) {
  int key = c_keyval(*keyval);
  const int code = kCall(&key);
  if (code == MPI_SUCCESS) *keyval = key;
  give(ierror, code);
}

// ----- the procedures, of communicators, datatypes and windows
// ------------------------------------------------

template <auto kCall>
void mpi_comm_create_keyval(CopyFunction* copy, DeleteFunction* remove, Fint* keyval,
                            const MPI_Aint* extra_state, Fint* ierror) {
  create_keyval<kCall, MPI_Comm>(copy, remove, keyval, *extra_state, false, ierror);
}
template <auto kCall>
void mpi_comm_free_keyval(Fint* keyval, Fint* ierror) {
  free_keyval<kCall>(keyval, ierror);
}
template <auto kCall>
void mpi_comm_set_attr(const Fint* handle, const Fint* keyval, const MPI_Aint* value, Fint* ierror) {
  set_attr<kCall, MPI_Comm>(handle, keyval, *value, ierror);
}
template <auto kCall>
void mpi_comm_get_attr(const Fint* handle, const Fint* keyval, MPI_Aint* value, Fint* flag, Fint* ierror) {
  get_attr<kCall, MPI_Comm>(handle, keyval, value, flag, ierror);
}
template <auto kCall>
void mpi_comm_delete_attr(const Fint* handle, const Fint* keyval, Fint* ierror) {
  delete_attr<kCall, MPI_Comm>(handle, keyval, ierror);
}

template <auto kCall>
void mpi_type_create_keyval(CopyFunction* copy, DeleteFunction* remove, Fint* keyval,
                            const MPI_Aint* extra_state, Fint* ierror) {
  create_keyval<kCall, MPI_Datatype>(copy, remove, keyval, *extra_state, false, ierror);
}
template <auto kCall>
void mpi_type_free_keyval(Fint* keyval, Fint* ierror) {
  free_keyval<kCall>(keyval, ierror);
}
template <auto kCall>
void mpi_type_set_attr(const Fint* handle, const Fint* keyval, const MPI_Aint* value, Fint* ierror) {
  set_attr<kCall, MPI_Datatype>(handle, keyval, *value, ierror);
}
template <auto kCall>
void mpi_type_get_attr(const Fint* handle, const Fint* keyval, MPI_Aint* value, Fint* flag, Fint* ierror) {
  get_attr<kCall, MPI_Datatype>(handle, keyval, value, flag, ierror);
}
template <auto kCall>
void mpi_type_delete_attr(const Fint* handle, const Fint* keyval, Fint* ierror) {
  delete_attr<kCall, MPI_Datatype>(handle, keyval, ierror);
}

template <auto kCall>
void mpi_win_create_keyval(CopyFunction* copy, DeleteFunction* remove, Fint* keyval,
                           const MPI_Aint* extra_state, Fint* ierror) {
  create_keyval<kCall, MPI_Win>(copy, remove, keyval, *extra_state, false, ierror);
}
template <auto kCall>
void mpi_win_free_keyval(Fint* keyval, Fint* ierror) {
  free_keyval<kCall>(keyval, ierror);
}
template <auto kCall>
void mpi_win_set_attr(const Fint* handle, const Fint* keyval, const MPI_Aint* value, Fint* ierror) {
  set_attr<kCall, MPI_Win>(handle, keyval, *value, ierror);
}
template <auto kCall>
void mpi_win_get_attr(const Fint* handle, const Fint* keyval, MPI_Aint* value, Fint* flag, Fint* ierror) {
  get_attr<kCall, MPI_Win>(handle, keyval, value, flag, ierror);
}
template <auto kCall>
void mpi_win_delete_attr(const Fint* handle, const Fint* keyval, Fint* ierror) {
  delete_attr<kCall, MPI_Win>(handle, keyval, ierror);
}

// MPI-1's names, whose values are default INTEGERs.

template <auto kCall>
void mpi_keyval_create(CopyFunction* copy, DeleteFunction* remove, Fint* keyval, const Fint* extra_state,
                       Fint* ierror) {
  create_keyval<kCall, MPI_Comm>(copy, remove, keyval, *extra_state, true, ierror);
}
template <auto kCall>
void mpi_keyval_free(Fint* keyval, Fint* ierror) {
  free_keyval<kCall>(keyval, ierror);
}
template <auto kCall>
void mpi_attr_put(const Fint* comm, const Fint* keyval, const Fint* value, Fint* ierror) {
  set_attr<kCall, MPI_Comm>(comm, keyval, *value, ierror);
}
template <auto kCall>
void mpi_attr_get(const Fint* comm, const Fint* keyval, Fint* value, Fint* flag, Fint* ierror) {
  get_attr<kCall, MPI_Comm>(comm, keyval, value, flag, ierror);
}
template <auto kCall>
void mpi_attr_delete(const Fint* comm, const Fint* keyval, Fint* ierror) {
  delete_attr<kCall, MPI_Comm>(comm, keyval, ierror);
}

}  // namespace tasuki::fortran
