// mpiexec --info, in three forms.
#include "launch/report/library_info.hpp"

#include "base/distance_tables.hpp"
#include "base/system/processor_maker.hpp"
#include "base/variables/collective_operations.hpp"
#include "base/variables/counters.hpp"
#include "base/variables/events.hpp"
#include "base/variables/settings.hpp"
#include "heap/choice/facts.hpp"
#include "job/network_offers.hpp"
#include "job/wire/lineage.hpp"
#include "launch/base/format.hpp"
#include "launch/program/installed_tuning.hpp"
#include "launch/program/rank_environment.hpp"
#include "launch/report/kernel_features.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 6;
#ifdef __clang__
constexpr const char* kCompiler = "clang++ " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

/// What this build lacks (cmake/left_out.cmake).
struct LeftOut {
  const char* name;
  const char* lack;
  const char* without;
};
const std::vector<LeftOut> kLeftOut = {TASUKI_LEFT_OUT};

struct Now {
  Config config;                      // with what the environment says
  heap::Verdict heap;                 // of programs of several ranks
  wire::WireChoice joining;           // of a program that is started without mpiexec
  NetworkOffers network;              // not in the Markdown
  std::vector<KernelFeature> kernel;  // as these
  InstalledTuning tuning;             // and this
  bool bold;
};

bool is_set(const Setting& setting, const Config& config) {
  return config.*setting.value != Config{}.*setting.value;
}

std::string value_of(const Setting& setting, const Config& config) {
  return setting_text(setting, config.*setting.value);
}

const char* part_name(Part part) {
  return kPartTable[static_cast<int>(part)].name;
}

const char* when(const Setting& setting) {
  return setting.change == Change::kAnyTime ? "at any time" : "before MPI_Init";
}

// ----- the table -------------------------------------------------------------------------------------------

std::string heading(const std::string& text, bool bold) {
  return "\n" + std::string(bold ? "\033[1m" : "") + text + (bold ? "\033[0m" : "") + "\n";
}

std::string paragraph(const std::string& text) {
  return std::string(kIndent, ' ') + wrapped(text, kIndent, kColumns) + "\n";
}

std::string item(const std::string& name, const std::string& remark) {
  return format("  %-38s %s\n", name.c_str(), remark.c_str());
}

ProcessorMaker maker(const Now& now) {
  return processor_maker(now.config.processor);
}

/// Of ranks that share a cache.
std::string copy_thresholds_text(const Now& now) {
  const DistanceTable& cache = distance_tables(maker(now))[static_cast<int>(Distance::kCache)];
  std::string streamed;
  if (cache.stream_bytes_min != kNeverStreamed)
    streamed = format("From %lld on a sender writes past its caches, and all of it%s. ",
                      static_cast<long long>(cache.stream_bytes_min),
                      cache.streams_far_lines_only ? ", while lines are found to travel far" : "");
  const std::string others = format(
      "Where ranks share a cache and both buffers are symmetric memory: up to %lld bytes through the ring; "
      "from %lld bytes on the sender writes into a receive that was posted, from %lld on a receiver that "
      "waits "
      "gets the message itself, from %lld on both copy. ",
      static_cast<long long>(std::min(kEagerBytesMaxDefault, cache.sender_write_bytes_min - 1)),
      static_cast<long long>(cache.sender_write_bytes_min),
      static_cast<long long>(cache.waiting_get_bytes_min),
      static_cast<long long>(cache.cooperative_bytes_min));
  return others + streamed;
}

/// Why jobs choose by the table of this installation, or do not.
std::string tuning_reason(const Now& now) {
  const InstalledTuning& tuning = now.tuning;
  const std::string before = now.config.tuning_file.empty() ? "" : ", but TASUKI_TUNING_FILE goes before it";
  switch (tuning.state) {
    case InstalledTuning::State::kAbsent:
      return tuning.path + " is not there; `tasuki tune --install` makes it";
    case InstalledTuning::State::kUsed:
      return tuning.path + " is there" + before;
    case InstalledTuning::State::kForeign:
    case InstalledTuning::State::kBad:
      break;
  }
  return tuning.path + " is not used: " + tuning.reason;
}

