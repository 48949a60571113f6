// How a file's ranks take hints: see agreed_hints.hpp.
#include "io/file/agreed_hints.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "coll/byte_collectives.hpp"
#include "io/file/agreement.hpp"
#include "io/file/explain_file.hpp"
#include "io/hints/hint_table.hpp"
#include "io/hints/system_hints.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "placement/node_map.hpp"

namespace tasuki {
namespace {

const std::string* find_hint(const HintList& list, std::string_view key) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& hint) { return hint.first == key; });
  return found != list.end() ? &found->second : nullptr;
}

/// Those of `info` that have a rule of the scope, in the table's order.
HintList hints_of(const Info* info, HintScope scope) {
  HintList list;
  for (const HintRule& rule : hint_rules()) {
    const std::string* const value = find_info(info, rule.key);
    if (value != nullptr && rule.scope == scope) list.emplace_back(rule.key, *value);
  }
  return list;
}

// As they travel: each key and each value, with the zero byte at its end.
std::string pack(const HintList& list) {
  std::string text;
  for (const auto& [key, value] : list) text.append(key).append(1, '\0').append(value).append(1, '\0');
  return text;
}

HintList unpack(const std::string& text) {
  HintList list;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string key(text.c_str() + at);
    at = std::min(at + key.size() + 1, text.size());
    const std::string value(text.c_str() + at);
    at += value.size() + 1;
    list.emplace_back(key, value);
  }
  return list;
}

void explain_ignored(const File& file, const std::string& key, const std::string& value, const char* why) {
  explain_file(file, "hint %.255s = \"%.300s\" has no effect: %s", key.c_str(), value.c_str(), why);
}

/// Takes what `list` has, in the order of the table.
void take_list(File* file, const HintList& list, bool opening, bool explaining) {
  for (const HintRule& rule : hint_rules()) {
    const std::string* const value = find_hint(list, rule.key);
    if (value == nullptr) continue;
    if (rule.only_at_open && !opening) {
      if (explaining) explain_ignored(*file, rule.key, *value, "it counts at MPI_File_open alone");
    } else if (!rule.take(&file->hints, *value) && explaining) {
      explain_ignored(*file, rule.key, *value, (std::string("expected ") + rule.expected).c_str());
    }
  }
}

/// What rank 0 has for all: its file of hints when the file is opened, and over it what the info says.
HintList hints_for_all(Process& process, const Info* info, bool opening) {
  HintList list = hints_of(info, HintScope::kFile);
  if (!opening) return list;
  for (const auto& hint : process.files->system_hints.hints()) {
    if (find_hint_rule(hint.first) != nullptr && find_info(info, hint.first) == nullptr) list.push_back(hint);
  }
  return list;
}

/// Rank 0's text reaches all. REQUIRES: all ranks come here.
Code share_text(Comm& comm, std::string* text) {
  auto bytes = static_cast<std::int64_t>(text->size());
  if (const Code failed = bcast_bytes(comm, &bytes, sizeof bytes, 0)) return failed;
  constexpr std::int64_t kTextMax = 1 << 26;
  if (bytes < 0 || (comm.rank != 0 && bytes > kTextMax))
    comm.process.launcher.end_damaged(comm.endpoint(0), "the length of its hints");
  text->resize(static_cast<std::size_t>(bytes));
  return bcast_bytes(comm, text->data(), bytes, 0);
}

// --- What took no effect

void explain_unknown(const File& file, const Info& info) {
  for (const auto& [key, value] : info.entries) {
    if (find_hint_rule(key) != nullptr) continue;
    const char* const why = why_without_effect(key);
    explain_ignored(file, key, value, why != nullptr ? why : "it is not known");
  }
}

/// At a rank that is not 0: those of its own that are not rank 0's.
void explain_overruled(const File& file, const HintList& own, const HintList& of_rank0) {
  for (const auto& [key, value] : own) {
    const std::string* const counts = find_hint(of_rank0, key);
    if (counts != nullptr && *counts == value) continue;
    const std::string why = "rank 0's hints count, which " +
                            (counts != nullptr ? "say \"" + *counts + "\"" : std::string("lack it"));
    explain_ignored(file, key, value, why.c_str());
  }
}

/// At rank 0: which ranks gave other hints than it did.
void explain_others(const File& file, const std::vector<Ballot>& ballots) {
  int others = 0;
  int first = 0;
  for (std::size_t rank = 1; rank < ballots.size(); ++rank) {
    if (ballots[rank].value >> 1 == ballots[0].value >> 1) continue;
    if (others++ == 0) first = static_cast<int>(rank);
  }
  if (others == 0) return;
  explain_file(file, "%d of %d ranks gave other hints than rank 0, whose count: rank %d is the first of them",
               others, static_cast<int>(ballots.size()), first);
}

