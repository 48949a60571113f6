// The buffers, the blocks, the part file.
#include "trace/recorder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "generated/trace/functions.hpp"
#include "trace/clock.hpp"
#include "trace/place/call_site.hpp"

namespace tasuki::trace {
namespace {

constexpr std::size_t kRecordsMax = 2048;
constexpr std::size_t kDoneMax = 1 << 16;
constexpr std::int64_t kFlushNs = 250'000'000;
constexpr std::int64_t kCalibrationNs = 2'000'000;
constexpr std::int64_t kTogetherNs =
    20'000;  // tests that find nothing become one record when they are this close
constexpr char kOwnFunction[] = "(trace)";

std::atomic<std::uint32_t> threads = 0;
thread_local std::uint32_t own_thread = 0;

std::uint32_t thread_number() {
  if (own_thread == 0) own_thread = ++threads;
  return own_thread - 1;
}

std::string definition(char kind, std::uint64_t number, const std::string& text) {
  std::string line(1, kind);
  append_varint(&line, number);
  return line + text;
}

/// Members as first:stride:count, joined by commas.
std::string runs_text(const std::vector<std::int32_t>& ranks) {
  std::string text;
  for (std::size_t begin = 0; begin < ranks.size();) {
    const std::int32_t stride = begin + 1 < ranks.size() ? ranks[begin + 1] - ranks[begin] : 1;
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == stride) ++end;
    char run[64];
    std::snprintf(run, sizeof run, "%s%d:%d:%zu", text.empty() ? "" : ",", ranks[begin], stride, end - begin);
    text += run;
    begin = end;
  }
  return text;
}

std::uint64_t hash_of(const std::vector<std::int32_t>& ranks) {
  std::uint64_t hash = ranks.size();
  for (const std::int32_t rank : ranks) hash = (hash ^ static_cast<std::uint32_t>(rank)) * 0x100000001b3U;
  return hash;
}

/// Empty where no trace of this process is wanted: it inherited the preloaded library from an outer job.
std::string part_path(int rank) {
  const char* part = std::getenv("TASUKI_TRACE_PART");
  if (part != nullptr && *part != '\0') return part;
  const char* prefix = std::getenv("TASUKI_TRACE");
  if (prefix == nullptr || *prefix == '\0') return {};
  return std::string(prefix) + "." + std::to_string(rank) + ".part";
}

std::string one_line(std::string text) {
  for (char& letter : text) letter = letter == '\n' ? ' ' : letter;
  return text;
}

/// The processors on which this process may run: 0-3,8.
std::string allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::string text;
  for (int begin = 0; begin < CPU_SETSIZE; ++begin) {
    if (!CPU_ISSET(begin, &set)) continue;
    int end = begin;
    while (end + 1 < CPU_SETSIZE && CPU_ISSET(end + 1, &set)) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(begin);
    if (end > begin) text += "-" + std::to_string(end);
    begin = end;
  }
  return text;
}

std::string head_text(const Identity& identity, bool counter) {
  utsname machine{};
  uname(&machine);
  const char* world = std::getenv("TASUKI_TRACE_WORLD");
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text += std::string(name) + "=" + one_line(value) + "\n";
  };
  add("world", world != nullptr ? world : "0");
  add("rank", std::to_string(identity.rank));
  add("size", std::to_string(identity.size));
  add("abi", identity.abi);
  add("library", identity.library);
  add("host", machine.nodename);
  add("pid", std::to_string(getpid()));
  add("processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  add("allowed", allowed_processors());
  add("program", program_invocation_name != nullptr ? program_invocation_name : "");
  add("clock", counter ? "counter" : "monotonic");
  add("clock_offset_ns", std::to_string(identity.clock_offset_ns));
  add("clock_error_ns", std::to_string(identity.clock_error_ns));
  return text;
}

}  // namespace

Recorder& Recorder::get() {
  static Recorder& recorder = *new Recorder;
  return recorder;
}

std::int64_t Recorder::read_counter_ticks() {
  return read_counter();
}

std::int64_t Recorder::monotonic_ticks() {
  return monotonic_ns();
}

