// Procedures whose arguments Fortran has otherwise than C: start and end, strings of a length that the caller
// gives, buffers that MPI hands back, statuses, and the three that C does not have.
#pragma once

#include <algorithm>
#include <vector>

#include "fortran/arguments.hpp"

namespace tasuki::fortran {
/// C's functions that fill a string of `*length` bytes, the final one included, and set `*length` to what
/// they need; Fortran's lengths are without it. `call(length, text)` makes the call; `given` tells whether
/// there is a string.
template <class CallIt, class Given>
void get_string(Fint* length, char* text, std::size_t text_length, Fint* ierror, const CallIt& call,
                const Given& given) {
  const Fint wanted = std::max(*length, 0);
  std::vector<char> buffer(static_cast<std::size_t>(wanted) + 1);
  Fint c_length = wanted > 0 ? wanted + 1 : 0;
  const int code = call(&c_length, buffer.data());
  if (code == MPI_SUCCESS && given()) {
    *length = c_length > 0 ? c_length - 1 : 0;
    if (wanted > 0) give_text(buffer.data(), text, text_length);
  }
  give(ierror, code);
}

template <auto kCall>
void mpi_info_get(const Fint* info, const char* key, const Fint* length, char* value, Fint* flag,
                  Fint* ierror, std::size_t key_length, std::size_t value_length) {
  std::vector<char> buffer(static_cast<std::size_t>(std::max(*length, 0)) + 1);
  const int code = kCall(c_handle<MPI_Info>(*info), TrimBoth(key, key_length), *length, buffer.data(), flag);
  if (code == MPI_SUCCESS && *flag != 0) give_text(buffer.data(), value, value_length);
  give(ierror, code);
}

template <auto kCall>
void mpi_info_get_string(const Fint* info, const char* key, Fint* length, char* value, Fint* flag,
                         Fint* ierror, std::size_t key_length, std::size_t value_length) {
  get_string(
      length, value, value_length, ierror,
      [&](Fint* c_length, char* text) {
        return kCall(c_handle<MPI_Info>(*info), TrimBoth(key, key_length), c_length, text, flag);
      },
      [&] { return *flag != 0; });
}

template <auto kCall>
void mpi_session_get_nth_pset(const Fint* session, const Fint* info, const Fint* n, Fint* length, char* name,
                              Fint* ierror, std::size_t name_length) {
  get_string(
      length, name, name_length, ierror,
      [&](Fint* c_length, char* text) {
        return kCall(c_handle<MPI_Session>(*session), c_handle<MPI_Info>(*info), *n, c_length, text);
      },
      [] { return true; });
}

/// The address of a buffer that MPI gives back, as mpi_f08 has it. The other interfaces declare the argument
/// in a way that cannot take it, so there it is not used (MPI 5.0, 3.6).
inline void give_address(void* address, void** place) {
  *place = address == MPI_BUFFER_AUTOMATIC ? static_cast<void*>(&MPIR_F08_MPI_BUFFER_AUTOMATIC) : address;
}

template <auto kCall, bool kF08, class Count, class... Object>
void detach(void** place, Count* size, Fint* ierror, Object... object) {
  void* address = nullptr;
  const int code = kCall(object..., &address, size);
  if (kF08 && code == MPI_SUCCESS) give_address(address, place);
  give(ierror, code);
}

inline void copy_status(const MPI_Status* from, MPI_Status* to, Fint* ierror) {
  std::memcpy(to, from, sizeof *to);
  give(ierror, MPI_SUCCESS);
}

// The three interfaces, and those of mpi_f08.

template <auto kCall>
void mpi_buffer_detach(void** address, Fint* size, Fint* ierror) {
  detach<kCall, false>(address, size, ierror);
}
template <auto kCall>
void mpi_buffer_detach_f08(void** address, Fint* size, Fint* ierror) {
  detach<kCall, true>(address, size, ierror);
}
template <auto kCall>
void mpi_buffer_detach_c_f08(void** address, MPI_Count* size, Fint* ierror) {
  detach<kCall, true>(address, size, ierror);
}
template <auto kCall>
void mpi_comm_detach_buffer(const Fint* comm, void** address, Fint* size, Fint* ierror) {
  detach<kCall, false>(address, size, ierror, c_handle<MPI_Comm>(*comm));
}
template <auto kCall>
void mpi_comm_detach_buffer_f08(const Fint* comm, void** address, Fint* size, Fint* ierror) {
  detach<kCall, true>(address, size, ierror, c_handle<MPI_Comm>(*comm));
}
template <auto kCall>
void mpi_comm_detach_buffer_c_f08(const Fint* comm, void** address, MPI_Count* size, Fint* ierror) {
  detach<kCall, true>(address, size, ierror, c_handle<MPI_Comm>(*comm));
}
template <auto kCall>
void mpi_session_detach_buffer(const Fint* session, void** address, Fint* size, Fint* ierror) {
  detach<kCall, false>(address, size, ierror, c_handle<MPI_Session>(*session));
}
template <auto kCall>
void mpi_session_detach_buffer_f08(const Fint* session, void** address, Fint* size, Fint* ierror) {
  detach<kCall, true>(address, size, ierror, c_handle<MPI_Session>(*session));
}
template <auto kCall>
void mpi_session_detach_buffer_c_f08(const Fint* session, void** address, MPI_Count* size, Fint* ierror) {
  detach<kCall, true>(address, size, ierror, c_handle<MPI_Session>(*session));
}

template <auto kCall>
void mpi_init(Fint* ierror) {
  watch_ierror();
  const int code = kCall(nullptr, nullptr);
  tell_of_wide_integers();
  give(ierror, code);
}
template <auto kCall>
void mpi_init_thread(const Fint* required, Fint* provided, Fint* ierror) {
  watch_ierror();
  const int code = kCall(nullptr, nullptr, *required, provided);
  tell_of_wide_integers();
  give(ierror, code);
}
template <auto kCall>
void mpi_info_create_env(Fint* info, Fint* ierror) {
  give(ierror, kCall(0, nullptr, HandleOut<MPI_Info>(info)));
}
template <auto kCall>
void mpi_pcontrol(const Fint* level) {
  kCall(*level);
}
template <auto kCall>
void mpi_status_f2f08(const MPI_Status* from, MPI_Status* to, Fint* ierror) {
  copy_status(from, to, ierror);
}
template <auto kCall>
void mpi_status_f082f(const MPI_Status* from, MPI_Status* to, Fint* ierror) {
  copy_status(from, to, ierror);
}
template <auto kCall>
void mpi_abi_get_fortran_booleans(const Fint* size, void* is_true, void* is_false, Fint* is_set,
                                  Fint* ierror) {
  give(ierror, kCall(*size, is_true, is_false, is_set));
}
template <auto kCall>
void mpi_abi_set_fortran_booleans(const Fint* size, void* is_true, void* is_false, Fint* ierror) {
  give(ierror, kCall(*size, is_true, is_false));
}

}  // namespace tasuki::fortran
