// The table of settings, and how a value is read from text and written as text.
#include "base/variables/settings.hpp"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/system/processor_maker.hpp"
#include "base/variables/algorithm_table.hpp"
#include "base/variables/former_names.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

constexpr const char* kSwitchItems[] = {"off", "on"};
constexpr EnumRow kSwitch = {"switch", kSwitchItems, 2};
constexpr const char* kRepeatableItems[] = {"no", "order", "exact"};  // by Repeatable
constexpr EnumRow kRepeatable = {"repeatable_reductions", kRepeatableItems, 3};
constexpr const char* kForeignItems[] = {"refuse", "allow"};
constexpr EnumRow kForeignRow = {"foreign", kForeignItems, 2};
// The order is that of Explain.
constexpr const char* kExplainItems[] = {"off", "on", "all"};
constexpr EnumRow kExplain = {"explain", kExplainItems, 3};

/// The choices of an operation's algorithm: the cheapest, or one of them.
struct AlgorithmItems {
  const char* items[kAlgorithmsMax] = {};
  char name[64] = {};
};
constexpr std::array<AlgorithmItems, kOperations> kAlgorithmItems = [] {
  std::array<AlgorithmItems, kOperations> all;
  for (int operation = 0; operation < kOperations; ++operation) {
    AlgorithmItems& one = all[static_cast<std::size_t>(operation)];
    char* to = one.name;
    for (const char* part : {kOperationTable[operation].name, "_algorithm"}) {
      while (*part != '\0') *to++ = *part++;
    }
    const char** item = one.items;
    *item++ = "cheapest";
    for (const AlgorithmRow& row : kAlgorithmTable) {
      if (row.operation == static_cast<Operation>(operation)) *item++ = row.name;
    }
  }
  return all;
}();
constexpr std::array<EnumRow, kOperations> kAlgorithmChoices = [] {
  std::array<EnumRow, kOperations> rows{};
  for (int operation = 0; operation < kOperations; ++operation) {
    const AlgorithmItems& one = kAlgorithmItems[static_cast<std::size_t>(operation)];
    rows[static_cast<std::size_t>(operation)] = {
        one.name, one.items, 1 + algorithms_of_operation(static_cast<Operation>(operation))};
  }
  return rows;
}();

// The order is that of Distance.
constexpr const char* kDistanceItems[] = {"automatic", "cache", "package", "machine"};
constexpr EnumRow kDistance = {"distance", kDistanceItems, 4};
constexpr EnumRow kProcessor = {"processor", kProcessorItems, kProcessorItemCount};

