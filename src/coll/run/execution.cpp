// Running schedules: see coll/run/execution.hpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "coll/hierarchy/calls.hpp"
#include "coll/run/execution.hpp"
#include "job/directory.hpp"
#include "node/node.hpp"
#include "object/objects.hpp"
#include "object/topology.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/message_requests.hpp"
#include "reduction/exact.hpp"

namespace tasuki {
namespace {

constexpr unsigned kRoundsPerTurn = 8;
constexpr int kFormShift = 29;  // of a tag: the form of the collective; its number is below

// The plane of an intercommunicator's local communicator that the local steps of its collectives travel in:
// not that of the local communicator's own collectives, whose tags are counted apart.
constexpr Plane kLocalPlane = Plane::kOther;

/// What a communicator's ranks share of their jobs.
struct Sharing {
  bool several_jobs;
  /// That the ranks on a node share, where all know alike how many there are: not where some are of other
  /// jobs, which may have been given others. 0 else.
  double processors;
};

inline constexpr Slot<const Sharing> kSharingSlot{SlotNumber::kProcessors};

const Sharing& sharing_of(Comm& comm) {
  if (const Sharing* known = comm.slots.get(kSharingSlot)) return *known;
  const auto& endpoints = comm.group->endpoints;
  const bool one_job = std::all_of(endpoints.begin(), endpoints.end(),
                                   [&](int endpoint) { return endpoint < comm.process.size; });
  const double processors = one_job ? comm.process.node.processors_per_node() : 0;
  comm.slots.set(kSharingSlot, std::make_shared<const Sharing>(Sharing{!one_job, processors}));
  return *comm.slots.get(kSharingSlot);
}

/// The grid that the communicator was given, without the dimensions of one rank.
std::array<int, 3> extents_of(const Comm& comm) {
  if (comm.topology == nullptr || comm.topology->kind != TopologyKind::kCart) return {};
  std::array<int, 3> extents = {};
  std::size_t dimensions = 0;
  for (const int extent : comm.topology->dims) {
    if (extent == 1) continue;
    if (dimensions == extents.size()) return {};
    extents[dimensions++] = extent;
  }
  return extents;
}

}  // namespace

Execution::~Execution() {
  for (; done_ < under_way_.size(); ++done_) release(under_way_[done_]);
  close();
}

void Execution::open(Comm& comm, CollectiveForm form) {
  comm_ = &comm;
  form_ = form;
  flow_is_prepared_ = false;
}

Problem Execution::problem(Operation operation, Count bytes) const {
  return problem_of(*comm_, operation, bytes, form_);
}

Problem Execution::problem(Operation operation, const Reduction& vector) const {
  Problem problem = this->problem(operation, vector.count * vector.type.size);
  problem.commutative = vector.commutative;
  problem.repeatable = vector.repeatable;
  return problem;
}

Problem problem_of(Comm& comm, Operation operation, Count bytes, CollectiveForm form) {
  Problem problem{.operation = operation, .size = comm.size(), .bytes = bytes};
  problem.blocking = form == CollectiveForm::kBlocking;
  const NodeMap& nodes = node_map(comm);
  problem.nodes = nodes.nodes();
  problem.node_ranks_max = nodes.largest();
  problem.consecutive = nodes.is_consecutive();
  problem.processors = sharing_of(comm).processors;
  problem.several_jobs = sharing_of(comm).several_jobs;
  problem.extents = extents_of(comm);
  const NodeSegment* const segment = problem.blocking ? node_segment_of(comm) : nullptr;
  problem.node_segment = segment != nullptr;
  problem.near_lines = segment != nullptr && segment->near_lines();
  problem.composed = problem.blocking && may_have_hierarchy(comm);
  return problem;
}

Reduction vector_of(const Comm& comm, const void* sendbuf, Count count, const Datatype& datatype,
                    const Op& op) {
  const Repeatable repeatable = repeatable_for(comm.repeatable(), op, datatype);
  return {.count = count,
          .type = shape_of(datatype),
          .in_place = sendbuf == kInPlace,
          .commutative = op.commutative && repeatable == Repeatable::kNo,
          .repeatable = repeatable};
}

void plan_chosen(Execution& execution, const Problem& problem, int root, const CallData& data) {
  Selector& selector = execution.process().collectives->selector;
  const Selection& selection = selector.choose(problem);
  const Algorithm& algorithm = candidates_of(problem.operation)[static_cast<std::size_t>(selection.place)];
  const NodeMap& nodes = node_map(execution.comm());
  if (problem.composed && algorithm.collective != nullptr) {
    Hierarchy* hierarchy = hierarchy_of(execution.comm());
    if (hierarchy == nullptr || !hierarchy->has_lane_of(root)) {
      Problem flat = problem;
      flat.composed = false;
      return plan_chosen(execution, flat, root, data);
    }
    execution.call_recorded(*hierarchy,
                            hierarchy->records().take(*algorithm.collective, nodes, hierarchy->node(),
                                                      execution.comm().rank, root, data));
    execution.schedule.set_choice(selection);
    return;
  }
  execution.schedule.set_choice(selection);
  algorithm.schedule(execution.schedule,
                     {.self = execution.self(),
                      .root = root,
                      .segment_bytes = selection.segment_bytes,
                      .nodes = &nodes,
                      .problem = &problem,
                      .parameters = &selector.parameters_for(problem),
                      .selector = &selector},
                     data);
}

bool takes_short_ones_by_flags(const Execution& execution, FlagOperation operation) {
  if (execution.form() != CollectiveForm::kBlocking) return false;
  const NodeSegment* segment = execution.comm().slots.get(kNodeSegmentSlot);
  return segment != nullptr && segment->may_take_flags(operation);
}

void Execution::retain_arguments() {
  const auto keep = [this](Object* object) {
    if (object != nullptr) retained_.push_back(retain(object));
  };
  keep(arguments.send_type);
  keep(arguments.receive_type);
  keep(const_cast<Op*>(arguments.op));
  for (Datatype* type : types) keep(type);
}

void Execution::restart() {
  round_ = 0;
  error_ = recorded_ != nullptr ? recorded_->error : 0;
  over = false;
  if (schedule.algorithm >= 0 && !comm_->hidden) count_algorithm();
}

void Execution::count_algorithm() {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const Selection& said = schedule.choice;
  ++process_.counters.algorithms[schedule.algorithm];
  process_.counters.last_collective = {number(schedule.algorithm + 1), number(said.runner_up + 1),
                                       number(said.predicted_ns), number(said.runner_up_ns)};
}

bool Execution::advance_by_rounds(bool* moved) {
  for (unsigned rounds = 1;; ++rounds) {
    // Rounds may be short and many, and none has to wait: other threads get their turn between them.
    if (rounds % kRoundsPerTurn == 0) const Progress::Release turn(*process_.progress);
    if (await_ < await_end_) {
      if (!awaits_hold()) return false;
      *moved = true;
    }
    while (done_ < under_way_.size()) {
      Request* request_under_way = under_way_[done_];
      if (!request_under_way->done) return false;
      note(request_under_way->status.error);
      release(request_under_way);
      ++done_;
      *moved = true;
    }
    under_way_.clear();
    done_ = 0;
    if (round_ == schedule.round_ends.size()) return true;
    start_round();
  }
}

void Execution::start_round() {
  const std::size_t begin = round_ == 0 ? 0 : schedule.round_ends[round_ - 1];
  const std::size_t end = schedule.round_ends[round_];
  ++round_;
  if (segment_ != nullptr) {
    await_ = begin;
    await_end_ = end;
  }
  for (std::size_t index = begin; index < end; ++index) {
    const Step& step = schedule.steps[index];
    if (is_single_copy(step.action)) {
      index = run_single_copy_step(index);
    } else {
      run_step(step);
    }
  }
}

/// A message that it starts, and that is not over, is the last under way then.
void Execution::run_step(const Step& step) {
  Comm& on = step.local ? *comm_->local_comm : *comm_;
  const Plane plane = step.local ? kLocalPlane : Plane::kCollective;
  switch (step.action) {
    case Step::Action::kSend:
      if (send_at_once(address(step.from), step.count, datatype(step.type, step.block), step.peer, tag_, on,
                       plane))
        return;
      under_way_.push_back(start_send(address(step.from), step.count, datatype(step.type, step.block),
                                      step.peer, tag_, on, plane));
      return;
    case Step::Action::kReceive:
      under_way_.push_back(start_receive(address(step.to), step.count, datatype(step.type, step.block),
                                         step.peer, tag_, on, plane));
      return;
    case Step::Action::kReduce:
      reduce_step(step);
      return;
    case Step::Action::kCopy:
      copy_step(step);
      return;
    case Step::Action::kSum:
      sum_step(step);
      return;
    case Step::Action::kSign:
      sign_step(step);
      return;
    case Step::Action::kCompare:
      compare_step(step);
      return;
    case Step::Action::kCall:
      note(hierarchy::call_part(*this, *called_on_, recorded_->parts[static_cast<std::size_t>(step.count)]));
      return;
    default:  // single-copy steps: run_single_copy_step()
      return;
  }
}

void Execution::reduce_step(const Step& step) {
  Datatype& type = datatype(step.type, step.block);
  const Progress::Release released(*process_.progress, bytes_to_combine(step.count, type));
  reduce_local(process_, *arguments.op, address(step.from), address(step.to), step.count, type);
}

/// What is combined without the process lock: none of it by a user's operation, which lets go of it itself.
Count Execution::bytes_to_combine(Count count, const Datatype& type) const {
  return arguments.op->function == nullptr ? count * type.size : 0;
}

void Execution::sum_step(const Step& step) {
  const Datatype& type = datatype(step.type, step.block);
  const Count bytes = step.count * type.size;
  vectors_.clear();
  for (Count vector = 0; vector < step.to_count; ++vector)
    vectors_.push_back(address(step.from + vector * bytes));
  const Progress::Release released(*process_.progress, step.to_count * bytes);
  find_exact_kernel(*arguments.op, type)(vectors_.data(), vectors_.size(), address(step.to),
                                         static_cast<std::size_t>(step.count));
}

void Execution::copy_step(const Step& step) {
  const Datatype& from = datatype(step.type, step.block);
  const Datatype& to = datatype(step.to_type, step.to_block);
  const Count bytes = step.count * from.size;
  const Count room = step.to_count * to.size;
  if (bytes > room) {
    note(process_.fail(kErrTruncate, "this rank's own block has %lld bytes to send and room to receive %lld",
                       static_cast<long long>(bytes), static_cast<long long>(room)));
  }
  const Progress::Release released(*process_.progress, bytes);
  copy_typed(address(step.from), step.count, from, address(step.to), step.to_count, to);
}

void Execution::add_missing(std::vector<int>* endpoints) const {
  add_missing_members(endpoints);
  for (std::size_t number = done_; number < under_way_.size(); ++number) {
    const Request& message = *under_way_[number];
    if (message.done) continue;
    if (message.request_type == RequestType::kSend)
      endpoints->push_back(static_cast<const SendRequest&>(message).endpoint);
    if (message.request_type == RequestType::kReceive) {
      const int source = static_cast<const ReceiveRequest&>(message).source;
      if (source >= 0) endpoints->push_back(message.comm->endpoint(source));
    }
  }
}

void Execution::call_recorded(Hierarchy& hierarchy, std::unique_ptr<hierarchy::RecordedCall> record) {
  called_on_ = &hierarchy;
  recorded_ = std::move(record);
  std::swap(schedule, recorded_->schedule);
}

void Execution::close() {
  for (Object* object : retained_) release(object);
  retained_.clear();
  if (recorded_ != nullptr) {
    std::swap(schedule, recorded_->schedule);
    called_on_->records().give_back(std::move(recorded_));
    called_on_ = nullptr;
  }
  unbind();
  name_.clear();
  request = nullptr;
  comm_ = nullptr;
}

CollectiveRequest::~CollectiveRequest() {
  if (execution != nullptr) comm->process.collectives->close(*execution);
}

Code CollectiveRequest::start() {
  if (comm->process.config.checks(kCheckBuffers)) {
    if (const Code code = execution->check_buffers(); code != 0) return code;
  }
  comm->process.collectives->start(*execution, *this);
  return 0;
}

Collectives::~Collectives() {
  if (!active_.empty()) process_.progress->remove(this);
}

Execution& Collectives::open(Comm& comm, CollectiveForm form) {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Execution>(process_));
    idle_.push_back(all_.back().get());
    active_.reserve(all_.size());
  }
  Execution& execution = *idle_.back();
  idle_.pop_back();
  execution.open(comm, form);
  return execution;
}

