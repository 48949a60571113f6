// Accesses that are under way: see pending.hpp.
#include "io/file/pending.hpp"

#include <algorithm>
#include <utility>

#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

constexpr int kLanesMax = 4;  // of a file

}  // namespace

PendingAccesses::~PendingAccesses() {
  if (!accesses_.empty()) process_.progress->remove(this);
}

Ref<FileRequest> PendingAccesses::begin(std::unique_ptr<PendingAccess> access) {
  const Ref<FileRequest> request = access->request;
  access->task = access->carry_out();
  if (access->task.begin()) {
    end(*access);
    return request;
  }
  if (accesses_.empty()) process_.progress->add(this);
  accesses_.push_back(std::move(access));
  look_for_transfers();
  return request;
}

bool PendingAccesses::is_of_file(const Request& request, const void* file) {
  return request.request_type == RequestType::kFile &&
         (file == nullptr || static_cast<const FileRequest&>(request).file.get() == file);
}

const Request* PendingAccesses::awaited_by(const Request& request) const {
  const auto found = std::find_if(accesses_.begin(), accesses_.end(),
                                  [&](const auto& access) { return access->request.get() == &request; });
  return found != accesses_.end() ? (*found)->course.awaited_request() : nullptr;
}

/// Whether some thread waits for an access to a file, and none for anything else: then a poll may as well do
/// a part of the access.
bool PendingAccesses::is_awaited() const {
  const Awaiting* wait = process_.p2p->awaiting;
  const bool some = wait != nullptr;
  const auto is_for_files = [](const Awaiting& one) {
    return one.count == 0 || std::any_of(one.requests, one.requests + one.count, [](const Request* request) {
             return request != nullptr && request->request_type == RequestType::kFile;
           });
  };
  while (wait != nullptr && is_for_files(*wait)) wait = wait->next;
  return some && wait == nullptr;
}

/// Does a part of its transfer in the place of the lane. Returns whether there was one.
bool PendingAccesses::help(PendingAccess& access) {
  const Progress::Release released(*process_.progress);
  return access.course.lane->help();
}

/// An access that goes on may let others go on that were looked at before it: they do at the next look.
bool PendingAccesses::poll() {
  if (polling_) return false;  // by another thread, which the storage keeps for a while
  polling_ = true;
  bool moved = false;
  const bool awaited = is_awaited();
  for (std::size_t i = 0; i < accesses_.size();) {
    PendingAccess& access = *accesses_[i];
    access.course.is_awaited = awaited;
    if (awaited && access.course.is_transferring) moved |= help(access);
    if (!access.course.go_on(&moved)) {
      ++i;
      continue;
    }
    const std::unique_ptr<PendingAccess> over = std::move(accesses_[i]);
    accesses_.erase(accesses_.begin() + static_cast<std::ptrdiff_t>(i));
    end(*over);
  }
  polling_ = false;
  if (accesses_.empty()) process_.progress->remove(this);
  if (moved) look_for_transfers();
  return moved;
}

void PendingAccesses::finish_all() {
  if (!accesses_.empty()) wait_for(nullptr, [this] { return accesses_.empty() && !polling_; });
}

/// Nobody rings when a transfer is over, nor when another thread of this rank lets go of a range.
void PendingAccesses::look_for_transfers() {
  process_.progress->set_short_sleeps(
      std::any_of(accesses_.begin(), accesses_.end(), [this](const auto& access) {
        return access->course.is_transferring || (access->course.wants_range && process_.locking);
      }));
}

void PendingAccesses::end(PendingAccess& access) {
  access.request->status.error = access.task.result();
  access.request->complete();
}

Task take_lane(Course& course, File& file) {
  if (course.waits()) co_return kSuccess;
  co_await until(course, [&file] { return file.lanes_in_use < kLanesMax && !file.driver_is_taken; });
  ++file.lanes_in_use;
  if (file.lanes.empty()) {
    course.lane = file.driver->open_lane();
  } else {
    course.lane = std::move(file.lanes.back());
    file.lanes.pop_back();
  }
  co_return kSuccess;
}

void give_lane_back(Course& course, File& file) {
  if (course.lane == nullptr) return;
  file.lanes.push_back(std::move(course.lane));
  --file.lanes_in_use;
}

void finish_pending_collectives(File& file) {
  if (file.collective_over == file.collective_begun) return;
  file.process.files->pending->wait_for(&file,
                                        [&file] { return file.collective_over == file.collective_begun; });
}

void finish_pending(File& file) {
  finish_pending_collectives(file);
  if (file.independent_accesses == 0) return;
  file.process.files->pending->wait_for(&file, [&file] { return file.independent_accesses == 0; });
}

}  // namespace tasuki
