// Small conversions between an ABI's values and the core's that the entries share.
#pragma once

#include "binding/call/arguments.hpp"
#include "io/file/file.hpp"

namespace tasuki {

inline int split_type_to_core(int split_type) {
  return split_type == MPI_UNDEFINED ? kUndefined : abi::split_type_to_core(split_type);
}

inline int topology_from_core(int topology) {
  return topology == kUndefined ? MPI_UNDEFINED : abi::topology_from_core(topology);
}

inline Offset displacement_to_core(MPI_Offset displacement) {
  return displacement == MPI_DISPLACEMENT_CURRENT ? kDisplacementCurrent : displacement;
}

/// Weights of a distributed graph, IN or OUT.
template <class T>
T* weights_to_core(T* weights) {
  if (weights == MPI_UNWEIGHTED) return kUnweighted;
  return weights == MPI_WEIGHTS_EMPTY ? kWeightsEmpty : weights;
}

/// Ranks that the core wrote into the user's array, in place.
inline void ranks_from_core(int* ranks, Count size) {
  for (Count i = 0; i < size; ++i) ranks[i] = abi::rank_from_core(ranks[i]);
}

/// The value of an attribute. A predefined one is the address of an int that holds a constant of the core's:
/// the user gets the address of one that holds the ABI's.
void* attribute_from_core(int keyval, void* value);

/// The integers of MPI_Type_get_contents that are constants: order and distributions of array types.
void contents_from_core(const Datatype& datatype, int* integers);

/// MPI_Info_get_string (MPI 10): the value cut to *buflen bytes, and the length it needs with its NUL.
inline void store_info_value(const std::string& value, char* user, int* buflen) {
  if (*buflen > 0 && user != nullptr) store_string(value, user, *buflen);
  *buflen = static_cast<int>(value.size()) + 1;
}

}  // namespace tasuki
