// How calls are compared while they run (TASUKI_CHECK=2): see coll/check/call_comparison.hpp.
//
// Scratch memory of the prefix holds, for records and for verdicts, those of this group's ranks from this one
// on, so that each round sends from the front on, and behind them those of the other group in the order of
// its ranks.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/calls/call_board.hpp"
#include "base/calls/function.hpp"
#include "coll/algorithm/algorithms.hpp"
#include "coll/check/call_comparison.hpp"
#include "coll/run/execution.hpp"
#include "coll/schedule/schedule.hpp"

namespace tasuki {
namespace {

constexpr Count kAmountBytes = sizeof(Amount);

/// The `bytes` of every rank, this one's being at the front of `all`, reach all ranks. Steps: ceil(log2 P),
/// and on an intercommunicator 1 + ceil(log2 P) more.
void spread(Schedule& schedule, Member self, int remote_size, Place all, Count bytes) {
  const std::size_t first = schedule.steps.size();
  for (int known = 1; known < self.size; known *= 2) {
    const Count part = std::min(known, self.size - known) * bytes;
    schedule.receive(all + known * bytes, part, ElementType::kBytes, (self.rank + known) % self.size);
    schedule.send(all, part, ElementType::kBytes, (self.rank - known + self.size) % self.size);
    schedule.end_round();
  }
  if (remote_size == 0) return;
  schedule.make_local(first);
  const Place remote = all + self.size * bytes;
  if (self.rank == 0) {  // whose own one is the first in any case
    schedule.receive(remote, remote_size * bytes, ElementType::kBytes, 0);
    schedule.send(all, self.size * bytes, ElementType::kBytes, 0);
    schedule.end_round();
  }
  const std::size_t down = schedule.steps.size();
  bcast_binomial(schedule, self, 0, {.element = ElementType::kBytes, .count = remote_size * bytes});
  schedule.end_round();
  schedule.map_buffers(down, {}, remote);
  schedule.make_local(down);
}

/// What spread() has gathered at `all`, in the order of ranks; the local group's first.
template <class Item>
std::vector<Item> gathered(const std::byte* all, Member self, int remote_size) {
  const auto size = static_cast<std::size_t>(self.size), first = static_cast<std::size_t>(self.rank);
  std::vector<Item> items(size + static_cast<std::size_t>(remote_size));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t to = i < size ? (first + i) % size : i;
    std::memcpy(&items[to], all + i * sizeof(Item), sizeof(Item));
  }
  return items;
}

/// Each sender announces what it will send, each receiver compares; the verdicts go to all.
void compare_amounts(Schedule& prefix, Member self, int remote_size, const CallEvidence& evidence) {
  const Place out = prefix.scratch(static_cast<Count>(evidence.sent.size()) * kAmountBytes);
  const Place in = prefix.scratch(static_cast<Count>(evidence.expected.size()) * kAmountBytes);
  const Place verdicts = prefix.scratch((self.size + remote_size) * static_cast<Count>(sizeof(Verdict)));
  prefix.sign(out, Evidence::kAmounts);
  Place at = in;
  for (const End& end : evidence.expected) {
    prefix.receive(at, kAmountBytes, ElementType::kBytes, end.peer);
    at = at + kAmountBytes;
  }
  at = out;
  for (const End& end : evidence.sent) {
    prefix.send(at, kAmountBytes, ElementType::kBytes, end.peer);
    at = at + kAmountBytes;
  }
  prefix.end_round();
  prefix.compare(in, verdicts, Evidence::kAmounts);
  spread(prefix, self, remote_size, verdicts, sizeof(Verdict));
  prefix.compare(verdicts, {}, Evidence::kVerdicts);
  prefix.end_round();
}

}  // namespace

