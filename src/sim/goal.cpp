// Schedules in GOAL: see sim/goal.hpp.
#include "sim/goal.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/dependencies.hpp"

namespace tasuki::sim {
namespace {

using Action = Step::Action;

struct Operation {
  enum class Kind : std::uint8_t { kSend = 1, kReceive = 2, kCalc = 3 };  // as the binary form numbers them
  Kind kind = Kind::kCalc;
  std::uint64_t amount = 0;  // bytes, or ns of a calc
  std::uint32_t peer = 0;
  std::uint32_t waits = 0;           // how many it requires
  std::vector<std::uint32_t> after;  // those that require it
};

/// The operations of a rank, which have numbers in their order.
class Operations {
 public:
  explicit Operations(const Job& job) : job_(job) {}

  const std::vector<Operation>& of(int rank) {
    schedule_.clear();
    operations_.clear();
    job_.write(rank, schedule_);
    if (job_.way == Way::kRounds) {
      take_rounds();
    } else {
      take_by_data();
    }
    return operations_;
  }

 private:
  void take(const Step& step) {
    const Count bytes = bytes_of(step, job_.reduced_element_bytes);
    Operation& made = operations_.emplace_back();
    if (step.action == Action::kSend || step.action == Action::kReceive) {
      made.kind = step.action == Action::kSend ? Operation::Kind::kSend : Operation::Kind::kReceive;
      made.amount = static_cast<std::uint64_t>(bytes);
      made.peer = static_cast<std::uint32_t>(step.peer);
      return;
    }
    const double rate = step.action == Action::kReduce ? job_.costs.reduced_bytes_per_second
                                                       : job_.costs.copied_bytes_per_second;
    const double ns = rate > 0 ? static_cast<double>(bytes) / rate * 1e9 : 0;
    made.amount = static_cast<std::uint64_t>(std::llround(ns));
  }

  void require(std::size_t later, std::size_t earlier) {
    ++operations_[later].waits;
    operations_[earlier].after.push_back(static_cast<std::uint32_t>(later));
  }

  void take_rounds() {
    std::size_t begin = 0;
    for (const std::uint32_t end : schedule_.round_ends) {
      const std::size_t first = operations_.size();
      for (std::size_t index = begin; index < end; ++index) {
        take(schedule_.steps[index]);
        if (first > 0) require(operations_.size() - 1, first - 1);
      }
      operations_.emplace_back();  // the round's end
      for (std::size_t one = first; one + 1 < operations_.size(); ++one) require(operations_.size() - 1, one);
      begin = end;
    }
  }

  void take_by_data() {
    for (const Step& step : schedule_.steps) take(step);
    find_dependencies(schedule_, job_.reduced_element_bytes, &dependencies_);
    for (std::size_t index = 0; index < operations_.size(); ++index) {
      for (const std::uint32_t later : dependencies_.after(index)) require(later, index);
    }
  }

  const Job& job_;
  Schedule schedule_;
  Dependencies dependencies_;
  std::vector<Operation> operations_;
};

class Text {
 public:
  Text(std::FILE* out, std::size_t ranks) : out_(out) { std::fprintf(out, "num_ranks %zu\n", ranks); }

  void add(std::size_t rank, const std::vector<Operation>& operations) {
    std::fprintf(out_, "rank %zu {\n", rank);
    for (std::size_t number = 0; number < operations.size(); ++number) {
      const Operation& one = operations[number];
      const auto amount = static_cast<unsigned long long>(one.amount);
      if (one.kind == Operation::Kind::kCalc) {
        std::fprintf(out_, "l%zu: calc %llu cpu 0\n", number, amount);
      } else {
        const bool is_send = one.kind == Operation::Kind::kSend;
        std::fprintf(out_, "l%zu: %s %llub %s %u tag 0 cpu 0 nic 0\n", number, is_send ? "send" : "recv",
                     amount, is_send ? "to" : "from", one.peer);
      }
    }
    for (std::size_t number = 0; number < operations.size(); ++number) {
      for (const std::uint32_t later : operations[number].after)
        std::fprintf(out_, "l%u requires l%zu\n", later, number);
    }
    std::fprintf(out_, "}\n");
  }
  void end() {}

