// What the ranks of a node share: numbers on the node, pages of pairs, doorbells.
#include "node/shared_node.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "support/thread_machine.hpp"

namespace tasuki {
namespace {

class TestNode final : public SharedNode {
 public:
  TestNode(const test::ThreadMachine& machine, int rank) : SharedNode(machine.ranks_beside(rank), rank) {
    share(machine.make_doorbells(rank), machine.shared(rank).memory);
  }
  int processors_available() const override { return 1; }
};

TEST(Node, NumbersItsRanksInTheirOrder) {
  const test::ThreadMachine machine(5, {0, 1, 0, 1, 0}, Config{});
  TestNode node(machine, 2);
  EXPECT_EQ(node.size(), 3);
  EXPECT_EQ(node.self(), 1);
  EXPECT_EQ(node.rank(), 2);
  EXPECT_EQ(node.ranks(), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(node.number(4), 2);
  for (const int elsewhere : {1, 3, 5, -1}) {
    EXPECT_EQ(node.number(elsewhere), Node::kElsewhere);
    EXPECT_FALSE(node.has(elsewhere));
  }
}

TEST(SharedNode, HasAPageForEachOrderedPairOfItsRanksAndNoOther) {
  const test::ThreadMachine machine(4, {0, 0, 1, 1}, Config{});
  TestNode first(machine, 0);
  TestNode second(machine, 1);
  TestNode other(machine, 3);
  std::set<std::byte*> pages;
  for (const int from : {0, 1}) {
    for (const int to : {0, 1}) {
      std::byte* const page = first.pair_page(from, to);
      ASSERT_NE(page, nullptr);
      EXPECT_EQ(page, second.pair_page(from, to));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % 64, 0u);
      std::memset(page, 1 + from, kPairPageBytes);
      pages.insert(page);
    }
  }
  EXPECT_EQ(pages.size(), 4u);
  EXPECT_EQ(first.pair_page(0, 2), nullptr);
  EXPECT_EQ(first.pair_page(2, 0), nullptr);
  EXPECT_EQ(first.pair_page(0, 4), nullptr) << "a process of another job";
  EXPECT_NE(other.pair_page(2, 3), nullptr);
  EXPECT_EQ(static_cast<int>(*other.pair_page(2, 3)), 0) << "another node's memory was written";
  EXPECT_NE(first.file_locks(), other.file_locks());
}

/// It grows with the ranks of the node, not with those of the job.
TEST(SharedNode, IsSizedByTheRanksOfTheNode) {
  std::vector<int> nodes(64);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) nodes[rank] = static_cast<int>(rank / 4);
  const test::ThreadMachine machine(64, nodes, Config{});
  EXPECT_EQ(machine.shared(17).bytes, SharedNode::bytes_needed(4));
  EXPECT_EQ(machine.rings(17).bytes, ShmLink::bytes_needed(4, Config{}));
  EXPECT_LT(16 * SharedNode::bytes_needed(4), SharedNode::bytes_needed(64) / 10);
}

TEST(Doorbells, WakeWhoSleepsAndNobodyElse) {
  const test::ThreadMachine machine(2, {}, Config{});
  const auto mine = machine.make_doorbells(0);
  const auto theirs = machine.make_doorbells(1);
  const std::uint32_t ticket = shm::doorbell_arm(theirs->own());
  mine->wake(0);
  EXPECT_EQ(theirs->own().rings.load(), ticket);
  mine->wake(1);
  EXPECT_NE(theirs->own().rings.load(), ticket);
  EXPECT_TRUE(shm::doorbell_sleep(theirs->own(), ticket, 1));
  const std::uint32_t rings = theirs->own().rings.load();
  mine->wake(1);  // it does not sleep any more
  EXPECT_EQ(theirs->own().rings.load(), rings);
}

TEST(Doorbells, KnowProcessesOfOtherJobsWhileTheyAreThere) {
  const test::ThreadMachine machine(1, {}, Config{});
  const auto bells = machine.make_doorbells(0);
  shm::Doorbell other{};
  bells->add();
  other.sleeping = 1;
  bells->wake(1);
  EXPECT_EQ(other.rings.load(), 0u) << "it is not known yet";
  bells->set(1, &other);
  bells->wake(1);
  EXPECT_EQ(other.rings.load(), 1u);
  bells->set(1, nullptr);
  other.sleeping = 1;
  bells->wake(1);
  EXPECT_EQ(other.rings.load(), 1u);
  EXPECT_FALSE(bells->sleeps_with_fence(1));
}

}  // namespace
}  // namespace tasuki
