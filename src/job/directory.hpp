// Directory: who is in this job, and small values that its processes give one another by the one that started
// them: what must be known before a message can be sent, or travel without one.
//
// A rank puts values, each under a key, and enters a fence; once all ranks have entered it, each of them
// finds what the others put before it. A rank that has entered a fence may go on to other things and ask
// later whether it is over; wait_at_fence() is for callers that have nothing else to do.
//
// Implemented by: job/local/job_starter.cpp (our mpiexec: in the job segment), job/local/singleton.cpp (a
// program alone), the unit tests (ranks that are threads); all three keep the values in a ValueTable.
//
// Thread safety: each object belongs to one rank and may be used by one thread at a time.
//
// Invariants:
//  1. A key of a rank has one value for the whole job.
//  2. A fence that is over stays so; the fences of a job are entered in the same order by all ranks.
//  3. No wait at a fence lasts longer than the life of a rank that is awaited: it ends with a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tasuki {

/// The wires of launchers carry no more: PMI-1 has 63 characters for a key, and two of 1,023 for each byte.
inline constexpr std::size_t kKeyBytesMax = 63;
inline constexpr std::size_t kValueBytesMax = 511;

class Directory {
 public:
  virtual ~Directory() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// On how many nodes this job runs, and on which of them a rank of it is, 0 .. nodes() - 1. Ranks of
  /// different nodes share no memory.
  virtual int nodes() const { return 1; }
  virtual int node(int /*rank*/) const { return 0; }
  /// Whether the nodes are virtual ones: all are this machine, and share its name and its processors.
  virtual bool has_virtual_nodes() const { return false; }
  /// What MPI_Get_processor_name says: the name of this host, and which virtual node this is. The host's name
  /// is cut where it does not fit into so many characters.
  std::string processor_name(std::size_t characters_max) const;

  /// A number that all processes of this machine have, and none elsewhere. It is found out at the start:
  /// later there may be no descriptor left to read it with, and a rank must not take itself for one
  /// elsewhere.
  virtual std::uint64_t machine() const { return 0; }

  /// The number of the program of an MPMD job that this rank runs (MPI_APPNUM), -1 when unknown.
  virtual int application_number() const { return -1; }

  /// MPI_UNIVERSE_SIZE: ranks that could run here; at least size().
  virtual int universe_size() const { return size(); }

  /// Whether what this job spawns, or is spawned by, may be on other hosts.
  virtual bool spans_hosts() const { return false; }

  /// A random number that no other job has (0 where there is one job only): it keeps jobs that meet apart.
  virtual std::uint64_t job_id() const { return 0; }

  /// The port at which the processes that spawned this job wait for it (MPI 11.8.2); empty: it was not
  /// spawned.
  virtual std::string parent_port() const { return {}; }

  // --- values ---

  /// Gives `value` to the ranks of the job under `key`: characters other than blanks, ';' and '='. Returns
  /// false and one line in `error` when one of the two is too long, the key is no such name or has been put
  /// before, or there is no room left.
  bool put(std::string_view key, std::string_view value, std::string* error);

  /// What `rank` put under `key` before a fence that this rank has seen end; what it put later may be found
  /// too. False: nothing (yet).
  virtual bool get(int rank, std::string_view key, std::string* value) const = 0;

  /// This rank has put all that it wants to be found after the next fence. Does not wait.
  virtual void enter_fence() = 0;

  enum class Fence : std::uint8_t { kOpen, kOver, kBroken };

  /// Whether all ranks have entered the fence that this rank entered last. kBroken, with one line in `error`:
  /// one of them has ended and never will.
  virtual Fence look_at_fence(std::string* error) = 0;

  /// Waits until the fence is over, without progress. Returns false and one line in `error` when it is
  /// broken.
  bool wait_at_fence(std::string* error);

 protected:
  /// put() of what has been found good.
  virtual bool put_checked(std::string_view key, std::string_view value, std::string* error) = 0;
};

}  // namespace tasuki
