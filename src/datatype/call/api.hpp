// The user's calls of MPI chapter 5 (datatypes, pack and unpack) and those of chapter 3.2.5 and 10.3 that
// read a status through a datatype. The rules of these signatures are in bindgen/README.md.
//
// A last parameter `bool wide` tells which form was called: a type made by a `_c` constructor decodes into
// large counts (MPI 5.1.13), and only the `_c` forms of get_envelope and get_contents can say so.
//
// A call that fails changes nothing. Errors: kErrArg (lengths, displacements, orders, positions), kErrCount,
// kErrType (a type that cannot be used so, sizes beyond 63 bits), and whatever an attribute callback returns.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"

namespace tasuki::api {

// Constructors (MPI 5.1.2, 5.1.3, 5.1.4).
Code type_contiguous(Process& process, Count count, Datatype* oldtype, Datatype** newtype, bool wide);
Code type_vector(Process& process, Count count, Count blocklength, Count stride, Datatype* oldtype,
                 Datatype** newtype, bool wide);
Code type_create_hvector(Process& process, Count count, Count blocklength, Count stride, Datatype* oldtype,
                         Datatype** newtype, bool wide);
Code type_indexed(Process& process, Count count, CountArray blocklengths, CountArray displacements,
                  Datatype* oldtype, Datatype** newtype, bool wide);
Code type_create_hindexed(Process& process, Count count, CountArray blocklengths, CountArray displacements,
                          Datatype* oldtype, Datatype** newtype, bool wide);
Code type_create_indexed_block(Process& process, Count count, Count blocklength, CountArray displacements,
                               Datatype* oldtype, Datatype** newtype, bool wide);
Code type_create_hindexed_block(Process& process, Count count, Count blocklength, CountArray displacements,
                                Datatype* oldtype, Datatype** newtype, bool wide);
Code type_create_struct(Process& process, Count count, CountArray blocklengths, CountArray displacements,
                        Datatype* const* types, Datatype** newtype, bool wide);
Code type_create_subarray(Process& process, int ndims, CountArray sizes, CountArray subsizes,
                          CountArray starts, int order, Datatype* oldtype, Datatype** newtype, bool wide);
Code type_create_darray(Process& process, int size, int rank, int ndims, CountArray gsizes,
                        const int* distribs, const int* dargs, const int* psizes, int order,
                        Datatype* oldtype, Datatype** newtype, bool wide);
Code type_create_resized(Process& process, Datatype* oldtype, Count lb, Count extent, Datatype** newtype,
                         bool wide);
Code type_dup(Process& process, Datatype* oldtype, Datatype** newtype);

// Life and names (MPI 5.1.9, 5.1.10, 7.8).
Code type_commit(Process& process, Datatype** datatype);
Code type_free(Process& process, Datatype** datatype);
/// MPI_DATATYPE_NULL has a name too: `datatype` may be null.
Code type_get_name(Process& process, Datatype* datatype, std::string* type_name);
Code type_set_name(Process& process, Datatype* datatype, const char* type_name);

// Sizes (MPI 5.1.5 to 5.1.8). kUndefined where the type is an optional one that this compiler does not have.
Code type_size(Process& process, Datatype* datatype, Count* size);
Code type_size_x(Process& process, Datatype* datatype, Count* size);
Code type_get_extent(Process& process, Datatype* datatype, Count* lb, Count* extent);
Code type_get_extent_x(Process& process, Datatype* datatype, Count* lb, Count* extent);
Code type_get_true_extent(Process& process, Datatype* datatype, Count* true_lb, Count* true_extent);
Code type_get_true_extent_x(Process& process, Datatype* datatype, Count* true_lb, Count* true_extent);

// Decoding (MPI 5.1.13). The parameters are those of the `_c` forms; the other forms, which have no large
// counts, pass null and 0 for them and wide = false.
Code type_get_envelope(Process& process, Datatype* datatype, Count* num_integers, Count* num_addresses,
                       Count* num_large_counts, Count* num_datatypes, int* combiner, bool wide);
/// Derived types come back as new objects, which the user frees; predefined ones as themselves.
Code type_get_contents(Process& process, Datatype* datatype, Count max_integers, Count max_addresses,
                       Count max_large_counts, Count max_datatypes, int* integers, Aint* addresses,
                       Count* large_counts, Datatype** datatypes, bool wide);

// Types by property (MPI 5.1.11 of value-index pairs, 19.1.9 of Fortran kinds).
Code type_create_f90_integer(Process& process, int r, Datatype** newtype);
Code type_create_f90_real(Process& process, int p, int r, Datatype** newtype);
Code type_create_f90_complex(Process& process, int p, int r, Datatype** newtype);
Code type_match_size(Process& process, int typeclass, int size, Datatype** datatype);
/// *pair_type is null (MPI_DATATYPE_NULL) when there is no predefined pair of these.
Code type_get_value_index(Process& process, Datatype* value_type, Datatype* index_type, Datatype** pair_type);

// Status and datatype (MPI 3.2.5, 5.1.12, 13.3).
Code get_count(Process& process, const Status* status, Datatype* datatype, Count* count);
Code get_elements(Process& process, const Status* status, Datatype* datatype, Count* count);
Code get_elements_x(Process& process, const Status* status, Datatype* datatype, Count* count);
Code status_set_elements(Process& process, Status* status, Datatype* datatype, Count count);
Code status_set_elements_x(Process& process, Status* status, Datatype* datatype, Count count);

// Pack and unpack (MPI 5.2, 5.3). A packed message is the bytes of its elements, without any header.
Code pack(Process& process, const void* inbuf, Count incount, Datatype* datatype, void* outbuf, Count outsize,
          Count* position, Comm* comm);
Code unpack(Process& process, const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,
            Datatype* datatype, Comm* comm);
Code pack_size(Process& process, Count incount, Datatype* datatype, Comm* comm, Count* size);
// kErrConversion, when an element has no form on the other side (external32.hpp): `position` stays, and those
// before it have been packed or unpacked.
Code pack_external(Process& process, const char* datarep, const void* inbuf, Count incount,
                   Datatype* datatype, void* outbuf, Count outsize, Count* position);
Code unpack_external(Process& process, const char* datarep, const void* inbuf, Count insize, Count* position,
                     void* outbuf, Count outcount, Datatype* datatype);
Code pack_external_size(Process& process, const char* datarep, Count incount, Datatype* datatype,
                        Count* size);

// Attributes (MPI 7.7.4); see object/api.hpp.
Code type_create_keyval(Process& process, AnyFunction type_copy_attr_fn, bool duplicate,
                        AnyFunction type_delete_attr_fn, int* type_keyval, void* extra_state);
Code type_free_keyval(Process& process, int* type_keyval);
Code type_set_attr(Process& process, Datatype* datatype, int type_keyval, void* attribute_val);
Code type_get_attr(Process& process, Datatype* datatype, int type_keyval, void** attribute_val, bool* flag);
Code type_delete_attr(Process& process, Datatype* datatype, int type_keyval);

}  // namespace tasuki::api