/// Two readings of both clocks, so far apart that the rate is known to a thousandth; every block improves it.
Recorder::Recorder() : counter_(has_even_counter()), pid_(getpid()) {
  line_ = {ticks(), monotonic_ns(), 1};
  if (counter_) {
    std::int64_t now = line_.ns;
    while (now - line_.ns < kCalibrationNs) now = monotonic_ns();
    line_.ns_per_tick = static_cast<double>(now - line_.ns) / static_cast<double>(ticks() - line_.ticks);
  }
  flush_ticks_ = static_cast<std::int64_t>(kFlushNs / line_.ns_per_tick);
  flush_due_ = line_.ticks + flush_ticks_;
  records_.reserve(kRecordsMax + 1);
}

void Recorder::open(const Identity& identity) {
  Lock lock(*this);
  if (fd_ >= 0 || broken_) return;
  path_ = part_path(identity.rank);
  const int fd = path_.empty() ? -1 : ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    // mpiexec's part may be there: then this is a program that the rank started, which is a job of its own.
    if (!path_.empty() && (errno != EEXIST || std::getenv("TASUKI_TRACE_PART") == nullptr)) give_up("make");
    recording_ = false;
    broken_ = true;
    return;
  }
  fd_ = fd;
  processor_times_ = read_processor_times();
  const std::string head = file_head() + block("HEAD", head_text(identity, counter_));
  if (write(fd_, head.data(), head.size()) != static_cast<ssize_t>(head.size())) give_up("write");
}

void Recorder::give_up(const char* what) {
  std::fprintf(stderr, "tasuki trace: cannot %s '%s': %s; this process is not recorded any more\n", what,
               path_.c_str(), std::strerror(errno));
  recording_ = false;
  broken_ = true;
}

std::uint16_t Recorder::number_of(std::size_t function, const char* name) {
  if (function >= numbers_.size()) numbers_.resize(function + 1);
  std::uint16_t& number = numbers_[function];
  if (number == 0) {
    number = ++functions_made_;
    definitions_.push_back(definition('F', number, name));
  }
  return number;
}

/// Of all that is in the same file's code; what is not has no number.
std::uint32_t Recorder::number_of_site(const void* site, const PythonPlace* python) {
  const std::uintptr_t bits =
      reinterpret_cast<std::uintptr_t>(site) ^ reinterpret_cast<std::uintptr_t>(python) / 16;
  KnownSite& last = last_sites_[(bits ^ bits >> 8) % kKnownSites];
  if (last.site == site && last.python == python) return last.number;
  const auto [entry, added] = sites_[python].emplace(site, 0);
  if (added) {
    const std::string text = site_text(site);
    if (!text.empty()) {
      entry->second = ++sites_made_;
      define('S', entry->second, python != nullptr ? text + '\t' + python->text : text);
    }
  }
  last = {site, python, entry->second};
  return entry->second;
}

bool Recorder::joins_last(const Record& record) const {
  if ((record.flags & kUnanswered) == 0 || records_.empty()) return false;
  const Record& last = records_.back();
  return last.flags == record.flags && last.function == record.function && last.site == record.site &&
         last.group == record.group && last.peer == record.peer && last.tag == record.tag &&
         last.thread == record.thread && last.phase == record.phase && record.begin >= last.end &&
         line_.span_ns(record.begin - last.end) < kTogetherNs;
}

void Recorder::append(Record record, const std::vector<Done>& done, const std::vector<std::int64_t>& started,
                      const Origin& origin) {
  if (broken_) return;
  record.function = number_of(record.function, origin.function);
  record.site = number_of_site(origin.site, origin.python);
  record.thread = thread_number();
  record.phase = phase_;
  if (joins_last(record)) {
    Record& last = records_.back();
    last.outside += record.begin - last.end;
    last.end = record.end;
    ++last.repeats;
  } else {
    record.done = static_cast<std::uint32_t>(done.size());
    records_.push_back(record);
    done_.insert(done_.end(), done.begin(), done.end());
    started_.insert(started_.end(), started.begin(), started.end());
    requests_ += record.made;
  }
  if (records_.size() >= kRecordsMax || done_.size() >= kDoneMax || record.end > flush_due_) write_records();
}

void Recorder::flush() {
  Lock lock(*this);
  write_records();
}

/// The time of a flush is a record of its own: it is neither the program's time nor MPI's.
void Recorder::add_own_record(std::int64_t begin) {
  Record own;
  own.begin = begin;
  own.end = ticks();
  own.function = number_of(static_cast<std::size_t>(Function::kOwn), kOwnFunction);
  own.thread = thread_number();
  own.phase = phase_;
  records_.push_back(own);
  ++own_records_;
}

