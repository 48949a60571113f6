// Course: how one access to a file goes on, from its call to its end.
//
// Of a blocking call all waiting is done where it is met (Course::waits()), and the tasks of the access
// (io/course/task.hpp) run straight through. Of a nonblocking one a task that has to wait is left as it is,
// with what it waits for; go_on() looks whether that holds, and runs it on until it waits again. Progress
// calls go_on() (io/file/pending.hpp), so nothing in here may wait then.
//
// What tasks wait for: anything that until() can look at, messages and small collectives, the shared file
// pointer, ranges of the file, and transfers, which go by a lane of the storage (storage/driver.hpp) and so
// beside the program.
//
// Thread safety: the process lock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/calls/call_board.hpp"
#include "base/process.hpp"
#include "coll/byte_collectives.hpp"
#include "io/course/task.hpp"
#include "io/shared/range_locks.hpp"
#include "io/shared/shared_state.hpp"
#include "object/comm.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/request.hpp"
#include "p2p/waiting_call.hpp"
#include "progress/progress.hpp"
#include "storage/driver.hpp"

namespace tasuki {

class Course {
 public:
  enum class Waits : bool { kLater, kInTheCall };

  /// Of the call that the process is in.
  Course(Process& process, Waits how)
      : process_(process), waits_(how == Waits::kInTheCall), function_(function_of(process.line)) {}
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;

  bool waits() const { return waits_; }
  Process& process() const { return process_; }
  Function function() const { return function_; }

  /// A task of a blocking call, to its end.
  Code run(Task task) const {
    task.begin();
    return task.result();
  }
  /// Goes on with what has begun and waits. Returns whether it is over now; sets `moved` where it went on.
  bool go_on(bool* moved);

  /// Where the transfers of one that does not wait go. REQUIRES: it is there before the first one.
  std::unique_ptr<FileLane> lane;
  bool is_transferring = false;  // on its lane
  bool is_awaited = false;       // the rank would only wait for it else
  TransferResult done_at_once;   // of a transfer that the call made itself
  bool wants_range = false;      // of the file, which another one has

  // For the awaitables below.
  using Holds = bool (*)(void* awaited);
  using Names = const Request* (*)(const void* awaited);
  void leave(Task::Handle at, Holds holds, Names names, void* awaited) {
    at_ = at;
    holds_ = holds;
    names_ = names;
    awaited_ = awaited;
  }
  /// The message or small collective that it waits for; null: it runs, or waits for something else.
  const Request* awaited_request() const { return at_ ? names_(awaited_) : nullptr; }
  std::uint64_t looks() const { return looks_; }

 private:
  Process& process_;
  const bool waits_;
  const Function function_;
  std::uint64_t looks_ = 0;  // of progress, by go_on()
  Task::Handle at_;          // the task that waits; none: it runs, or is over
  Holds holds_ = nullptr;    // whether what it waits for has come
  Names names_ = nullptr;    // which request that is, if it is one
  void* awaited_ = nullptr;
};

/// What a task waits with: `Wait` has holds(), which does not wait, and wait(), which does. await_resume()
/// gives its result().
template <class Wait>
class Awaited {
 public:
  Awaited(Course& course, Wait wait) : course_(course), wait_(wait) {}
  bool await_ready() {
    if (!course_.waits()) return wait_.holds();
    wait_.wait();
    return true;
  }
  void await_suspend(Task::Handle at) {
    course_.leave(
        at, [](void* self) { return static_cast<Awaited*>(self)->wait_.holds(); }, request_of, this);
  }
  auto await_resume() { return wait_.result(); }

 private:
  static const Request* request_of(const void* self) {
    if constexpr (requires(const Wait& wait) { wait.request; }) {
      return static_cast<const Awaited*>(self)->wait_.request;
    } else {
      return nullptr;
    }
  }