bool has_installed_tuning(const Now& now) {
  return now.tuning.state == InstalledTuning::State::kUsed;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string networks(const Now& now) {
  const NetworkOffers& network = now.network;
  std::string text = heading("Networks between hosts, as libfabric offers them", now.bold);
  text += item("libfabric", network.version.empty() ? "no" : network.version);
  if (!network.file.empty()) text += paragraph(network.file);
  text += paragraph(network.choice);
  for (const NetworkOffer& offer : network.offers) {
    text += item(offer.provider, offer.version + (offer.taken ? ", taken" : ""));
    text += paragraph("On " + joined(offer.interfaces) + ". " + offer.promises + " " + offer.ways);
  }
  return text;
}

std::string left_out(const Now& now) {
  std::string text = heading("What this build was made without", now.bold);
  for (const LeftOut& one : kLeftOut)
    text += item(one.name, one.lack) + paragraph(std::string("So ") + one.without + ".");
  return kLeftOut.empty() ? text + item("nothing", "") : text;
}

std::string kernel(const Now& now) {
  std::string text = heading("What the kernel offers to this process", now.bold);
  for (const KernelFeature& feature : now.kernel) {
    text += item(feature.name, feature.refusal.empty() ? "yes" : "no: " + feature.refusal);
    if (!feature.refusal.empty()) text += paragraph(feature.without);
  }
  return text;
}

std::string table(const Now& now) {
  std::string text = "Tasuki " TASUKI_VERSION "\n";
  text += item("ABIs", "MPI-5.0 standard, libmpi_abi.so.1");
  text += item("", "MPICH, libmpi.so.12");
  text += item("compiler", std::string(kCompiler) + ", " TASUKI_BUILD);
  text += item("processors", std::to_string(local::processors_available()));
  text += item("who copies a message", std::string("as on processors of ") + maker_text(maker(now)));
  text += paragraph(copy_thresholds_text(now) + "A tuning table or a setting goes before it.");
  text += item("tuning table of this installation", has_installed_tuning(now) ? "yes" : "no");
  text += paragraph(tuning_reason(now) + ".");
  text += item("heap of several ranks", now.heap.global ? "global" : "private");
  text += paragraph(std::string("Because ") + now.heap.reason + ".");
  text += item("a program started here by itself", wire::joining_text(now.joining.joining));
  text += paragraph("Because " + now.joining.reason + ".");
  text += left_out(now);
  text += kernel(now);
  text += networks(now);
  text += heading("Settings: environment variables, and control variables of MPI_T", now.bold);
  for (const Setting& setting : settings()) {
    const std::string source =
        is_set(setting, now.config) ? "set; default " + value_of(setting, Config{}) : "default";
    text += item(setting.name, value_of(setting, now.config) + " (" + source + ")");
    text += paragraph(std::string(setting.description) + ". Takes " + expected_setting(setting) + ".");
  }
  for (const TextSetting& setting : text_settings()) {
    const std::string& value = now.config.*setting.value;
    text += item(setting.name, value.empty() ? "automatic (default)" : value + " (environment)");
    text += paragraph(std::string(setting.description) + ". Takes " + setting.expected + ".");
  }
  text += heading("Algorithms of the collectives", now.bold);
  for (const OperationRow& row : operation_table()) {
    text += item(row.name, row.setting);
    for (const AlgorithmRow& algorithm : algorithms_of(operation_of(row)))
      text += std::string("    ") + algorithm.name + "\n" + paragraph(algorithm.description);
  }
  text += heading("Performance variables of MPI_T", now.bold);
  for (const CounterRow& row : counter_table()) {
    text += item(row.name, std::string(counter_class_name(row.kind)) + ", " + part_name(row.part));
    text += paragraph(row.description);
  }
  text += heading("Events of MPI_T", now.bold);
  for (const EventRow& row : event_table()) {
    text += item(row.name, part_name(row.part));
    text += paragraph(row.description);
  }
  return text;
}

// ----- JSON ------------------------------------------------------------------------------------------------

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char one : text) {
    if (one == '"' || one == '\\') out += '\\';
    out += one;
  }
  return out + '"';
}

std::string field(const char* name, const std::string& value) {
  return json_text(name) + ": " + value;
}

std::string json_texts(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + json_text(text);
  return "[" + all + "]";
}

