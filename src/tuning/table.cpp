// Reading a table of parameters: see tuning/table.hpp.
#include "tuning/table.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/variables/algorithm_table.hpp"
#include "base/variables/former_names.hpp"

namespace tasuki {
namespace {

constexpr double kNsMax = 1e9;     // a second
constexpr double kRateMin = 1e-6;  // bytes per nanosecond: a kilobyte a second
constexpr double kRateMax = 1e6;
constexpr double kBytesMax = 1e15;
constexpr std::size_t kFileBytesMax = 64 << 10;  // it has to fit into a variable of the environment

template <MessageParameters Parameters::*distance, double MessageParameters::*field>
double& of_message(Parameters& parameters) {
  return parameters.*distance.*field;
}
template <CopyThresholds Parameters::*distance, double CopyThresholds::*field>
double& of_copies(Parameters& parameters) {
  return parameters.*distance.*field;
}
template <double Parameters::*field>
double& of(Parameters& parameters) {
  return parameters.*field;
}

constexpr ParameterRow kParameterTable[] = {
    {"messages.cache.software_ns", of_message<&Parameters::cache, &MessageParameters::software_ns>, 0, kNsMax,
     "processor time to send or to receive a message between ranks that share a last-level cache"},
    {"messages.cache.latency_ns", of_message<&Parameters::cache, &MessageParameters::latency_ns>, 0, kNsMax,
     "time of such a message on its way"},
    {"messages.cache.bytes_per_ns", of_message<&Parameters::cache, &MessageParameters::bytes_per_ns>,
     kRateMin, kRateMax, "rate of a long one, from buffer to buffer"},
    {"messages.cache.eager_bytes_per_ns",
     of_message<&Parameters::cache, &MessageParameters::eager_bytes_per_ns>, kRateMin, kRateMax,
     "rate of a short one, which is copied twice"},
    {"messages.cache.long_ns", of_message<&Parameters::cache, &MessageParameters::long_ns>, 0, kNsMax,
     "processor time of a long one on top"},
    {"messages.cache.sender_write_bytes_min",
     of_copies<&Parameters::cache_copies, &CopyThresholds::sender_write_bytes_min>, 0, kBytesMax,
     "receives from here on are advertised, and written to; 0: as built in"},
    {"messages.cache.waiting_get_bytes_min",
     of_copies<&Parameters::cache_copies, &CopyThresholds::waiting_get_bytes_min>, 0, kBytesMax,
     "a receiver that waits gets messages from here on; 0: as built in"},
    {"messages.cache.cooperative_bytes_min",
     of_copies<&Parameters::cache_copies, &CopyThresholds::cooperative_bytes_min>, 0, kBytesMax,
     "from here on both ranks copy; 0: as built in"},
    {"messages.cache.stream_bytes_min",
     of_copies<&Parameters::cache_copies, &CopyThresholds::stream_bytes_min>, 0, kBytesMax,
     "what is written for the other rank goes past the caches from here on"},
    {"messages.package.software_ns", of_message<&Parameters::package, &MessageParameters::software_ns>, 0,
     kNsMax, "the same between ranks that share a socket, not a cache"},
    {"messages.package.latency_ns", of_message<&Parameters::package, &MessageParameters::latency_ns>, 0,
     kNsMax, "the same"},
    {"messages.package.bytes_per_ns", of_message<&Parameters::package, &MessageParameters::bytes_per_ns>,
     kRateMin, kRateMax, "the same"},
    {"messages.package.eager_bytes_per_ns",
     of_message<&Parameters::package, &MessageParameters::eager_bytes_per_ns>, kRateMin, kRateMax,
     "the same"},
    {"messages.package.long_ns", of_message<&Parameters::package, &MessageParameters::long_ns>, 0, kNsMax,
     "the same"},
    {"messages.package.sender_write_bytes_min",
     of_copies<&Parameters::package_copies, &CopyThresholds::sender_write_bytes_min>, 0, kBytesMax,
     "the same"},
    {"messages.package.waiting_get_bytes_min",
     of_copies<&Parameters::package_copies, &CopyThresholds::waiting_get_bytes_min>, 0, kBytesMax,
     "the same"},
    {"messages.package.cooperative_bytes_min",
     of_copies<&Parameters::package_copies, &CopyThresholds::cooperative_bytes_min>, 0, kBytesMax,
     "the same"},
    {"messages.package.stream_bytes_min",
     of_copies<&Parameters::package_copies, &CopyThresholds::stream_bytes_min>, 0, kBytesMax,
     "what is written for the other rank goes past the caches from here on"},
    {"messages.machine.software_ns", of_message<&Parameters::machine, &MessageParameters::software_ns>, 0,
     kNsMax, "the same between ranks on different sockets"},
    {"messages.machine.latency_ns", of_message<&Parameters::machine, &MessageParameters::latency_ns>, 0,
     kNsMax, "the same"},
    {"messages.machine.bytes_per_ns", of_message<&Parameters::machine, &MessageParameters::bytes_per_ns>,
     kRateMin, kRateMax, "the same"},
    {"messages.machine.eager_bytes_per_ns",
     of_message<&Parameters::machine, &MessageParameters::eager_bytes_per_ns>, kRateMin, kRateMax,
     "the same"},
    {"messages.machine.long_ns", of_message<&Parameters::machine, &MessageParameters::long_ns>, 0, kNsMax,
     "the same"},
    {"messages.machine.sender_write_bytes_min",
     of_copies<&Parameters::machine_copies, &CopyThresholds::sender_write_bytes_min>, 0, kBytesMax,
     "the same"},
    {"messages.machine.waiting_get_bytes_min",
     of_copies<&Parameters::machine_copies, &CopyThresholds::waiting_get_bytes_min>, 0, kBytesMax,
     "the same"},
    {"messages.machine.cooperative_bytes_min",
     of_copies<&Parameters::machine_copies, &CopyThresholds::cooperative_bytes_min>, 0, kBytesMax,
     "the same"},
    {"messages.machine.stream_bytes_min",
     of_copies<&Parameters::machine_copies, &CopyThresholds::stream_bytes_min>, 0, kBytesMax,
     "what is written for the other rank goes past the caches from here on"},
    {"messages.network.software_ns", of_message<&Parameters::network, &MessageParameters::software_ns>, 0,
     kNsMax, "the same between ranks on different nodes"},
    {"messages.network.latency_ns", of_message<&Parameters::network, &MessageParameters::latency_ns>, 0,
     kNsMax, "the same"},
    {"messages.network.bytes_per_ns", of_message<&Parameters::network, &MessageParameters::bytes_per_ns>,
     kRateMin, kRateMax, "the same"},
    {"messages.network.eager_bytes_per_ns",
     of_message<&Parameters::network, &MessageParameters::eager_bytes_per_ns>, kRateMin, kRateMax,
     "the same"},
    {"messages.network.long_ns", of_message<&Parameters::network, &MessageParameters::long_ns>, 0, kNsMax,
     "the same"},
    {"messages.network.long_bytes", of<&Parameters::network_long_bytes>, 0, kBytesMax,
     "a message of more bytes between nodes is a long one"},
    {"messages.network.gap_ns", of<&Parameters::network_gap_ns>, 0, kNsMax,
     "from one message that leaves a node to the next"},
    {"messages.network.node_bytes_per_ns", of<&Parameters::network_node_bytes_per_ns>, kRateMin, kRateMax,
     "bytes that all ranks of a node together send to other nodes"},
    {"messages.long_bytes", of<&Parameters::long_bytes>, 0, kBytesMax,
     "a message of more bytes is a long one"},
    {"schedule.plan_ns", of<&Parameters::plan_ns>, 0, kNsMax,
     "time to write a schedule of messages, and to begin it"},
    {"memory.reduced_bytes_per_ns", of<&Parameters::reduced_bytes_per_ns>, kRateMin, kRateMax,
     "bytes that one rank combines with what has come in a message"},
    {"memory.copied_bytes_per_ns", of<&Parameters::copied_bytes_per_ns>, kRateMin, kRateMax,
     "bytes that one rank copies in its own memory"},
    {"memory.travelled_bytes_per_ns", of<&Parameters::travelled_bytes_per_ns>, kRateMin, kRateMax,
     "bytes that one processor writes and another one reads, on top of their copying"},
    {"memory.streamed_bytes_per_ns", of<&Parameters::streamed_bytes_per_ns>, kRateMin, kRateMax,
     "bytes that one processor writes past its caches and another one reads"},
    {"memory.cache_bytes", of<&Parameters::cache_bytes>, 1, kBytesMax,
     "bytes that the caches of one processor hold"},
    {"memory.node_bytes_per_ns", of<&Parameters::node_bytes_per_ns>, kRateMin, kRateMax,
     "bytes that all ranks of a node together move beyond their caches"},
    {"node_segment.call_ns", of<&Parameters::call_ns>, 0, kNsMax,
     "time of a collective that runs straight over the flags, but for the waiting"},
    {"node_segment.flag_ns", of<&Parameters::flag_ns>, 0, kNsMax, "time until another rank sees a flag"},
    {"node_segment.flag_read_ns", of<&Parameters::flag_read_ns>, 0, kNsMax,
     "time for each further flag that a rank reads"},
    {"node_segment.cell_bytes_per_ns", of<&Parameters::cell_bytes_per_ns>, kRateMin, kRateMax,
     "bytes written on the node segment, or read there"},
    {"node_segment.expose_ns", of<&Parameters::expose_ns>, 0, kNsMax,
     "time to plan a single-copy collective, and to expose a rank's buffers"},
    {"node_segment.get_bytes_per_ns", of<&Parameters::get_bytes_per_ns>, kRateMin, kRateMax,
     "bytes that one rank copies out of another one's memory"},
    {"node_segment.reduced_in_place_bytes_per_ns", of<&Parameters::reduced_in_place_bytes_per_ns>, kRateMin,
     kRateMax, "bytes that one rank combines straight out of other ranks' memory"},
    {"crowd.turn_ns", of<&Parameters::turn_ns>, 0, kNsMax,
     "what it costs on top that a rank waits, for each rank that a processor has beyond the first"},
};

/// The line of the character that was read last. The parser reads the one behind a number before it reports
/// the number: so a line ends with the character behind its end.
struct Line {
  int number = 1;
  bool at_end = false;
};

/// An input iterator over the text that knows the line it has come to.
class Reader {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reader(const char* at, Line* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  Reader& operator++() {
    line_->number += line_->at_end ? 1 : 0;
    line_->at_end = *at_ == '\n';
    ++at_;
    return *this;
  }
  Reader operator++(int) {
    Reader before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Reader& a, const Reader& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  Line* line_;
};

/// "", which is one node, or " on 2 nodes".
bool parse_nodes(const char* text, MeasuredChoice* choice) {
  if (*text == '\0') return true;
  int end = 0;
  if (std::sscanf(text, " on %9d nodes%n", &choice->nodes, &end) != 1 || end == 0) return false;
  return text[end] == '\0' && choice->nodes >= 2 && choice->ranks % choice->nodes == 0;
}

/// "bcast of 2048 to 8191 bytes among 4 ranks", also "… on 2 nodes".
bool parse_case(const std::string& text, MeasuredChoice* choice) {
  char name[32];
  long long min = 0, max = 0;
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%31[a-z_] of %18lld to %18lld bytes among %9d ranks%n", name,
                               &min, &max, &choice->ranks, &end);
  if (read != 4 || end == 0 || !parse_nodes(text.c_str() + end, choice)) return false;
  choice->bytes_min = min;
  choice->bytes_max = max;
  for (int operation = 0; operation < kOperations; ++operation) {
    if (std::strcmp(kOperationTable[operation].name, name) != 0) continue;
    choice->operation = static_cast<Operation>(operation);
    return min >= 0 && max >= min && choice->ranks >= 1;
  }
  return false;
}

/// "binomial" or "chain/4096", of the operation of `choice`.
bool parse_algorithm(const std::string& text, MeasuredChoice* choice) {
  const std::size_t mark = std::min(text.find('/'), text.size());
  if (mark < text.size()) {
    long long segment_bytes = 0;
    int end = 0;
    if (std::sscanf(text.c_str() + mark, "/%18lld%n", &segment_bytes, &end) != 1) return false;
    if (mark + static_cast<std::size_t>(end) != text.size() || segment_bytes < 1) return false;
    choice->segment_bytes = segment_bytes;
  }
  const std::string name = present_algorithm(text.substr(0, mark));
  for (int number = 0; number < kAlgorithms; ++number) {
    if (kAlgorithmTable[number].operation != choice->operation) continue;
    if (name != kAlgorithmTable[number].name) continue;
    choice->algorithm = number;
    return true;
  }
  return false;
}

/// Takes the events of the JSON parser: each value by its path. Stops at the first that is wrong.
class Taker {
 public:
  Taker(Table* table, const Line* line, std::string* error) : table_(table), line_(line), error_(error) {}

  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return refuse_value("null"); }
  bool boolean(bool value) { return refuse_value(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return take(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) { return take(value); }
  bool string(string_t& value) {
    const std::string path = this->path();
    if (path == "machine" || path == "written") return true;
    if (path == "made_on.processor" || path == "made_on.library") {
      (path == "made_on.library" ? table_->made_on.library : table_->made_on.processor) = value;
      return true;
    }
    if (is_choice()) return take_choice(value);
    return refuse_value('"' + value + '"');
  }
  bool binary(binary_t&) { return refuse_value("binary data"); }
  bool start_array(std::size_t) { return refuse_value("an array"); }
  bool end_array() { return true; }
  bool start_object(std::size_t) {
    if (path_.empty()) {
      path_.emplace_back();
      return true;
    }
    if (path_.size() == 1 && (path_[0] == "made_on" || path_[0] == "choices")) {
      path_.emplace_back();
      return true;
    }
    const std::string prefix = path() + ".";
    for (const ParameterRow& row : kParameterTable) {
      if (std::string(row.path).rfind(prefix, 0) != 0) continue;
      path_.emplace_back();
      return true;
    }
    return refuse(path() + " is no group of parameters");
  }
  bool end_object() {
    path_.pop_back();
    return true;
  }
  bool key(string_t& name) {
    path_.back() = name;
    std::string path = this->path();
    for (const FormerName& row : kFormerParameters) {
      if (path != row.former) continue;
      path = row.present;
      path_.back() = path.substr(path.rfind('.') + 1);
    }
    return seen_.insert(path).second || refuse(path + " is there twice");
  }
  template <class Exception>
  bool parse_error(std::size_t, const std::string& token, const Exception&) {
    return refuse(token.empty() || token == "<EOF>" ? "it ends too early" : "no JSON at \"" + token + '"');
  }

  /// At the end: whether it said what it is.
  bool is_whole() { return versioned_ || refuse("it has no \"tasuki_tuning\", the version of the table"); }
  bool refuse(const std::string& reason) {
    if (error_->empty()) *error_ = "line " + std::to_string(line_->number) + ": " + reason;
    return false;
  }

 private:
  std::string path() const {
    std::string text;
    for (const std::string& part : path_) text += (text.empty() ? "" : ".") + part;
    return text;
  }

  static std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
  }

  bool refuse_value(const std::string& value) {
    if (path_.empty()) return refuse("the table is " + value + ", expected an object");
    return refuse(path() + " = " + value + ", " + expected());
  }

  bool is_choice() const { return path_.size() == 2 && path_[0] == "choices"; }

  bool take_choice(const std::string& algorithm) {
    MeasuredChoice choice;
    if (!parse_case(path_[1], &choice))
      return refuse("\"" + path_[1] +
                    "\" is no case: expected \"OPERATION of BYTES to BYTES bytes among N ranks\", and "
                    "\" on M nodes\" where N is a multiple of M, two or more");
    if (!parse_algorithm(algorithm, &choice)) return refuse_value('"' + algorithm + '"');
    table_->choices.push_back(choice);
    return true;
  }

  /// What may stand at the path.
  std::string expected() const {
    const std::string path = this->path();
    if (path == "tasuki_tuning") return "expected the number " + std::to_string(kTuningVersion);
    if (path == "machine" || path == "written" || path == "made_on.processor" || path == "made_on.library")
      return "expected a text";
    if (path == "made_on.processors") return "expected a number from 1 to 1e+06";
    if (is_choice()) return "expected an algorithm of the operation, or ALGORITHM/SEGMENT_BYTES";
    for (const ParameterRow& row : kParameterTable) {
      if (path == row.path) return "expected a number from " + text_of(row.min) + " to " + text_of(row.max);
    }
    return "but there is no such parameter";
  }

  bool take(double value) {
    if (path_.empty()) return refuse_value(text_of(value));
    const std::string path = this->path();
    if (path == "tasuki_tuning") {
      versioned_ = true;
      if (value == kTuningVersion) return true;
      return refuse("the table is of version " + text_of(value) + ", this library reads version " +
                    std::to_string(kTuningVersion));
    }
    if (path == "made_on.processors" && value >= 1 && value <= 1e6) {
      table_->made_on.processors = static_cast<int>(value);
      return true;
    }
    for (const ParameterRow& row : kParameterTable) {
      if (path != row.path) continue;
      if (!(value >= row.min && value <= row.max)) return refuse_value(text_of(value));
      row.field(table_->parameters) = value;
      return true;
    }
    return refuse_value(text_of(value));
  }

  Table* table_;
  const Line* line_;
  std::string* error_;
  std::vector<std::string> path_;
  std::set<std::string> seen_;
  bool versioned_ = false;
};

}  // namespace

std::span<const ParameterRow> parameter_table() {
  return kParameterTable;
}

MadeOn this_machine() {
  MadeOn here;
  here.library = TASUKI_VERSION;
  here.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  std::FILE* file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) return here;
  char line[256], name[200];
  while (here.processor.empty() && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "model name : %199[^\n]", name) == 1) here.processor = name;
  }
  std::fclose(file);
  return here;
}

