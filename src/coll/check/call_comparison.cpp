// Comparing calls: see coll/check/call_comparison.hpp.
#include "coll/check/call_comparison.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <vector>

#include "base/error.hpp"
#include "coll/schedule/bound_schedule.hpp"
#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "datatype/type_hash.hpp"
#include "reduction/op.hpp"

namespace tasuki {
namespace {

// The order is that of CollectiveCall.
constexpr const char* kNames[] = {
    "",
    "Barrier",
    "Bcast",
    "Gather",
    "Gatherv",
    "Scatter",
    "Scatterv",
    "Allgather",
    "Allgatherv",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Reduce",
    "Allreduce",
    "Reduce_scatter_block",
    "Reduce_scatter",
    "Scan",
    "Exscan",
    "Neighbor_allgather",
    "Neighbor_allgatherv",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
};
static_assert(std::size(kNames) == static_cast<std::size_t>(CollectiveCall::kNeighborAlltoallw) + 1);

std::string call_text(const CallRecord& record) {
  if (record.call == CollectiveCall::kInternal)
    return record.within[0] != '\0' ? record.within : "a call of another kind";
  std::string name = kNames[static_cast<std::size_t>(record.call)];
  switch (static_cast<CollectiveForm>(record.form)) {
    case CollectiveForm::kBlocking:
      break;
    case CollectiveForm::kNonblocking:
      name[0] = static_cast<char>(std::tolower(name[0]));
      name = "I" + name;
      break;
    case CollectiveForm::kPersistent:
      name += "_init";
      break;
  }
  return "MPI_" + name;
}

std::string root_text(const CallRecord& record) {
  if (record.root == kRoot) return "with MPI_ROOT";
  if (record.root == kProcNull) return "with MPI_PROC_NULL";
  return "root " + std::to_string(record.root);
}

std::string full_text(const CallRecord& record) {
  return "in " + call_text(record) + (record.root != -1 ? " " + root_text(record) : "");
}

std::string op_text(const CallRecord& record) {
  if (record.op == CallRecord::kUserOp) return "with a user's operation";
  if (record.op == CallRecord::kUserOp - 1) return "with a user's operation that does not commute";
  Op op;
  op.predefined = record.op;
  return std::string("with ") + op_name(op);
}

std::string bytes_text(const CallRecord& record) {
  return "of " + std::to_string(record.bytes) + " bytes";
}

std::string in_place_text(const CallRecord& record) {
  return record.in_place != 0 ? "with MPI_IN_PLACE" : "without MPI_IN_PLACE";
}

std::string types_text(const CallRecord& record) {
  return "of " + basic_types_text(record.types, record.basic);
}

std::string counts_text(const CallRecord& record) {
  char text[64];
  std::snprintf(text, sizeof text, "with an array of counts (hash %08x)",
                static_cast<unsigned>(record.counts >> 32 ^ record.counts));
  return text;
}

/// What is compared, in this order. On an intercommunicator the root is a matter of its own, and a rank
/// that has nothing to do (MPI_PROC_NULL) need not agree on the fields behind it.
struct Field {
  std::uint64_t (*value)(const CallRecord&);
  std::string (*text)(const CallRecord&);
  int error_class;
};

constexpr Field kFields[] = {
    {[](const CallRecord& record) {
       return static_cast<std::uint64_t>(record.call) << 8 | static_cast<std::uint64_t>(record.form);
     },
     full_text, kErrOther},
    {[](const CallRecord& record) { return static_cast<std::uint64_t>(record.root); }, root_text, kErrRoot},
    {[](const CallRecord& record) { return static_cast<std::uint64_t>(record.op); }, op_text, kErrOp},
    {[](const CallRecord& record) { return static_cast<std::uint64_t>(record.in_place); }, in_place_text,
     kErrBuffer},
    {[](const CallRecord& record) { return static_cast<std::uint64_t>(record.bytes); }, bytes_text,
     kErrCount},
    {[](const CallRecord& record) { return record.types; }, types_text, kErrType},
    {[](const CallRecord& record) { return record.counts; }, counts_text, kErrCount},
};

/// Those whose records are compared. Ranks are numbered through: the local ones, then the remote ones.
struct Everybody {
  std::span<const CallRecord> local, remote;

