// Collectives: the executor of schedules, one per process, and the requests of nonblocking and persistent
// collectives.
//
// An Execution is one collective that is being run: the call's arguments, its schedule, and the messages
// under way, which are those of one round but where the schedule follows data (coll/run/data_steps.cpp).
// Executions and all their memory are used again, so a small blocking collective allocates nothing once the
// first few have run.
//
// A collective's messages travel in its communicator's collective plane; their tag is the number of the
// collective on that communicator. So any number of them may be under way at once and progress
// independently.
//
// An error in a step (a truncated message, say) does not stop the schedule, because other ranks wait for this
// one's messages: the first error becomes the collective's.
//
// Ownership: Collectives owns every Execution. A CollectiveRequest belongs to the user and, while it runs, to
// Collectives. Objects of the user that a nonblocking collective needs are retained until it is over.
// Thread safety: the caller holds the process lock. It lets go of it while it copies and reduces much, and
// while a user's operation runs. Meanwhile the Execution is its thread's own, or in hand: no other thread's
// poll() carries it on.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "check/checks.hpp"
#include "coll/check/call_comparison.hpp"
#include "coll/choice/flag_limits.hpp"
#include "coll/choice/selector.hpp"
#include "coll/hierarchy/recorded_calls.hpp"
#include "coll/run/communicator_state.hpp"
#include "coll/schedule/bound_schedule.hpp"
#include "coll/schedule/data.hpp"
#include "coll/schedule/data_flow.hpp"
#include "coll/shm/exposed_buffers.hpp"
#include "coll/shm/node_segment.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"
#include "progress/progress.hpp"

namespace tasuki {

struct CollectiveRequest;
class Hierarchy;

/// What the selection has to know of a collective on `comm`; on an intercommunicator, of a phase in the local
/// group. The caller adds what only some operations have.
Problem problem_of(Comm& comm, Operation operation, Count bytes, CollectiveForm form);

class Execution : public BoundSchedule {
 public:
  explicit Execution(Process& process) : BoundSchedule(process), exposed_(process) {}
  ~Execution();

  /// Makes it a collective on `comm` without steps.
  void open(Comm& comm, CollectiveForm form);
  /// What its messages are known by.
  void set_tag(int tag) { tag_ = tag; }

  /// What the ranks compare with TASUKI_CHECK=2; every plan says it first.
  void describe(CollectiveCall call, const CallFacts& facts = {}) {
    if (process_.config.checks(kCheckCompare)) [[unlikely]]
      describe_for_check(call, facts);
  }

  /// Where amounts are known to their two ends alone: `write(schedule)` writes what goes from whom to whom,
  /// as sends, receives and copies in the order of the messages. After the arguments are filled in.
  template <class Write>
  void describe_ends(Write&& write) {
    if (!process_.config.checks(kCheckCompare)) [[likely]]
      return;
    Schedule ends;
    write(ends);
    describe_ends_for_check(ends);
  }

  /// With TASUKI_CHECK=2, when the plan is made: see prepend_comparison().
  void prepend_comparison_of_calls();
  /// With TASUKI_CHECK=3: the memory of the user's that the schedule uses until it is over, and whether it
  /// may.
  std::vector<BufferUse> buffer_uses() const;
  Code check_buffers() const;
  const std::string& name() const { return name_; }

  /// Becomes the comparison of the calls that planned `other`, and nothing else.
  void compare_calls_of(Execution& other);

  /// Becomes a blocking hierarchical collective, whose schedule is recorded and calls the parts on the
  /// communicators of `hierarchy`.
  void call_recorded(Hierarchy& hierarchy, std::unique_ptr<hierarchy::RecordedCall> record);

  Comm& comm() const { return *comm_; }
  Member self() const { return {comm_->rank, comm_->size()}; }

  /// problem_of() this one.
  Problem problem(Operation operation, Count bytes) const;
  Problem problem(Operation operation, const Reduction& vector) const;

  /// Keeps the datatypes and the operation alive until close(): for a call that returns before it is over.
  void retain_arguments();

  /// Gets ready to run the schedule from its first round. REQUIRES: there is scratch memory for it.
  void restart();