/// "[\n    {…},\n    {…}\n  ]" of the rows, each by `fields(row)`.
template <class Rows, class Fields>
std::string array(const Rows& rows, Fields&& fields) {
  std::string text;
  for (const auto& row : rows) text += std::string(text.empty() ? "" : ",") + "\n    {" + fields(row) + "}";
  return "[" + text + "\n  ]";
}

std::string json_of(const LeftOut& one) {
  return field("name", json_text(one.name)) + ", " + field("lack", json_text(one.lack)) + ", " +
         field("without", json_text(one.without));
}

std::string json(const Now& now) {
  const auto common = [](const auto& row) {
    return field("name", json_text(row.name)) + ", " + field("part", json_text(part_name(row.part))) + ", " +
           field("description", json_text(row.description));
  };
  const auto of_setting = [&](const Setting& setting) {
    return common(setting) + ", " + field("value", json_text(value_of(setting, now.config))) + ", " +
           field("default", json_text(value_of(setting, Config{}))) + ", " +
           field("source", is_set(setting, now.config) ? "\"environment\"" : "\"default\"") + ", " +
           field("expected", json_text(expected_setting(setting))) + ", " +
           field("changes", json_text(when(setting)));
  };
  const auto of_counter = [&](const CounterRow& row) {
    return common(row) + ", " + field("class", json_text(counter_class_name(row.kind)));
  };
  const auto of_event = [&](const EventRow& row) {
    std::string elements;
    for (int i = 0; i < row.element_count(); ++i)
      elements += (i == 0 ? "" : ", ") + json_text(row.elements->items[i]);
    return common(row) + ", " + field("elements", "[" + elements + "]");
  };
  const auto of_text = [&](const TextSetting& setting) {
    return field("name", json_text(setting.name)) + ", " +
           field("description", json_text(setting.description)) + ", " +
           field("value", json_text(now.config.*setting.value)) + ", " +
           field("expected", json_text(setting.expected));
  };
  const auto of_algorithm = [](const AlgorithmRow& row) {
    const OperationRow& operation = operation_row(row.operation);
    return field("operation", json_text(operation.name)) + ", " + field("name", json_text(row.name)) + ", " +
           field("setting", json_text(operation.setting)) + ", " +
           field("description", json_text(row.description));
  };
  const auto of_feature = [](const KernelFeature& feature) {
    return field("name", json_text(feature.name)) + ", " + field("refusal", json_text(feature.refusal)) +
           ", " + field("without", json_text(feature.without));
  };
  const auto of_network = [](const NetworkOffer& offer) {
    return field("provider", json_text(offer.provider)) + ", " + field("version", json_text(offer.version)) +
           ", " + field("interfaces", json_texts(offer.interfaces)) + ", " +
           field("taken", offer.taken ? "true" : "false") + ", " +
           field("promises", json_text(offer.promises)) + ", " + field("ways", json_text(offer.ways));
  };
  return "{\n  " + field("version", json_text(TASUKI_VERSION)) + ",\n  " +
         field("abis", "[\"libmpi_abi.so.1\", \"libmpi.so.12\"]") + ",\n  " +
         field("compiler", json_text(kCompiler)) + ",\n  " + field("build", json_text(TASUKI_BUILD)) +
         ",\n  " + field("left_out", array(kLeftOut, json_of)) + ",\n  " +
         field("kernel", array(now.kernel, of_feature)) + ",\n  " +
         field("libfabric", json_text(now.network.version)) + ",\n  " +
         field("libfabric_file", json_text(now.network.file)) + ",\n  " +
         field("network", json_text(now.network.choice)) + ",\n  " +
         field("networks", array(now.network.offers, of_network)) + ",\n  " +
         field("processors", std::to_string(local::processors_available())) + ",\n  " +
         field("processor_maker", json_text(maker_text(maker(now)))) + ",\n  " +
         field("heap", json_text(now.heap.global ? "global" : "private")) + ",\n  " +
         field("heap_reason", json_text(now.heap.reason)) + ",\n  " +
         field("joins", json_text(wire::joining_text(now.joining.joining))) + ",\n  " +
         field("joins_reason", json_text(now.joining.reason)) + ",\n  " +
         field("installed_tuning", has_installed_tuning(now) ? "true" : "false") + ",\n  " +
         field("installed_tuning_file", json_text(now.tuning.path)) + ",\n  " +
         field("installed_tuning_reason", json_text(tuning_reason(now))) + ",\n  " +
         field("settings", array(settings(), of_setting)) + ",\n  " +
         field("text_settings", array(text_settings(), of_text)) + ",\n  " +
         field("algorithms", array(algorithm_table(), of_algorithm)) + ",\n  " +
         field("performance_variables", array(counter_table(), of_counter)) + ",\n  " +
         field("events", array(event_table(), of_event)) + "\n}\n";
}