Code Collectives::admit(Execution& execution) {
  if (const Code code = execution.take_scratch(); code != 0) return code;
  Comm& comm = execution.comm();
  if (!comm.hidden) ++process_.counters.collectives;
  const CollectiveForm form = execution.form();
  const bool together = process_.config.checks(kCheckCompare) && form == CollectiveForm::kNonblocking;
  const auto index = static_cast<std::size_t>(together ? CollectiveForm::kBlocking : form);
  const std::uint32_t number = comm.collective_sequences[index]++ & ((1U << kFormShift) - 1);
  execution.set_tag(static_cast<int>(number) | static_cast<int>(index) << kFormShift);
  return 0;
}

Code Collectives::refuse(Execution& execution, Code code) {
  execution.comm().take_back_call();
  close(execution);
  return code;
}

void Collectives::close(Execution& execution) {
  execution.close();
  idle_.push_back(&execution);
}

Code Collectives::run(Execution& execution) {
  if (const Code code = admit(execution); code != 0) return refuse(execution, code);
  execution.restart();
  const bool shared = execution.schedule.is_single_copy();
  if (shared) execution.begin_single_copy();
  bool moved = false;
  Progress::Patience patience;
  if (!execution.advance(&moved) && !(shared && execution.ends_awake(patience))) {
    if (process_.locking) {
      // Another thread's sweep has to drive this one too, while this thread sleeps.
      activate(execution);
      process_.progress->wait_until([&] { return execution.over; });
    } else {
      process_.progress->wait_until([&] { return execution.advance(&moved); }, patience);
    }
  }
  if (shared) execution.end_single_copy();
  const Code code = execution.error();
  close(execution);
  return code;
}

