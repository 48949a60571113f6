// How a rank on this machine comes into being: started by our mpiexec, or alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "job/local/map_job_segment.hpp"
#include "job/starter.hpp"

namespace tasuki::local {

/// Sends one encoded request and waits for the answer's text. Returns false and the reason in `error` when
/// mpiexec is out of reach or refuses.
bool ask_launcher(int socket, const std::string& request, std::string* text, std::string* error);

/// Gives what a rank left behind to mpiexec, which has it when this returns. Returns false when it is out of
/// reach.
bool send_leaks(int socket, const LeakReport& report);

/// Has the launcher at that socket carry what this rank has put to the other hosts of the job.
void tell_values_put(const char* socket_name);

/// Tells it on standard error.
void print_leaks(int rank, const std::vector<Leak>& leaks);

/// A connection to the abstract Unix socket of that name, close-on-exec, or -1 with errno: EACCES when it is
/// another user's.
int connect_to_launcher(const char* name);

/// The mpiexec that a program which runs alone starts for its spawns, in a process group of its own: an
/// interrupt of this program is not meant for its workers.
class OwnLauncher {
 public:
  ~OwnLauncher();
  /// Starts it unless it runs. Returns false and the reason in `error`.
  bool start(std::string* error);
  int socket() const { return socket_; }
  /// Passes the report on, where it runs.
  void report_connections(const ConnectionReport& report);
  /// This program ends in good order, or spawns no more for now: what it started may go on without it.
  void take_leave();
  /// Whether one that was started has ended.
  bool gone() const;

 private:
  int socket_ = -1;  // it ends the workers when this end closes without a farewell
};

/// A rank of a job of our mpiexec, whose segment is mapped.
std::unique_ptr<Starter> make_job_starter(const MappedJob& mapped);

/// A program that runs alone: size 1, private memory, no launcher.
std::unique_ptr<Starter> make_singleton();

}  // namespace tasuki::local