// The order is that of InitialErrhandler.
constexpr const char* kErrhandlerItems[] = {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"};
constexpr EnumRow kErrhandler = {"initial_errhandler", kErrhandlerItems, 3};

// The order is that of Network.
constexpr const char* kNetworkItems[] = {"model", "fabric"};
constexpr EnumRow kNetwork = {"network", kNetworkItems, 2};
// The order is that of ofi::WaitBy.
constexpr const char* kNetWaitItems[] = {"automatic", "uring", "thread"};
constexpr EnumRow kNetWait = {"net_wait", kNetWaitItems, 3};
// The order is that of ofi::Naming.
constexpr const char* kNetRegisterItems[] = {"automatic", "heap", "each"};
constexpr EnumRow kNetRegister = {"net_register", kNetRegisterItems, 3};
// The order is that of ofi::Tell.
constexpr const char* kNetTellItems[] = {"automatic", "data", "order", "delivery"};
constexpr EnumRow kNetTell = {"net_tell", kNetTellItems, 4};

constexpr const char* kHeapItems[] = {"auto", "global", "private"};
constexpr EnumRow kHeap = {"heap", kHeapItems, 3};
constexpr const char* kStaticDataItems[] = {"global", "private"};
constexpr EnumRow kStaticData = {"static_data", kStaticDataItems, 2};

constexpr Setting number(const char* name, SettingType type, std::int64_t Config::*value, std::int64_t min,
                         std::int64_t max, Change change, Scope scope, Verbosity verbosity, Part part,
                         const char* description) {
  return {name, type, value, min, max, nullptr, change, scope, verbosity, part, description};
}

constexpr Setting protocol(const char* name, std::int64_t Config::*value, const char* description) {
  return {name,          SettingType::kFlag,     value,           0,          1, &kSwitch, Change::kAnyTime,
          Scope::kLocal, Verbosity::kTunerBasic, Part::kProtocol, description};
}

constexpr Setting algorithm(int operation) {
  const OperationRow& row = kOperationTable[operation];
  const EnumRow& choices = kAlgorithmChoices[static_cast<std::size_t>(operation)];
  return {row.setting,
          SettingType::kChoice,
          row.algorithm,
          0,
          choices.size - 1,
          &choices,
          Change::kAnyTime,
          Scope::kAllEqual,
          Verbosity::kTunerDetail,
          Part::kCollectives,
          row.description};
}

constexpr Setting kRows[] = {
    number("TASUKI_EAGER_BYTES_MAX", SettingType::kBytes, &Config::eager_bytes_max, 0, kGiB, Change::kAnyTime,
           Scope::kLocal, Verbosity::kTunerBasic, Part::kProtocol,
           "the longest message that is sent at once; a longer one waits for its receive. As long as it is "
           "not set, one of up to 256k goes at once to a rank of the node whose message it answers"),
    number("TASUKI_UNEXPECTED_BYTES_MAX", SettingType::kBytes, &Config::unexpected_bytes_max, 0, 1024 * kGiB,
           Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerBasic, Part::kProtocol,
           "what a rank keeps of messages that came before their receives: each rank may send it an equal "
           "part, 128 KiB at least; beyond that also a short message waits for its receive"),
    number("TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN", SettingType::kBytes, &Config::sender_write_bytes_min, 1,
           kGiB, Change::kAnyTime, Scope::kLocal, Verbosity::kTunerBasic, Part::kProtocol,
           "the smallest receive that is advertised to its sender, and the smallest message written to one; "
           "automatic: by the distance of the two ranks"),
    number("TASUKI_PROTOCOL_WAITING_GET_BYTES_MIN", SettingType::kBytes, &Config::waiting_get_bytes_min, 1,
           kGiB, Change::kAnyTime, Scope::kLocal, Verbosity::kTunerBasic, Part::kProtocol,
           "the smallest message that a receiver which waits for it copies alone out of the sender's buffer; "
           "automatic: by the distance of the two ranks"),
    number(
        "TASUKI_PROTOCOL_COOPERATIVE_BYTES_MIN", SettingType::kBytes, &Config::cooperative_bytes_min, 1, kGiB,
        Change::kAnyTime, Scope::kLocal, Verbosity::kTunerBasic, Part::kProtocol,
        "the smallest message that both ranks copy, where the receiver alone would get it else; automatic: "
        "by the distance of the two ranks"),
    number(
        "TASUKI_PROTOCOL_STREAM_BYTES_MIN", SettingType::kBytes, &Config::stream_bytes_min, 1, kGiB,
        Change::kAnyTime, Scope::kLocal, Verbosity::kTunerBasic, Part::kProtocol,
        "the smallest message that its sender writes past its caches into an advertised receive, alone, and "
        "what collectives write so for other ranks; automatic: by the distance of the two ranks"),
    {"TASUKI_PROTOCOL_DISTANCE", SettingType::kChoice, &Config::distance, 0, kDistance.size - 1, &kDistance,
     Change::kAnyTime, Scope::kLocal, Verbosity::kTunerDetail, Part::kProtocol,
     "what the ranks count as sharing, for the thresholds that depend on it: a last-level cache, a package "
     "(socket), or the machine alone; automatic: what they do share"},
    {"TASUKI_PROCESSOR", SettingType::kChoice, &Config::processor, 0, kProcessor.size - 1, &kProcessor,
     Change::kBeforeInit, Scope::kAllEqual, Verbosity::kTunerDetail, Part::kProtocol,
     "whose built-in parameters are used: thresholds of messages, prices of collectives; a tuning table and "
     "other settings go before them; automatic: those for the processor of the machine"},
    protocol("TASUKI_PROTOCOL_ADVERTISED_RECEIVES", &Config::advertised_receives,
             "advertise receives, so that their sender writes straight into the buffer"),
    protocol("TASUKI_PROTOCOL_GET", &Config::get,
             "copy a long message straight out of the sender's buffer, where that is symmetric memory"),
    protocol("TASUKI_PROTOCOL_COOPERATIVE", &Config::cooperative,
             "let both ranks copy a message that the receiver gets, where both buffers are symmetric memory"),
    protocol(
        "TASUKI_PROTOCOL_PUT", &Config::put,
        "let the sender of a long message copy it straight into the receiver's buffer, where only that is "
        "symmetric memory"),
    number(
        "TASUKI_RING_BYTES", SettingType::kBytes, &Config::ring_bytes, 4 * kKiB, 64 * kMiB,
        Change::kBeforeInit, Scope::kAllEqual, Verbosity::kTunerBasic, Part::kTransport,
        "room for the data that is on its way from one rank to another; automatic: by the number of ranks"),
    number("TASUKI_NETWORK_LATENCY_NS", SettingType::kNumber, &Config::network_latency_ns, 0, 1'000'000'000,
           Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerBasic, Part::kTransport,
           "how long a packet travels between two virtual nodes (mpiexec --nodes), in nanoseconds; mpiexec "
           "--network-latency sets it"),
    number("TASUKI_NETWORK_MB_PER_SECOND", SettingType::kNumber, &Config::network_mb_per_second, 0, 1'000'000,
           Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerBasic, Part::kTransport,
           "how many times 10^6 bytes a second go from one rank to another of another virtual node; 0: as "
           "many as the memory gives; mpiexec --network-bandwidth sets it"),
    number("TASUKI_NETWORK_NODE_MB_PER_SECOND", SettingType::kNumber, &Config::network_node_mb_per_second, 0,
           1'000'000, Change::kBeforeInit, Scope::kAllEqual, Verbosity::kTunerBasic, Part::kTransport,
           "how many times 10^6 bytes a second all ranks of a virtual node together can send to other nodes, "
           "and receive from them; 0: there is no such limit; mpiexec --network-node-bandwidth sets it"),
    {"TASUKI_NETWORK", SettingType::kChoice, &Config::network, 0, kNetwork.size - 1, &kNetwork,
     Change::kBeforeInit, Scope::kAllEqual, Verbosity::kTunerBasic, Part::kTransport,
     "what carries packets between virtual nodes (mpiexec --nodes): model, the imitated network, or fabric, "
     "libfabric over the loopback interface, as between hosts; mpiexec --network sets it"},
    number(
        "TASUKI_NET_CONNECT_SECONDS", SettingType::kNumber, &Config::net_connect_seconds, 1, 3600,
        Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerBasic, Part::kTransport,
        "how long packets may wait for a rank whose host does not answer a connection before the job ends; a "
        "host that does not answer when the job starts has half of it"),
    {"TASUKI_NET_PROBE", SettingType::kFlag, &Config::net_probe, 0, 1, &kSwitch, Change::kBeforeInit,
     Scope::kLocal, Verbosity::kTunerBasic, Part::kTransport,
     "try in MPI_Init whether each host reaches the next and the one before it, by a connection each"},
    number("TASUKI_NET_COPY_BYTES_MIN", SettingType::kBytes, &Config::net_copy_bytes_min, 1, kGiB * 1024,
           Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerBasic, Part::kTransport,
           "from which size on messages that wait for their receives, and puts and gets of windows, go to "
           "other hosts straight from one buffer to the other (RDMA); automatic: as suits the provider; over "
           "TCP messages of 256 KiB, and no puts and gets"),
    number("TASUKI_NET_COPY_BYTES_MAX", SettingType::kBytes, &Config::net_copy_bytes_max, 1, kGiB * 1024,
           Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerDetail, Part::kTransport,
           "the longest single put or get of the network: longer ones go in parts; automatic: what the "
           "provider can"),
    {"TASUKI_NET_REGISTER", SettingType::kChoice, &Config::net_register, 0, kNetRegister.size - 1,
     &kNetRegister, Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerDetail, Part::kTransport,
     "what is registered with the network: heap, the symmetric heap once and other memory piece by piece; "
     "each, "
     "all of it piece by piece; automatic: by what registering costs with this provider"},
    {"TASUKI_NET_TELL", SettingType::kChoice, &Config::net_tell, 0, kNetTell.size - 1, &kNetTell,
     Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerDetail, Part::kTransport,
     "how a rank learns that another host's rank has put something into its memory: data, by data that comes "
     "with it; order, by a packet right after it; delivery, by a packet once it is confirmed; automatic: the "
     "first that the provider promises"},
    {"TASUKI_NET_ATOMICS", SettingType::kFlag, &Config::net_atomics, 0, 1, &kSwitch, Change::kBeforeInit,
     Scope::kAllEqual, Verbosity::kTunerDetail, Part::kTransport,
     "ask libfabric for atomic operations, too: some providers then promise less of the order of packets"},
    {"TASUKI_NET_WAIT", SettingType::kChoice, &Config::net_wait, 0, kNetWait.size - 1, &kNetWait,
     Change::kBeforeInit, Scope::kLocal, Verbosity::kTunerDetail, Part::kTransport,
     "how a rank sleeps until a message comes by shared memory or by libfabric: uring, in an io_uring (Linux "
     "6.7), thread, with a helper thread that watches the network, or automatic: the first that is there"},
    number("TASUKI_SPIN_COUNT", SettingType::kNumber, &Config::spin_count, 0, 1'000'000'000, Change::kAnyTime,
           Scope::kLocal, Verbosity::kTunerBasic, Part::kProgress,
           "how often a waiting rank looks before it yields its processor; automatic: none when the job has "
           "more ranks than processors, or is on several hosts"),
    {"TASUKI_EXPLAIN", SettingType::kChoice, &Config::explain, 0, kExplain.size - 1, &kExplain,
     Change::kAnyTime, Scope::kLocal, Verbosity::kUserBasic, Part::kEnvironment,
     "say on standard error which way messages and accesses to files take, and why: rank 0 alone, or all"},
    {"TASUKI_INITIAL_ERRHANDLER", SettingType::kChoice, &Config::initial_errhandler, 0, kErrhandler.size - 1,
     &kErrhandler, Change::kBeforeInit, Scope::kLocal, Verbosity::kUserBasic, Part::kEnvironment,
     "the error handler that communicators begin with; mpiexec -initial-errhandler sets it"},
    number(
        "TASUKI_HANDLES_MAX", SettingType::kNumber, &Config::handles_max, 256, 1 << 28, Change::kBeforeInit,
        Scope::kLocal, Verbosity::kUserDetail, Part::kEnvironment,
        "how many handles of MPI objects a rank may hold before calls that make more return MPI_ERR_NO_MEM; "
        "automatic: as memory allows. A small number shows where a program makes what it never frees"),
    {"TASUKI_HEAP", SettingType::kChoice, &Config::heap, 0, kHeap.size - 1, &kHeap, Change::kBeforeInit,
     Scope::kLocal, Verbosity::kUserBasic, Part::kEnvironment,
     "whether malloc() gives memory that the other ranks of the node can reach; mpiexec --heap sets it"},
    {"TASUKI_STATIC_DATA", SettingType::kChoice, &Config::static_data, 0, kStaticData.size - 1, &kStaticData,
     Change::kBeforeInit, Scope::kLocal, Verbosity::kUserBasic, Part::kEnvironment,
     "whether the other ranks can reach the program's static data too, where malloc() gives such memory"},
    {"TASUKI_TUNING_FOREIGN", SettingType::kChoice, &Config::tuning_foreign, 0, kForeignRow.size - 1,
     &kForeignRow, Change::kBeforeInit, Scope::kAllEqual, Verbosity::kTunerBasic, Part::kCollectives,
     "whether a table in TASUKI_TUNING_FILE is taken that says it was made on another machine"},
    {"TASUKI_REPEATABLE_REDUCTIONS", SettingType::kChoice, &Config::repeatable_reductions, 0,
     kRepeatable.size - 1, &kRepeatable, Change::kAnyTime, Scope::kAllEqual, Verbosity::kUserBasic,
     Part::kCollectives,
     "whether reductions give the same bits whatever the algorithm and wherever the ranks are: order, all "
     "are combined in one order, as long as the number of ranks is the same; exact, sums of floating-point "
     "numbers are exact and rounded once, whatever the number of ranks, and what cannot be exact is combined "
     "in one order; the info key tasuki_repeatable_reductions of a communicator goes before it"},
    number("TASUKI_SEGMENT_BYTES", SettingType::kBytes, &Config::segment_bytes, 64, kGiB, Change::kAnyTime,
           Scope::kAllEqual, Verbosity::kTunerDetail, Part::kCollectives,
           "the segments of the algorithms that cut a message in segments; automatic: the cheapest"),
    number(
        "TASUKI_CHECK", SettingType::kNumber, &Config::check, 0, 3, Change::kBeforeInit, Scope::kAllEqual,
        Verbosity::kUserBasic, Part::kCollectives,
        "what is checked beyond what every call checks: 0 nothing; 1 what a rank can tell by itself; 2 also "
        "that the calls of a collective and the two ends of a message fit together; 3 also the buffers of "
        "operations that are not over, conflicting accesses to windows, and what is left when the job ends"),
};

static_assert(std::size(kRows) + kOperations <= 64, "Tool::written has a bit for each");

/// The rows above, and one for the algorithm of each operation.
constexpr std::array<Setting, std::size(kRows) + kOperations> kSettings = [] {
  std::array<Setting, std::size(kRows) + kOperations> all{};
  std::copy(std::begin(kRows), std::end(kRows), all.begin());
  for (int operation = 0; operation < kOperations; ++operation)
    all[std::size(kRows) + static_cast<std::size_t>(operation)] = algorithm(operation);
  return all;
}();

constexpr TextSetting kTextSettings[] = {
    {"TASUKI_TUNING_FILE", &Config::tuning_file, "the path of a file",
     "the table of the machine's parameters from which the algorithms of collectives are chosen "
     "(docs/tuning.md); automatic: that of the installation (`tasuki tune --install`), else the library's "
     "own"},
    {"TASUKI_NET_LIBRARY", &Config::net_library, "the path of a file",
     "the libfabric that carries packets between hosts; automatic: libfabric.so.1 as the system finds it"},
    {"TASUKI_NET_PROVIDER", &Config::net_provider, "a name that fi_info gives, like tcp or verbs;ofi_rxm",
     "libfabric's provider for packets between hosts; automatic: that of the fastest network that is there"},
    {"TASUKI_NET_INTERFACE", &Config::net_interface,
     "a name, an address or a subnet: eth0, 10.0.0.5, "
     "10.0.0.0/16",
     "the interface for packets between hosts; automatic: the first that reaches other hosts"},
    {"TASUKI_IO_TIMES", &Config::io_times_file, "the path of a file",
     "the file to which all ranks append when the phases of their collective accesses to files began "
     "and ended (docs/io.md); mpiexec --io-times sets it"},
};

/// Set by mpiexec or read by other parts; no settings.
constexpr const char* kOtherNames[] = {
    "TASUKI_JOB_FD",
    "TASUKI_JOB_ID",
    "TASUKI_JOB_PID",
    "TASUKI_RANK",
    "TASUKI_SIZE",
    "TASUKI_SINGLETON",
    "TASUKI_MPIEXEC",
    "TASUKI_CC",
    "TASUKI_CXX",
    "TASUKI_FC",
    "TASUKI_MODULES_ABI",
    "TASUKI_PREFIX",
    "TASUKI_NODES",
    "TASUKI_TUNING_TABLE",
    "TASUKI_DOCTOR",
    "TASUKI_STALL_SECONDS",
    "TASUKI_END_ON_DEADLOCK",
    "TASUKI_LAUNCHER_ID",
    "TASUKI_PYTHON",
    "TASUKI_HEAP_REASON",
    "TASUKI_TRACE",
    "TASUKI_TRACE_PART",
    "TASUKI_TRACE_WORLD",
    "TASUKI_TRACE_CLOCKS",
    "TASUKI_HEAP_LINK",
    "TASUKI_HOST_SILENCE_SECONDS",
    "TASUKI_LAUNCHER_TREE",
    "TASUKI_PROGRESS_THREAD",
};

/// Digits, then optionally k, M or G (powers of 1024) where `suffixes` are allowed.
bool parse_number(const char* text, bool suffixes, std::int64_t* value) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text, &end, 10);
  if (end == text || errno != 0 || number < 0) return false;
  int shift = 0;
  if (suffixes) {
    if (*end == 'k' || *end == 'K') shift = 10;
    if (*end == 'm' || *end == 'M') shift = 20;
    if (*end == 'g' || *end == 'G') shift = 30;
    if (shift != 0) ++end;
  }
  if (*end != '\0' || number > (INT64_MAX >> shift)) return false;
  *value = number << shift;
  return true;
}

