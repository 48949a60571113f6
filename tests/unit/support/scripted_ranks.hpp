// ScriptedRanks: the ranks of a world run one at a time, and a seed says which goes on when one has nothing
// to do, and which packets come then. So a run may be repeated, and many orders be tried. No real time
// passes.
//
// All live in one thread, each on a stack of its own, so a turn takes no help of the system. A rank hands its
// turn on where Progress offers the processor or sleeps, nowhere else: what it does between
// two waits is not divided.
//
// When all sleep and nothing rings, their time is up, as the backstop of a sleep has it; when that does not
// help either, the program ends with a sentence that names the seed.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/system/clock.hpp"
#include "link/inproc/inproc_link.hpp"
#include "link/waiter.hpp"

namespace tasuki::test {

class ScriptedRanks : public DeliveryScript, public Clock {
 public:
  ScriptedRanks(int ranks, std::uint64_t seed);
  virtual ~ScriptedRanks() = default;

  std::size_t choose(std::size_t choices) override;
  void rung(int endpoint) override;
  std::size_t place_in_line(std::size_t packets) override { return overtaking_ ? choose(packets) : 0; }
  std::int64_t now_ns() const override { return now_ns_; }

  std::uint64_t seed() const { return seed_; }
  /// A number made of all that was chosen so far: alike for runs that are alike.
  std::uint64_t trace() const { return trace_; }
  std::uint64_t turns() const { return turns_; }
  /// Sleeps that ended by their time alone, while others slept, too.
  int timeouts() const { return timeouts_; }

  /// Plants a fault: from now on packets may pass others between the same two ranks, or no more.
  void set_overtaking(bool on) { overtaking_ = on; }

  /// Runs `body` for all ranks, in this thread: each has a stack of its own.
  void run(const std::function<void(int rank)>& body);
  /// Another rank's turn, which may be this one's again. Of the rank whose turn it is.
  void pass(int rank);

  std::unique_ptr<Waiter> make_waiter(int rank);

 private:
  friend class ScriptedWaiter;
  struct Rank {
    ucontext_t context;  // where it goes on
    bool asleep = false;
    std::uint32_t rings = 0;
  };
  static void begin_rank(int number, std::uint32_t high, std::uint32_t low);
  ucontext_t& choose_next();
  void wake_all();
  void pass_time(std::int64_t nanoseconds) { now_ns_ += nanoseconds; }
  bool sleep(int rank, std::uint32_t ticket);
  std::uint64_t random();

  const std::uint64_t seed_;
  std::uint64_t state_, trace_ = 0, turns_ = 0;
  std::int64_t now_ns_ = 1;
  std::vector<Rank> ranks_;
  std::vector<int> awake_, there_;  // ranks
  const std::function<void(int rank)>* body_ = nullptr;
  ucontext_t caller_;  // of run()
  bool overtaking_ = false;
  int timeouts_ = 0, timeouts_in_a_row_ = 0;
};

}  // namespace tasuki::test
