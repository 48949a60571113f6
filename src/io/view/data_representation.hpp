// Data representations (MPI 14.5): how a basic element looks in a file, and what follows for whole datatypes.
//
// "native" and "internal" store memory as it is; "external32" is MPI's portable form; a registered one is the
// user's functions. In a file a datatype is described by another one, whose leaves are the bytes of its basic
// elements' file form: type_in_file() makes it, so that views need to know nothing of representations.
//
// Thread safety: the process lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "object/object.hpp"

namespace tasuki {

/// How many bytes of data, in the file's form, are staged at a time: no element may have more.
inline constexpr Count kStageBytes = Count{1} << 20;

struct DataRepresentation {
  enum class Form : std::uint8_t { kNative, kExternal32, kRegistered };

  std::string name;
  Form form = Form::kNative;
  // Of a registered one. A null conversion means that file and memory look the same.
  AnyFunction read_conversion = nullptr;
  AnyFunction write_conversion = nullptr;
  AnyFunction file_extent = nullptr;
  void* extra_state = nullptr;
  bool wide = false;                             // registered by MPI_Register_datarep_c
  std::map<std::uint16_t, Count> element_bytes;  // what file_extent said, by predefined type

  /// Whether bytes go between memory and file as they are.
  bool is_native() const {
    return form == Form::kNative ||
           (form == Form::kRegistered && read_conversion == nullptr && write_conversion == nullptr);
  }
};

/// The bytes of one element of the basic type in a file. kErrConversion when the user's function fails.
Code bytes_in_file(Process& process, DataRepresentation& representation, const BasicInfo& info, Count* bytes);

/// The bytes in a file of `count` elements of `datatype`, or kErrCount when 63 bits are too few.
Code bytes_in_file(Process& process, DataRepresentation& representation, const Datatype& datatype,
                   Count count, Count* bytes);

/// The datatype that says where the file form of `datatype`'s elements lies: constructors that count in
/// extents count in those of the file, byte displacements are taken as they are (MPI 14.5).
Code type_in_file(Process& process, DataRepresentation& representation, Datatype* datatype,
                  Ref<Datatype>* made);

}  // namespace tasuki
