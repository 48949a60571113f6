// Keeping spans, and writing them as lines: see phase_spans.hpp.
#include "io/file/phase_spans.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "base/json.hpp"
#include "base/stable_sort.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kWriteEveryNs = 1'000'000'000;
constexpr std::size_t kAccessesMax = 1024;

constexpr const char* kPhaseNames[] = {"read", "exchange", "write"};

[[gnu::format(printf, 2, 3)]] void append_to(std::string* text, const char* format, ...) {
  char part[256];
  va_list arguments;
  va_start(arguments, format);
  const int bytes = std::vsnprintf(part, sizeof part, format, arguments);
  va_end(arguments);
  text->append(part, static_cast<std::size_t>(bytes));
}

auto order_of(const PhasePlace& place) {
  return std::tie(place.file, place.call);
}

}  // namespace

std::unique_ptr<PhaseSpans> PhaseSpans::open(const std::string& path, const Writer& writer,
                                             std::string* error) {
  // O_NONBLOCK: a pipe without a reader is refused, not waited for.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
  struct stat info {};
  std::unique_ptr<PhaseSpans> made;
  if (fd >= 0) {
    made.reset(new PhaseSpans(fd, path, writer));
    const bool is_regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    if (is_regular && made->append(made->rank_line())) return made;
    if (!is_regular) errno = EINVAL;
  }
  const char* reason = fd >= 0 && errno == EINVAL ? "it is no regular file" : std::strerror(errno);
  *error = "TASUKI_IO_TIMES: cannot write '" + path + "': " + reason;
  return nullptr;
}

PhaseSpans::PhaseSpans(int fd, std::string path, const Writer& writer)
    : fd_(fd), path_(std::move(path)), writer_(writer), written_ns_(clock_ns()) {}

PhaseSpans::~PhaseSpans() {
  write();
  if (fd_ >= 0) ::close(fd_);
}

void PhaseSpans::add(const PhasePlace& place, Phase phase, std::int64_t begin_ns, std::int64_t end_ns,
                     Count bytes) {
  if (fd_ < 0) return;
  if (spans_.size() >= kSpansMax) {
    ++left_out_;
    return;
  }
  spans_.push_back({place, phase, begin_ns, end_ns, bytes});
}

void PhaseSpans::add_access(const PhasePlace& place, const std::string& name, Function function,
                            const CollectiveOutcome& outcome, std::int64_t begin_ns, std::int64_t end_ns) {
  if (fd_ < 0) return;
  accesses_.push_back({place, name, function, outcome, begin_ns, end_ns});
  if (end_ns - written_ns_ >= kWriteEveryNs || accesses_.size() >= kAccessesMax ||
      spans_.size() >= kSpansMax / 2)
    write();
}

void PhaseSpans::write() {
  if (fd_ < 0 || (accesses_.empty() && left_out_ == 0)) return;
  const std::string text = take_lines();
  written_ns_ = clock_ns();
  if (append(text)) return;
  std::fprintf(stderr, "tasuki: rank %d: TASUKI_IO_TIMES: cannot write '%s': %s; no more is kept\n",
               writer_.rank, path_.c_str(), std::strerror(errno));
  ::close(fd_);
  fd_ = -1;
  spans_.clear();
}

/// The lines of all accesses that have ended. What remains are spans of those that have not.
std::string PhaseSpans::take_lines() {
  const auto by_place = [](const auto& a, const auto& b) { return order_of(a.place) < order_of(b.place); };
  stable_sort(&spans_, by_place);  // of one access they stay as they ended
  stable_sort(&accesses_, by_place);
  std::string text;
  std::vector<Span> remaining;
  auto next = spans_.cbegin();
  for (const CollectiveAccess& access : accesses_) {
    for (; next != spans_.cend() && by_place(*next, access); ++next) remaining.push_back(*next);
    const auto begin = next;
    while (next != spans_.cend() && !by_place(access, *next)) ++next;
    text += line_of(access, {begin, next});
  }
  remaining.insert(remaining.end(), next, spans_.cend());
  if (left_out_ != 0)
    append_to(&text, "{\"left_out\":%llu,\"job\":\"%016llx\",\"rank\":%d}\n",
              static_cast<unsigned long long>(left_out_), static_cast<unsigned long long>(writer_.job),
              writer_.rank);
  spans_.swap(remaining);
  accesses_.clear();
  left_out_ = 0;
  return text;
}

std::string PhaseSpans::rank_line() const {
  std::string text;
  append_to(&text, "{\"io_times\":1,\"job\":\"%016llx\",\"rank\":%d,\"ranks\":%d,\"node\":%d,\"nodes\":%d}\n",
            static_cast<unsigned long long>(writer_.job), writer_.rank, writer_.ranks, writer_.node,
            writer_.nodes);
  return text;
}

std::string PhaseSpans::line_of(const CollectiveAccess& access, std::span<const Span> spans) const {
  std::string text;
  append_to(&text, "{\"call\":%u,\"job\":\"%016llx\",\"rank\":%d,\"file\":", access.place.call,
            static_cast<unsigned long long>(writer_.job), writer_.rank);
  text += json_string(access.name);
  append_to(&text, ",\"opened\":%llu,\"function\":\"%s\",\"way\":\"%s\",\"aggregator\":",
            static_cast<unsigned long long>(access.place.file), function_name(access.function),
            access.outcome.two_phase ? "two-phase" : "independent");
  text += access.outcome.aggregator >= 0 ? std::to_string(access.outcome.aggregator) : "null";
  append_to(&text, ",\"cycles\":%lld,\"bytes\":%lld,\"begin_ns\":%lld,\"end_ns\":%lld,\"spans\":[",
            static_cast<long long>(access.outcome.cycles), static_cast<long long>(access.outcome.bytes),
            static_cast<long long>(access.begin_ns), static_cast<long long>(access.end_ns));
  for (const Span& span : spans) {
    append_to(&text, "%s[\"%s\",%u,%lld,%lld,%lld]", &span == spans.data() ? "" : ",",
              kPhaseNames[static_cast<int>(span.phase)], span.place.cycle,
              static_cast<long long>(span.begin_ns), static_cast<long long>(span.end_ns),
              static_cast<long long>(span.bytes));
  }
  return text + "]}\n";
}

/// Returns false, with errno, when not all of it could be written.
bool PhaseSpans::append(const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t part = ::write(fd_, text.data() + written, text.size() - written);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return false;
    written += static_cast<std::size_t>(part);
  }
  return true;
}

}  // namespace tasuki
