// The table of hints. io/file/agreed_hints.cpp has what the ranks do with it.
#include "io/hints/hint_table.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>

namespace tasuki {
namespace {

constexpr const char* kSwitchText = "enable, disable or automatic";
constexpr const char* kFlagText = "true or false";
constexpr const char* kPositiveText = "a number from 1 to 2147483647";
constexpr const char* kNumberText = "a number from 0 to 2147483647";

bool parse_number(const std::string& value, int least, Count* number) {
  if (value.empty() || value.size() > 10 || value.find_first_not_of("0123456789") != value.npos) return false;
  const long long parsed = std::stoll(value);
  if (parsed < least || parsed > INT_MAX) return false;
  *number = parsed;
  return true;
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool parse_switch(const std::string& value, HintSwitch* parsed) {
  const std::string text = lowered(value);
  if (text != "enable" && text != "disable" && text != "automatic") return false;
  *parsed = text == "enable"    ? HintSwitch::kEnable
            : text == "disable" ? HintSwitch::kDisable
                                : HintSwitch::kAutomatic;
  return true;
}

bool parse_flag(const std::string& value, bool* parsed) {
  const std::string text = lowered(value);
  if (text != "true" && text != "false") return false;
  *parsed = text == "true";
  return true;
}

const char* switch_text(HintSwitch value) {
  constexpr std::array kTexts = {"automatic", "enable", "disable"};
  return kTexts[static_cast<std::size_t>(value)];
}

std::string text_where(bool told, Count value) {
  return told ? std::to_string(value) : std::string();
}

// What most rules do, for a member of IoHints.
template <HintSwitch IoHints::*kMember>
bool take_switch(IoHints* hints, const std::string& value) {
  return parse_switch(value, &(hints->*kMember));
}

template <HintSwitch IoHints::*kMember>
std::string show_switch(const HintsInForce& file) {
  return switch_text(file.hints.*kMember);
}

template <auto kMember, int kLeast>
bool take_number(IoHints* hints, const std::string& value) {
  Count number = 0;
  if (!parse_number(value, kLeast, &number)) return false;
  hints->*kMember = static_cast<std::remove_reference_t<decltype(hints->*kMember)>>(number);
  return true;
}

template <auto kMember>
std::string show_number(const HintsInForce& file) {
  return std::to_string(file.hints.*kMember);
}

bool is_striped(const HintsInForce& file) {
  return file.striping.targets > 0;
}

template <auto kMember>
std::string show_of_stripes(const HintsInForce& file) {
  return text_where(is_striped(file), file.hints.*kMember);
}

// The others.
bool take_collective_buffering(IoHints* hints, const std::string& value) {
  bool wanted = false;
  if (!parse_flag(value, &wanted)) return false;
  hints->collective_read = hints->collective_write = wanted ? HintSwitch::kEnable : HintSwitch::kDisable;
  return true;
}

std::string show_collective_buffering(const HintsInForce& file) {
  const bool off = file.hints.collective_read == HintSwitch::kDisable &&
                   file.hints.collective_write == HintSwitch::kDisable;
  return off ? "false" : "true";
}

bool take_no_independent(IoHints* hints, const std::string& value) {
  if (!parse_flag(value, &hints->no_independent_access)) return false;
  if (hints->no_independent_access) hints->collective_read = hints->collective_write = HintSwitch::kEnable;
  return true;
}

std::string show_no_independent(const HintsInForce& file) {
  return file.hints.no_independent_access ? "true" : "false";
}

bool take_aggregator_number(IoHints* hints, const std::string& value) {
  Count number = 0;
  if (!parse_number(value, 1, &number)) return false;
  hints->aggregators.number = static_cast<int>(number);
  return true;
}

std::string show_aggregator_number(const HintsInForce& file) {
  return text_where(!file.aggregators.empty(), static_cast<Count>(file.aggregators.size()));
}

bool take_config_list(IoHints* hints, const std::string& value) {
  std::vector<ConfigItem> items;
  std::string error;
  if (!parse_config_list(value, &items, &error)) return false;
  hints->aggregators.config_list = value;
  return true;
}

std::string show_config_list(const HintsInForce& file) {
  const std::string& list = file.hints.aggregators.config_list;
  return list.empty() ? "*:*" : list;
}

bool take_aggregator_placement(IoHints* hints, const std::string& value) {
  const std::size_t colon = value.find(':');
  const std::string name = value.substr(0, colon);
  Count per_node = 0;
  if (name != "block" && name != "round_robin") return false;
  if (colon != value.npos && !parse_number(value.substr(colon + 1), 1, &per_node)) return false;
  hints->aggregators.placement =
      name == "block" ? AggregatorPlacement::kBlock : AggregatorPlacement::kRoundRobin;
  hints->aggregators.per_node = static_cast<int>(per_node);
  return true;
}

std::string show_aggregator_placement(const HintsInForce& file) {
  const AggregatorRequest& request = file.hints.aggregators;
  const std::string name = request.placement == AggregatorPlacement::kBlock ? "block" : "round_robin";
  return request.per_node > 0 ? name + ":" + std::to_string(request.per_node) : name;
}

bool take_order(IoHints* hints, const std::string& value) {
  return parse_order(value.c_str(), &hints->order);
}

std::string show_order(const HintsInForce& file) {
  return order_name(file.hints.order);
}

bool take_exchange(IoHints* hints, const std::string& value) {
  if (value != "automatic" && value != "messages") return false;
  hints->exchange = value == "messages" ? ExchangeBy::kMessages : ExchangeBy::kAutomatic;
  return true;
}

std::string show_exchange(const HintsInForce& file) {
  return file.hints.exchange == ExchangeBy::kMessages ? "messages" : "automatic";
}

bool take_start_device(IoHints* hints, const std::string& value) {
  if (value == "-1") {
    hints->start_device = -1;
    return true;
  }
  return take_number<&IoHints::start_device, 0>(hints, value);
}

bool take_permissions(IoHints* hints, const std::string& value) {
  if (value.empty() || value.size() > 5 || value.find_first_not_of("01234567") != value.npos) return false;
  const int parsed = std::stoi(value, nullptr, 8);
  if (parsed > 0777) return false;
  hints->permissions = parsed;
  return true;
}

std::string show_permissions(const HintsInForce& file) {
  if (file.hints.permissions < 0) return {};
  char text[16];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(file.hints.permissions));
  return text;
}

// Of the file itself, as its file system has it.
std::string show_striping_factor(const HintsInForce& file) {
  return text_where(is_striped(file), file.striping.targets);
}

std::string show_striping_unit(const HintsInForce& file) {
  return text_where(is_striped(file), file.striping.unit_bytes);
}

std::string show_start_device(const HintsInForce& file) {
  return is_striped(file) ? std::to_string(file.striping.first_target) : std::string();
}

bool take_collective_buffer(IoHints* hints, const std::string& value) {
  if (!take_number<&IoHints::collective_buffer_bytes, 1>(hints, value)) return false;
  hints->collective_buffer_given = true;
  return true;
}

std::string show_block_bytes(const HintsInForce& file) {
  return text_where(file.hints.block_bytes > 0, file.hints.block_bytes);
}

constexpr HintScope kFile = HintScope::kFile;
constexpr HintScope kRank = HintScope::kRank;
constexpr bool kOpening = true;  // counts at MPI_File_open alone
constexpr bool kAlways = false;

constexpr HintRule kRules[] = {
    {"collective_buffering", kFile, kAlways, kFlagText, take_collective_buffering, show_collective_buffering},
    {"romio_no_indep_rw", kFile, kOpening, kFlagText, take_no_independent, show_no_independent},
    {"romio_cb_read", kFile, kAlways, kSwitchText, take_switch<&IoHints::collective_read>,
     show_switch<&IoHints::collective_read>},
    {"romio_cb_write", kFile, kAlways, kSwitchText, take_switch<&IoHints::collective_write>,
     show_switch<&IoHints::collective_write>},
    {"cb_buffer_size", kFile, kAlways, kPositiveText, take_collective_buffer,
     show_number<&IoHints::collective_buffer_bytes>},
    {"cb_block_size", kFile, kAlways, kPositiveText, take_number<&IoHints::block_bytes, 1>, show_block_bytes},
    {"cb_nodes", kFile, kAlways, kPositiveText, take_aggregator_number, show_aggregator_number},
    {"cb_config_list", kFile, kAlways, "node:number, node:* or node, separated by commas", take_config_list,
     show_config_list},
    {"tasuki_io_aggregators", kFile, kAlways, "block, round_robin, block:number or round_robin:number",
     take_aggregator_placement, show_aggregator_placement},
    {"tasuki_io_order", kFile, kAlways, "rank, pairwise, nd_shift, nd_rank_shift or weighted", take_order,
     show_order},
    {"tasuki_io_exchange", kFile, kAlways, "automatic or messages", take_exchange, show_exchange},
    {"romio_ds_read", kRank, kAlways, kSwitchText, take_switch<&IoHints::sieve_read>,
     show_switch<&IoHints::sieve_read>},
    {"romio_ds_write", kRank, kAlways, kSwitchText, take_switch<&IoHints::sieve_write>,
     show_switch<&IoHints::sieve_write>},
    {"ind_rd_buffer_size", kRank, kAlways, kPositiveText, take_number<&IoHints::sieve_read_bytes, 1>,
     show_number<&IoHints::sieve_read_bytes>},
    {"ind_wr_buffer_size", kRank, kAlways, kPositiveText, take_number<&IoHints::sieve_write_bytes, 1>,
     show_number<&IoHints::sieve_write_bytes>},
    {"tasuki_io_uring", kRank, kOpening, kSwitchText, take_switch<&IoHints::io_uring>,
     show_switch<&IoHints::io_uring>},
    {"file_perm", kFile, kOpening, "octal digits, 0 to 0777", take_permissions, show_permissions},
    {"striping_factor", kFile, kOpening, kPositiveText, take_number<&IoHints::striping_factor, 1>,
     show_striping_factor},
    {"striping_unit", kFile, kOpening, kPositiveText, take_number<&IoHints::striping_unit_bytes, 1>,
     show_striping_unit},
    {"start_iodevice", kFile, kOpening, "-1 or a number from 0 to 2147483647", take_start_device,
     show_start_device},
    {"romio_lustre_start_iodevice", kFile, kOpening, "-1 or a number from 0 to 2147483647", take_start_device,
     show_start_device},
    {"romio_lustre_co_ratio", kFile, kAlways, kPositiveText, take_number<&IoHints::lustre_co_ratio, 1>,
     show_of_stripes<&IoHints::lustre_co_ratio>},
    {"romio_lustre_coll_threshold", kFile, kAlways, kNumberText,
     take_number<&IoHints::lustre_collective_bytes_max, 0>,
     show_of_stripes<&IoHints::lustre_collective_bytes_max>},
};

struct Inert {
  std::string_view key;
  const char* why;
};

constexpr const char* kNoDriver = "nothing here goes by it";
constexpr const char* kNoOffsets = "the exchange sends no lists of offsets";
constexpr const char* kNoSieving = "how holes are filled is chosen window by window (romio_ds_write)";

constexpr Inert kInert[] = {
    {"access_style", kNoDriver},
    {"chunked", kNoDriver},
    {"chunked_item", kNoDriver},
    {"chunked_size", kNoDriver},
    {"filename", "it is what MPI_File_get_info tells"},
    {"io_node_list", kNoDriver},
    {"nb_proc", kNoDriver},
    {"num_io_nodes", kNoDriver},
    {"romio_aggregator_list", "it is what MPI_File_get_info tells"},
    {"romio_cb_alltoall", kNoOffsets},
    {"romio_cb_ds_threshold", kNoSieving},
    {"romio_cb_fr_alignment", "domains follow the file system, or cb_block_size"},
    {"romio_cb_fr_types", "domains follow the file system, or cb_block_size"},
    {"romio_cb_pfr", "domains are not kept from call to call"},
    {"romio_filesystem_type", "it is what MPI_File_get_info tells"},
    {"romio_lustre_ds_in_coll", kNoSieving},
};

}  // namespace

std::span<const HintRule> hint_rules() {
  return kRules;
}

const HintRule* find_hint_rule(std::string_view key) {
  const auto* const found = std::find_if(std::begin(kRules), std::end(kRules),
                                         [&](const HintRule& rule) { return rule.key == key; });
  return found != std::end(kRules) ? found : nullptr;
}

const char* why_without_effect(std::string_view key) {
  const auto* const found = std::find_if(std::begin(kInert), std::end(kInert),
                                         [&](const Inert& inert) { return inert.key == key; });
  return found != std::end(kInert) ? found->why : nullptr;
}

}  // namespace tasuki
