// A simulated machine for the schedules of ranks that share memory: runs all of them in one thread, one round
// of one rank at a time in random order, with exposed buffers that are staged or not as it comes.
//
// It watches what ranks do to each other's exposed buffers with vector clocks, the way a race detector does:
// each byte remembers which rank wrote it last and which read it since, and a rank that touches it must know
// that by phases that were signalled and awaited (schedule.hpp, invariant 6). So a missing wait is found
// whatever order the rounds happen to run in.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "coll/simulation.hpp"

namespace tasuki::test {

class SingleCopySimulation {
 public:
  SingleCopySimulation(std::vector<SimulatedRank>& ranks, Combine combine, unsigned seed)
      : ranks_(ranks), combine_(std::move(combine)), random_(seed), members_(ranks.size()) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      members_[rank].clock.assign(ranks.size(), 0);
      members_[rank].clock[rank] = 1;
    }
  }

  /// Runs all schedules to their ends. Fails the test when they stop before that.
  void run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) prepare(rank);
    std::vector<std::size_t> order(ranks_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (bool moved = true; moved;) {
      moved = false;
      std::shuffle(order.begin(), order.end(), random_);
      for (std::size_t rank : order) {
        if (random_() % 3 != 0 && run_round(rank)) moved = true;
        if (testing::Test::HasFailure()) return;
      }
      for (std::size_t rank = 0; rank < ranks_.size() && !moved; ++rank) moved = run_round(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      ASSERT_TRUE(is_through(rank)) << "rank " << rank << " hangs";
  }

  // What the busiest rank, and all together, have done.
  double moved_bytes_max() const { return busiest(&Member::moved); }
  double reduced_bytes_max() const { return busiest(&Member::reduced); }
  double total_bytes() const {
    double sum = 0;
    for (const Member& member : members_) sum += member.moved + member.reduced;
    return sum;
  }

 private:
  using Clock = std::vector<std::uint32_t>;
  struct Dense {  // an exposed buffer
    ExposedBuffer exposed;
    TypeShape shape;
    Bytes staged;
    bool is_staged = false;
    bool offered = false;
  };
  struct Member {
    std::size_t round = 0;
    bool started = false;  // its steps are done, its awaits not
    int phase = 0;
    std::vector<Clock> signalled;  // the clock with which each phase from 1 on was signalled
    Clock clock;
    std::vector<Dense> exposed;
    double moved = 0, reduced = 0;
  };
  struct Touch {  // of one byte
    std::size_t writer = 0;
    std::uint32_t written = 0;  // the writer's time; 0: never
    Clock read;
  };

  double busiest(double Member::*what) const {
    double most = 0;
    for (const Member& member : members_) most = std::max(most, member.*what);
    return most;
  }

  TypeShape shape(const SimulatedRank& rank, ElementType type, int block) const {
    if (type == ElementType::kSendType) return rank.send_type;
    if (type == ElementType::kReceiveType) return rank.receive_type;
    if (type == ElementType::kSendTypeOfPeer) return rank.send_types[static_cast<std::size_t>(block)];
    if (type == ElementType::kReceiveTypeOfPeer) return rank.receive_types[static_cast<std::size_t>(block)];
    return {};
  }

  std::uint8_t* element(std::size_t index, const Dense& dense, Count number) {
    SimulatedRank& rank = ranks_[index];
    const Place place = dense.exposed.place;
    Bytes& buffer = place.space == Space::kSend ? rank.send : rank.receive;
    const Count base = place.space == Space::kSend ? rank.send_base : rank.receive_base;
    const Count at = base + place.offset + number * dense.shape.extent + dense.shape.true_lb;
    if (at < 0 || at + dense.shape.size > static_cast<Count>(buffer.size())) {
      ADD_FAILURE() << "rank " << index << " has an image outside its buffer";
      std::abort();
    }
    return buffer.data() + at;
  }

  void prepare(std::size_t index) {
    SimulatedRank& rank = ranks_[index];
    rank.scratch.assign(static_cast<std::size_t>(rank.schedule.scratch_bytes), 0xcd);
    for (const ExposedBuffer& exposed : rank.schedule.exposed) {
      Dense dense{.exposed = exposed, .shape = shape(rank, exposed.type, exposed.block), .staged = {}};
      dense.is_staged = !dense.shape.contiguous || exposed.use == ExposedBuffer::Use::kKept ||
                        (is_offered(exposed) && random_() % 2 == 0);
      if (dense.is_staged)
        dense.staged.assign(static_cast<std::size_t>(exposed.count * dense.shape.size), 0xcd);
      if (exposed.use == ExposedBuffer::Use::kOwn && dense.is_staged) copy(index, dense, true);
      members_[index].exposed.push_back(std::move(dense));
    }
  }

  /// Between the user's buffer and what is staged: of what is swapped, the part that others touch.
  void copy(std::size_t index, Dense& dense, bool in) {
    const bool swapped = dense.exposed.use == ExposedBuffer::Use::kSwapped;
    const Count element_bytes = dense.shape.size;
    const Count begin = swapped ? dense.exposed.part_begin : 0;
    const Count end = swapped ? begin + dense.exposed.part_bytes : dense.exposed.count * element_bytes;
    for (Count at = begin; at < end;) {
      const Count inside = at % element_bytes;
      const auto size = static_cast<std::size_t>(std::min(element_bytes - inside, end - at));
      std::uint8_t* there = element(index, dense, at / element_bytes) + inside;
      std::uint8_t* here = dense.staged.data() + at;
      at += static_cast<Count>(size);
      if (in) {
        touch(index, there, size, false);
        touch(index, here, size, true);
        std::memcpy(here, there, size);
      } else {
        touch(index, here, size, false);
        touch(index, there, size, true);
        std::memcpy(there, here, size);
      }
    }
  }

  bool is_through(std::size_t index) const {
    return members_[index].round == ranks_[index].schedule.round_ends.size();
  }

  /// Runs the next round but for its awaits, if those of the round before hold.
  bool run_round(std::size_t index) {
    Member& member = members_[index];
    const Schedule& schedule = ranks_[index].schedule;
    if (is_through(index)) return false;
    const std::size_t begin = member.round == 0 ? 0 : schedule.round_ends[member.round - 1];
    const std::size_t end = schedule.round_ends[member.round];
    if (!member.started) {
      for (std::size_t i = begin; i < end; ++i) {
        run_step(index, schedule.steps, i);
        i += schedule.steps[i].group;
      }
      member.started = true;
      return true;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const Step& step = schedule.steps[i];
      if (step.action == Step::Action::kAwait && !holds(index, step)) return false;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const Step& step = schedule.steps[i];
      if (step.action == Step::Action::kAwait) learn(index, step);
    }
    ++member.round;
    member.started = false;
    return true;
  }

  bool holds(std::size_t index, const Step& step) const {
    for (std::size_t other = 0; other < members_.size(); ++other) {
      if (other != index && (step.peer == Step::kEveryone || step.peer == static_cast<int>(other)) &&
          members_[other].phase < step.count)
        return false;
    }
    return true;
  }

  void learn(std::size_t index, const Step& step) {
    for (std::size_t other = 0; other < members_.size(); ++other) {
      if (other == index || (step.peer != Step::kEveryone && step.peer != static_cast<int>(other))) continue;
      const Clock& clock = members_[other].signalled[static_cast<std::size_t>(step.count - 1)];
      for (std::size_t i = 0; i < clock.size(); ++i)
        members_[index].clock[i] = std::max(members_[index].clock[i], clock[i]);
    }
  }

  void signal(std::size_t index, int phase) {
    Member& member = members_[index];
    ASSERT_GT(phase, member.phase) << "phases must rise";
    member.phase = phase;
    member.signalled.resize(static_cast<std::size_t>(phase), member.clock);
    ++member.clock[index];
  }

  void run_step(std::size_t index, const std::vector<Step>& steps, std::size_t at) {
    const Step& step = steps[at];
    switch (step.action) {
      case Step::Action::kOffer:
        for (Dense& dense : members_[index].exposed) {
          dense.offered = is_offered(dense.exposed);
          if (dense.offered && dense.is_staged && dense.exposed.use != ExposedBuffer::Use::kWritten)
            copy(index, dense, true);
          if (dense.exposed.use == ExposedBuffer::Use::kKept)
            members_[index].moved += static_cast<double>(dense.staged.size());
        }
        return signal(index, 1);
      case Step::Action::kSignal:
        return signal(index, static_cast<int>(step.count));
      case Step::Action::kAwait:
        return;
      case Step::Action::kMove:
      case Step::Action::kCombine: {
        const Count piece = step.group == 0 ? step.count : step.piece;
        for (Count begin = 0; begin < step.count;) {
          const Count most = std::min(piece, step.count - begin);
          const Count count = step.group == 0 ? most : 1 + static_cast<Count>(random_()) % most;
          for (std::size_t i = 0; i <= step.group; ++i) {
            ASSERT_EQ(steps[at + i].count, step.count) << "the steps of a group differ";
            run_part(index, steps[at + i], begin, count);
          }
          begin += count;
        }
        return;
      }
      case Step::Action::kAccept:
        for (Dense& dense : members_[index].exposed)
          if (dense.is_staged && (dense.exposed.use == ExposedBuffer::Use::kWritten ||
                                  dense.exposed.use == ExposedBuffer::Use::kSwapped ||
                                  dense.exposed.use == ExposedBuffer::Use::kCombined))
            copy(index, dense, false);
        return;
      default:
        FAIL() << "a step that is not for shared memory";
    }
  }

  void run_part(std::size_t index, const Step& step, Count begin, Count count) {
    const auto size = static_cast<std::size_t>(step.element_bytes);
    const auto bytes = static_cast<std::size_t>(count) * size;
    std::uint8_t* from = address(index, step.from, begin * step.element_bytes, bytes);
    std::uint8_t* to = address(index, step.to, begin * step.element_bytes, bytes);
    if (from == nullptr || to == nullptr) return;
    touch(index, from, bytes, false);
    if (step.action == Step::Action::kMove) {
      if (step.to.space != Space::kPiece) members_[index].moved += static_cast<double>(bytes);
      touch(index, to, bytes, true);
      std::memmove(to, from, bytes);
      settle(index, step.to);
      return;
    }
    if (step.to_count > 0) return sum_inputs(index, step, begin, bytes, to);
    members_[index].reduced += static_cast<double>(bytes);
    const std::uint8_t* with = address(index, step.with, begin * step.element_bytes, bytes);
    if (with == nullptr) return;
    touch(index, with, bytes, false);
    Bytes result(with, with + bytes);
    for (std::size_t i = 0; i < bytes; i += size) combine_(from + i, result.data() + i);
    touch(index, to, bytes, true);
    std::memcpy(to, result.data(), bytes);
  }

  void sum_inputs(std::size_t index, const Step& step, Count begin, std::size_t bytes, std::uint8_t* to) {
    const auto size = static_cast<std::size_t>(step.element_bytes);
    Bytes sum;
    for (int member = 0; member < step.to_count; ++member) {
      const Place place{Space::kInput, step.from.offset, member};
      const std::uint8_t* input = address(index, place, begin * step.element_bytes, bytes);
      if (input == nullptr) return;
      touch(index, input, bytes, false);
      if (member == 0) sum.assign(input, input + bytes);
      for (std::size_t i = 0; member > 0 && i < bytes; i += size) combine_(input + i, sum.data() + i);
      members_[index].reduced += static_cast<double>(bytes);
    }
    touch(index, to, bytes, true);
    std::memcpy(to, sum.data(), bytes);
  }

  /// The user's own buffer sees what is moved to an exposed buffer that is this rank's alone.
  void settle(std::size_t index, Place to) {
    if (!is_exposed(to)) return;
    Dense* dense = find(index, to);
    if (dense != nullptr && dense->exposed.use == ExposedBuffer::Use::kOwn && dense->is_staged)
      copy(index, *dense, false);
  }

  Dense* find(std::size_t index, Place place) {
    const bool own_room = place.space == Space::kBlockFrom;
    Member& member = members_[own_room ? index : static_cast<std::size_t>(place.member)];
    const std::size_t number = place.space == Space::kInput    ? 0
                               : place.space == Space::kOutput ? 1
                               : own_room ? members_.size() + static_cast<std::size_t>(place.member)
                                          : index;
    if (number >= member.exposed.size()) {
      ADD_FAILURE() << "rank " << index << " touches an image that rank " << place.member << " has not";
      return nullptr;
    }
    return &member.exposed[number];
  }

  std::uint8_t* address(std::size_t index, Place place, Count shift, std::size_t bytes) {
    SimulatedRank& rank = ranks_[index];
    if (!is_exposed(place)) {
      EXPECT_TRUE(place.space == Space::kPiece || place.space == Space::kScratch);
      const Count at = place.offset + (place.space == Space::kPiece ? 0 : shift);
      EXPECT_LE(static_cast<std::size_t>(at) + bytes, rank.scratch.size());
      return rank.scratch.data() + at;
    }
    Dense* dense = find(index, place);
    if (dense == nullptr) return nullptr;
    const std::size_t owner =
        place.space == Space::kBlockFrom ? index : static_cast<std::size_t>(place.member);
    if (owner != index) {
      EXPECT_TRUE(dense->offered) << "rank " << index << " touches what rank " << owner << " does not offer";
    }
    EXPECT_FALSE(owner != index && is_through(owner) && dense->exposed.use != ExposedBuffer::Use::kKept)
        << "rank " << owner << " has left";
    const Count at = place.offset + shift;
    EXPECT_LE(at + static_cast<Count>(bytes), dense->exposed.count * dense->shape.size)
        << "rank " << index << " goes beyond an image of rank " << place.member;
    if (testing::Test::HasFailure()) return nullptr;
    return (dense->is_staged ? dense->staged.data() : element(owner, *dense, 0)) + at;
  }

  void touch(std::size_t index, const std::uint8_t* at, std::size_t bytes, bool writes) {
    const Clock& clock = members_[index].clock;
    for (std::size_t i = 0; i < bytes; ++i) {
      Touch& byte = touched_[at + i];
      byte.read.resize(clock.size(), 0);
      ASSERT_LE(byte.written, clock[byte.writer])
          << "rank " << index << " touches what rank " << byte.writer << " may just write";
      if (!writes) {
        byte.read[index] = clock[index];
        continue;
      }
      for (std::size_t other = 0; other < clock.size(); ++other)
        ASSERT_TRUE(other == index || byte.read[other] <= clock[other])
            << "rank " << index << " writes what rank " << other << " may just read";
      byte.writer = index;
      byte.written = clock[index];
    }
  }

  std::vector<SimulatedRank>& ranks_;
  Combine combine_;
  std::mt19937 random_;
  std::vector<Member> members_;
  std::unordered_map<const std::uint8_t*, Touch> touched_;
};

}  // namespace tasuki::test
