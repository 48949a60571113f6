// Frames are remembered by their code and instruction: Python counts lines from the function's begin on, each
// time it is asked.
#include "trace/place/python_place.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>
#include <cstring>
#include <unordered_map>

namespace tasuki::trace {
namespace {

/// Python's own functions, by their names there. Objects are opaque here; a returned one is a reference to
/// give back.
struct Python {
  int (*Py_IsInitialized)();
  void* (*PyGILState_GetThisThreadState)();
  int (*PyGILState_Check)();
  int (*PyGILState_Ensure)();
  void (*PyGILState_Release)(int state);
  void* (*PyThreadState_GetInterpreter)(void* thread);
  void* (*PyInterpreterState_ThreadHead)(void* interpreter);
  void* (*PyThreadState_Next)(void* thread);
  void* (*PyThreadState_GetFrame)(void* thread);
  void* (*PyFrame_GetBack)(void* frame);
  void* (*PyFrame_GetCode)(void* frame);
  int (*PyFrame_GetLineNumber)(void* frame);
  int (*PyFrame_GetLasti)(void* frame);  // null before 3.11
  void (*Py_DecRef)(void* object);
  void* (*PyObject_GetAttrString)(void* object, const char* name);
  const char* (*PyUnicode_AsUTF8)(void* text);
  void (*PyErr_Fetch)(void** type, void** value, void** traceback);
  void (*PyErr_Restore)(void* type, void* value, void* traceback);
  bool complete;  // but for what may be null
};

template <class Pointer>
bool find(const char* name, Pointer* function) {
  *function = reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

Python find_python() {
  Python found{};
  find("PyFrame_GetLasti", &found.PyFrame_GetLasti);
  found.complete =
      find("Py_IsInitialized", &found.Py_IsInitialized) &&
      find("PyGILState_GetThisThreadState", &found.PyGILState_GetThisThreadState) &&
      find("PyGILState_Check", &found.PyGILState_Check) &&
      find("PyGILState_Ensure", &found.PyGILState_Ensure) &&
      find("PyGILState_Release", &found.PyGILState_Release) &&
      find("PyThreadState_GetInterpreter", &found.PyThreadState_GetInterpreter) &&
      find("PyInterpreterState_ThreadHead", &found.PyInterpreterState_ThreadHead) &&
      find("PyThreadState_Next", &found.PyThreadState_Next) &&
      find("PyThreadState_GetFrame", &found.PyThreadState_GetFrame) &&
      find("PyFrame_GetBack", &found.PyFrame_GetBack) && find("PyFrame_GetCode", &found.PyFrame_GetCode) &&
      find("PyFrame_GetLineNumber", &found.PyFrame_GetLineNumber) && find("Py_DecRef", &found.Py_DecRef) &&
      find("PyObject_GetAttrString", &found.PyObject_GetAttrString) &&
      find("PyUnicode_AsUTF8", &found.PyUnicode_AsUTF8) && find("PyErr_Fetch", &found.PyErr_Fetch) &&
      find("PyErr_Restore", &found.PyErr_Restore);
  return found;
}

const Python& python() {
  static const Python found = find_python();
  return found;
}

/// Whether Python's lock can be had at once.
bool may_look(void* thread) {
  if (python().PyGILState_Check() != 0) return true;
  void* const first = python().PyInterpreterState_ThreadHead(python().PyThreadState_GetInterpreter(thread));
  return first == thread && python().PyThreadState_Next(thread) == nullptr;
}

struct Key {
  const void* code;
  int instruction;  // or the line
  bool operator==(const Key& other) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    return reinterpret_cast<std::uintptr_t>(key.code) / 16 + static_cast<std::size_t>(key.instruction) * 4099;
  }
};

/// Python's lock does not protect it: there are Pythons without one.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/// A null place: a frame to pass over. Never destroyed: threads may call until the process ends. The code of
/// a key is held, so that its address is never another one's.
std::unordered_map<Key, const PythonPlace*, KeyHash>& known() {
  static auto* const places = new std::unordered_map<Key, const PythonPlace*, KeyHash>();
  return *places;
}

/// An attribute of a code object that is a text.
std::string text_of(void* code, const char* attribute) {
  void* const value = python().PyObject_GetAttrString(code, attribute);
  const char* const text = value != nullptr ? python().PyUnicode_AsUTF8(value) : nullptr;
  std::string copy = text != nullptr ? text : "";
  if (value != nullptr) python().Py_DecRef(value);
  return copy;
}

/// Null: a frame to pass over.
const PythonPlace* make_place(void* frame, void* code) {
  void *type = nullptr, *value = nullptr, *traceback = nullptr;
  python().PyErr_Fetch(&type, &value, &traceback);
  const std::string file = text_of(code, "co_filename");
  const std::string function = text_of(code, "co_name");
  python().PyErr_Restore(type, value, traceback);
  if (file.empty() || file.starts_with("<frozen ") || file.find("/mpi4py/") != std::string::npos)
    return nullptr;
  const int line = python().PyFrame_GetLineNumber(frame);
  return new PythonPlace{std::to_string(line) + ' ' + function + ' ' + file};
}

/// Null: a frame to pass over.
const PythonPlace* place_of(void* frame) {
  void* const code = python().PyFrame_GetCode(frame);
  const bool counted = python().PyFrame_GetLasti != nullptr;
  const Key key{code, counted ? python().PyFrame_GetLasti(frame) : python().PyFrame_GetLineNumber(frame)};
  pthread_mutex_lock(&mutex);
  const auto entry = known().find(key);
  const bool there = entry != known().end();
  const PythonPlace* place = there ? entry->second : nullptr;
  pthread_mutex_unlock(&mutex);
  if (there) {
    python().Py_DecRef(code);
    return place;
  }
  place = make_place(frame, code);
  pthread_mutex_lock(&mutex);
  known().emplace(key, place);
  pthread_mutex_unlock(&mutex);
  return place;
}

/// REQUIRES: this thread holds Python's lock.
const PythonPlace* innermost_place(void* thread) {
  void* frame = python().PyThreadState_GetFrame(thread);
  const PythonPlace* place = nullptr;
  while (frame != nullptr && place == nullptr) {
    place = place_of(frame);
    void* const outer = place == nullptr ? python().PyFrame_GetBack(frame) : nullptr;
    python().Py_DecRef(frame);
    frame = outer;
  }
  return place;
}

}  // namespace

const PythonPlace* python_place() {
  if (!python().complete || python().Py_IsInitialized() == 0) return nullptr;
  void* const thread = python().PyGILState_GetThisThreadState();
  if (thread == nullptr || !may_look(thread)) return nullptr;
  const int state = python().PyGILState_Ensure();
  const PythonPlace* const place = innermost_place(thread);
  python().PyGILState_Release(state);
  return place;
}

}  // namespace tasuki::trace
