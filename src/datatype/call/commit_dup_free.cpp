// Commit, free, dup, names, sizes and bounds of datatypes.
#include <cstring>

#include "datatype/call/api.hpp"
#include "datatype/call/construct.hpp"
#include "object/attribute.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kNameBytesMax = 127;  // MPI_MAX_OBJECT_NAME less the final null byte

}  // namespace

namespace api {

Code type_dup(Process& process, Datatype* oldtype, Datatype** newtype) {
  if (const Code code = check_oldtype(process, oldtype, "oldtype")) return code;
  Ref<Datatype> result(clone(*oldtype));
  note_origin(result.get(), Combiner::kDup, oldtype, false);
  if (const Code code = copy_attributes(process, oldtype, oldtype->attributes, &result->attributes))
    return code;
  *newtype = result.take();
  return kSuccess;
}

Code type_commit(Process& process, Datatype** datatype) {
  if (const Code code = check_oldtype(process, *datatype, "datatype")) return code;
  (*datatype)->committed = true;
  return kSuccess;
}

Code type_free(Process& process, Datatype** datatype) {
  Datatype* type = *datatype;
  if (type->predefined != 0) {
    return process.fail(
        kErrType, "datatype = %s, a predefined type cannot be freed, expected one that the program made",
        type->name.c_str());
  }
  if (type->combiner == Combiner::kF90Integer || type->combiner == Combiner::kF90Real ||
      type->combiner == Combiner::kF90Complex) {
    return process.fail(kErrType, "datatype was given by MPI_Type_create_f90_*: it cannot be freed");
  }
  if (const Code code = delete_attributes(process, type, &type->attributes)) return code;
  release(type);
  *datatype = nullptr;
  return kSuccess;
}

Code type_get_name(Process&, Datatype* datatype, std::string* type_name) {
  *type_name = datatype == nullptr ? "MPI_DATATYPE_NULL" : datatype->name;
  return kSuccess;
}

Code type_set_name(Process&, Datatype* datatype, const char* type_name) {
  datatype->name.assign(type_name, strnlen(type_name, kNameBytesMax));
  return kSuccess;
}

Code type_size(Process&, Datatype* datatype, Count* size) {
  *size = datatype->size;
  return kSuccess;
}

Code type_size_x(Process& process, Datatype* datatype, Count* size) {
  return type_size(process, datatype, size);
}

Code type_get_extent(Process&, Datatype* datatype, Count* lb, Count* extent) {
  *lb = datatype->lb;
  *extent = datatype->extent;
  return kSuccess;
}

Code type_get_extent_x(Process& process, Datatype* datatype, Count* lb, Count* extent) {
  return type_get_extent(process, datatype, lb, extent);
}

Code type_get_true_extent(Process&, Datatype* datatype, Count* true_lb, Count* true_extent) {
  *true_lb = datatype->true_lb;
  *true_extent = datatype->true_extent;
  return kSuccess;
}

Code type_get_true_extent_x(Process& process, Datatype* datatype, Count* true_lb, Count* true_extent) {
  return type_get_true_extent(process, datatype, true_lb, true_extent);
}

}  // namespace api
}  // namespace tasuki
