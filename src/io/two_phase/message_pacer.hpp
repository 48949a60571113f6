// Pacer: starts the long messages of an aggregator few at a time, in the order in which they were added, so
// that the links of nodes carry them in that order. Started all at once they would share all links all the
// time, whatever their order, and wait for one another at the busiest one.
//
// A message's other end is to be started without waiting for anything here: then what is waiting here always
// gets its turn while this rank polls.
//
// Ownership: the requests are the caller's; a slot stays where it is until take_out(). Thread safety: the
// process lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "p2p/request.hpp"
#include "progress/progress.hpp"

namespace tasuki {

class Pacer final : public ProgressHook {
 public:
  explicit Pacer(Progress& progress) : progress_(progress) { progress_.add(this); }
  ~Pacer() { progress_.remove(this); }
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  /// Sets *slot, null until then, to what `start` gives, as soon as it is its turn.
  void add(Request** slot, std::function<Request*()> start) {
    waiting_.push_back({slot, std::move(start)});
    poll();
  }

  /// Before the request of a slot that has been started is released: it is done.
  void take_out(Request** slot) {
    std::erase(started_, slot);
    poll();
  }

  bool poll() override {
    const auto is_over = [](Request** slot) { return *slot != nullptr && (*slot)->done; };
    bool moved = std::erase_if(started_, is_over) > 0;
    while (!waiting_.empty() && started_.size() < kAtATime) {
      // Out of the list first: while it is started another thread may poll.
      const Waiting first = std::move(waiting_.front());
      waiting_.pop_front();
      started_.push_back(first.slot);
      *first.slot = first.start();
      moved = true;
    }
    return moved;
  }

 private:
  struct Waiting {
    Request** slot;
    std::function<Request*()> start;
  };

  static constexpr std::size_t kAtATime = 2;  // so that one goes on while the other is being agreed on

  Progress& progress_;
  std::deque<Waiting> waiting_;
  std::vector<Request**> started_;  // those that may not be done
};

}  // namespace tasuki