  int size() const { return static_cast<int>(local.size() + remote.size()); }
  bool is_remote(int number) const { return number >= static_cast<int>(local.size()); }
  int rank(int number) const { return is_remote(number) ? number - static_cast<int>(local.size()) : number; }
  const CallRecord& operator[](int number) const {
    return (is_remote(number) ? remote : local)[static_cast<std::size_t>(rank(number))];
  }
};

/// The ranks that say the same of a field.
struct Party {
  const CallRecord* record;
  std::vector<int> ranks;  // numbers in Everybody
};

std::vector<Party> parties_of(const Everybody& all, const Field& field, bool only_active) {
  const bool is_types = field.text == types_text;
  std::vector<Party> parties;
  for (int number = 0; number < all.size(); ++number) {
    const CallRecord& record = all[number];
    if (is_types && record.types == 0) continue;
    if (only_active && record.root == kProcNull) continue;
    const auto found = std::find_if(parties.begin(), parties.end(), [&](const Party& party) {
      return field.value(*party.record) == field.value(record);
    });
    if (found == parties.end()) {
      parties.push_back({&record, {number}});
    } else {
      found->ranks.push_back(number);
    }
  }
  return parties;
}

std::string rank_text(bool is_remote, std::int64_t rank) {
  return (is_remote ? "remote rank " : "rank ") + std::to_string(rank);
}

/// Some ranks of one group.
std::string ranks_text(bool is_remote, const std::vector<int>& ranks) {
  constexpr std::size_t kNamedMax = 8;
  if (ranks.size() == 1) return rank_text(is_remote, ranks[0]);
  const std::string word = is_remote ? "remote ranks " : "ranks ";
  if (ranks.size() > kNamedMax)
    return std::to_string(ranks.size()) + " " + word + "from " + std::to_string(ranks[0]) + " on";
  std::string text = word;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 < ranks.size() ? ", " : " and ") + std::to_string(ranks[i]);
  return text;
}

std::string ranks_text(const Everybody& all, const std::vector<int>& numbers) {
  std::vector<int> ranks[2];
  for (const int number : numbers) ranks[all.is_remote(number) ? 1 : 0].push_back(all.rank(number));
  std::string text;
  if (!ranks[0].empty()) text = ranks_text(false, ranks[0]);
  if (!ranks[0].empty() && !ranks[1].empty()) text += " and ";
  if (!ranks[1].empty()) text += ranks_text(true, ranks[1]);
  return text;
}

/// "rank 2 is in MPI_Bcast root 1, the others root 0".
std::string parties_text(const Everybody& all, const std::vector<Party>& parties, const Field& field) {
  constexpr int kToldMax = 4;
  const auto most = std::max_element(parties.begin(), parties.end(), [](const Party& a, const Party& b) {
    return a.ranks.size() < b.ranks.size();
  });
  std::string text;
  int told = 0;
  for (const Party& party : parties) {
    if (&party == &*most) continue;
    if (++told > kToldMax) continue;
    if (told == 1) {
      text = ranks_text(all, party.ranks) + (party.ranks.size() == 1 ? " is " : " are ");
      if (field.text != full_text) text += "in " + call_text(*party.record) + " ";
    } else {
      text += ", " + ranks_text(all, party.ranks) + " ";
    }
    text += field.text(*party.record);
  }
  if (told > kToldMax) text += ", and so on";
  const bool one = most->ranks.size() == 1;
  return text + ", " + (one ? ranks_text(all, most->ranks) : "the others") + " " + field.text(*most->record);
}

/// On an intercommunicator one rank says MPI_ROOT, the others of its group MPI_PROC_NULL, and all of the
/// other group the root's rank.
std::string compare_inter_roots(const Everybody& all) {
  const std::string call = " in " + call_text(all[0]);
  std::vector<int> roots;
  for (int number = 0; number < all.size(); ++number)
    if (all[number].root == kRoot) roots.push_back(number);
  if (roots.empty()) return "no rank says MPI_ROOT" + call;
  if (roots.size() > 1) return ranks_text(all, roots) + " say MPI_ROOT" + call + ", expected one rank";
  const int root = roots[0];
  for (int number = 0; number < all.size(); ++number) {
    if (number == root) continue;
    const bool beside = all.is_remote(number) == all.is_remote(root);
    const CallRecord& record = all[number];
    if (record.root == (beside ? kProcNull : all.rank(root))) continue;
    return rank_text(all.is_remote(number), all.rank(number)) + " is" + call + " " + root_text(record) +
           ", expected " + (beside ? "MPI_PROC_NULL" : "root " + std::to_string(all.rank(root))) +
           " because " + rank_text(all.is_remote(root), all.rank(root)) + " says MPI_ROOT";
  }
  return {};
}

/// Of elements that are counted with MPI's signs and in sums that may be wrong: modulo 2^64.
std::int64_t product(Count count, Count size) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size));
}

}  // namespace

