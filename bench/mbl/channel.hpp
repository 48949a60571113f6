// The ways to send a message and to receive one: what point_to_point.cpp varies. One thread.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "buffers.hpp"

namespace mbl {

/// One of MPI's send modes, in one of three forms: a blocking call, one that gives a request, or one that
/// makes a persistent request. A partitioned send has none of them.
struct SendMode {
  using Blocking = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  using Immediate = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

  const char* name;  // "send", "isend", "send_init", "partitioned"
  Blocking blocking = nullptr;
  Immediate immediate = nullptr;
  Immediate persistent = nullptr;
  bool buffered = false;  // needs MPI_Buffer_attach
  bool ready = false;     // needs a receive that has been posted

  bool partitioned() const { return blocking == nullptr && immediate == nullptr && persistent == nullptr; }
};

/// All of them, the ordinary one first.
const std::vector<SendMode>& send_modes();
const SendMode& send_mode(const std::string& name);

enum class Receive { kPosted, kBlocking, kAnySource, kAnyTag, kProbe, kMprobe, kPersistent };

/// "posted", "blocking", "any_source", …
const char* name_of(Receive receive);

/// A peer to exchange messages with, one at a time in each direction.
class Channel {
 public:
  struct Ends {
    void* out = nullptr;
    void* in = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_BYTE;
    int peer = 0;
    MPI_Comm comm = MPI_COMM_NULL;
  };
  Channel(const SendMode& mode, Receive receive, const Ends& ends);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// Other buffers, from now on. REQUIRES: no persistent or partitioned requests.
  void move(void* out, void* in);

  /// Posts the next receive, where it is of a kind that can be.
  void post();
  /// Returns when a message has come.
  void await();
  /// Sends one; returns when the buffer may be used again.
  void send();

 private:
  void make_partitioned();
  void make_persistent();

  const SendMode& mode_;
  Receive receive_;
  Ends ends_;
  int partitions_ = 1;
  MPI_Request out_request_ = MPI_REQUEST_NULL, in_request_ = MPI_REQUEST_NULL;
};

/// Memory for messages in buffered mode, for as long as it lives; one at a time in a process.
class AttachedBuffer {
 public:
  AttachedBuffer(int messages, std::int64_t bytes);
  AttachedBuffer(const AttachedBuffer&) = delete;
  AttachedBuffer& operator=(const AttachedBuffer&) = delete;
  /// Waits until all messages are out of it.
  ~AttachedBuffer();

 private:
  Buffer memory_;
};

}  // namespace mbl