// ----- Markdown --------------------------------------------------------------------------------------------

std::string markdown() {
  std::string text =
      "# Variables\n\n"
      "Written by `mpiexec --info=markdown`. `mpiexec --info` shows the values in force; programs read all "
      "of "
      "it through\nMPI_T (MPI 5.0, 15.3).\n\n"
      "## Settings\n\n"
      "Environment variables, and control variables of the same names. Those of collectives must be the same "
      "on all ranks.\n\n"
      "| name | default | takes | can be changed | what it is |\n|---|---|---|---|---|\n";
  for (const Setting& setting : settings()) {
    text += format("| `%s` | %s | %s | %s | %s |\n", setting.name, value_of(setting, Config{}).c_str(),
                   expected_setting(setting).c_str(), when(setting), setting.description);
  }
  for (const TextSetting& setting : text_settings()) {
    text += format("| `%s` | automatic | %s | before MPI_Init | %s |\n", setting.name, setting.expected,
                   setting.description);
  }
  text +=
      "\n## Algorithms of the collectives\n\n"
      "The settings above name them; docs/collectives.md says what they cost.\n\n"
      "| operation | algorithm | what is counted |\n|---|---|---|\n";
  for (const AlgorithmRow& row : algorithm_table()) {
    text += format("| %s | `%s` | %s |\n", operation_row(row.operation).name, row.name, row.description);
  }
  text +=
      "\n## Performance variables\n\n"
      "Counters, aggregates, timers and watermarks can be started, stopped, written and reset, in each "
      "session "
      "for itself;\nlevels, sizes, states and percentages show what is. Times are seconds.\n\n"
      "| name | class | part | what it is |\n|---|---|---|---|\n";
  for (const CounterRow& row : counter_table()) {
    text += format("| `%s` | %s | %s | %s |\n", row.name, counter_class_name(row.kind), part_name(row.part),
                   row.description);
  }
  text +=
      "\n## Events\n\n"
      "Raised inside of MPI calls: callbacks are to be registered for `MPI_T_CB_REQUIRE_MPI_RESTRICTED` or "
      "more. All elements\nare `MPI_INT64_T`; time stamps are nanoseconds of the clock of `MPI_Wtime`.\n\n"
      "| name | part | what it is |\n|---|---|---|\n";
  for (const EventRow& row : event_table()) {
    text += format("| `%s` | %s | %s |\n", row.name, part_name(row.part), row.description);
  }
  return text;
}

}  // namespace

bool info_text(InfoForm form, const char* const* environment, const std::vector<std::string>& command,
               bool bold, std::string* text, std::string* error) {
  const char* wish = heap::find_variable(environment, "TASUKI_HEAP");
  const CommandPlace place{.directory = {},
                           .path_variable = heap::find_variable(environment, "PATH"),
                           .preload = heap::find_variable(environment, "LD_PRELOAD")};
  Now now{.config = {},
          .heap = heap_verdict(wish, 2, command, place),
          .joining = choose_wire(wire::gather_wire_facts()),
          .network = {},
          .kernel = {},
          .tuning = {},
          .bold = bold};
  std::string warning;
  if (!read_settings(environment, &now.config, error, &warning)) return false;
  if (form != InfoForm::kMarkdown) {
    now.network = look_for_networks(now.config);
    now.kernel = look_for_kernel_features();
    now.tuning = read_installed_tuning(now.config.tuning_foreign != 0);
  }
  *text = form == InfoForm::kTable ? table(now) : form == InfoForm::kJson ? json(now) : markdown();
  return true;
}

}  // namespace tasuki::launch
