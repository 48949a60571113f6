// NodeWatch: whether the other nodes of the job are there still. libfabric does not tell of a process or a
// host that is gone, and not every launcher ends a job for it. So the lowest ranks of the nodes are a ring:
// each keeps a TCP connection to that of the next node. When a process ends its system ends the connection;
// when a host is gone or out of reach, its system does not acknowledge the byte that goes there each second.
// A thread sends that, and sleeps until a connection or a rank of the own node ends: it takes no time of
// ranks that communicate, and sees ends also while they compute.
//
// A rank that has finalised MPI says so to both neighbours, and may end; one with sessions may come back.
//
// Who calls shows the secret of the job first. Strangers are closed, and the listening socket is once the
// neighbour has come.
//
// Ownership: an object owns its sockets and its thread. Thread safety: listen(), then start(), before all
// else; say() from any thread; the function `end` is called by the thread.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "job/wire/peer_watch.hpp"

namespace tasuki::wire {

class NodeWatch {
 public:
  /// The lowest rank of a node.
  struct Neighbour {
    int rank = -1;
    std::string address;
    int port = 0;
    std::string text;  // "rank 2 on node2 (interface eth0, address 10.77.0.2:41234)"
  };
  struct Ring {
    int rank = -1;  // this one
    std::string text;
    Neighbour next;
    Neighbour previous;
    std::string secret;
    std::int64_t silence_seconds = 5;  // after which a host is taken for gone
    std::int64_t connect_seconds = 10;
  };

  /// `end` ends the job with that sentence.
  explicit NodeWatch(std::function<void(const std::string& sentence)> end) : end_(std::move(end)) {}
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;
  ~NodeWatch();

  /// Listens at an address of this host, for the rank before this one. Returns the port, or -1 with one line
  /// in `error`.
  int listen(const std::string& address, std::string* error);

  /// Calls the next rank, which listens, and watches from now on: both neighbours, and `own` ranks of this
  /// node. Returns false and one line in `error` when there is no way to the next one. REQUIRES: all ranks of
  /// the ring listen, or have ended.
  bool start(Ring ring, const std::vector<PeerWatch::Peer>& own, std::string* error);

  /// This rank uses MPI, as it does at the start, or it does not and may end.
  void say(bool in_use);

 private:
  struct Line {
    int socket = -1;  // written by the thread, with the mutex
    const Neighbour* to = nullptr;
    bool in_use = true;  // it has not said that it may end
    bool heard = false;  // it has said something
  };
  /// Somebody who has called and not yet shown the secret.
  struct Caller {
    int socket;
    std::string said;
  };
  struct Own {
    int descriptor;  // of the process
    PeerWatch::Peer peer;
  };

  bool call(std::string* error);
  std::string hello() const;
  void watch();
  bool wait(std::vector<int>* ready);
  void take_caller();
  void hear(Caller* caller);
  void hear(Line* line);
  void tell(char word);
  void end_unless_finished(const std::string& sentence, int wait_ms);

  const std::function<void(const std::string&)> end_;
  Ring ring_;
  int listener_ = -1;
  int stop_ = -1;  // an event
  std::vector<Own> own_;
  std::vector<Caller> callers_;
  std::mutex mutex_;  // for what follows; the thread alone changes sockets
  Line next_;
  Line previous_;
  bool in_use_ = true;
  std::string lost_;  // while this rank did not use MPI
  pthread_t thread_{};
  bool watching_ = false;  // there is a thread
};

}  // namespace tasuki::wire