void explain_combination(const File& file) {
  const IoHints& hints = file.hints;
  if (hints.no_independent_access && !hints.defers_open())
    explain_ignored(file, "romio_no_indep_rw", "true",
                    "collective buffering is switched off by romio_cb_read or romio_cb_write");
}

// --- Aggregators

/// What MPI_Get_processor_name says, by node. Collective over the communicator.
Code exchange_names(Comm& comm, std::vector<std::string>* names) {
  using Name = std::array<char, 256>;
  Name mine = {};
  comm.process.directory.processor_name(mine.size() - 1).copy(mine.data(), mine.size() - 1);
  std::vector<Name> all(static_cast<std::size_t>(comm.size()));
  const Code code = allgather_bytes(comm, &mine, all.data(), sizeof mine);
  if (code != kSuccess) return code;
  for (const int leader : node_map(comm).leaders()) {
    const Name& name = all[static_cast<std::size_t>(leader)];
    names->emplace_back(name.data(), strnlen(name.data(), name.size()));
  }
  return kSuccess;
}

/// Where the hints say how many, the aggregators are known from now on. Collective.
Code find_aggregators(File* file, Comm& comm, bool explaining) {
  AggregatorRequest& request = file->hints.aggregators;
  if (request.number == 0 && request.per_node == 0 && request.config_list.empty()) return kSuccess;
  if (request.node_names.empty()) {
    if (const Code code = exchange_names(comm, &request.node_names)) return code;
  }
  std::string unmet;
  file->aggregators = choose_aggregators(node_map(comm), request, &unmet);
  if (explaining && !unmet.empty()) explain_file(*file, "%s", unmet.c_str());
  return kSuccess;
}

OfferedHints offer_hints(Comm& comm, const Info* info, bool opening) {
  OfferedHints offered;
  offered.own = hints_of(info, HintScope::kFile);
  offered.for_all = comm.rank == 0 ? hints_for_all(comm.process, info, opening) : offered.own;
  // The lowest bit: there are hints to send; the others: a number that differs where hints do.
  const std::uint64_t number = offered.own.empty() ? 0 : std::hash<std::string>()(pack(offered.own));
  offered.value = static_cast<std::int64_t>(number << 1 | (offered.for_all.empty() ? 0 : 1));
  return offered;
}

Code take_hints(File& file, Comm& comm, const Info* info, const OfferedHints& offered,
                const std::vector<Ballot>& ballots, bool opening) {
  const bool first = comm.rank == 0;
  HintList told;
  if ((ballots[0].value & 1) != 0) {
    std::string text = first ? pack(offered.for_all) : std::string();
    if (const Code failed = share_text(comm, &text)) return failed;
    told = unpack(text);
  }
  // What concerns all is explained by the file's rank 0, and by the job's where that is another one.
  const bool speaks_for_all = first || file.process.rank == 0;
  take_list(&file, told, opening, speaks_for_all);
  take_list(&file, hints_of(info, HintScope::kRank), opening, true);
  if (const Code code = find_aggregators(&file, comm, speaks_for_all)) return code;
  if (!explains_files(file.process)) return kSuccess;
  if (info != nullptr) explain_unknown(file, *info);
  if (speaks_for_all) {
    explain_others(file, ballots);
    explain_combination(file);
  }
  if (!first) explain_overruled(file, offered.own, told);
  return kSuccess;
}

}  // namespace

OfferedHints offer_first_hints(Comm& comm, const Info* info) {
  return offer_hints(comm, info, true);
}

Code take_first_hints(File& file, Comm& comm, const Info* info, const OfferedHints& offered,
                      const std::vector<Ballot>& ballots) {
  return take_hints(file, comm, info, offered, ballots, true);
}

Code change_hints(File& file, const Info* info) {
  Comm& comm = *file.comm;
  const OfferedHints offered = offer_hints(comm, info, false);
  std::vector<Ballot> ballots;
  if (const Code failed = agree(comm, kSuccess, offered.value, &ballots)) return failed;
  return take_hints(file, comm, info, offered, ballots, false);
}

void explain_hints_of_storage(const File& file, const Info* info) {
  if (!explains_files(file.process) || file.striping.targets > 0) return;
  for (const HintRule& rule : hint_rules()) {
    const std::string* const value = find_info(info, rule.key);
    IoHints ignored;
    if (!std::string_view(rule.key).starts_with("romio_lustre_")) continue;
    if (value != nullptr && rule.take(&ignored, *value))
      explain_ignored(file, rule.key, *value, "the file is not on Lustre");
  }
}

}  // namespace tasuki