  /// Does what can be done now. Returns whether the schedule is over; sets `moved` when something was done.
  bool advance(bool* moved) {
    return schedule.follows_data ? advance_by_data(moved) : advance_by_rounds(moved);
  }

  Code error() const { return error_; }

  /// Adds the endpoints of those that the steps under way wait for: ranks that have not come to a phase, and
  /// those whose messages have not come or have not left. Nothing of parts that it calls, which are
  /// executions of their own.
  void add_missing(std::vector<int>* endpoints) const;

  /// Of schedules that follow data; null before the first.
  const DataFlow* data_flow() const { return flow_.get(); }

  bool is_open() const { return comm_ != nullptr; }
  CollectiveForm form() const { return form_; }

  /// Lets go of everything but the memory. REQUIRES: the schedule is over or was never started.
  void close();

  CollectiveRequest* request = nullptr;  // null in a blocking call
  bool over = false;
  bool in_hand = false;  // a thread's poll() carries it on

  // Of a single-copy schedule: coll/run/single_copy_steps.cpp. The communicator has a node segment, and the
  // call is a blocking one.
  void begin_single_copy();
  void end_single_copy();
  bool ends_awake(Progress::Patience& patience);

 private:
  void count_algorithm();
  bool advance_by_rounds(bool* moved);
  void start_round();
  void run_step(const Step& step);
  bool advance_by_data(bool* moved);
  void begin_data_flow();
  void start_what_may(bool* moved);
  bool look_for_ends();
  void reduce_step(const Step& step);
  Count bytes_to_combine(Count count, const Datatype& type) const;
  void sum_step(const Step& step);
  void copy_step(const Step& step);
  void sign_step(const Step& step);
  void compare_step(const Step& step);
  void describe_for_check(CollectiveCall call, const CallFacts& facts);
  void describe_ends_for_check(const Schedule& ends);
  void note(Code code) {
    if (error_ == 0) error_ = code;
  }
  bool has_come(int member, unsigned phase);
  void add_missing_members(std::vector<int>* endpoints) const;
  bool awaits_hold();
  std::size_t run_single_copy_step(std::size_t index);
  void run_group(std::size_t first);
  bool may_run_group(const Step* steps) const;
  ExposedBuffers::Bytes find(Place place, Count bytes);
  void check_length(const Step& step);
  void look_for_cuts();
  void sample_lines(Step::Action next);
  void sum_inputs(const Step& step, const ExposedBuffers::Bytes& first, const ExposedBuffers::Bytes& to);
  void combine(const Step& step, const ExposedBuffers::Bytes& left, const ExposedBuffers::Bytes& right,
               const ExposedBuffers::Bytes& to);

  Comm* comm_ = nullptr;
  CollectiveForm form_ = CollectiveForm::kBlocking;
  int tag_ = 0;
  std::string name_;       // of the user's call, with TASUKI_CHECK=2
  CallEvidence evidence_;  // with TASUKI_CHECK=2
  Code error_ = 0;
  std::size_t round_ = 0;                       // the next to start; by data: 0 until it has begun
  std::vector<Request*> under_way_;             // of the current round, in the order of its steps; or of all
  std::size_t done_ = 0;                        // how many of them are over
  std::unique_ptr<DataFlow> flow_;              // of schedules that follow data; null until there is one
  bool flow_is_prepared_ = false;               // for this one, however often it is started
  std::vector<std::uint32_t> steps_under_way_;  // of these: whose the messages are
  std::vector<const void*> vectors_;            // that are summed
  std::vector<Object*> retained_;
  std::unique_ptr<hierarchy::RecordedCall> recorded_;  // has this one's own schedule meanwhile
  Hierarchy* called_on_ = nullptr;