 private:
  std::FILE* out_;
};

/// Numbers of fixed sizes, the lowest byte first, one behind the other.
class Bytes {
 public:
  template <class Number>
  Bytes& add(Number number) {
    for (std::size_t byte = 0; byte < sizeof number; ++byte)
      text_.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * byte) & 0xff));
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Binary {
 public:
  Binary(std::FILE* out, std::size_t ranks) : out_(out) {
    place_ = kHeadBytes + 2 * sizeof(std::uint64_t) * ranks;
    ranks_ = ranks;
    put(head());
    put(Bytes(), 2 * sizeof(std::uint64_t) * ranks);  // the table's room
  }

  void add(std::size_t, const std::vector<Operation>& operations) {
    Bytes bytes;
    std::vector<std::uint32_t> roots;
    std::uint64_t edges = 0;
    for (std::uint32_t number = 0; number < operations.size(); ++number) {
      if (operations[number].waits == 0) roots.push_back(number);
      edges += operations[number].after.size();
    }
    if (edges > std::numeric_limits<std::uint32_t>::max())
      throw std::invalid_argument("a rank has " + std::to_string(edges) +
                                  " dependencies, more than the binary form of GOAL can number");
    bytes.add(static_cast<std::uint32_t>(operations.size())).add(static_cast<std::uint32_t>(roots.size()));
    for (const std::uint32_t root : roots) bytes.add(root);
    std::uint32_t listed = 0;
    for (const Operation& one : operations) {
      const auto after = static_cast<std::uint32_t>(one.after.size());
      bytes.add(one.waits).add(static_cast<std::uint8_t>(one.kind)).add(one.peer).add(one.amount);
      bytes.add(kTag).add(kCpu).add(kNic);
      bytes.add(after).add(listed);
      listed += after;
      bytes.add(std::uint32_t{0}).add(listed);  // none waits for its start
    }
    for (const Operation& one : operations) {
      for (const std::uint32_t later : one.after) bytes.add(later);
    }
    put(bytes);
    table_.add(place_ - kBase);
    place_ += bytes.text().size();
    table_.add(place_ - kBase);
  }

  void end() {
    std::fseek(out_, static_cast<long>(kHeadBytes), SEEK_SET);
    put(table_);
  }

 private:
  static constexpr std::uint64_t kMagic = 4223, kBase = sizeof kMagic;  // places count from behind it
  static constexpr std::uint8_t kCpu = 0, kNic = 0;                     // also the highest that is used
  static constexpr std::uint32_t kTag = 0;
  static constexpr std::uint64_t kHeadBytes = kBase + sizeof(std::uint32_t) + sizeof kCpu + sizeof kNic;

  Bytes head() const {
    Bytes bytes;
    bytes.add(kMagic).add(static_cast<std::uint32_t>(ranks_)).add(kCpu).add(kNic);
    return bytes;
  }
  void put(const Bytes& bytes, std::size_t zeros = 0) {
    std::fwrite(bytes.text().data(), 1, bytes.text().size(), out_);
    for (; zeros > 0; --zeros) std::fputc(0, out_);
  }

  std::FILE* out_;
  std::size_t ranks_ = 0;
  std::uint64_t place_ = 0;
  Bytes table_;  // begin and end of each rank's part
};

template <class Form>
double write(const Job& job, std::FILE* out) {
  Form form(out, job.hosts.size());
  Operations operations(job);
  double messages = 0;
  for (std::size_t rank = 0; rank < job.hosts.size(); ++rank) {
    const std::vector<Operation>& found = operations.of(static_cast<int>(rank));
    for (const Operation& one : found) messages += one.kind == Operation::Kind::kSend ? 1 : 0;
    form.add(rank, found);
  }
  form.end();
  return std::ferror(out) != 0 ? -1 : messages;
}

}  // namespace

double write_goal(const Job& job, GoalForm form, std::FILE* out) {
  return form == GoalForm::kText ? write<Text>(job, out) : write<Binary>(job, out);
}

}  // namespace tasuki::sim