std::string foreign_by(const MadeOn& made_on, const MadeOn& here) {
  std::string there, now;
  const auto tell = [&](const std::string& one, const std::string& other) {
    there += (there.empty() ? "" : ", ") + one;
    now += (now.empty() ? "" : ", ") + other;
  };
  if (!made_on.processor.empty() && made_on.processor != here.processor)
    tell('"' + made_on.processor + '"', '"' + here.processor + '"');
  if (made_on.processors != 0 && made_on.processors != here.processors)
    tell(std::to_string(made_on.processors) + " processors", std::to_string(here.processors) + " processors");
  if (!made_on.library.empty() && made_on.library != here.library)
    tell("version " + made_on.library, "version " + here.library);
  return there.empty() ? "" : "it was made for " + there + "; here: " + now;
}

bool parse_table(const std::string& text, Table* table, std::string* error) {
  Table read;
  read.parameters = table->parameters;
  Line line;
  error->clear();
  Taker taker(&read, &line, error);
  const bool parsed = nlohmann::json::sax_parse(Reader(text.c_str(), &line),
                                                Reader(text.c_str() + text.size(), &line), &taker);
  if (!parsed || !taker.is_whole()) return false;
  *table = std::move(read);
  return true;
}

bool read_table(const std::string& path, std::string* text, std::string* error) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  text->assign(kFileBytesMax + 1, '\0');
  const std::size_t bytes = file ? std::fread(text->data(), 1, text->size(), file.get()) : 0;
  if (!file || std::ferror(file.get()) != 0) {
    *error = std::strerror(errno);
    return false;
  }
  if (bytes > kFileBytesMax) {
    *error = "it is longer than " + std::to_string(kFileBytesMax) + " bytes";
    return false;
  }
  text->resize(bytes);
  return true;
}

bool load_table(const std::string& path, bool foreign_allowed, Table* table, std::string* error) {
  std::string text, reason;
  Table read = *table;
  if (read_table(path, &text, &reason) && parse_table(text, &read, &reason)) {
    if (!foreign_allowed) reason = foreign_by(read.made_on, this_machine());
    if (reason.empty()) {
      *table = std::move(read);
      return true;
    }
  }
  *error = path + ": " + reason;
  return false;
}

}  // namespace tasuki
