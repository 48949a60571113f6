// PendingAccesses: the nonblocking accesses of a process to its files, and the split ones between their two
// calls. Each is a course (io/course/course.hpp) that its call begins and progress goes on with, in whatever
// call of MPI the process is; its transfers go on meanwhile by themselves, on lanes of the storage.
//
// Accesses that are not collective are done side by side, kLanesMax of a file at a time; collective ones of a
// file one after the other. What an access was given stays alive until it is over, also where its request is
// freed.
//
// Ownership: owns each access until it is over. Thread safety: the process lock.
#pragma once

#include <memory>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "io/file/file.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/waiting_call.hpp"
#include "progress/progress.hpp"

namespace tasuki {

/// What an access under way has, besides what it does. The address of each stays.
struct PendingAccess {
  PendingAccess(File& file, Datatype& type)
      : request(new FileRequest(file)),
        datatype(Ref<Datatype>::share(&type)),
        course(file.process, Course::Waits::kLater) {}
  /// Of one that is given up: what its lane moves ends before the memory of its tasks does, and before the
  /// file.
  virtual ~PendingAccess() { course.lane.reset(); }
  PendingAccess(const PendingAccess&) = delete;
  PendingAccess& operator=(const PendingAccess&) = delete;

  /// All that is to be done.
  virtual Task carry_out() = 0;

  Ref<FileRequest> request;  // its status is set when the access is over
  Ref<Datatype> datatype;
  Course course;
  Task task;
};

class PendingAccesses final : public ProgressHook {
 public:
  explicit PendingAccesses(Process& process) : process_(process) {}
  ~PendingAccesses();
  PendingAccesses(const PendingAccesses&) = delete;
  PendingAccesses& operator=(const PendingAccesses&) = delete;

  /// Begins the access: some of it, or all, is done in the call. Returns its request.
  Ref<FileRequest> begin(std::unique_ptr<PendingAccess> access);
  bool poll() override;
  /// Returns once none is under way: MPI_Finalize may come before the end of what the program never waited
  /// for. Waits for other ranks where a collective one is.
  void finish_all();
  /// Progress::wait_until(), for a call that waits for accesses to `file`, or to all files if that is null:
  /// it does some of their work meanwhile.
  template <class Done>
  void wait_for(const File* file, Done done) {
    const WaitingCall waiting(*process_.p2p, is_of_file, file);
    process_.progress->wait_until(done);
  }

  template <class Each>
  void for_each(Each&& each) const {
    for (const auto& access : accesses_) each(*access);
  }
  /// What the access of that request waits for: see Course::awaited_request().
  const Request* awaited_by(const Request& request) const;

 private:
  static bool is_of_file(const Request& request, const void* file);
  bool is_awaited() const;
  bool help(PendingAccess& access);
  void end(PendingAccess& access);
  void look_for_transfers();

  Process& process_;
  bool polling_ = false;
  std::vector<std::unique_ptr<PendingAccess>> accesses_;  // in the order of their calls
};

/// Until no blocking call has a transfer under way on the driver, which does one at a time: before a course
/// that does not wait asks the driver itself for anything.
inline auto turn_at_driver(Course& course, const File& file) {
  return until(course, [&file] { return !file.driver_is_taken; });
}

/// Until the file has a lane that is idle, which the course has then; and the other way round.
Task take_lane(Course& course, File& file);
void give_lane_back(Course& course, File& file);

/// Until it is the turn of the collective access `number`, counted by file.collective_begun.
inline auto turn_of(Course& course, const File& file, std::uint64_t number) {
  return until(course, [&file, number] { return file.collective_over == number; });
}

/// Returns once no nonblocking access of this rank to the file is under way: before anything changes that
/// they need. Waits for other ranks where a collective one is.
void finish_pending(File& file);
/// The same of collective ones alone.
void finish_pending_collectives(File& file);

}  // namespace tasuki
