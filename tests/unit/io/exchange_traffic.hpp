// What an order of exchange does to the links of nodes, in a model: how many messages hit one node at the
// same step, and when the last one is there. No link and no clock, so it runs for 64 nodes of 12 ranks
// at once.
//
// Steps are of ranks: each issues its messages in its order, the first at step 0. Links are of nodes: each
// has one out and one in, of one byte a nanosecond. A rank has one message on its way at a time. What stays
// on a node needs no link and no time. `Links` says what a message does when a link is busy: kShared: it goes
// at once, and a link divides itself equally among the messages that are on it, so that a busy link in slows
// its senders down (a network with little room in it); kBuffered: messages leave one after the other, and
// wait at the other node for its link in, so that senders go on (a network with much room). Real ones lie
// between.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "io/plan/exchange_order.hpp"

namespace tasuki::test {

enum class Links { kShared, kBuffered };

struct Message {
  int from;  // ranks
  int to;
  Count bytes;
};

class ExchangeTraffic {
 public:
  ExchangeTraffic(ExchangeOrder order, const NodeMap& map, const CycleAmounts& amounts)
      : map_(map), messages_(static_cast<std::size_t>(map.size())) {
    std::vector<std::size_t> number(messages_.size(), amounts.aggregators.size());  // of each aggregator
    for (std::size_t i = 0; i < amounts.aggregators.size(); ++i)
      number[static_cast<std::size_t>(amounts.aggregators[i])] = i;
    for (int rank = 0; rank < map.size(); ++rank) {
      for (const int to : exchange_order(order, map, rank, amounts)) {
        const int aggregator = amounts.to_ranks ? rank : to;
        const std::size_t i = number[static_cast<std::size_t>(aggregator)];
        if (i == amounts.aggregators.size()) continue;
        const Count bytes = amounts.of(amounts.to_ranks ? to : rank, i);
        if (bytes > 0) messages_[static_cast<std::size_t>(rank)].push_back({rank, to, bytes});
      }
    }
  }

  /// Messages from other nodes that hit one node at the same step: the most, and the mean over all steps and
  /// nodes where there were any.
  struct Hits {
    int most = 0;
    double mean = 0;
  };
  Hits hits() const {
    Hits hits;
    Count all = 0;
    Count places = 0;
    bool more = true;
    for (std::size_t step = 0; more; ++step) {
      more = false;
      std::vector<int> at(static_cast<std::size_t>(map_.nodes()));
      for (const std::vector<Message>& list : messages_) {
        if (step >= list.size()) continue;
        more = true;
        if (is_far(list[step])) ++at[static_cast<std::size_t>(map_.node_of(list[step].to))];
      }
      for (const int number : at) {
        hits.most = std::max(hits.most, number);
        all += number;
        places += number > 0 ? 1 : 0;
      }
    }
    hits.mean = places == 0 ? 0 : static_cast<double>(all) / static_cast<double>(places);
    return hits;
  }

  /// What the busiest link has to carry: nothing can be faster.
  Count bound() const {
    std::vector<Count> out(static_cast<std::size_t>(map_.nodes()));
    std::vector<Count> in(out.size());
    for (const std::vector<Message>& list : messages_) {
      for (const Message& message : list) {
        if (!is_far(message)) continue;
        out[node(message.from)] += message.bytes;
        in[node(message.to)] += message.bytes;
      }
    }
    return std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
  }

  /// When the last message is there.
  Count finish(Links links) const { return links == Links::kShared ? finish_shared() : finish_buffered(); }

 private:
  std::size_t node(int rank) const { return static_cast<std::size_t>(map_.node_of(rank)); }
  bool is_far(const Message& message) const { return node(message.from) != node(message.to); }

  /// The first message from `*at` on that needs a link; null: there is none.
  const Message* next_far(std::size_t rank, std::size_t* at) const {
    const std::vector<Message>& list = messages_[rank];
    while (*at < list.size() && !is_far(list[*at])) ++*at;
    return *at < list.size() ? &list[(*at)++] : nullptr;
  }

  Count finish_buffered() const {
    struct Event {
      Count at;
      bool arrives;  // else the rank is ready to issue its next message
      const Message* message;
      std::size_t rank;
      bool operator>(const Event& other) const {
        return std::tie(at, arrives, rank) > std::tie(other.at, other.arrives, other.rank);
      }
    };
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::vector<std::size_t> next(messages_.size());
    std::vector<Count> out_free(static_cast<std::size_t>(map_.nodes()));
    std::vector<Count> in_free(out_free.size());
    for (std::size_t rank = 0; rank < messages_.size(); ++rank) events.push({0, false, nullptr, rank});
    while (!events.empty()) {
      const Event event = events.top();
      events.pop();
      if (event.arrives) {  // its first byte
        Count& free = in_free[node(event.message->to)];
        free = std::max(free, event.at) + event.message->bytes;
      } else if (const Message* message = next_far(event.rank, &next[event.rank])) {
        Count& free = out_free[node(message->from)];
        const Count leaves = std::max(free, event.at);
        free = leaves + message->bytes;
        events.push({leaves, true, message, event.rank});
        events.push({free, false, nullptr, event.rank});
      }
    }
    return *std::max_element(in_free.begin(), in_free.end());
  }

  Count finish_shared() const {
    struct Flow {
      std::size_t rank;
      const Message* message;
      double left;
    };
    std::vector<std::size_t> next(messages_.size());
    std::vector<Flow> flows;
    const auto begin_next = [&](Flow* flow) {
      flow->message = next_far(flow->rank, &next[flow->rank]);
      if (flow->message != nullptr) flow->left = static_cast<double>(flow->message->bytes);
      return flow->message != nullptr;
    };
    for (std::size_t rank = 0; rank < messages_.size(); ++rank) {
      Flow flow{rank, nullptr, 0};
      if (begin_next(&flow)) flows.push_back(flow);
    }
    std::vector<int> out(static_cast<std::size_t>(map_.nodes()));
    std::vector<int> in(out.size());
    const auto sharers = [&](const Flow& flow) {
      return std::max(out[node(flow.message->from)], in[node(flow.message->to)]);
    };
    double now = 0;
    while (!flows.empty()) {
      std::fill(out.begin(), out.end(), 0);
      std::fill(in.begin(), in.end(), 0);
      for (const Flow& flow : flows) {
        ++out[node(flow.message->from)];
        ++in[node(flow.message->to)];
      }
      double step = std::numeric_limits<double>::max();
      for (const Flow& flow : flows) step = std::min(step, flow.left * sharers(flow));
      now += step;
      for (Flow& flow : flows) flow.left -= step / sharers(flow);
      std::erase_if(flows, [&](Flow& flow) { return flow.left < 0.5 && !begin_next(&flow); });
    }
    return static_cast<Count>(std::llround(now));
  }

  const NodeMap& map_;
  std::vector<std::vector<Message>> messages_;  // of each rank, as it issues them
};

}  // namespace tasuki::test
