// Dynamic: what one process has opened for others to find, and how two processes come to a first talk.
//
// A port is a number in its process's mailbox (link/shm/mailbox.hpp) and a matching context of the same
// number. Its name holds the mailbox's address, so a connector needs no third process:
//
//   connector                                         acceptor
//   looks for the port in the mailbox
//   hello, in the port's context  ----------------->  takes any hello
//                                 <-----------------  offer, in the context that the hello names
//   go (or withdraw: timed out)   ----------------->  goes on (or takes the next hello)
//
// Then both have a Road, an intercommunicator of the two of them, over which MPI_Intercomm_create's machinery
// makes the one between their groups. A connector that waits looks now and then whether the port is still
// there: it may be closed, its process may have ended.
//
// Owner: Process. Thread safety: the process lock, which is let go while files or the launcher are asked.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "link/peer_address.hpp"
#include "object/comm.hpp"
#include "p2p/remote_job.hpp"
#include "progress/progress.hpp"

namespace tasuki {

struct Port {
  std::string name;
  std::uint64_t number = 0;
  Ref<Comm> listening;  // of this process alone, in the port's context
};

struct PublishedName {
  std::string service;
  std::string port;
  std::string path;  // of the file that tells it
};

struct Dynamic {
  explicit Dynamic(Process& owner) : process(owner) {}
  ~Dynamic();  // takes back what was published; the ports go with the mailbox

  /// What `question` returns: it asks the launcher, which may take seconds to answer, or the system about
  /// files, and is asked without the process lock, of one thread at a time.
  template <class Question>
  auto ask_outside(const Question& question) {
    Progress& progress = *process.progress;
    progress.wait_until([this] { return !is_asking; });
    is_asking = true;
    auto answer = [&] {
      const Progress::Release released(progress);
      return question();
    }();
    is_asking = false;
    progress.wake();
    return answer;
  }

  Process& process;
  std::list<Port> ports;
  std::vector<PublishedName> published;
  bool is_asking = false;  // a thread is in ask_outside()
};

/// A port's name as messages show it: without the address behind it, which is long, and for those alone who
/// are to connect.
std::string shown_port(const std::string& name);

/// Opens a port for processes from there. Raises MPI_ERR_PORT.
Code make_port(Process& process, Reach reach, Port** port);
void drop_port(Process& process, Port* port);

/// An intercommunicator of this process and `endpoint`, for what the core does with it.
Ref<Comm> make_road(Process& process, Context context, int endpoint);

/// Waits for a connector at `port`, at most `timeout_seconds` (negative: for ever), then raises MPI_ERR_PORT.
/// With `spawning` it waits until the launcher has ended, and raises MPI_ERR_SPAWN.
Code accept_one(Process& process, Port& port, bool spawning, double timeout_seconds, Ref<Comm>* road);
/// Connects to the port of that name and waits until it is accepted, at most `timeout_seconds` (negative: for
/// ever). Raises MPI_ERR_PORT.
Code connect_one(Process& process, const std::string& name, double timeout_seconds, Ref<Comm>* road);

/// The root's error becomes all ranks' error, in class and text. `mine` counts at the root only.
Code share_outcome(Comm& comm, int root, Code mine);

/// Of a process that was spawned: makes the intercommunicator with the processes that spawned it (MPI
/// 11.8.2). Ends the job when that cannot be. Called once, by MPI_Init.
void meet_parents(Process& process);

}  // namespace tasuki