bool parse_flag(const char* text, std::int64_t* value) {
  const char* const words[2][5] = {{"0", "no", "false", "off", ""}, {"1", "yes", "true", "on", "1"}};
  for (int flag = 0; flag < 2; ++flag) {
    for (const char* word : words[flag]) {
      if (strcasecmp(text, word) != 0) continue;
      *value = flag;
      return true;
    }
  }
  return false;
}

bool parse_choice(const EnumRow& choices, const char* text, std::int64_t* value) {
  for (int item = 0; item < choices.size; ++item) {
    if (strcasecmp(text, choices.items[item]) != 0) continue;
    *value = item;
    return true;
  }
  return false;
}

bool chooses_algorithm(const Setting& setting) {
  const auto is_its = [&](const EnumRow& row) { return setting.choices == &row; };
  return std::any_of(kAlgorithmChoices.begin(), kAlgorithmChoices.end(), is_its);
}

std::string bytes_text(std::int64_t bytes) {
  const struct {
    std::int64_t unit;
    const char* suffix;
  } units[] = {{kGiB, "G"}, {kMiB, "M"}, {kKiB, "k"}};
  for (const auto& [unit, suffix] : units) {
    if (bytes != 0 && bytes % unit == 0) return std::to_string(bytes / unit) + suffix;
  }
  return std::to_string(bytes);
}

}  // namespace

