// Procedures of the program that C cannot call as they are, since C's functions get their arguments by value:
// those of generalised requests and data representations.
#pragma once

#include "fortran/arguments.hpp"

extern "C" void mpi_conversion_fn_null_(void*, int*, int*, void*, MPI_Offset*, MPI_Aint*, int*);
extern "C" void mpi_conversion_fn_null_c_(void*, int*, MPI_Count*, void*, MPI_Offset*, MPI_Aint*, int*);

namespace tasuki::fortran {
// ----- generalised requests (MPI 5.0, 13.2)
// -----------------------------------------------------------------

using QueryFunction = void(MPI_Aint* extra_state, MPI_Status* status, Fint* ierror);
using FreeFunction = void(MPI_Aint* extra_state, Fint* ierror);
using CancelFunction = void(MPI_Aint* extra_state, Fint* complete, Fint* ierror);

struct Grequest {
  QueryFunction* query;
  FreeFunction* free;
  CancelFunction* cancel;
  MPI_Aint extra_state;
};

inline int query_request(void* state, MPI_Status* status) {
  auto* const request = static_cast<Grequest*>(state);
  Fint code = MPI_SUCCESS;
  request->query(&request->extra_state, status, &code);
  return code;
}
inline int free_request(void* state) {
  const std::unique_ptr<Grequest> request(static_cast<Grequest*>(state));
  Fint code = MPI_SUCCESS;
  request->free(&request->extra_state, &code);
  return code;
}
inline int cancel_request(void* state, int complete) {
  auto* const request = static_cast<Grequest*>(state);
  Fint code = MPI_SUCCESS;
  Fint is_complete = complete != 0 ? 1 : 0;
  request->cancel(&request->extra_state, &is_complete, &code);
  return code;
}

template <auto kCall>
void mpi_grequest_start(QueryFunction* query, FreeFunction* free, CancelFunction* cancel,
                        const MPI_Aint* extra_state, Fint* request, Fint* ierror) {
  auto state = std::make_unique<Grequest>(Grequest{query, free, cancel, *extra_state});
  const int code =
      kCall(query_request, free_request, cancel_request, state.get(), HandleOut<MPI_Request>(request));
  if (code == MPI_SUCCESS) state.release();
  give(ierror, code);
}

// ----- data representations (MPI 5.0, 14.5.3)
// ---------------------------------------------------------------

template <class Count>
using ConversionFunction = void(void* userbuf, Fint* datatype, Count* count, void* filebuf,
                                MPI_Offset* position, MPI_Aint* extra_state, Fint* ierror);
using ExtentFunction = void(Fint* datatype, MPI_Aint* extent, MPI_Aint* extra_state, Fint* ierror);

/// Lives as long as the program, as data representations do.
template <class Count>
struct Datarep {
  ConversionFunction<Count>* read;
  ConversionFunction<Count>* write;
  ExtentFunction* extent;
  MPI_Aint extra_state;
};

template <class Count, bool kReads>
int convert(void* userbuf, MPI_Datatype datatype, Count count, void* filebuf, MPI_Offset position,
            void* state) {
  auto* const datarep = static_cast<Datarep<Count>*>(state);
  Fint type = number(datatype);
  Fint code = MPI_SUCCESS;
  (kReads ? datarep->read : datarep->write)(userbuf, &type, &count, filebuf, &position, &datarep->extra_state,
                                            &code);
  return code;
}
template <class Count>
int find_extent(MPI_Datatype datatype, MPI_Aint* extent, void* state) {
  auto* const datarep = static_cast<Datarep<Count>*>(state);
  Fint type = number(datatype);
  Fint code = MPI_SUCCESS;
  datarep->extent(&type, extent, &datarep->extra_state, &code);
  return code;
}

inline bool is_null(ConversionFunction<Fint>* function) {
  return function == mpi_conversion_fn_null_;
}
inline bool is_null(ConversionFunction<MPI_Count>* function) {
  return function == mpi_conversion_fn_null_c_;
}

template <auto kCall, class Count>
void register_datarep(const char* name, ConversionFunction<Count>* read, ConversionFunction<Count>* write,
                      ExtentFunction* extent, const MPI_Aint* extra_state, Fint* ierror, std::size_t length) {
  auto state = std::make_unique<Datarep<Count>>(Datarep<Count>{read, write, extent, *extra_state});
  const int code = kCall(Text(name, length), is_null(read) ? nullptr : convert<Count, true>,
                         is_null(write) ? nullptr : convert<Count, false>, find_extent<Count>, state.get());
  if (code == MPI_SUCCESS) state.release();
  give(ierror, code);
}

template <auto kCall>
void mpi_register_datarep(const char* name, ConversionFunction<Fint>* read, ConversionFunction<Fint>* write,
                          ExtentFunction* extent, const MPI_Aint* extra_state, Fint* ierror,
                          std::size_t length) {
  register_datarep<kCall, Fint>(name, read, write, extent, extra_state, ierror, length);
}
template <auto kCall>
void mpi_register_datarep_c(const char* name, ConversionFunction<MPI_Count>* read,
                            ConversionFunction<MPI_Count>* write, ExtentFunction* extent,
                            const MPI_Aint* extra_state, Fint* ierror, std::size_t length) {
  register_datarep<kCall, MPI_Count>(name, read, write, extent, extra_state, ierror, length);
}

}  // namespace tasuki::fortran
