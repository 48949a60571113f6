// Which steps of a rank's schedule have to be over before another one may start, by the data they touch: a
// step waits for those that wrote what it reads, and for those that read or wrote what it writes.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tasuki::sim {

/// `reduced_element_bytes`: of elements that are not raw bytes.
inline Count bytes_of(const Step& step, Count reduced_element_bytes) {
  return step.count * (step.type == ElementType::kBytes ? 1 : reduced_element_bytes);
}

class Dependencies {
 public:
  explicit Dependencies(Count reduced_element_bytes) : element_bytes_(reduced_element_bytes) {}

  /// The next step of the schedule: the numbers of those that it waits for, each once.
  const std::vector<int>& add(const Step& step);

 private:
  struct Part {
    Count end = 0;
    int writer = -1;
    std::vector<int> readers;  // since then
  };
  using Memory = std::map<Count, Part>;  // of a space, by where the parts begin

  void wait_for(int step);
  void read(Memory& memory, Count begin, Count end);
  void write(Memory& memory, Count begin, Count end);

  Count element_bytes_;
  std::array<Memory, 4> spaces_;
  int number_ = -1;  // of the last step
  std::vector<int> found_;
};

}  // namespace tasuki::sim
