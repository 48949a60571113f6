// Matching gives what the rules of MPI 3.5 give, written down in the plainest way: two lists per context,
// searched from the front.
//
// Messages among processes (tests/property/messages.py) check the same rules. This oracle is kept because it
// sees each step of the lists, in orders of arrival that no link brings about at will.
#include "p2p/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <vector>

namespace tasuki {
namespace {

struct Posted : PostedReceive {
  Context context = 0;
};
struct Arrived : ArrivedMessage {
  Context context = 0;
};

bool matches(const Posted& receive, Context context, int source, int tag) {
  return receive.context == context && (receive.source == kAnySource || receive.source == source) &&
         (receive.tag == kAnyTag || receive.tag == tag);
}

/// The oracle, and the real thing beside it.
class Both {
 public:
  ~Both() {
    for (Posted* one : posted_) matching_.remove(one);
    for (Arrived* one : arrived_) matching_.remove(one);
  }

  void arrive(Context context, int source, int tag) {
    const auto expected = std::find_if(posted_.begin(), posted_.end(), [&](const Posted* receive) {
      return matches(*receive, context, source, tag);
    });
    PostedReceive* found = matching_.match_arrival(context, source, tag);
    if (expected != posted_.end()) {
      ASSERT_EQ(found, *expected);
      EXPECT_EQ(found->queue, nullptr);
      posted_.erase(expected);
      ++matches_;
      return;
    }
    ASSERT_EQ(found, nullptr);
    auto* message = keep(messages_);
    message->context = context;
    message->source = source;
    message->tag = tag;
    matching_.add(context, message);
    arrived_.push_back(message);
  }

  void post(Context context, int source, int tag) {
    Posted receive;
    receive.context = context;
    receive.source = source;
    receive.tag = tag;
    const auto expected = std::find_if(arrived_.begin(), arrived_.end(), [&](const Arrived* message) {
      return matches(receive, message->context, message->source, message->tag);
    });
    auto* kept = keep(receives_);
    *kept = receive;
    ASSERT_EQ(matching_.find_arrived(context, source, tag), expected != arrived_.end() ? *expected : nullptr);
    ArrivedMessage* found = matching_.post(context, kept);
    if (expected != arrived_.end()) {
      ASSERT_EQ(found, *expected);
      matching_.remove(found);
      arrived_.erase(expected);
      ++matches_;
      return;
    }
    ASSERT_EQ(found, nullptr);
    posted_.push_back(kept);
  }

  template <class Random>
  void cancel(Random& random) {
    if (posted_.empty()) return;
    const auto one = posted_.begin() + static_cast<std::ptrdiff_t>(random() % posted_.size());
    matching_.remove(*one);
    EXPECT_EQ((*one)->queue, nullptr);
    posted_.erase(one);
  }

  template <class Random>
  void take_message(Random& random) {
    if (arrived_.empty()) return;
    const auto one = arrived_.begin() + static_cast<std::ptrdiff_t>(random() % arrived_.size());
    matching_.remove(*one);
    arrived_.erase(one);
  }

  void forget(Context context) {
    matching_.forget(context);
    EXPECT_EQ(matching_.find(context), nullptr);
    std::erase_if(posted_, [&](const Posted* one) { return one->context == context; });
    std::erase_if(arrived_, [&](const Arrived* one) { return one->context == context; });
  }

  int match_count() const { return matches_; }

 private:
  template <class Entry>
  static Entry* keep(std::deque<Entry>& all) {
    return &all.emplace_back();
  }

  QueueLevels levels_;
  Matching matching_{levels_};
  std::deque<Posted> receives_;
  std::deque<Arrived> messages_;
  std::vector<Posted*> posted_;
  std::vector<Arrived*> arrived_;
  int matches_ = 0;
};

TEST(Matching, AgreesWithTheOracleOnRandomSequences) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Both both;
    const auto contexts = 1 + random() % 40;
    const auto sources = 1 + random() % 6;
    const auto tags = seed % 2 == 0 ? 1 + random() % 4 : 20 + random() % 100;  // many: rows get an index
    const auto wildcards = random() % 4;                                       // how often
    for (int step = 0; step < 4000; ++step) {
      const Context context = (random() % contexts) << 2 | random() % 2;
      int source = static_cast<int>(random() % sources);
      int tag = static_cast<int>(random() % tags);
      const auto action = random() % 100;
      if (action < 45) {
        both.arrive(context, source, tag);
      } else if (action < 90) {
        if (random() % 8 < wildcards) source = kAnySource;
        if (random() % 8 < wildcards) tag = kAnyTag;
        both.post(context, source, tag);
      } else if (action < 94) {
        both.cancel(random);
      } else if (action < 99) {
        both.take_message(random);
      } else {
        both.forget(context);
      }
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", step " << step;
    }
    EXPECT_GT(both.match_count(), seed % 2 == 0 ? 100 : 20) << "seed " << seed;
  }
}