std::span<const TextSetting> text_settings() {
  return kTextSettings;
}

std::span<const Setting> settings() {
  return kSettings;
}

bool parse_setting(const Setting& setting, const char* text, std::int64_t* value) {
  std::int64_t parsed = 0;
  bool good = false;
  switch (setting.type) {
    case SettingType::kBytes:
    case SettingType::kNumber:
      good = parse_number(text, setting.type == SettingType::kBytes, &parsed);
      break;
    case SettingType::kFlag:
      good = parse_flag(text, &parsed);
      break;
    case SettingType::kChoice:
      good = parse_choice(*setting.choices, text, &parsed);
      if (!good && setting.choices == &kExplain) good = parse_flag(text, &parsed);
      if (!good && chooses_algorithm(setting))
        good = parse_choice(*setting.choices, present_algorithm(text).c_str(), &parsed);
      break;
  }
  if (!good || !is_valid_setting(setting, parsed)) return false;
  *value = parsed;
  return true;
}

bool is_valid_setting(const Setting& setting, std::int64_t value) {
  return value >= setting.min && value <= setting.max;
}

std::string expected_setting(const Setting& setting) {
  const std::string range = setting.type == SettingType::kBytes
                                ? bytes_text(setting.min) + " to " + bytes_text(setting.max)
                                : std::to_string(setting.min) + " to " + std::to_string(setting.max);
  switch (setting.type) {
    case SettingType::kBytes:
      return "a number of bytes, " + range + ", like 16k";
    case SettingType::kNumber:
      return "a number, " + range;
    case SettingType::kFlag:
      return "0 or 1";
    case SettingType::kChoice:
      break;
  }
  std::string text;
  for (int item = 0; item < setting.choices->size; ++item) {
    text += std::string(item == 0                          ? ""
                        : item + 1 < setting.choices->size ? ", "
                                                           : " or ") +
            setting.choices->items[item];
  }
  return text;
}

