// Schedules in GOAL: see sim/goal.hpp.
#include "sim/goal.hpp"

#include <cmath>

#include "sim/dependencies.hpp"

namespace tasuki::sim {
namespace {

using Action = Step::Action;

class Writer {
 public:
  Writer(const Job& job, std::FILE* out) : job_(job), out_(out) {}

  double write() {
    const auto ranks = static_cast<int>(job_.hosts.size());
    std::fprintf(out_, "num_ranks %d\n", ranks);
    Schedule schedule;
    for (int rank = 0; rank < ranks; ++rank) {
      schedule.clear();
      job_.write(rank, schedule);
      std::fprintf(out_, "rank %d {\n", rank);
      if (job_.way == Way::kRounds) {
        write_rounds(schedule);
      } else {
        write_by_data(schedule);
      }
      std::fprintf(out_, "}\n");
    }
    return std::ferror(out_) != 0 ? -1 : messages_;
  }

 private:
  void write_step(std::size_t label, const Step& step) {
    const Count bytes = bytes_of(step, job_.reduced_element_bytes);
    std::fprintf(out_, "l%zu: ", label);
    if (step.action == Action::kSend) {
      std::fprintf(out_, "send %lldb to %d tag 0 cpu 0 nic 0\n", static_cast<long long>(bytes), step.peer);
      messages_ += 1;
    } else if (step.action == Action::kReceive) {
      std::fprintf(out_, "recv %lldb from %d tag 0 cpu 0 nic 0\n", static_cast<long long>(bytes), step.peer);
    } else {
      const double rate = step.action == Action::kReduce ? job_.costs.reduced_bytes_per_second
                                                         : job_.costs.copied_bytes_per_second;
      const double ns = rate > 0 ? static_cast<double>(bytes) / rate * 1e9 : 0;
      std::fprintf(out_, "calc %lld cpu 0\n", std::llround(ns));
    }
  }

  void require(std::size_t label, std::size_t other) {
    std::fprintf(out_, "l%zu requires l%zu\n", label, other);
  }

  void write_rounds(const Schedule& schedule) {
    std::size_t label = 0, begin = 0;
    bool is_first = true;
    for (const std::uint32_t end : schedule.round_ends) {
      const std::size_t first = label;
      for (std::size_t index = begin; index < end; ++index) {
        write_step(label, schedule.steps[index]);
        if (!is_first) require(label, first - 1);
        ++label;
      }
      std::fprintf(out_, "l%zu: calc 0 cpu 0\n", label);
      for (std::size_t one = first; one < label; ++one) require(label, one);
      ++label;
      begin = end;
      is_first = false;
    }
  }

  void write_by_data(const Schedule& schedule) {
    for (std::size_t index = 0; index < schedule.steps.size(); ++index)
      write_step(index, schedule.steps[index]);
    find_dependencies(schedule, job_.reduced_element_bytes, &dependencies_);
    for (std::size_t index = 0; index < schedule.steps.size(); ++index) {
      for (const std::uint32_t later : dependencies_.after(index)) require(later, index);
    }
  }

  const Job& job_;
  std::FILE* out_;
  Dependencies dependencies_;  // of the schedule that is written
  double messages_ = 0;
};

}  // namespace

double write_goal(const Job& job, std::FILE* out) {
  return Writer(job, out).write();
}

}  // namespace tasuki::sim
