// What the environment says besides the command line, which comes first: batch systems, TASUKI_ variables.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "launch/base/format.hpp"
#include "launch/options/options.hpp"

namespace tasuki::launch {

bool take_allocation(const GetEnvironment& get, const ReadFile& read, Options* options, std::string* error) {
  if (!options->hosts.empty() || options->applications.empty() || options->spawn_socket >= 0) return true;
  Allocation allocation;
  if (!find_allocation(get, read, &allocation, error)) return false;
  if (!options->batch_system.empty() && allocation.system != options->batch_system) {
    *error =
        format("-rmk %s: this is no job of %s", options->batch_system.c_str(), options->batch_system.c_str());
    return false;
  }
  options->hosts = allocation.hosts;
  if (!take_all_slots(options, error)) return false;
  if (allocation.system == "Slurm" && !options->starter_given) options->starter.kind = RemoteStart::kSlurm;
  return true;
}

bool take_all_slots(Options* options, std::string* error) {
  if (options->hosts.empty() || options->applications.size() != 1 ||
      options->applications.front().ranks_given)
    return true;
  std::int64_t slots = 0;
  for (const HostSlots& host : options->hosts)
    slots += options->slots_per_host > 0 ? options->slots_per_host : host.slots;
  if (slots > kRanksMax) {
    *error =
        format("the hosts have %lld slots, more than the %d ranks that a job may have: give a number by -n",
               static_cast<long long>(slots), kRanksMax);
    return false;
  }
  options->applications.front().ranks = static_cast<int>(slots);
  return true;
}

bool take_host_silence(const char* text, Options* options, std::string* error) {
  double seconds = kSilenceDefault;
  if (text == nullptr || parse_seconds(text, &seconds)) {
    if (options->host_silence_seconds == kSilenceUnset) options->host_silence_seconds = seconds;
    return true;
  }
  *error = format("TASUKI_HOST_SILENCE_SECONDS = \"%s\", expected a number of seconds above 0", text);
  return false;
}

bool take_launcher_tree(const char* text, Options* options, std::string* error) {
  if (text == nullptr) return true;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end != text && *end == '\0' && number >= 0 && number <= static_cast<long>(kHostsMax)) {
    if (options->starter.fan_out < 0) options->starter.fan_out = static_cast<int>(number);
    return true;
  }
  *error = format("TASUKI_LAUNCHER_TREE = \"%s\", expected a number from 0 to %zu", text, kHostsMax);
  return false;
}

bool parse_seconds(const std::string& word, double* seconds) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0' || !std::isfinite(number) || number <= 0 || number > 1e9) return false;
  *seconds = number;
  return true;
}

bool take_nodes(const char* text, Options* options, std::string* error) {
  if (text == nullptr || *text == '\0' || options->nodes_given) return true;
  char* end = nullptr;
  const long nodes = std::strtol(text, &end, 10);
  if (*end != '\0' || nodes < 1 || nodes > kRanksMax) {
    *error = format("TASUKI_NODES = \"%s\", expected a number from 1 to %d", text, kRanksMax);
    return false;
  }
  options->nodes = static_cast<int>(nodes);
  return true;
}

bool parse_doctor(const std::string& word, DoctorForm* form) {
  if (word != "text" && word != "json") return false;
  *form = word == "json" ? DoctorForm::kJson : DoctorForm::kText;
  return true;
}

bool parse_stall(const std::string& word, double* seconds) {
  if (parse_seconds(word, seconds)) return true;
  char* end = nullptr;
  if (word.empty() || std::strtod(word.c_str(), &end) != 0 || *end != '\0') return false;
  *seconds = 0;
  return true;
}

bool take_doctor(const char* form, const char* stall, const char* end, Options* options, std::string* error) {
  const auto given = [](const char* text) { return text != nullptr && *text != '\0'; };
  if (given(form) && options->doctor == DoctorForm::kUnasked && !parse_doctor(form, &options->doctor)) {
    *error = format("TASUKI_DOCTOR = \"%s\", expected text or json", form);
    return false;
  }
  if (options->stall_seconds == kStallUnset) {
    options->stall_seconds = kStallDefault;
    if (given(stall) && !parse_stall(stall, &options->stall_seconds)) {
      *error = format("TASUKI_STALL_SECONDS = \"%s\", expected a number of seconds, 0 for never", stall);
      return false;
    }
  }
  if (!given(end)) return true;
  if (std::strcmp(end, "0") != 0 && std::strcmp(end, "1") != 0) {
    *error = format("TASUKI_END_ON_DEADLOCK = \"%s\", expected 0 or 1", end);
    return false;
  }
  options->end_on_deadlock = options->end_on_deadlock || *end == '1';
  return true;
}

}  // namespace tasuki::launch