std::string setting_text(const Setting& setting, std::int64_t value) {
  if (!is_valid_setting(setting, value)) return "automatic";
  if (setting.choices != nullptr) return setting.choices->items[value];
  return setting.type == SettingType::kBytes ? bytes_text(value) : std::to_string(value);
}

bool is_heap(const char* name) {
  std::int64_t item = 0;
  return parse_choice(kHeap, name, &item);
}

bool is_initial_errhandler(const char* name) {
  std::int64_t item = 0;
  return parse_choice(kErrhandler, name, &item);
}

bool read_settings(const char* const* environment, Config* config, std::string* error, std::string* warning) {
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (std::strncmp(*entry, "TASUKI_", 7) != 0 || equals == nullptr) continue;
    std::string name(*entry, static_cast<std::size_t>(equals - *entry));
    bool known = false;
    if (const char* present = present_name(name.c_str()); name != present) {
      *warning = name + " is called " + present + " now; this release still takes the former name";
      name = present;
    }
    for (const char* other : kOtherNames) known = known || name == other;
    for (const TextSetting& setting : kTextSettings) {
      if (name != setting.name) continue;
      known = true;
      config->*setting.value = equals + 1;
    }
    for (const Setting& setting : kSettings) {
      if (name != setting.name) continue;
      known = true;
      if (parse_setting(setting, equals + 1, &(config->*setting.value))) {
        if (const std::string present = present_algorithm(equals + 1);
            chooses_algorithm(setting) && present != equals + 1) {
          *warning = name + ": " + (equals + 1) + " is called " + present +
                     " now; this release still takes the former name";
        }
        continue;
      }
      *error = name + " = \"" + (equals + 1) + "\", expected " + expected_setting(setting);
      return false;
    }
    if (!known) {
      *warning = name + " is set but unknown; known are";
      for (const Setting& setting : kSettings) *warning += std::string(" ") + setting.name;
      for (const TextSetting& setting : kTextSettings) *warning += std::string(" ") + setting.name;
    }
  }
  return true;
}

}  // namespace tasuki
