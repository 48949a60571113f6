// A diagnosis as JSON, for programs. The keys and their meaning: docs/doctor.md. A change of
// them needs a new kJsonVersion.
#include "base/json.hpp"
#include "doctor/call.hpp"

namespace tasuki::doctor {
namespace {

constexpr int kJsonVersion = 1;

/// The length of the UTF-8 letter at the beginning of `text`; 0: there is none.
std::size_t letter_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

/// A string of JSON. Bytes that are no UTF-8, as names of files may have, become question marks.
std::string quoted(std::string_view text) {
  std::string letters;
  while (!text.empty()) {
    const std::size_t bytes = letter_bytes(text);
    letters += bytes == 0 ? "?" : text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return json_string(letters);
}

/// Writes one object or array: commas in between.
class Writer {
 public:
  explicit Writer(std::string* out, char open = '{', char close = '}') : out_(*out), close_(close) {
    out_ += open;
  }
  ~Writer() { out_ += close_; }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string* next() {
    if (!first_) out_ += ',';
    first_ = false;
    return &out_;
  }
  std::string* key(const char* name) {
    next();
    out_ += quoted(name) + ':';
    return &out_;
  }
  void text(const char* name, std::string_view value) { *key(name) += quoted(value); }
  void number(const char* name, std::int64_t value) {
    *key(name) += format("%lld", static_cast<long long>(value));
  }
  void flag(const char* name, bool value) { *key(name) += value ? "true" : "false"; }

 private:
  std::string& out_;
  const char close_;
  bool first_ = true;
};

void write_ranks(const std::vector<RankId>& ranks, const std::vector<int>& numbers, std::string* out) {
  Writer list(out, '[', ']');
  for (const RankId& id : ranks) {
    *list.next() += format("[%d,%d]", numbers[static_cast<std::size_t>(id.world)], id.rank);
  }
}

void write_place(const RankState& state, std::uint64_t site, Writer* object) {
  const auto found = state.places.find(site);
  if (found == state.places.end()) return;
  const Place& place = found->second;
  object->text("at", place.text);
  if (!place.function.empty()) object->text("in", place.function);
  if (!place.file.empty()) object->text("file", place.file);
  if (place.line > 0) object->number("line", place.line);
  if (!place.module.empty()) object->text("module", place.module);
}

void write_messages(const char* name, const RankState& state, const ReportedMessage* messages, int count,
                    std::uint32_t total, Writer* object) {
  object->number((std::string(name) + "_total").c_str(), total);
  Writer list(object->key(name), '[', ']');
  for (int i = 0; i < count; ++i) {
    if (messages[i].kind == OpenKind::kNone) continue;
    Writer message(list.next());
    message.text("text", message_text(state, messages[i]));
    if (messages[i].peer >= 0) message.number("peer", messages[i].peer);
    if (messages[i].tag >= 0) message.number("tag", messages[i].tag);
    message.number("bytes", messages[i].bytes);
    message.text("communicator", messages[i].comm_name);
    message.flag("awaited", messages[i].is_awaited != 0);
    write_place(state, messages[i].site, &message);
  }
}

void write_report(const RankState& state, std::int64_t at_ns, Writer* object) {
  const RankReport& report = *state.report;
  const bool known = report.since_ns > 0 && report.since_ns <= at_ns;
  if (known) *object->key("waits_s") += format("%.3f", static_cast<double>(at_ns - report.since_ns) * 1e-9);
  if (report.peer >= 0) object->number("peer", report.peer);
  if (report.root >= 0) object->number("root", report.root);
  const CallKind kind = kind_of(function_of(state));
  const bool tagged = kind == CallKind::kSend || kind == CallKind::kReceive || kind == CallKind::kProbe;
  if (tagged && report.tag >= 0) object->number("tag", report.tag);
  if (report.collective > 0) object->number("collective", static_cast<std::int64_t>(report.collective));
  if (const ReportedComm* comm = comm_of(report)) object->text("communicator", comm_text(*comm));
  if (report.object_name[0] != '\0') object->text("object", object_text(report.object_name));
  write_messages("open", state, report.open, kReportedMessages, report.open_total, object);
  write_messages("unexpected", state, report.unexpected, kReportedMessages, report.unexpected_total, object);
}

void write_rank(const Snapshot& snapshot, const World& world, std::size_t rank, std::string* out) {
  const RankState& state = world.ranks[rank];
  Writer object(out);
  object.number("world", world.number);
  object.number("rank", static_cast<std::int64_t>(rank));
  object.number("pid", state.pid);
  constexpr const char* kLives[] = {"started", "joining", "running", "finalized", "ended"};
  object.text("life", kLives[static_cast<int>(state.life)]);
  if (state.life == Life::kEnded) object.number("wait_status", state.wait_status);
  object.flag("stopped", state.stopped);
  object.flag("answered", state.report.has_value());
  object.flag("waiting", waits(state));
  object.flag("in_mpi", state.line.inside);
  object.text("call", name_of(function_of(state)));
  object.number("calls", static_cast<std::int64_t>(state.line.calls));
  write_place(state, state.report ? state.report->site : state.line.site, &object);
  if (!state.stack.empty()) {
    Writer stack(object.key("stack"), '[', ']');
    for (const Place& place : state.stack) *stack.next() += quoted(place.text);
  }
  if (state.report) write_report(state, snapshot.at_ns, &object);
}

void write_finding(const Finding& finding, const std::vector<int>& numbers, std::string* out) {
  Writer object(out);
  object.text("id", finding.id);
  object.flag("certain", finding.certain);
  object.flag("deadlock", finding.is_deadlock);
  write_ranks(finding.ranks, numbers, object.key("ranks"));
  {
    Writer lines(object.key("text"), '[', ']');
    for (const std::string& line : finding.text) *lines.next() += quoted(line);
  }
  if (!finding.hint.empty()) object.text("hint", finding.hint);
}

}  // namespace

std::string json(const Diagnosis& diagnosis, const Snapshot& snapshot) {
  std::string out;
  {
    Writer object(&out);
    object.number("tasuki_doctor", kJsonVersion);
    object.flag("deadlock", diagnosis.certain_deadlock());
    {
      Writer groups(object.key("groups"), '[', ']');
      for (const Group& group : diagnosis.groups) {
        Writer one(groups.next());
        one.text("state", group.state);
        one.text("text", group.text);
        write_ranks(group.ranks, diagnosis.world_numbers, one.key("ranks"));
      }
    }
    {
      Writer findings(object.key("findings"), '[', ']');
      for (const Finding& finding : diagnosis.findings) {
        write_finding(finding, diagnosis.world_numbers, findings.next());
      }
    }
    Writer ranks(object.key("ranks"), '[', ']');
    for (const World& world : snapshot.worlds) {
      for (std::size_t rank = 0; rank < world.ranks.size(); ++rank)
        write_rank(snapshot, world, rank, ranks.next());
    }
  }
  return out;
}

}  // namespace tasuki::doctor
