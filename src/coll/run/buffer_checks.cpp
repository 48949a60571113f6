// The memory of the user's that a collective uses while it runs (TASUKI_CHECK=3), as its schedule says:
// see check/checks.hpp. So what an algorithm does not touch, like the gaps between the blocks of
// MPI_Igatherv, is the program's all the time.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "coll/run/execution.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kAreasWithGapsMax = 1024;  // a schedule that names more of them is not looked at

/// What a schedule touches in one of the call's two buffers.
class Touched {
 public:
  void add(const Area& area, bool writes) {
    is_written_ = is_written_ || writes;
    if (area.empty()) return;
    if (area.is_dense()) {
      dense_.push_back(area.hull());
    } else {
      const auto same = [&](const Area& one) {
        return one.address == area.address && one.count == area.count && one.type.get() == area.type.get();
      };
      if (std::none_of(with_gaps_.begin(), with_gaps_.end(), same)) with_gaps_.push_back(area);
    }
  }

  /// A buffer of which some is written is taken for one that is written: what is read of it was written.
  void give(std::vector<BufferUse>* uses) {
    std::sort(dense_.begin(), dense_.end(),
              [](const ByteSpan& a, const ByteSpan& b) { return a.begin < b.begin; });
    ByteSpan run;
    const auto put = [&] {
      if (!run.empty()) uses->push_back({{run.begin, static_cast<Count>(run.bytes())}, is_written_});
    };
    for (const ByteSpan& one : dense_) {
      if (one.begin > run.end) {
        put();
        run = one;
      }
      run.end = std::max(run.end, one.end);
    }
    put();
    if (with_gaps_.size() > kAreasWithGapsMax) return;
    for (Area& area : with_gaps_) uses->push_back({std::move(area), is_written_});
  }

 private:
  bool is_written_ = false;
  std::vector<ByteSpan> dense_;
  std::vector<Area> with_gaps_;
};

}  // namespace

std::vector<BufferUse> Execution::buffer_uses() const {
  Touched send, receive;
  const auto add = [&](const Place& place, Count count, ElementType type, int block, bool writes) {
    if (place.space != Space::kSend && place.space != Space::kReceive) return;
    Touched& buffer = place.space == Space::kSend ? send : receive;
    buffer.add({address(place), count, &datatype(type, block)}, writes);
  };
  for (const Step& step : schedule.steps) {
    switch (step.action) {
      case Step::Action::kSend:
        add(step.from, step.count, step.type, step.block, false);
        break;
      case Step::Action::kReceive:
        add(step.to, step.count, step.type, step.block, true);
        break;
      case Step::Action::kReduce:
        add(step.from, step.count, step.type, step.block, false);
        add(step.to, step.count, step.type, step.block, true);
        break;
      case Step::Action::kCopy:
        add(step.from, step.count, step.type, step.block, false);
        add(step.to, step.to_count, step.to_type, step.to_block, true);
        break;
      case Step::Action::kSum:
        add(step.to, step.count, step.type, step.block, true);
        break;
      default:  // comparisons; with TASUKI_CHECK=2 there are no single-copy schedules
        break;
    }
  }
  std::vector<BufferUse> uses;
  send.give(&uses);
  receive.give(&uses);
  return uses;
}

Code Execution::check_buffers() const {
  if (name_.empty()) return 0;
  for (const BufferUse& use : buffer_uses()) {
    const Code code = use.writes ? process_.checks->check_receive_buffer(use.area, "a buffer")
                                 : process_.checks->check_send_buffer(use.area, "a buffer");
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace tasuki
