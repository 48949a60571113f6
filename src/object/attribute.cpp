// Attributes and their keys (MPI 7.7).
#include "object/attribute.hpp"

#include <algorithm>

#include "base/calls/call_board.hpp"
#include "base/calls/function.hpp"
#include "object/api.hpp"
#include "object/callbacks.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

void release_keyval(Process& process, Keyval* keyval) {
  if (--keyval->references != 0) return;
  process.objects->keyvals.erase(keyval->number);
  delete keyval;
}

const char* kind_name(Kind kind) {
  return kind == Kind::kComm ? "communicator" : kind == Kind::kDatatype ? "datatype" : "window";
}

/// The argument that holds the key, as the calls on this kind of object name it.
const char* argument_name(Kind kind) {
  return kind == Kind::kComm ? "comm_keyval" : kind == Kind::kDatatype ? "type_keyval" : "win_keyval";
}

bool is_predefined_keyval(int number) {
  return number >= kTagUb && number <= kWinModel;
}

/// The valid key of that number and kind, or null with the error recorded in *code.
Keyval* find_keyval(Process& process, Kind owner, int number, Code* code) {
  const auto found = process.objects->keyvals.find(number);
  if (found != process.objects->keyvals.end() && found->second->owner == owner) return found->second;
  if (number == kKeyvalInvalid) {
    *code = process.fail(kErrKeyval, "%s = MPI_KEYVAL_INVALID, expected a key made for a %s",
                         argument_name(owner), kind_name(owner));
  } else if (is_predefined_keyval(number)) {
    *code = process.fail(kErrKeyval, "%s = %d, a predefined attribute, which cannot be changed",
                         argument_name(owner), number);
  } else {
    *code = process.fail(kErrKeyval, "%s = %d, expected a key made for a %s and not freed",
                         argument_name(owner), number, kind_name(owner));
  }
  return nullptr;
}

template <class List>
auto find_attribute(List& attributes, const Keyval* keyval) {
  return std::find_if(attributes.begin(), attributes.end(),
                      [keyval](const Attribute& attribute) { return attribute.keyval == keyval; });
}

/// What the call returns when a user's callback returned `returned`: just that.
Code callback_failed(Process& process, const char* which, const Keyval& keyval, Code returned) {
  return process.returned_by_user(returned, "the %s callback of keyval %d returned %d", which, keyval.number,
                                  returned);
}

/// Calls the delete callback of an attribute and, when it succeeds, takes the attribute out of the list.
Code destroy_attribute(Process& process, Object* owner, Attributes* attributes, Keyval* keyval) {
  auto attribute = find_attribute(*attributes, keyval);
  if (keyval->destroy != nullptr) {
    attribute->being_deleted = true;
    ++keyval->references;  // the callback may free the key
    const Code returned = process.callbacks->delete_attribute(keyval->destroy, owner, keyval->number,
                                                              attribute->value, keyval->extra_state);
    attribute = find_attribute(*attributes, keyval);  // the callback may have changed the list
    attribute->being_deleted = false;
    const Code code = returned == kSuccess ? kSuccess : callback_failed(process, "delete", *keyval, returned);
    release_keyval(process, keyval);
    if (code != kSuccess) return code;
  }
  attributes->erase(attribute);
  release_keyval(process, keyval);
  return kSuccess;
}

/// The predefined attribute of that number, or null where it has no value. Of a communicator (MPI 9.1.2).
int* predefined_attribute(PredefinedAttributes& attributes, int number) {
  switch (number) {
    case kTagUb:
      return &attributes.tag_ub;
    case kHost:
      return &attributes.host;
    case kIo:
      return &attributes.io;
    case kWtimeIsGlobal:
      return &attributes.wtime_is_global;
    case kAppnum:
      return attributes.appnum >= 0 ? &attributes.appnum : nullptr;
    case kUniverseSize:
      return attributes.universe_size > 0 ? &attributes.universe_size : nullptr;
    case kLastusedcode:
      return &attributes.lastusedcode;
    default:
      return nullptr;
  }
}

}  // namespace

Code copy_attributes(Process& process, Object* from_owner, const Attributes& from, Attributes* to) {
  const Attributes originals = from;  // callbacks may change the list
  for (const Attribute& original : originals) ++original.keyval->references;
  Code code = kSuccess;
  for (const Attribute& original : originals) {
    Keyval* keyval = original.keyval;
    bool keep = keyval->duplicate;
    void* value = original.value;
    if (!keep && keyval->copy != nullptr && code == kSuccess) {
      const Code returned = process.callbacks->copy_attribute(
          keyval->copy, from_owner, keyval->number, keyval->extra_state, original.value, &value, &keep);
      if (returned != kSuccess) {
        code = callback_failed(process, "copy", *keyval, returned);
        keep = false;
      }
    }
    if (keep && code == kSuccess) {
      to->push_back({keyval, value});
    } else {
      release_keyval(process, keyval);
    }
  }
  return code;
}