Code Collectives::compare_calls(Execution& planned) {
  Execution& comparison = open(planned.comm(), CollectiveForm::kBlocking);
  comparison.compare_calls_of(planned);
  return run(comparison);
}

void Collectives::start(Execution& execution, CollectiveRequest& request) {
  request.execution = &execution;
  request.active = true;
  request.done = false;
  request.status = kEmptyStatus;
  execution.request = retain(&request);
  if (!execution.name().empty() && process_.config.checks(kCheckBuffers)) [[unlikely]] {
    request.has_pending_buffers = true;
    process_.checks->begin(&request, execution.name(), execution.buffer_uses());
  }
  bool moved = false;
  execution.restart();
  if (execution.advance(&moved)) {
    request.status.error = execution.error();
    finish(execution);
  } else {
    activate(execution);
  }
}

void Collectives::activate(Execution& execution) {
  if (active_.empty()) process_.progress->add(this);
  active_.push_back(&execution);
}

bool Collectives::is_active(const Comm& comm) const {
  return std::any_of(active_.begin(), active_.end(),
                     [&](const Execution* execution) { return &execution->comm() == &comm; });
}

void Collectives::settings_changed() {
  selector.forget();
  flag_limits.forget();
  node_segments.for_each([](NodeSegment& segment) { set_flag_limits(segment); });
}

