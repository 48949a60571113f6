// ScriptedRanks: stacks that are switched between.
#include "support/scripted_ranks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tasuki::test {
namespace {

constexpr std::int64_t kOfferNanoseconds = 50'000;  // a few offers, and a rank sleeps
constexpr std::int64_t kSleepNanoseconds = 50'000'000;
constexpr int kTimeoutsMax = 100;
constexpr std::size_t kStackBytes = std::size_t{1} << 20;  // of address space

}  // namespace

class ScriptedWaiter final : public Waiter {
 public:
  ScriptedWaiter(ScriptedRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
  void offer_processor() override {
    ranks_.pass_time(kOfferNanoseconds);
    ranks_.pass(rank_);
  }
  std::uint32_t arm() override { return ranks_.ranks_[static_cast<std::size_t>(rank_)].rings; }
  bool sleep(std::uint32_t ticket, std::int64_t) override { return ranks_.sleep(rank_, ticket); }
  void disarm() override {}
  void ring() override { ranks_.rung(rank_); }

 private:
  ScriptedRanks& ranks_;
  int rank_;
};

ScriptedRanks::ScriptedRanks(int ranks, std::uint64_t seed)
    : seed_(seed), state_(seed), ranks_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) there_.push_back(rank);
  awake_ = there_;
}

/// makecontext() passes on numbers of int's size.
void ScriptedRanks::begin_rank(int number, std::uint32_t high, std::uint32_t low) {
  auto& ranks = *reinterpret_cast<ScriptedRanks*>(std::uintptr_t{high} << 32 | low);
  (*ranks.body_)(number);
  std::erase(ranks.there_, number);
  std::erase(ranks.awake_, number);
  setcontext(&ranks.choose_next());
}

void ScriptedRanks::run(const std::function<void(int rank)>& body) {
  body_ = &body;
  const std::size_t bytes = kStackBytes * ranks_.size();
  void* stacks =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) std::abort();
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  for (const int number : there_) {
    ucontext_t& context = ranks_[static_cast<std::size_t>(number)].context;
    getcontext(&context);
    context.uc_stack.ss_sp = static_cast<std::byte*>(stacks) + kStackBytes * static_cast<std::size_t>(number);
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, reinterpret_cast<void (*)()>(begin_rank), 3, number,
                static_cast<std::uint32_t>(self >> 32), static_cast<std::uint32_t>(self));
  }
  swapcontext(&caller_, &choose_next());
  munmap(stacks, bytes);
}

std::unique_ptr<Waiter> ScriptedRanks::make_waiter(int rank) {
  return std::make_unique<ScriptedWaiter>(*this, rank);
}

/// splitmix64.
std::uint64_t ScriptedRanks::random() {
  std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

std::size_t ScriptedRanks::choose(std::size_t choices) {
  const std::size_t chosen = choices == 1 ? 0 : random() % choices;
  trace_ = (trace_ ^ (chosen + choices * 0x100000001b3U)) * 0x100000001b3U;
  return chosen;
}

void ScriptedRanks::rung(int endpoint) {
  Rank& rank = ranks_[static_cast<std::size_t>(endpoint)];
  ++rank.rings;
  timeouts_in_a_row_ = 0;
  if (!rank.asleep) return;
  rank.asleep = false;
  awake_.push_back(endpoint);
}

void ScriptedRanks::pass(int rank) {
  ucontext_t& mine = ranks_[static_cast<std::size_t>(rank)].context;
  ucontext_t& next = choose_next();
  if (&next != &mine) swapcontext(&mine, &next);
}

ucontext_t& ScriptedRanks::choose_next() {
  if (there_.empty()) return caller_;
  if (awake_.empty()) wake_all();
  ++turns_;
  return ranks_[static_cast<std::size_t>(awake_[choose(awake_.size())])].context;
}

void ScriptedRanks::wake_all() {
  ++timeouts_;
  if (++timeouts_in_a_row_ > kTimeoutsMax) {
    std::fprintf(stderr, "in the order of seed %llu no rank goes on; there are still:",
                 static_cast<unsigned long long>(seed_));
    for (const int rank : there_) std::fprintf(stderr, " %d", rank);
    std::fprintf(stderr, "\n");
    std::abort();
  }
  pass_time(kSleepNanoseconds);
  awake_ = there_;
}

bool ScriptedRanks::sleep(int number, std::uint32_t ticket) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  if (rank.rings == ticket) {
    rank.asleep = true;
    std::erase(awake_, number);
  }
  pass(number);
  rank.asleep = false;
  return rank.rings != ticket;
}

}  // namespace tasuki::test
