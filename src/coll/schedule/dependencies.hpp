// Which steps of a rank's schedule have to wait for which others of it, where they follow data instead of
// rounds. Pure: the executor (coll/run/data_steps.cpp), the simulated machines (sim/run.cpp) and the tests
// share it.
//
// A step waits for the end of those steps before it that wrote what it reads, and of those that read or wrote
// what it writes; but not for messages of its own round, which never share bytes with it (schedule.hpp,
// invariant 2). Elements with gaps count as all the bytes from the first to the last. Since messages between
// two ranks are matched in their order, a message waits, too, for the start of the one before it to the same
// rank, or from it. All this is over by itself when rounds are kept: so what runs by rounds runs by data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tasuki {

/// The shape of a step's elements: those of `type` and, where that is one of many, `block`.
using ShapeOf = std::function<TypeShape(ElementType type, int block)>;

class Dependencies {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// REQUIRES: sends, receives, copies and reductions alone. Uses its memory again.
  void find(const Schedule& schedule, const ShapeOf& shape_of);

  std::size_t size() const { return waits_.size(); }
  /// How many steps have to be over before this one starts.
  std::uint32_t waits(std::size_t step) const { return waits_[step]; }
  /// Those that wait for the end of this one.
  std::span<const std::uint32_t> after(std::size_t step) const {
    const std::size_t begin = step == 0 ? 0 : after_ends_[step - 1];
    return {after_.data() + begin, after_ends_[step] - begin};
  }
  /// The message that waits for the start of this one, or kNone.
  std::uint32_t next_message(std::size_t step) const { return next_messages_[step]; }

 private:
  /// One space: which steps last wrote and read each byte of it.
  struct User {
    std::uint32_t step;
    bool writes;
    std::uint32_t next;  // in users_, or kNone
  };
  struct Part {
    Count begin, end;
    std::uint32_t first_user;
  };
  using Parts = std::vector<Part>;  // ascending
  struct Edge {
    std::uint32_t before, after;
  };
  struct Channel {
    int peer;
    bool local, sends;
    std::uint32_t last;
  };

  void use(Parts& parts, Place place, Count count, const TypeShape& shape, bool writes);
  void use_part(Part& part, bool writes);
  std::size_t cut(Parts& parts, Count at);
  void wait_for(std::uint32_t other);
  void follow(const Step& step);
  void sort_edges();

  std::vector<std::uint32_t> waits_, after_ends_, after_, next_messages_;

  // While they are found.
  const Schedule* schedule_ = nullptr;
  std::uint32_t step_ = 0, round_begin_ = 0;
  Parts parts_[3];
  std::vector<User> users_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> seen_by_;  // by step: the last one that waits for it
  std::vector<Channel> channels_;
};

}  // namespace tasuki