void prepend_comparison(Schedule& schedule, Member self, int remote_size, const CallEvidence& evidence) {
  Schedule prefix;
  prefix.scratch_bytes = schedule.scratch_bytes;
  const Place records = prefix.scratch((self.size + remote_size) * static_cast<Count>(sizeof(CallRecord)));
  prefix.sign(records, Evidence::kRecords);
  spread(prefix, self, remote_size, records, sizeof(CallRecord));
  prefix.compare(records, {}, Evidence::kRecords);
  prefix.end_round();
  if (evidence.has_ends) compare_amounts(prefix, self, remote_size, evidence);

  const auto steps = static_cast<std::uint32_t>(prefix.steps.size());
  for (std::uint32_t& end : schedule.round_ends) end += steps;
  schedule.steps.insert(schedule.steps.begin(), prefix.steps.begin(), prefix.steps.end());
  schedule.round_ends.insert(schedule.round_ends.begin(), prefix.round_ends.begin(), prefix.round_ends.end());
  schedule.scratch_bytes = prefix.scratch_bytes;
  schedule.follows_data = false;  // nothing starts before the calls are compared
}

void CallEvidence::clear() {
  record = {};
  has_ends = false;
  for (std::vector<End>* ends : {&sent, &expected, &own_sent, &own_expected}) ends->clear();
}

void Execution::describe_for_check(CollectiveCall call, const CallFacts& facts) {
  if (call != CollectiveCall::kInternal && process_.checks != nullptr) name_ = process_.checks->call();
  evidence_.clear();
  evidence_.record =
      record_call(call, static_cast<std::uint8_t>(form_), facts, function_name(present_call(process_.line)));
}

void Execution::describe_ends_for_check(const Schedule& ends) {
  const auto end_of = [&](const Step& step, ElementType type, int block, Count count) {
    return End{step.peer, amount_of(datatype(type, block), count)};
  };
  evidence_.has_ends = true;
  for (const Step& step : ends.steps) {
    if (step.action == Step::Action::kSend) {
      evidence_.sent.push_back(end_of(step, step.type, step.block, step.count));
    } else if (step.action == Step::Action::kReceive) {
      evidence_.expected.push_back(end_of(step, step.type, step.block, step.count));
    } else if (step.action == Step::Action::kCopy) {
      evidence_.own_sent.push_back(end_of(step, step.type, step.block, step.count));
      evidence_.own_expected.push_back(end_of(step, step.to_type, step.to_block, step.to_count));
    }
  }
}

void Execution::prepend_comparison_of_calls() {
  const int remote_size = comm_->is_inter() ? comm_->peers().size() : 0;
  if (comm_->size() > 1 || remote_size > 0) prepend_comparison(schedule, self(), remote_size, evidence_);
}

void Execution::compare_calls_of(Execution& other) {
  evidence_ = std::move(other.evidence_);
  prepend_comparison_of_calls();
}

void Execution::sign_step(const Step& step) {
  if (static_cast<Evidence>(step.count) == Evidence::kRecords) {
    std::memcpy(address(step.to), &evidence_.record, sizeof evidence_.record);
    return;
  }
  std::byte* to = address(step.to);
  for (const End& end : evidence_.sent) {
    std::memcpy(to, &end.amount, sizeof end.amount);
    to += sizeof end.amount;
  }
}

void Execution::compare_step(const Step& step) {
  const std::byte* const from = address(step.from);
  const auto size = static_cast<std::size_t>(comm_->size());
  const int remote_size = comm_->is_inter() ? comm_->peers().size() : 0;
  int error_class = kErrOther;
  std::string mismatch;
  switch (static_cast<Evidence>(step.count)) {
    case Evidence::kRecords: {
      const auto records = gathered<CallRecord>(from, self(), remote_size);
      const std::span<const CallRecord> all = records;
      mismatch = compare_records(all.first(size), all.subspan(size), &error_class);
      break;
    }
    case Evidence::kAmounts: {
      std::vector<Amount> sent(evidence_.expected.size());
      if (!sent.empty()) std::memcpy(sent.data(), from, sent.size() * sizeof(Amount));
      const Verdict verdict = judge(evidence_, sent, comm_->rank);
      std::memcpy(address(step.to), &verdict, sizeof verdict);
      return;
    }
    case Evidence::kVerdicts: {
      const auto verdicts = gathered<Verdict>(from, self(), remote_size);
      const std::span<const Verdict> all = verdicts;
      mismatch = compare_verdicts(evidence_.record, all.first(size), all.subspan(size), &error_class);
      break;
    }
  }
  if (mismatch.empty()) return;
  note(process_.fail(error_class, "%s", mismatch.c_str()));
  round_ = schedule.round_ends.size();
}

}  // namespace tasuki