TEST(Matching, AReceivePostedFirstWinsWhetherOrNotItIsFromAnySource) {
  QueueLevels levels;
  Matching matching(levels);
  PostedReceive specific, any;
  specific.source = 3;
  specific.tag = 7;
  any.source = kAnySource;
  any.tag = 7;
  EXPECT_EQ(matching.post(4, &any), nullptr);
  EXPECT_EQ(matching.post(4, &specific), nullptr);
  EXPECT_EQ(matching.match_arrival(4, 3, 7), &any);
  EXPECT_EQ(matching.match_arrival(4, 3, 7), &specific);
  EXPECT_EQ(matching.post(4, &specific), nullptr);
  EXPECT_EQ(matching.post(4, &any), nullptr);
  EXPECT_EQ(matching.match_arrival(4, 3, 7), &specific);
  EXPECT_EQ(matching.match_arrival(4, 3, 7), &any);
}

TEST(Matching, PlanesAndCommunicatorsDoNotMix) {
  QueueLevels levels;
  Matching matching(levels);
  PostedReceive receive;
  receive.source = kAnySource;
  receive.tag = kAnyTag;
  EXPECT_EQ(matching.post(8, &receive), nullptr);
  EXPECT_EQ(matching.match_arrival(9, 0, 0), nullptr);
  EXPECT_EQ(matching.match_arrival(12, 0, 0), nullptr);
  EXPECT_EQ(matching.match_arrival(8, 0, 0), &receive);
}

TEST(Matching, ASearchThatPassesManyOtherTagsIsTheLastThatDoes) {
  constexpr int kEach = 40;
  QueueLevels levels;
  Matching matching(levels);
  std::deque<PostedReceive> receives;
  for (int tag = 0; tag < 3; ++tag) {
    for (int number = 0; number < kEach; ++number) {
      PostedReceive& one = receives.emplace_back();
      one.tag = tag;
      EXPECT_EQ(matching.post(4, &one), nullptr);
    }
  }
  const Row<PostedReceive>& row = matching.find(4)->lanes[0].posted;
  EXPECT_EQ(matching.match_arrival(4, 0, 0), &receives[0]);
  EXPECT_EQ(row.index, nullptr);
  EXPECT_EQ(matching.match_arrival(4, 0, 2), &receives[2 * kEach]);
  ASSERT_NE(row.index, nullptr);
  EXPECT_EQ(row.index->of(2).first, &receives[2 * kEach + 1]);
  EXPECT_EQ(matching.match_arrival(4, 0, 2), &receives[2 * kEach + 1]);

  std::deque<ArrivedMessage> messages;
  for (int tag = 10; tag < 13; ++tag) {
    for (int number = 0; number < kEach; ++number) {
      messages.emplace_back().tag = tag;
      matching.add(4, &messages.back());
    }
  }
  EXPECT_EQ(matching.find_arrived(4, 0, 12), &messages[2 * kEach]);
  const Row<ArrivedMessage>& arrived = matching.find(4)->lanes[0].arrived;
  ASSERT_NE(arrived.index, nullptr);
  matching.remove(&messages[2 * kEach]);
  EXPECT_EQ(arrived.index->of(12).first, &messages[2 * kEach + 1]);
  EXPECT_EQ(matching.find_arrived(4, 0, kAnyTag), &messages[0]);
}

TEST(Matching, ManyContextsComeAndGo) {
  QueueLevels levels;
  Matching matching(levels);
  std::deque<ArrivedMessage> messages;
  for (Context context = 0; context < 4000; ++context) {
    messages.emplace_back().source = static_cast<int>(context % 5);
    matching.add(context << 2, &messages.back());
    if (context >= 100) matching.forget((context - 100) << 2);
  }
  for (Context context = 0; context < 4000; ++context) {
    const bool there = context >= 3900;
    EXPECT_EQ(matching.find_arrived(context << 2, kAnySource, 0) != nullptr, there) << context;
  }
}

}  // namespace
}  // namespace tasuki
