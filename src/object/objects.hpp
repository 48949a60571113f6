// Objects: the predefined objects of one process, its keyvals, and its error classes and codes.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/predefined.hpp"
#include "object/comm.hpp"

namespace tasuki {

struct Datatype;

/// The values of the predefined attributes (MPI 9.1.2): the core's numbers, which the binding
/// translates.
struct PredefinedAttributes {
  int tag_ub = kTagMax;
  int host = kProcNull;
  int io = kAnySource;  // every rank can
  int wtime_is_global = 0;
  int appnum = -1;  // unknown: not set
  int universe_size = 1;
  int lastusedcode = kErrLastcode;
};

/// An error class or code that the user added (MPI 9.5).
struct UserError {
  int error_class = 0;  // itself for a class
  int codes = 0;        // of a class: how many codes belong to it
  std::string text;     // empty: none set
};

/// What MPI_FILE_NULL stands for: the error handler of calls without a valid file, which new files start with
/// (MPI 14.7).
struct NullFile final : ErrorOwner {
  NullFile() : ErrorOwner(Kind::kFile) {}
  std::string description() const override { return "MPI_FILE_NULL"; }
};

/// What MPI_SESSION_NULL stands for: the owner of an error of MPI_Session_init.
struct NullSession final : ErrorOwner {
  NullSession() : ErrorOwner(Kind::kSession) {}
  std::string description() const override { return "MPI_SESSION_NULL"; }
};

struct Objects {
  /// Makes the predefined objects that this folder knows: error handlers, MPI_GROUP_EMPTY, MPI_INFO_ENV.
  /// Upper floors put theirs into `predefined`.
  explicit Objects(Process& process);
  ~Objects();

  std::array<Object*, kPredefinedCount> predefined{};  // by number; null where there is none; owned
  std::vector<Ref<Object>> unnamed;  // unnamed predefined datatypes (MPI 19.1.9), made on demand, never freed
  Comm* world = nullptr;
  Comm* self = nullptr;
  Comm* parent = nullptr;          // of a spawned process, until it is freed; the user's reference
  std::map<int, Keyval*> keyvals;  // valid user keyvals
  int keyval_next = kKeyvalUserFirst;
  std::uint64_t context_next = 16;       // smaller ones are fixed: 1 is MPI_COMM_WORLD, 2 MPI_COMM_SELF
  std::map<int, UserError> user_errors;  // by number, kUserErrorFirst and up
  PredefinedAttributes attributes;
  NullFile null_file;
  NullSession null_session;
  Ref<Errhandler> initial_errhandler;  // MPI 9.3: ERRORS_ARE_FATAL unless mpiexec or the info says otherwise
};

/// The predefined object of that number. REQUIRES: it exists and has that type.
template <class T>
T* predefined_object(const Objects& objects, Predefined number) {
  return static_cast<T*>(objects.predefined[number]);
}

}  // namespace tasuki