bool Collectives::poll() {
  bool moved = false;
  for (std::size_t index = 0; index < active_.size();) {
    Execution& execution = *active_[index];
    const bool calls_user = execution.arguments.op != nullptr && execution.arguments.op->function != nullptr;
    if (execution.in_hand || (calls_user && process_.progress->is_helper())) {
      ++index;
      continue;
    }
    execution.in_hand = true;
    const bool over = execution.advance(&moved);
    execution.in_hand = false;
    // Other threads may have begun and ended others meanwhile.
    const auto place = std::find(active_.begin(), active_.end(), &execution);
    index = static_cast<std::size_t>(place - active_.begin());
    if (!over) {
      ++index;
      continue;
    }
    moved = true;
    active_.erase(place);
    if (active_.empty()) process_.progress->remove(this);
    if (execution.request != nullptr) execution.request->status.error = execution.error();
    finish(execution);
  }
  return moved;
}

void Collectives::finish(Execution& execution) {
  execution.over = true;
  CollectiveRequest* request = execution.request;
  if (request == nullptr) return;  // a blocking call, which closes it itself
  execution.request = nullptr;
  if (!request->persistent) {
    request->execution = nullptr;
    close(execution);
  }
  if (request->then) request->then();
  request->then = nullptr;
  request->complete();
  release(request);
}

Code plan_collective(Execution& execution, const Plan& plan) {
  const Code code = plan(execution);
  const Config& config = execution.process().config;
  if (!config.checks(kCheckCompare) || code != 0) [[likely]]
    return code;
  execution.prepend_comparison_of_calls();
  return config.checks(kCheckBuffers) ? execution.check_buffers() : 0;
}

Code run_collective(Comm& comm, const Plan& plan) {
  Collectives& collectives = *comm.process.collectives;
  Execution& execution = collectives.open(comm, CollectiveForm::kBlocking);
  if (const Code code = plan_collective(execution, plan); code != 0)
    return collectives.refuse(execution, code);
  return collectives.run(execution);
}

Code start_collective(Comm& comm, Request** request, const Plan& plan) {
  Collectives& collectives = *comm.process.collectives;
  Execution& execution = collectives.open(comm, CollectiveForm::kNonblocking);
  Code code = plan_collective(execution, plan);
  if (code == 0) code = collectives.admit(execution);
  if (code != 0) return collectives.refuse(execution, code);
  execution.retain_arguments();
  auto* started = new CollectiveRequest(comm);
  collectives.start(execution, *started);
  *request = started;
  return 0;
}

Code prepare_collective(Comm& comm, Request** request, const Plan& plan) {
  Collectives& collectives = *comm.process.collectives;
  Execution& execution = collectives.open(comm, CollectiveForm::kPersistent);
  Code code = plan(execution);
  if (code == 0) code = collectives.admit(execution);
  if (code != 0) return collectives.refuse(execution, code);
  if (execution.process().config.checks(kCheckCompare)) code = collectives.compare_calls(execution);
  if (code != 0) {
    collectives.close(execution);
    return code;
  }
  execution.retain_arguments();
  auto* prepared = new CollectiveRequest(comm);
  prepared->persistent = true;
  prepared->execution = &execution;
  *request = prepared;
  return 0;
}

}  // namespace tasuki