CallRecord record_call(CollectiveCall call, std::uint8_t form, const CallFacts& facts, const char* within) {
  CallRecord record;
  record.call = call;
  record.form = form;
  record.root = facts.root;
  record.bytes = facts.bytes;
  if (call == CollectiveCall::kInternal && within != nullptr)
    std::snprintf(record.within, sizeof record.within, "%s", within);
  if (facts.op != nullptr) {
    const bool commutes = facts.op->commutative;
    record.op = facts.op->predefined;
    if (record.op == 0) record.op = static_cast<std::uint16_t>(CallRecord::kUserOp - (commutes ? 0 : 1));
  }
  record.in_place = facts.in_place ? 1 : 0;
  if (facts.type == nullptr) return record;
  Count elements = product(facts.count, facts.blocks);
  if (facts.counts) {
    SequenceHash hash;
    std::uint64_t sum = 0;
    for (Count i = 0; i < facts.count; ++i) {
      const Count count = facts.counts[static_cast<std::size_t>(i)];
      hash = hash + SequenceHash::of(static_cast<std::uint64_t>(product(count, facts.type->size)));
      sum += static_cast<std::uint64_t>(count);
    }
    record.counts = hash.hash;
    elements = static_cast<Count>(sum);
  }
  const Amount amount = amount_of(*facts.type, elements);
  record.bytes = amount.bytes;
  record.types = amount.types;
  record.basic = static_cast<std::uint16_t>(amount.basic);
  return record;
}

Amount amount_of(const Datatype& type, Count count) {
  Amount amount{.bytes = product(count, type.size)};
  if (amount.bytes == 0) return amount;
  const BasicTypes types = basic_types(*type.signature, count);
  if (types.packed) return amount;
  amount.types = types.hash.hash | 1;  // 0 would mean that it is not compared
  amount.basic = types.mixed ? CallRecord::kMixedTypes : types.only;
  return amount;
}

std::string compare_records(std::span<const CallRecord> local, std::span<const CallRecord> remote,
                            int* error_class) {
  const Everybody all{local, remote};
  const bool is_inter = !remote.empty();
  for (const Field& field : kFields) {
    *error_class = field.error_class;
    if (is_inter && field.text == root_text) {
      if (all[0].call == CollectiveCall::kInternal || all[0].root == -1) continue;
      if (const std::string text = compare_inter_roots(all); !text.empty()) return text;
      continue;
    }
    // Each group has its own array of counts.
    const bool apart = is_inter && field.text == counts_text;
    for (const Everybody& some : {apart ? Everybody{local, {}} : all, Everybody{{}, remote}}) {
      const std::vector<Party> parties = parties_of(some, field, is_inter && field.text != full_text);
      if (parties.size() > 1) return parties_text(some, parties, field);
      if (!apart) break;
    }
  }
  return {};
}

std::string compare_verdicts(const CallRecord& call, std::span<const Verdict> local,
                             std::span<const Verdict> remote, int* error_class) {
  const bool is_inter = !remote.empty();
  for (const bool at_remote : {false, true}) {
    const std::span<const Verdict> verdicts = at_remote ? remote : local;
    for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
      const Verdict& verdict = verdicts[rank];
      if (verdict.from < 0) continue;
      const bool amounts = verdict.sent.bytes != verdict.expected.bytes;
      const auto what = [&](const Amount& amount) {
        return amounts ? std::to_string(amount.bytes) + " bytes"
                       : basic_types_text(amount.types, static_cast<std::uint16_t>(amount.basic));
      };
      *error_class = amounts ? kErrCount : kErrType;
      const bool to_itself = !is_inter && verdict.from == static_cast<std::int64_t>(rank);
      return rank_text(is_inter && !at_remote, verdict.from) + " sends " + what(verdict.sent) + " to " +
             (to_itself ? "itself" : rank_text(at_remote, static_cast<std::int64_t>(rank))) + " in " +
             call_text(call) + ", which expects " + what(verdict.expected);
    }
  }
  return {};
}

Verdict judge(const CallEvidence& evidence, std::span<const Amount> sent, int self) {
  const auto differ = [](const Amount& a, const Amount& b) {
    return a.bytes != b.bytes || (a.types != b.types && a.types != 0 && b.types != 0);
  };
  for (std::size_t i = 0; i < evidence.expected.size(); ++i) {
    const End& end = evidence.expected[i];
    if (differ(sent[i], end.amount)) return {end.peer, sent[i], end.amount};
  }
  for (std::size_t i = 0; i < evidence.own_expected.size(); ++i) {
    const Amount &out = evidence.own_sent[i].amount, &in = evidence.own_expected[i].amount;
    if (differ(out, in)) return {self, out, in};
  }
  return {};
}

}  // namespace tasuki