  // While a single-copy schedule runs.
  struct Operands {
    ExposedBuffers::Bytes from, to, with;
  };
  NodeSegment* segment_ = nullptr;  // null in all others
  ExposedBuffers exposed_;
  std::size_t await_ = 0, await_end_ = 0;  // the steps of the round whose awaits are not known to hold
  int await_member_ = 0;                   // of a step that awaits everyone: the next to look at
  bool may_sleep_ = false;                 // the awaited rank has to know it
  bool has_cut_ = false;                   // what it pushed was too long
  std::uint64_t looked_at_ = 0;            // the collective in which a line was sampled last
  std::vector<Operands> operands_;         // of the group that runs
};

/// The request of a nonblocking or persistent collective.
struct CollectiveRequest final : Request {
  explicit CollectiveRequest(Comm& owner) : Request(RequestType::kCollective, owner) {}
  ~CollectiveRequest() override;

  Code start() override;

  Execution* execution = nullptr;  // null once a nonpersistent collective is over
  std::function<void()> then;      // runs just before the request is done
};

struct Collectives final : ProgressHook {
  explicit Collectives(Process& process)
      : selector(process), node_segments(*process.symmetric_heap), process_(process) {}
  ~Collectives();  // requests under way are dropped

  /// An Execution for a collective on `comm`, without steps; and back.
  Execution& open(Comm& comm, CollectiveForm form);
  void close(Execution& execution);

  /// The call takes part: what it plans has the next number of its form on its communicator. Before that
  /// nothing has happened that another rank could see, so a call that is refused takes none, and this rank's
  /// next one is what the others' meets. An error: there is no memory for it.
  Code admit(Execution& execution);
  /// Closes what takes no part. Returns `code`.
  Code refuse(Execution& execution, Code code);

  /// Admits it, runs to the end, closes, and returns the error.
  Code run(Execution& execution);

  /// With TASUKI_CHECK=2, of a persistent collective: compares the calls that initialise it, and nothing when
  /// it is started, which may be in any order. Like any initialisation it may wait for the other ranks.
  Code compare_calls(Execution& planned);

  /// Starts what was admitted; `request` stays the caller's. Runs on in poll().
  void start(Execution& execution, CollectiveRequest& request);

  bool poll() override;

  /// Whether anything is under way on `comm` that poll() drives.
  bool is_active(const Comm& comm) const;

  /// All that there have been at a time; those that are open are under way, or persistent.
  const std::vector<std::unique_ptr<Execution>>& executions() const { return all_; }

  /// The settings of collectives have changed, alike at all ranks: other algorithms may be chosen.
  void settings_changed();

  Selector selector;
  FlagLimitsTable flag_limits;
  NodeSegments node_segments;

 private:
  void activate(Execution& execution);
  void finish(Execution& execution);

  Process& process_;
  std::vector<std::unique_ptr<Execution>> all_;
  std::vector<Execution*> idle_;
  std::vector<Execution*> active_;  // in the order of their start
};

/// The vector that a collective on `comm` reduces.
Reduction vector_of(const Comm& comm, const void* sendbuf, Count count, const Datatype& datatype,
                    const Op& op);

/// Chooses an algorithm for `problem`, and writes its schedule.
void plan_chosen(Execution& execution, const Problem& problem, int root, const CallData& data);

/// Whether the short ones among such calls are flag-based; then the long ones go by messages.
bool takes_short_ones_by_flags(const Execution& execution, FlagOperation operation);

/// The same for an allgather, of blocks that are equal or not (coll/call/allgather.cpp).
void plan_chosen_allgather(Execution& execution, const Elements& mine, const Blocks& all);

/// What fills in a collective's arguments and schedule, after it has checked the call: a function of the
/// operation's file, by reference.
class Plan {
 public:
  template <class Function>
  Plan(const Function& function)  // NOLINT: a plan is any function of this form
      : function_(&function), call_([](const void* plan, Execution& execution) -> Code {
          return (*static_cast<const Function*>(plan))(execution);
        }) {}
  Code operator()(Execution& execution) const { return call_(function_, execution); }

 private:
  const void* function_;
  Code (*call_)(const void*, Execution&);
};

/// Lets the plan fill it in; with TASUKI_CHECK=2 the ranks compare their calls first.
Code plan_collective(Execution& execution, const Plan& plan);

// The three ways to call a collective.
Code run_collective(Comm& comm, const Plan& plan);
Code start_collective(Comm& comm, Request** request, const Plan& plan);
Code prepare_collective(Comm& comm, Request** request, const Plan& plan);

}  // namespace tasuki
