// Building and unbuilding a Process, part by part.
#include "base/process.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "base/system/clock.hpp"
#include "board/rank_reporter.hpp"
#include "check/checks.hpp"
#include "coll/byte_collectives.hpp"
#include "coll/run/execution.hpp"
#include "communicator/world.hpp"
#include "datatype/predefined.hpp"
#include "dynamic/dynamic.hpp"
#include "environment/agreed_settings.hpp"
#include "environment/environment.hpp"
#include "io/file/file.hpp"
#include "io/file/job_locks.hpp"
#include "io/file/pending.hpp"
#include "io/file/phase_times.hpp"
#include "job/node_lock_user.hpp"
#include "link/link.hpp"
#include "memory/heap_library.hpp"
#include "memory/symmetric_heap.hpp"
#include "object/objects.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/remote_job.hpp"
#include "progress/link_waiter.hpp"
#include "progress/progress.hpp"
#include "progress/reporter.hpp"
#include "reduction/op.hpp"
#include "rma/message/messengers.hpp"
#include "tuning/networks.hpp"
#include "tuning/processors.hpp"
#include "tuning/table.hpp"

namespace tasuki {
namespace {

/// With every predefined object but the communicators.
std::unique_ptr<Objects> make_objects(Process& process) {
  auto objects = std::make_unique<Objects>(process);
  make_predefined_datatypes(objects->predefined);
  make_predefined_ops(*objects);
  make_predefined_message(*objects);
  return objects;
}

bool is_on_several_hosts(const Process& process) {
  return process.directory.nodes() > 1 && !process.directory.has_virtual_nodes();
}

/// One for each rank.
bool has_processors(const Process& process) {
  return process.node.ranks_on_machine() <= process.node.processors_available();
}

/// Polls before a waiting rank first offers its processor to others. With a processor for each rank it is a
/// millisecond or more: were it near the time that a sleeper takes to wake (some 50 us), two ranks that
/// answer each other would, after one hiccup, each fall asleep while the other wakes, for ever. With fewer
/// processors, none; nor between hosts, where a poll is a system call as an offer is: offers that nobody
/// takes cost a tenth of a short message, and where others want the processor, polls make each wait last for
/// milliseconds.
std::int64_t default_spin_count(const Process& process) {
  return has_processors(process) && !is_on_several_hosts(process) ? 50000 : 0;
}

void explain_start(const Starter& starter) {
  const std::string text = starter.explanation();
  if (!text.empty()) std::fprintf(stderr, "tasuki: %s\n", text.c_str());
}

void explain_heap() {
  const HeapInterface* heap = find_heap();
  const char* told = std::getenv(kHeapReasonVariable);
  const char* reason = heap != nullptr   ? heap->reason
                       : told != nullptr ? told
                                         : "the heap library is not loaded";
  std::fprintf(stderr, "tasuki: the heap is %s, because %s\n",
               heap != nullptr && heap->global != 0 ? "global" : "private", reason);
}

/// As load_table(), of the text that the launcher has read for all, and found to be no foreign one.
bool take_table(const std::string& path, const char* text, Table* table, std::string* error) {
  std::string reason = text + 1;
  if (*text != kUnreadable && parse_table(text, table, &reason)) return true;
  *error = path + ": " + reason;
  return false;
}

/// Who copies from which size on, where the table says so.
void take_thresholds(PointToPoint& p2p, const Parameters& parameters) {
  const CopyThresholds* const rows[kDistances] = {&parameters.cache_copies, &parameters.package_copies,
                                                  &parameters.machine_copies};
  const auto take = [](double value, Count* threshold) {
    if (value != 0) *threshold = static_cast<Count>(value);
  };
  for (std::size_t i = 0; i < kDistances; ++i) {
    take(rows[i]->sender_write_bytes_min, &p2p.thresholds[i].sender_write_bytes_min);
    take(rows[i]->waiting_get_bytes_min, &p2p.thresholds[i].waiting_get_bytes_min);
    take(rows[i]->cooperative_bytes_min, &p2p.thresholds[i].cooperative_bytes_min);
    take(rows[i]->stream_bytes_min, &p2p.thresholds[i].stream_bytes_min);
  }
  p2p.read_settings();
}

/// What is built in for the processors of this maker, with the row of the network that this job has.
Parameters built_in_parameters(const Process& process, ProcessorMaker maker) {
  const Config& config = process.config;
  Parameters parameters = parameters_of(maker);
  if (process.directory.nodes() == 1) return parameters;
  if (!process.directory.has_virtual_nodes() || config.network == kNetworkFabric) {
    take_tcp_network(&parameters);
  } else {
    take_imitated_network(static_cast<double>(config.network_latency_ns),
                          static_cast<double>(config.network_mb_per_second),
                          static_cast<double>(config.network_node_mb_per_second), &parameters);
  }
  return parameters;
}

/// The machine's parameters, from the file that the user names. A bad one is reported and not used.
void load_tuning(Process& process, ProcessorMaker maker) {
  const std::string& file = process.config.tuning_file;
  const char* text = process.launcher.tuning_table();
  Table table;
  table.parameters = built_in_parameters(process, maker);
  process.collectives->selector.set_table(table, near_parameters_of(maker, table.parameters));
  if (text == nullptr ? file.empty() : *text == '\0') return;
  std::string error;
  const bool foreign_allowed = process.config.tuning_foreign != 0;
  if (text != nullptr ? take_table(file, text, &table, &error)
                      : load_table(file, foreign_allowed, &table, &error)) {
    take_thresholds(*process.p2p, table.parameters);
    const Parameters near_parameters = without_streaming(table.parameters);
    process.collectives->selector.set_table(std::move(table), near_parameters);
  } else if (process.rank == 0) {
    std::fprintf(stderr, "tasuki: TASUKI_TUNING_FILE: %s; the built-in parameters are used\n", error.c_str());
  }
}

constexpr const char* kMakerKey = "processor_maker";

ProcessorMaker own_maker(const Process& process) {
  return processor_maker(process.config.processor);
}

/// For the fence that follows: hosts may have processors of several makers.
bool put_maker(Process& process, std::string* error) {
  return !is_on_several_hosts(process) || process.rank != 0 ||
         process.directory.put(kMakerKey, maker_text(own_maker(process)), error);
}

/// Once that fence is over: all ranks choose as on the processors of rank 0.
void take_maker_of_first(Process& process) {
  std::string maker;
  if (!is_on_several_hosts(process) || !process.directory.get(0, kMakerKey, &maker)) return;
  if (maker != maker_text(own_maker(process))) load_tuning(process, maker_of(maker));
}

/// Returns once all ranks of the world have come here: a collective that is counted as any other.
Code meet(Process& process) {
  const Ref<Comm> meeting = meeting_of_world(process);
  if (meeting->hidden) ++process.counters.collectives;
  return barrier_by_messages(*meeting);
}

}  // namespace

Process::Process(Starter& its_starter, Config configuration)
    : rank(its_starter.directory().rank()),
      size(its_starter.directory().size()),
      starter(its_starter),
      directory(its_starter.directory()),
      launcher(its_starter.launcher()),
      node(its_starter.node()),
      board(node.call_board()),
      line(board.line),
      config(configuration) {
  if (config.spin_count < 0) config.spin_count = default_spin_count(*this);
  node.set_lock_user(std::make_unique<NodeLockUser>(node, launcher));
  link = its_starter.make_link(config);
  symmetric_heap = node.make_symmetric_heap();
  link->use_heap(*symmetric_heap);
  if (config.explain && rank == 0) {
    explain_start(starter);
    explain_heap();
  }
  counters.ranks = static_cast<std::uint64_t>(size);
  counters.packet_bytes_max = link->bulk_bytes_max();
  waiter = its_starter.make_waiter(*link);
  if (waiter == nullptr) {
    const bool offers_less = is_on_several_hosts(*this) && has_processors(*this);
    waiter = std::make_unique<LinkWaiter>(*link, offers_less ? &its_starter.clock() : nullptr);
  }
  progress = std::make_unique<Progress>(its_starter.clock(), *waiter, node, lock, config.spin_count, counters,
                                        events);
  progress->set_home(node.home_processor());
  if (launcher.report(&counters)) {
    reporter = std::make_unique<Reporter>(launcher, counters);
    progress->add(reporter.get());
  }
  if (config.checks(kCheckLocal)) checks = std::make_unique<Checks>(*this);
  p2p = std::make_unique<PointToPoint>(*this);
  objects = make_objects(*this);
  collectives = std::make_unique<Collectives>(*this);
  load_tuning(*this, own_maker(*this));
  dynamic = std::make_unique<Dynamic>(*this);
  files = std::make_unique<Files>(*this);
  keep_phase_spans(*this);
  messengers = std::make_unique<rma::Messengers>(*this);
  rank_reporter = std::make_unique<RankReporter>(*this);
  progress->set_call({&line, &error_owner});
  progress->set_board(board, *rank_reporter);
}

Process::Process(Starter& its_starter)
    : rank(its_starter.directory().rank()),
      size(its_starter.directory().size()),
      starter(its_starter),
      directory(its_starter.directory()),
      launcher(its_starter.launcher()),
      node(its_starter.node()),
      board(node.call_board()),
      line(board.line),
      objects(make_objects(*this)) {}

Process::~Process() = default;

namespace {

std::string printed(const char* format, va_list arguments) {
  char text[1024];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

}  // namespace

Code Process::fail(int error_class, const char* format, ...) {
  ++counters.errors;
  va_list arguments;
  va_start(arguments, format);
  std::string text = printed(format, arguments);
  va_end(arguments);
  return errors.record(error_class, std::move(text));
}

Code Process::returned_by_user(Code returned, const char* format, ...) {
  ++counters.errors;
  va_list arguments;
  va_start(arguments, format);
  std::string text = printed(format, arguments);
  va_end(arguments);
  const int number = error_class_bits(returned);
  const bool is_code = returned > 0 && (number >= kUserErrorFirst || error_class_name(number) != nullptr);
  return is_code ? errors.note_returned(returned, std::move(text))
                 : errors.record(kErrOther, std::move(text));
}

void set_thread_level(Process& process, ThreadLevel level, bool locking) {
  process.thread_level = level;
  process.locking = locking;
  if (locking && !threads_are_watched()) process.lock.may_favour();
  process.progress->set_locking(locking);
}

std::unique_ptr<Process> make_process(Starter& starter, const Config& config, ThreadLevel required) {
  const std::int64_t begin_ns = clock_ns();
  auto process = std::make_unique<Process>(starter, config);
  set_thread_level(*process, required, required == ThreadLevel::kMultiple);
  make_world(*process);
  if (process->p2p->explainer != nullptr) process->p2p->explainer->start();
  process->counters.init_ns += static_cast<std::uint64_t>(clock_ns() - begin_ns);
  return process;
}

Code start_world(Process& process) {
  const std::int64_t begin_ns = clock_ns();
  Directory& directory = process.directory;
  std::string error;
  publish_world(process);
  bool agreed = put_settings(directory, process.config, &error) && put_maker(process, &error);
  directory.enter_fence();
  process.launcher.join_world();
  start_job_locks(process);
  process.progress->wait_until([&process] { return process.link->has_tried_network(); });
  const Code code = meet(process);  // all have entered the fence, so it takes no time
  agreed = agreed && directory.wait_at_fence(&error) && settings_agree(directory, process.config, &error);
  if (!agreed) process.launcher.abort(1, "MPI_Init: " + error);
  take_maker_of_first(process);
  meet_parents(process);
  process.launcher.mark_initialized();
  process.counters.init_ns += static_cast<std::uint64_t>(clock_ns() - begin_ns);
  return code;
}

Code begin_end_of_world(Process& process) {
  return delete_attributes(process, process.objects->self, &process.objects->self->attributes);
}

Code finish_world(Process& process) {
  const std::int64_t begin_ns = clock_ns();
  process.files->pending->finish_all();
  flush_sends(process);
  process.collectives->node_segments.release_all();
  settle_job_locks(process);
  const Code code = meet(process);
  end_job_locks(process);
  process.collectives->node_segments.give_back();
  hide_world(process);
  process.counters.finalize_ns += static_cast<std::uint64_t>(clock_ns() - begin_ns);
  return code;
}

void rest(Process& process) {
  process.files->pending->finish_all();
  flush_sends(process);
  finish_with_connected(process);
  write_phase_spans(process);
  process.link->leave();
  process.launcher.mark_finalized();
}

}  // namespace tasuki
