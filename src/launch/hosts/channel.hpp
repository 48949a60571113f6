// Channel: the frames that mpiexec and its agent on another host send each other, over the standard input and
// output of the launcher (ssh, srun) that started the agent. Whatever guards that connection guards them; no
// port is opened. The end of the channel is the end of the host, for either side.
//
// A frame is its length, its kind, and fields (job/message_fields.hpp). Both sides say kAlive when they have
// said nothing else for a second: a host that is silent longer than others allow is taken for dead.
//
// What a host's shell prints before the agent starts is no frame: it is skipped, and kept for messages.
//
// One thread. Invariants:
//  1. Frames arrive in the order in which they were sent, whole, or not at all.
//  2. The user of a channel is told of its end once, after the last frame.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launch/base/event_loop.hpp"

namespace tasuki::launch {

enum class Frame : std::uint32_t {
  // to the agent
  kStart = 1,    // StartOrder; of spawned ranks too, while others run
  kInput,        // of the rank that reads standard input: bytes; none: its end
  kSignal,       // number, whether to orphans too
  kHold,         // Hold
  kAsk,          // world, number of the question: of all ranks
  kOver,         // the job is over: end what is left, and go
  kEndWorld,     // world, signal: its ranks have ended, or are to; forget it
  kSignalWorld,  // world, signal to its ranks
  kAnswer,       // number of a kRequest, SpawnAnswer
  kReach,        // host, agent that is to start one there (kThisAgent: you), words: branches.hpp
  // from the agent
  kHello,      // Hello
  kStarted,    // world; of each rank there: its number, its process
  kRefused,    // world, exit status, text
  kOutput,     // world, rank, 1 or 2, bytes
  kClosed,     // world, rank, 1 or 2
  kTaken,      // bytes of kInput that the rank's pipe has taken
  kEnded,      // of each: world, rank, wait status; after the rank's last kState
  kLeaks,      // LeakReport, MappedFiles of that rank
  kBoard,      // world, rank, CallBoard
  kRecording,  // rank's part of the trace or "", bytes: Recordings
  kRequest,    // a number, what a rank asks of mpiexec (job/spawn_request.hpp)
  kSettled,    // nothing is left on this host; bytes of its shared memory, and of those that were written to
  kWords,      // host, what its launcher has printed on standard error
  kLoss,       // AgentLoss
  // both ways
  kValues,  // world, rank, ValueTable's page as far as it is used
  kState,   // world, rank, RankState
  kRelay,   // Envelope: a frame to other agents, or of another agent
  kClock,   // when it was sent, and, in the answer, what the agent's clock shows
  kAlive,
};

/// What is to wait until the next kHold.
enum class Hold : std::uint32_t { kNothing, kOutputs, kRecordingsToo };

class ChannelUser {
 public:
  virtual void take_frame(Frame frame, std::string_view payload) = 0;
  /// Nothing more comes, and nothing can be sent.
  virtual void channel_ended() = 0;

 protected:
  ~ChannelUser() = default;
};

class Channel {
 public:
  static constexpr std::size_t kFrameBytesMax = std::size_t{64} << 20;

  /// Takes over the two descriptors. `user` outlives the channel. What comes before the other side's greet()
  /// is skipped.
  Channel(EventLoop& loop, int in_fd, int out_fd, ChannelUser& user);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Bytes that are no frame, for what starts the other side. Before greet().
  void send_first(std::string_view bytes) { waiting_ += bytes; }

  /// The first bytes of either direction, else: what tells frames from a shell's words.
  void greet();

  /// Sends it now or as soon as the other side takes it; nothing once the channel has ended.
  void send(Frame frame, std::string_view payload);
  void send(Frame frame) { send(frame, {}); }

  /// Sends kAlive when it is time. Returns when it is time again.
  std::int64_t keep_alive(std::int64_t now_ns);

  bool open() const { return in_.fd >= 0; }
  /// Whether the other side has said that it is an agent, or its mpiexec.
  bool greeted() const { return greeted_; }
  std::size_t waiting_bytes() const { return waiting_.size(); }
  std::int64_t last_heard_ns() const { return last_heard_ns_; }
  /// This process was stopped: what the other side has said meanwhile is still to be read.
  void pardon_silence();
  /// What came before the greeting, the last of it.
  const std::string& preamble() const { return preamble_; }

  /// Waits, a second at most, until what waits has been sent.
  void flush();
  void close();

 private:
  struct End final : Ready {
    Channel* channel = nullptr;
    int fd = -1;
    bool writes = false;
    void ready() override { writes ? channel->write_waiting() : channel->read_all(); }
  };
  void read_all();
  bool skip_preamble();
  void take_frames();
  void write_waiting();
  void end();

  EventLoop& loop_;
  ChannelUser& user_;
  End in_;
  End out_;
  bool greeted_ = false;
  bool watches_out_ = false;
  std::string come_;
  std::string waiting_;
  std::string preamble_;
  std::int64_t last_heard_ns_;
  std::int64_t last_said_ns_;
};

}  // namespace tasuki::launch