void Recorder::write_records() {
  if (fd_ < 0 || broken_ || records_.empty() || getpid() != pid_) return;
  const std::int64_t begin = ticks();
  TickLine now{begin, counter_ ? monotonic_ns() : begin, line_.ns_per_tick};
  TickLine line = line_;
  if (counter_ && now.ns - line_.ns > kCalibrationNs) {
    line.ns_per_tick = static_cast<double>(now.ns - line_.ns) / static_cast<double>(now.ticks - line_.ticks);
    now.ns_per_tick = line.ns_per_tick;
  } else {
    now = line_;  // too close for a better rate
  }
  write_block("DATA",
              encode({records_, done_, started_, definitions_, requests_before_, own_records_}, line));
  line_ = now;
  records_.clear();
  own_records_ = 0;
  done_.clear();
  started_.clear();
  definitions_.clear();
  requests_before_ = requests_;
  flush_due_ = ticks() + flush_ticks_;
  add_own_record(begin);
}

void Recorder::write_block(const char kind[4], const std::string& payload) {
  const std::string text = block(kind, payload);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t wrote = write(fd_, text.data() + written, text.size() - written);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return give_up("write");
    written += static_cast<std::size_t>(wrote);
  }
}

void Recorder::close() {
  Lock lock(*this);
  if (getpid() != pid_ || fd_ < 0) return;
  write_records();
  if (!broken_) write_block("END ", text_since(processor_times_));
  ::close(fd_);
  fd_ = -1;
  recording_ = false;
  broken_ = true;
}

void Recorder::set_phase(const std::string& name) {
  Lock lock(*this);
  if (name.empty()) {
    phase_ = 0;
    return;
  }
  const auto [entry, added] = phases_.emplace(name, static_cast<std::uint32_t>(phases_.size() + 1));
  if (added) define('P', entry->second, name);
  phase_ = entry->second;
}

Group* Recorder::find_group(Holder holder, std::uintptr_t handle) {
  const std::size_t kind = static_cast<std::size_t>(holder);
  if (last_[kind] != nullptr && last_handle_[kind] == handle) return last_[kind];
  const auto found = groups_[kind].find(handle);
  if (found == groups_[kind].end()) return nullptr;
  last_[kind] = found->second;
  last_handle_[kind] = handle;
  return found->second;
}

const RankMap* Recorder::map_of(const std::vector<std::int32_t>& ranks) {
  const std::uint64_t hash = hash_of(ranks);
  const auto [begin, end] = maps_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second->ranks() == ranks) return entry->second;
  }
  return maps_.emplace(hash, new RankMap(ranks))->second;
}

Group* Recorder::add_group(Holder holder, std::uintptr_t handle, const std::vector<std::int32_t>& members,
                           const std::vector<std::int32_t>* remote, int rank, const std::string& name) {
  static constexpr const char* kKinds[] = {"communicator", "window", "file"};
  forget_group(holder, handle);
  Group* group = new Group;
  group->number = ++groups_made_;
  group->size = static_cast<int>(members.size());
  group->rank = rank;
  group->peers = map_of(remote != nullptr ? *remote : members);
  groups_[static_cast<std::size_t>(holder)][handle] = group;
  definitions_.push_back(definition(
      'G', group->number,
      std::string(kKinds[static_cast<std::size_t>(holder)]) + "\n" + std::to_string(rank) + "\n" +
          runs_text(members) + "\n" + (remote != nullptr ? runs_text(*remote) : "") + "\n" + one_line(name)));
  return group;
}

void Recorder::define(char kind, std::uint64_t number, const std::string& text) {
  definitions_.push_back(definition(kind, number, one_line(text)));
}

void Recorder::name_group(const Group& group, const std::string& name) {
  definitions_.push_back(definition('N', group.number, one_line(name)));
}

void Recorder::forget_group(Holder holder, std::uintptr_t handle) {
  const std::size_t kind = static_cast<std::size_t>(holder);
  const auto found = groups_[kind].find(handle);
  if (found == groups_[kind].end()) return;
  if (last_[kind] == found->second) last_[kind] = nullptr;
  delete found->second;
  groups_[kind].erase(found);
}

}  // namespace tasuki::trace
