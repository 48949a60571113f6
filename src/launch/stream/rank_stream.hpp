// One output stream of one rank, on its way from the rank's pipe to mpiexec's own output.
#pragma once

#include <cstdint>
#include <string>

#include "launch/base/event_loop.hpp"
#include "launch/stream/line_buffer.hpp"
#include "launch/stream/output_sink.hpp"

namespace tasuki::launch {

class RankStream final : public Ready {
 public:
  /// Reads from `fd` (non-blocking, owned by this object from now on). `label` may be empty.
  RankStream(EventLoop& loop, int fd, OutputSink& sink, std::string label);
  /// Of a rank on another host: fed by take().
  RankStream(EventLoop& loop, OutputSink& sink, std::string label);
  ~RankStream();
  RankStream(const RankStream&) = delete;
  RankStream& operator=(const RankStream&) = delete;

  /// Until the rank, and all that it started, have closed their end.
  bool open() const { return fd_ >= 0 || fed_; }

  /// What a rank on another host has written; take_end(): nothing more comes.
  void take(std::string_view text);
  void take_end();

  void ready() override;

  /// Reads what there is without waiting.
  void take_available();

  /// The same, then gives out all of it, the last line too, and closes.
  void finish();

  /// Takes the sink's state into account: stops while it is full, goes on afterwards, closes when it is
  /// broken.
  void follow_sink();

  /// When the part of a line that it holds is to be given out; 0: there is none.
  std::int64_t part_due_ns() const { return part_due_ns_; }
  void give_out_part();

 private:
  bool read_once();  // returns whether there may be more
  void give_out(std::string_view text);
  void watch(bool on);
  void close_pipe();

  EventLoop& loop_;
  int fd_;
  OutputSink& sink_;
  std::string label_;
  LineBuffer lines_;
  std::int64_t part_due_ns_ = 0;
  bool watched_ = false;
  bool fed_ = false;  // it has no pipe, and its text is still coming
};

}  // namespace tasuki::launch
