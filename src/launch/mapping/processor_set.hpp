// A cpu_set_t as large as it must be.
#pragma once

#include <sched.h>

#include <vector>

namespace tasuki::launch {

class ProcessorSet {
 public:
  ProcessorSet() = default;
  explicit ProcessorSet(const std::vector<int>& processors) {
    int last = 0;
    for (const int processor : processors) last = processor > last ? processor : last;
    const std::size_t per_word = 8 * sizeof(cpu_set_t);
    words_.resize(static_cast<std::size_t>(last) / per_word + 1);
    for (cpu_set_t& word : words_) CPU_ZERO(&word);
    for (const int processor : processors)
      CPU_SET_S(static_cast<std::size_t>(processor), bytes(), words_.data());
  }

  const cpu_set_t* set() const { return words_.data(); }
  std::size_t bytes() const { return words_.size() * sizeof(cpu_set_t); }

 private:
  std::vector<cpu_set_t> words_;
};

}  // namespace tasuki::launch
