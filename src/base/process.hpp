// Process: everything that one rank owns. There are no globals below the binding: every function of the
// core gets its Process (directly, or through a Comm or Request that points to it), so that N ranks can
// live as threads of one program. Only src/environment builds a Process and knows what its parts are made of.
//
// Thread safety: with MPI_THREAD_MULTIPLE, and where a session came first, the binding holds `lock` during
// each call; Progress releases it while it waits and while something long is done. Below that level no lock
// is taken.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/system/process_lock.hpp"
#include "base/types.hpp"
#include "base/variables/config.hpp"
#include "base/variables/counters.hpp"
#include "base/variables/events.hpp"

namespace tasuki {

class Directory;
class Launcher;
class Node;
class Starter;
class Waiter;
class SymmetricHeap;
class Link;
class Progress;
class Reporter;
class RankReporter;
class Callbacks;
class Tool;
class OutsideWait;
class RankWait;
struct CallBoard;
struct CallLine;
class Checks;
struct Objects;
struct PointToPoint;
struct Collectives;
struct Dynamic;
struct Files;
namespace rma {
struct Messengers;
}
struct Comm;
struct ErrorOwner;

struct Process {
  Process(Starter& starter, Config config);  // src/environment/process.cpp
  /// One that has nothing but objects: for the calls that are legal before MPI_Init and after MPI_Finalize.
  explicit Process(Starter& starter);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Records an error of `error_class` with its text and returns the code. The text says the argument, its
  /// value and what was expected ("dest = 7, expected 0..3 or MPI_PROC_NULL"); the binding adds the call.
  [[gnu::format(printf, 3, 4)]] Code fail(int error_class, const char* format, ...);
  /// The same for what a user's function returned: the call returns that as it is, or kErrOther where it is
  /// no error code.
  [[gnu::format(printf, 3, 4)]] Code returned_by_user(Code returned, const char* format, ...);

  int rank = 0;          // in the world
  int size = 1;          // of the world
  Starter& starter;      // what it was made of
  Directory& directory;  // who is in the job
  Launcher& launcher;    // who started it
  Node& node;            // what the ranks of this machine share
  CallBoard& board;      // where it says what it is in
  CallLine& line;        // of the board: what every call writes
  Config config;
  ErrorLog errors;
  ThreadLevel thread_level = ThreadLevel::kSingle;  // of the world model
  bool locking = false;                             // each call holds the lock
  ProcessLock lock;
  Callbacks* callbacks = nullptr;                // how to call a user's functions; owned by the binding
  void (*forget_communicator)(Comm&) = nullptr;  // called at the end of each; set by PointToPoint
  ErrorOwner* error_owner = nullptr;  // whose error handler is to be called, when no argument says it
  Counters counters;                  // beside what every call writes anyway
  EventSwitch events;
  std::vector<ErrorOwner*> owners;  // the communicators, windows and files that there are; object/comm.hpp
  OutsideWait* outside_wait = nullptr;  // what the calls of now wait for beyond this world's ranks
  RankWait* rank_wait = nullptr;        // which ranks they wait for, where no request says it
  Tool* tool = nullptr;  // what MPI_T keeps; owned by the binding, null where there is no MPI_T

  std::unique_ptr<Checks> checks;  // of TASUKI_CHECK; null at level 0

  // The parts, in the order of their dependencies.
  std::unique_ptr<Link> link;
  std::unique_ptr<SymmetricHeap> symmetric_heap;
  std::unique_ptr<Waiter> waiter;  // how progress waits
  std::unique_ptr<Progress> progress;
  std::unique_ptr<Reporter> reporter;  // null unless mpiexec --stats wants this rank's counts
  std::unique_ptr<PointToPoint> p2p;
  std::unique_ptr<Objects> objects;
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Dynamic> dynamic;
  std::unique_ptr<Files> files;
  std::unique_ptr<rma::Messengers> messengers;
  std::unique_ptr<RankReporter> rank_reporter;
};

}  // namespace tasuki
