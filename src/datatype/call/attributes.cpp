// The attributes of datatypes (MPI 7.7.4).
#include "object/attribute.hpp"

#include "datatype/call/api.hpp"

namespace tasuki::api {

Code type_create_keyval(Process& process, AnyFunction type_copy_attr_fn, bool duplicate,
                        AnyFunction type_delete_attr_fn, int* type_keyval, void* extra_state) {
  return create_keyval(process, Kind::kDatatype, type_copy_attr_fn, duplicate, type_delete_attr_fn,
                       extra_state, type_keyval);
}

Code type_free_keyval(Process& process, int* type_keyval) {
  return free_keyval(process, Kind::kDatatype, type_keyval);
}

Code type_set_attr(Process& process, Datatype* datatype, int type_keyval, void* attribute_val) {
  return set_attribute(process, datatype, &datatype->attributes, type_keyval, attribute_val);
}

Code type_get_attr(Process& process, Datatype* datatype, int type_keyval, void** attribute_val, bool* flag) {
  return get_attribute(process, datatype, datatype->attributes, type_keyval, attribute_val, flag);
}

Code type_delete_attr(Process& process, Datatype* datatype, int type_keyval) {
  return delete_attribute(process, datatype, &datatype->attributes, type_keyval);
}

}  // namespace tasuki::api
