// The state machine of a window's epochs: which call is legal when.
#include "rma/epoch.hpp"

#include <gtest/gtest.h>

namespace tasuki::rma {
namespace {

TEST(Epoch, BeginsWithNothingOpen) {
  const Epoch epoch(3);
  EXPECT_NE(epoch.may_access(0), nullptr);
  EXPECT_EQ(epoch.may_fence(), nullptr);
  EXPECT_EQ(epoch.may_start(), nullptr);
  EXPECT_EQ(epoch.may_post(), nullptr);
  EXPECT_EQ(epoch.may_lock(2), nullptr);
  EXPECT_EQ(epoch.may_lock_all(), nullptr);
  EXPECT_EQ(epoch.may_free(), nullptr);
  EXPECT_NE(epoch.may_complete(), nullptr);
  EXPECT_NE(epoch.may_wait(), nullptr);
  EXPECT_NE(epoch.may_unlock(2), nullptr);
  EXPECT_NE(epoch.may_unlock_all(), nullptr);
  EXPECT_NE(epoch.may_flush(0), nullptr);
  EXPECT_NE(epoch.may_flush_all(), nullptr);
}

TEST(Epoch, AFenceAllowsAccessesButNoRequests) {
  Epoch epoch(2);
  epoch.fenced(true);
  EXPECT_EQ(epoch.may_access(1), nullptr);
  EXPECT_NE(epoch.may_access_by_request(1), nullptr);
  EXPECT_NE(epoch.may_flush(1), nullptr);
  epoch.fenced(false);
  EXPECT_NE(epoch.may_access(1), nullptr) << "MPI_MODE_NOSUCCEED";
}

TEST(Epoch, AnUnusedFenceGivesWayToOtherEpochs) {
  Epoch epoch(2);
  epoch.fenced(true);
  EXPECT_EQ(epoch.may_lock(0), nullptr);
  EXPECT_EQ(epoch.may_lock_all(), nullptr);
  EXPECT_EQ(epoch.may_start(), nullptr);
  EXPECT_EQ(epoch.may_post(), nullptr);
  epoch.accessed();
  EXPECT_NE(epoch.may_lock(0), nullptr);
  EXPECT_NE(epoch.may_lock_all(), nullptr);
  EXPECT_NE(epoch.may_start(), nullptr);
  EXPECT_NE(epoch.may_post(), nullptr);
  EXPECT_EQ(epoch.may_fence(), nullptr);
  EXPECT_EQ(epoch.may_free(), nullptr);
}

TEST(Epoch, LocksAreCountedByTarget) {
  Epoch epoch(3);
  epoch.locked(0, Held::kShared);
  epoch.locked(2, Held::kExclusive);
  EXPECT_EQ(epoch.may_access(0), nullptr);
  EXPECT_NE(epoch.may_access(1), nullptr);
  EXPECT_EQ(epoch.may_access_by_request(2), nullptr);
  EXPECT_NE(epoch.may_lock(0), nullptr);
  EXPECT_EQ(epoch.may_lock(1), nullptr);
  EXPECT_NE(epoch.may_lock_all(), nullptr);
  EXPECT_NE(epoch.may_fence(), nullptr);
  EXPECT_NE(epoch.may_start(), nullptr);
  EXPECT_NE(epoch.may_free(), nullptr);
  EXPECT_NE(epoch.may_flush(1), nullptr);
  EXPECT_EQ(epoch.may_flush_all(), nullptr);
  EXPECT_EQ(epoch.held(2), Held::kExclusive);
  epoch.unlocked(0);
  EXPECT_NE(epoch.may_access(0), nullptr);
  EXPECT_NE(epoch.may_fence(), nullptr) << "rank 2 is still locked";
  epoch.unlocked(2);
  EXPECT_EQ(epoch.may_fence(), nullptr);
}

TEST(Epoch, LockAllIsOneEpochOnAllTargets) {
  Epoch epoch(3);
  epoch.locked_all(Held::kShared);
  EXPECT_EQ(epoch.may_access_by_request(1), nullptr);
  EXPECT_NE(epoch.may_lock(1), nullptr);
  EXPECT_NE(epoch.may_unlock(1), nullptr);
  EXPECT_EQ(epoch.may_flush(1), nullptr);
  EXPECT_NE(epoch.may_free(), nullptr);
  epoch.unlocked_all();
  EXPECT_EQ(epoch.may_free(), nullptr);
}

TEST(Epoch, StartAndPostMayOverlap) {
  Epoch epoch(4);
  epoch.posted({0, 1});
  EXPECT_EQ(epoch.may_start(), nullptr);
  EXPECT_NE(epoch.may_post(), nullptr);
  EXPECT_NE(epoch.may_fence(), nullptr);
  epoch.started({3});
  EXPECT_EQ(epoch.may_access(3), nullptr);
  EXPECT_NE(epoch.may_access(1), nullptr);
  EXPECT_NE(epoch.may_access_by_request(3), nullptr);
  EXPECT_NE(epoch.may_start(), nullptr);
  epoch.completed();
  EXPECT_NE(epoch.may_access(3), nullptr);
  EXPECT_NE(epoch.may_free(), nullptr) << "still exposed";
  epoch.waited();
  EXPECT_EQ(epoch.may_free(), nullptr);
}

}  // namespace
}  // namespace tasuki::rma
