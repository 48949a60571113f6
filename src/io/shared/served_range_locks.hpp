// Range locks that an owner keeps and that the other ranks ask for by messages (owner_service.hpp).
//
// Thread safety: the process lock.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "io/shared/owner_service.hpp"
#include "io/shared/range_locks.hpp"

namespace tasuki {

/// The locks that rank `owner` of a service's communicator keeps for one MPI_File_open.
class ServedRangeLocks final : public RangeLocks {
 public:
  ServedRangeLocks(OwnerService& service, int owner, std::uint64_t identity)
      : service_(service), owner_(owner), identity_(identity) {}

  Held lock(const FileRange& range, RangeUse use) override {
    return service_.lock(owner_, identity_, range, use == RangeUse::kExclusive);
  }
  Held try_lock(const FileRange& range, RangeUse use, std::uint64_t* place) override {
    if (*place == 0) *place = service_.ask_lock(owner_, identity_, range, use == RangeUse::kExclusive);
    return service_.has_answer(*place) ? *place : kNothing;
  }
  void unlock(Held held) override { service_.unlock(owner_, held); }
  bool are_shared_by_all() const override { return false; }

 private:
  OwnerService& service_;
  const int owner_;
  const std::uint64_t identity_;
};

/// The locks of a file that any rank of a job on several nodes may have opened. The owner follows from the
/// file's identity, so all ranks that open the file find the same one.
///
/// An owner answers only while it uses MPI, which all ranks of the job do for sure between MPI_Init and
/// MPI_Finalize alone: both return once all ranks have come to them. Before and after that, in sessions, the
/// locks are those of this MPI_File_open; `alone` are these. All ranks of a file make the change alike, as no
/// rank is in a call on files while another one has returned from MPI_Init or MPI_Finalize before it.
class JobRangeLocks final : public RangeLocks {
 public:
  JobRangeLocks(const std::unique_ptr<OwnerService>& job_locks, int job_size, std::uint64_t identity,
                std::unique_ptr<RangeLocks> alone)
      : job_locks_(job_locks),
        owner_(static_cast<int>(identity % static_cast<std::uint64_t>(job_size))),
        identity_(identity),
        alone_(std::move(alone)) {}

  Held lock(const FileRange& range, RangeUse use) override {
    if (job_locks_ == nullptr) return alone_->lock(range, use) << 1;
    return job_locks_->lock(owner_, identity_, range, use == RangeUse::kExclusive) << 1 | kOfJob;
  }
  /// Where the job's owners end meanwhile, nobody has asked them: MPI_Finalize comes after the files' end.
  Held try_lock(const FileRange& range, RangeUse use, std::uint64_t* place) override {
    if (job_locks_ == nullptr) return alone_->try_lock(range, use, place) << 1;
    if (*place == 0) *place = job_locks_->ask_lock(owner_, identity_, range, use == RangeUse::kExclusive);
    return job_locks_->has_answer(*place) ? *place << 1 | kOfJob : kNothing;
  }
  void unlock(Held held) override {
    if ((held & kOfJob) == 0) return alone_->unlock(held >> 1);
    job_locks_->unlock(owner_, held >> 1);
  }
  bool are_shared_by_all() const override { return job_locks_ != nullptr; }

 private:
  static constexpr Held kOfJob = 1;

  const std::unique_ptr<OwnerService>& job_locks_;  // null where not all ranks of the job use MPI
  const int owner_;
  const std::uint64_t identity_;
  std::unique_ptr<RangeLocks> alone_;
};

}  // namespace tasuki
