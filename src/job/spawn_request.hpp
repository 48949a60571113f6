// What a rank asks of mpiexec when it spawns (MPI 11.8): the programs, and the port at which it waits for
// them; and about the names that jobs of this mpiexec publish (MPI 11.9.4). Over a Unix socket, each message
// is its length in 4 bytes, then its fields. Pure but for the two functions that move a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki {

/// One program of a spawn.
struct SpawnProgram {
  std::int32_t ranks = 0;
  std::vector<std::string> command;  // the program and its arguments
  std::string directory;             // to start it in; empty: mpiexec's own
  std::string path;                  // directories to look for it, separated by ':'; empty: PATH
  std::string initial_errhandler;    // mpi_initial_errhandler of its info; empty: mpiexec's
  std::string hosts;                 // as --host takes them; empty: those of the job
};

struct SpawnRequest {
  std::vector<SpawnProgram> programs;
  std::string parent_port;
  std::uint64_t spawner = 0;  // the job that the new one is to be connected to
};

/// What a rank says whenever it changes: all other jobs that it is connected to (MPI 11.10.4). The answer's
/// `text` is empty.
struct ConnectionReport {
  std::uint64_t job = 0;  // of the rank
  std::int32_t rank = 0;
  std::vector<std::uint64_t> connected;
};

/// What becomes of it. Nothing was started unless `error` is empty.
struct SpawnAnswer {
  std::string error;
  std::string text;  // what was asked for; of a spawn: nothing
};

/// About a name of a job on several hosts. The answer's `text` is the port; empty: no such name is known.
struct NameRequest {
  enum class Verb : std::uint32_t { kPublish, kUnpublish, kLookUp };
  Verb verb = Verb::kLookUp;
  std::string service;
  std::string port;
};

inline constexpr std::uint32_t kMessageBytesMax = 64u << 20;

/// The message without its length.
std::string encode(const SpawnRequest& request);
std::string encode(const SpawnAnswer& answer);
std::string encode(const NameRequest& request);
std::string encode(const ConnectionReport& report);
/// Return false for what encode() never made.
bool decode(const std::string& message, SpawnRequest* request);
bool decode(const std::string& message, SpawnAnswer* answer);
bool decode(const std::string& message, NameRequest* request);
bool decode(const std::string& message, ConnectionReport* report);

/// What a program that runs alone says to its mpiexec before it closes the socket: it ends in good order.
std::string farewell();

/// What a rank of a job on several hosts says after it has put values and entered a fence: they are to be
/// carried to the other hosts. There is no answer.
std::string values_put();

/// Moves one message with its length; blocks. Return false when the other end is gone.
bool write_message(int fd, const std::string& message);
bool read_message(int fd, std::string* message);

}  // namespace tasuki
