// One thread of one rank in the stress test: begins its parts of a plan's messages in a random order and in
// every way that MPI offers, and checks all that comes.
//
// Why it cannot deadlock (if MPI is right):
//  1. It blocks in a part of message i only when its parts of all messages before i have begun.
//  2. A receive with a wildcard may get another message than the one it was posted for. So it counts as
//     nothing begun; while one is open, nothing blocks but calls that return when any of them completes; and
//     it is posted only when messages enough are left for all that may match the same (rules_hold).
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "buffer.hpp"
#include "plan.hpp"

namespace stress {

/// The messages from one source on one communicator with one tag, to this rank: they come in their order.
struct Stream {
  int source, comm, tag;
  std::vector<int> messages;
  int specific = 0;  // receives that are open and name the stream
  int done = 0;      // messages that have come
  std::size_t bytes_max = 0;
};

enum class Kind { kSend, kReceive, kToken, kDecoy };

/// An open request, with what belongs to it.
struct Open {
  Kind kind = Kind::kSend;
  MPI_Request request = MPI_REQUEST_NULL;
  Buffer buffer;
  Layout layout;
  int message = -1;  // what is sent; or the message whose turn it was
  int comm = 0;
  int source = 0, tag = 0;  // of a receive: in the world, or the wildcards
  int stream = -1;          // of a receive without a wildcard
  long post = 0;            // the order of posting
  bool wildcard = false, persistent = false, cancellable = false, truncates = false;
  std::vector<unsigned char> content;  // of a send
};

/// A message that has come.
struct Arrival {
  long post;
  int stream, message;  // -1: too short to tell
  int source, tag;      // as the receive named them
  std::uint64_t issue;
  bool truncated;
  std::size_t bytes;
  std::vector<unsigned char> start;  // all of a short one
};

class Actor {
 public:
  Actor(int rank, int ranks, int thread, const MPI_Comm* comms)
      : rank_(rank), ranks_(ranks), thread_(thread), comms_(comms) {}

  /// Plays this thread's plan of a round to its end.
  void play(std::uint64_t seed, const Pools& pools, std::size_t bytes_max, unsigned burn_us);

  /// What it is doing, for a report that it hangs. Races are harmless enough: the process ends after it.
  std::string state() const;
  long received() const { return received_; }
  long bytes() const { return bytes_; }

 private:
  struct Part {
    int message;
    bool send;
    bool begun = false;  // of a send; a receive's follows from its stream
    int stream = -1, place = -1;
  };

  // play.cpp: what is done next
  void set_up();
  void step();
  bool begin_some();
  void begin(Part& part);
  bool begin_sendrecv(int first);
  void finish_some();
  void play_decoys();
  void compute();
  int first_part() const;
  bool has_begun(const Part& part) const;
  int next_of_same_stream(int part) const;
  bool may_wait_for(const Open& open, int first) const;
  bool wildcard_waits_for(int first) const;
  int wildcards() const;
  int wildcards_over(const Stream& stream) const;
  bool rules_hold(const Open* more) const;
  void check_orders();

  // transfer.cpp: one send, one receive
  void send(Part& part, bool may_block);
  void start_send(Open& open, Mode mode, bool may_block);
  void send_ready(Part& part);
  bool receive(Part& part, bool may_block);
  bool receive_wildcard(const Part& part, bool may_block);
  void receive_blocking(Open& open);
  bool receive_probed(Stream& stream, int message, bool may_block);
  void start_receive(Open& open);
  void prepare_receive(Open& open, std::size_t bytes);
  void sendrecv_replace(Part& send, Part& receive);
  void finish(std::size_t index, const MPI_Status& status, int code);
  void finished(Open& open, const MPI_Status& status, int code);
  void arrived(Open& open, const MPI_Status& status, int code);
  void cancel(std::size_t index);
  bool start_again(Open& open);
  void release(Open& open);

  Stream& stream_of(const Message& message, bool make);
  Open new_open(Kind kind, const Message& message);
  void fill(Open& open, const Message& message);
  int peer_of(int comm, int world) const;
  int world_of(int comm, int peer) const;
  Place draw_place();
  void check(int code, const char* call);
  [[noreturn]] void wrong(const char* format, ...) const __attribute__((format(printf, 2, 3)));

  int rank_, ranks_, thread_;
  const MPI_Comm* comms_;
  Pools pools_;
  Random random_;
  Plan plan_;
  std::uint64_t seed_ = 0;
  unsigned burn_us_ = 0;
  std::vector<Part> parts_;  // in the order of the messages
  std::vector<Stream> streams_;
  std::vector<Open> open_;
  std::vector<Open> idle_;  // persistent requests between two uses
  std::vector<Arrival> arrivals_;
  std::vector<std::uint64_t> issued_;  // by communicator and destination
  long posts_ = 0, received_ = 0, bytes_ = 0;
  const char* doing_ = "nothing";
  int doing_message_ = -1;
};

}  // namespace stress