Code delete_attributes(Process& process, Object* owner, Attributes* attributes) {
  while (!attributes->empty()) {
    if (attributes->back().being_deleted)
      return process.fail(kErrOther, "keyval %d: its delete callback frees the object it belongs to",
                          attributes->back().keyval->number);
    const Code code = destroy_attribute(process, owner, attributes, attributes->back().keyval);
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

Code create_keyval(Process& process, Kind owner, AnyFunction copy, bool duplicate, AnyFunction destroy,
                   void* extra_state, int* number) {
  Objects& objects = *process.objects;
  Keyval* keyval = new Keyval{objects.keyval_next++, owner, copy, duplicate, destroy, extra_state};
  keyval->maker = function_name(present_call(process.line));
  objects.keyvals.emplace(keyval->number, keyval);
  *number = keyval->number;
  return kSuccess;
}

Code free_keyval(Process& process, Kind owner, int* number) {
  Code code = kSuccess;
  Keyval* keyval = find_keyval(process, owner, *number, &code);
  if (keyval == nullptr) return code;
  if (!keyval->freed) {
    keyval->freed = true;
    release_keyval(process, keyval);
  }
  *number = kKeyvalInvalid;
  return kSuccess;
}

Code set_attribute(Process& process, Object* owner, Attributes* attributes, int number, void* value) {
  Code code = kSuccess;
  Keyval* keyval = find_keyval(process, owner->kind, number, &code);
  if (keyval == nullptr) return code;
  auto attribute = find_attribute(*attributes, keyval);
  if (attribute != attributes->end()) {
    if (attribute->being_deleted)
      return process.fail(kErrKeyval, "%s = %d, whose delete callback is running", argument_name(owner->kind),
                          number);
    // MPI 7.7.2: as if the old one was deleted first. The key stays, even if this was its last attribute.
    ++keyval->references;
    code = destroy_attribute(process, owner, attributes, keyval);
    attribute = find_attribute(*attributes, keyval);
    if (code == kSuccess && attribute == attributes->end()) {
      attributes->push_back({keyval, value});  // takes over the reference
      return kSuccess;
    }
    release_keyval(process, keyval);
    if (code != kSuccess) return code;
  }
  if (attribute != attributes->end()) {
    attribute->value = value;
  } else {
    ++keyval->references;
    attributes->push_back({keyval, value});
  }
  return kSuccess;
}

Code get_attribute(Process& process, Object* owner, const Attributes& attributes, int number, void** value,
                   bool* flag) {
  Code code = kSuccess;
  const Keyval* keyval = find_keyval(process, owner->kind, number, &code);
  if (keyval == nullptr) return code;
  const auto attribute = find_attribute(attributes, keyval);
  *flag = attribute != attributes.end();
  if (*flag) *value = attribute->value;
  return kSuccess;
}

Code delete_attribute(Process& process, Object* owner, Attributes* attributes, int number) {
  Code code = kSuccess;
  Keyval* keyval = find_keyval(process, owner->kind, number, &code);
  if (keyval == nullptr) return code;
  const auto attribute = find_attribute(*attributes, keyval);
  if (attribute == attributes->end())
    return process.fail(kErrKeyval, "%s = %d, which has no value on this %s", argument_name(owner->kind),
                        number, kind_name(owner->kind));
  if (attribute->being_deleted)
    return process.fail(kErrKeyval, "%s = %d, whose delete callback is running", argument_name(owner->kind),
                        number);
  return destroy_attribute(process, owner, attributes, keyval);
}

namespace api {

Code comm_create_keyval(Process& process, AnyFunction comm_copy_attr_fn, bool duplicate,
                        AnyFunction comm_delete_attr_fn, int* comm_keyval, void* extra_state) {
  return create_keyval(process, Kind::kComm, comm_copy_attr_fn, duplicate, comm_delete_attr_fn, extra_state,
                       comm_keyval);
}

Code comm_free_keyval(Process& process, int* comm_keyval) {
  return free_keyval(process, Kind::kComm, comm_keyval);
}

Code comm_set_attr(Process& process, Comm* comm, int comm_keyval, void* attribute_val) {
  return set_attribute(process, comm, &comm->attributes, comm_keyval, attribute_val);
}

Code comm_get_attr(Process& process, Comm* comm, int comm_keyval, void** attribute_val, bool* flag) {
  if (comm_keyval < kTagUb || comm_keyval > kUniverseSize)
    return get_attribute(process, comm, comm->attributes, comm_keyval, attribute_val, flag);
  int* value = predefined_attribute(process.objects->attributes, comm_keyval);
  *flag = value != nullptr;
  if (*flag) *attribute_val = value;
  return kSuccess;
}

Code comm_delete_attr(Process& process, Comm* comm, int comm_keyval) {
  return delete_attribute(process, comm, &comm->attributes, comm_keyval);
}

Code win_create_keyval(Process& process, AnyFunction win_copy_attr_fn, bool duplicate,
                       AnyFunction win_delete_attr_fn, int* win_keyval, void* extra_state) {
  return create_keyval(process, Kind::kWin, win_copy_attr_fn, duplicate, win_delete_attr_fn, extra_state,
                       win_keyval);
}

Code win_free_keyval(Process& process, int* win_keyval) {
  return free_keyval(process, Kind::kWin, win_keyval);
}

}  // namespace api
}  // namespace tasuki