  Course& course_;
  Wait wait_;
};

/// Until `condition()` holds, which progress, or another thread that wakes it, makes true.
template <class Condition>
auto until(Course& course, Condition condition) {
  struct Wait {
    Progress& progress;
    Condition condition;
    bool holds() { return condition(); }
    void wait() { progress.wait_until(condition); }
    void result() {}
  };
  return Awaited<Wait>(course, Wait{*course.process().progress, condition});
}

/// Until a message is over that may be begun while this waits; `request` is null until then.
inline auto begin_and_end_of(Course& course, Request* const& request) {
  struct Wait {
    Process& process;
    Request* const& request;
    bool holds() const { return request != nullptr && request->done; }
    void wait() const {
      const WaitingCall waiting(*process.p2p, &request, 1, Awaits::kAll);
      process.progress->wait_until([this] { return holds(); });
    }
    void result() const {}
  };
  return Awaited<Wait>(course, Wait{course.process(), request});
}

/// Lets progress have a look at all else; a task that would not wait for long.
inline auto next_look(Course& course) {
  struct Wait {
    Course& course;
    std::uint64_t since;
    bool holds() const { return course.looks() != since; }
    void wait() const { course.process().progress->poll(); }
    void result() const {}
  };
  return Awaited<Wait>(course, Wait{course, course.looks()});
}

/// Until the message is over, whose request is released then: gives its error.
inline auto end_of(Course& course, Request* request, Status* status) {
  struct Wait {
    bool waits;
    Request* request;
    Status* status;
    bool holds() const { return request->done; }
    void wait() const {}
    /// No error handler is to hear of it in the middle of another call.
    Code result() const {
      if (waits) return wait_and_release(request, status);
      const Code code = request->status.error;
      if (status != nullptr) *status = request->status;
      release(request);
      return code;
    }
  };
  return Awaited<Wait>(course, Wait{course.waits(), request, status});
}

/// allgather_bytes(): gives its error.
inline auto gather_bytes(Course& course, Comm& comm, const void* mine, void* all, Count bytes) {
  struct Wait {
    Comm& comm;
    const void* mine;
    void* all;
    Count bytes;
    Request* request = nullptr;
    Code code = kSuccess;
    bool holds() {
      if (request == nullptr) request = start_allgather_bytes(comm, mine, all, bytes);
      return request->done;
    }
    void wait() { code = allgather_bytes(comm, mine, all, bytes); }
    Code result() const {
      if (request == nullptr) return code;
      const Code failed = request->status.error;
      release(request);
      return failed;
    }
  };
  return Awaited<Wait>(course, Wait{comm, mine, all, bytes});
}

/// bcast_bytes(): gives its error.
inline auto spread_bytes(Course& course, Comm& comm, void* data, Count bytes, int root) {
  struct Wait {
    Comm& comm;
    void* data;
    Count bytes;
    int root;
    Request* request = nullptr;
    Code code = kSuccess;
    bool holds() {
      if (request == nullptr) request = start_bcast_bytes(comm, data, bytes, root, {});
      return request->done;
    }
    void wait() { code = bcast_bytes(comm, data, bytes, root); }
    Code result() const {
      if (request == nullptr) return code;
      const Code failed = request->status.error;
      release(request);
      return failed;
    }
  };
  return Awaited<Wait>(course, Wait{comm, data, bytes, root});
}

/// Until `*lock` holds the range: see RangeLock. Nothing where it is empty or `locks` is null.
inline auto take_lock(Course& course, RangeLock* lock, RangeLocks* locks, const FileRange& range,
                      RangeUse use) {
  struct Wait {
    Course& course;
    RangeLock* lock;
    RangeLocks* locks;
    FileRange range;
    RangeUse use;
    bool holds() const {
      course.wants_range = !lock->try_take(locks, range, use);
      return !course.wants_range;
    }
    void wait() const { lock->take(locks, range, use); }
    void result() const {}
  };
  return Awaited<Wait>(course, Wait{course, lock, locks, range, use});
}

/// SharedState::advance(): where the pointer was, in `*before`.
inline auto advance_pointer(Course& course, SharedState& state, Offset etypes, Offset* before) {
  struct Wait {
    SharedState& state;
    Offset etypes;
    Offset* before;
    std::uint64_t ticket = 0;
    bool holds() { return state.try_advance(etypes, &ticket, before); }
    void wait() const { *before = state.advance(etypes); }
    void result() const {}
  };
  return Awaited<Wait>(course, Wait{state, etypes, before});
}

/// A little is moved at once where the rank would only wait for it: nobody else has to wake.
inline void begin_on_lane(Course& course, bool write, std::span<const FilePiece> pieces) {
  constexpr Count kAtOnceBytes = Count{1} << 20;
  Count bytes = 0;
  for (const FilePiece& piece : pieces) bytes += piece.bytes;
  course.is_transferring = !course.is_awaited || bytes > kAtOnceBytes;
  if (course.is_transferring) {
    course.lane->begin(write, pieces);
  } else {
    const Progress::Release released(*course.process().progress, bytes);
    course.done_at_once = course.lane->move(write, pieces);
  }
}
inline bool is_over_on_lane(const Course& course) {
  return !course.is_transferring || course.lane->is_over();
}
inline TransferResult end_on_lane(Course& course) {
  return std::exchange(course.is_transferring, false) ? course.lane->finish() : course.done_at_once;
}

// A transfer of pieces of the file, in two parts: it goes on while the task does something else. The memory
// stays.
inline void begin_transfer(Course& course, FileDriver& driver, bool write,
                           std::span<const FilePiece> pieces) {
  if (course.waits()) {
    driver.begin(write, pieces);
  } else {
    begin_on_lane(course, write, pieces);
  }
}
/// Until it is over: gives how it came out.
inline auto end_transfer(Course& course, FileDriver& driver) {
  struct Wait {
    Course& course;
    FileDriver& driver;
    bool holds() const { return is_over_on_lane(course); }
    void wait() const {}
    TransferResult result() const { return course.waits() ? driver.finish() : end_on_lane(course); }
  };
  return Awaited<Wait>(course, Wait{course, driver});
}

/// Both at once.
inline auto transfer_pieces(Course& course, FileDriver& driver, bool write,
                            std::span<const FilePiece> pieces) {
  struct Wait {
    Course& course;
    FileDriver& driver;
    bool write;
    std::span<const FilePiece> pieces;
    bool begun = false;
    TransferResult done{};
    bool holds() {
      if (!begun) begin_on_lane(course, write, pieces);
      begun = true;
      return is_over_on_lane(course);
    }
    void wait() { done = write ? driver.write_at(pieces) : driver.read_at(pieces); }
    TransferResult result() const { return course.waits() ? done : end_on_lane(course); }
  };
  return Awaited<Wait>(course, Wait{course, driver, write, pieces});
}

}  // namespace tasuki
