// Comparing calls: see coll/compare.hpp.
#include "coll/compare.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <vector>

#include "base/error.hpp"
#include "coll/algorithms.hpp"
#include "coll/collectives.hpp"
#include "coll/schedule.hpp"
#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "datatype/signature.hpp"
#include "object/op.hpp"

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

/// A hash of a sequence that those of its parts give: hash(ab) = hash(a) * power(b) + hash(b).
struct SequenceHash {
  std::uint64_t hash = 0;
  std::uint64_t power = 1;

  static SequenceHash of(std::uint64_t item) {
    constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;
    return {(item + 1) * 0xbf58476d1ce4e5b9, kBase};
  }
  friend SequenceHash operator+(SequenceHash a, SequenceHash b) {
    return {a.hash * b.power + b.hash, a.power * b.power};
  }
  SequenceHash times(Count count) const {
    SequenceHash sum, doubled = *this;
    for (; count > 0; count /= 2, doubled = doubled + doubled) {
      if (count % 2 == 1) sum = sum + doubled;
    }
    return sum;
  }
};

/// What is known of the basic types of some data.
struct Types {
  SequenceHash hash;
  std::uint16_t only = 0;  // the basic type that all of it is of
  bool mixed = false;      // there are several
  bool packed = false;     // MPI_PACKED is among them, which goes with everything

  void add(const Types& part) {
    hash = hash + part.hash;
    mixed = mixed || part.mixed || (only != 0 && part.only != 0 && only != part.only);
    if (only == 0) only = part.only;
    packed = packed || part.packed;
  }
};

Types types_of(const Signature& signature, Count count) {
  Types types;
  if (signature.basic != 0) {
    const BasicInfo& info = *basic_info(signature.basic);
    // Types of one representation go together, whatever their names: MPI_INT and MPI_INT32_T.
    types.hash = SequenceHash::of(static_cast<std::uint64_t>(info.representation) << 16 | info.size << 1 |
                                  (info.quad ? 1U : 0U));
    types.only = signature.basic;
    types.packed = signature.basic == kMpiPacked;
  }
  for (const Signature::Part& part : signature.parts) types.add(types_of(*part.child, part.count));
  types.hash = types.hash.times(count);
  return types;
}

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
  return "root " + std::to_string(record.root);
}

std::string full_text(const CallRecord& record) {
  return "in " + call_text(record) + (record.root >= 0 ? " " + root_text(record) : "");
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

std::string types_text(const CallRecord& record) {
  if (record.basic != CallRecord::kMixedTypes) return std::string("of ") + basic_info(record.basic)->name;
  char text[64];
  std::snprintf(text, sizeof text, "of mixed types (signature %08x)",
                static_cast<unsigned>(record.types >> 32 ^ record.types));
  return text;
}

std::string counts_text(const CallRecord& record) {
  char text[64];
  std::snprintf(text, sizeof text, "with an array of counts (hash %08x)",
                static_cast<unsigned>(record.counts >> 32 ^ record.counts));
  return text;
}

/// What is compared, in this order.
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
    {[](const CallRecord& record) { return static_cast<std::uint64_t>(record.bytes); }, bytes_text,
     kErrCount},
    {[](const CallRecord& record) { return record.types; }, types_text, kErrType},
    {[](const CallRecord& record) { return record.counts; }, counts_text, kErrCount},
};

/// The ranks that say the same of a field.
struct Party {
  const CallRecord* record;
  std::vector<int> ranks;
};

std::vector<Party> parties_of(std::span<const CallRecord> records, const Field& field) {
  const bool is_types = field.text == types_text;
  std::vector<Party> parties;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const CallRecord& record = records[rank];
    if (is_types && record.types == 0) continue;
    const auto found = std::find_if(parties.begin(), parties.end(), [&](const Party& party) {
      return field.value(*party.record) == field.value(record);
    });
    if (found == parties.end()) {
      parties.push_back({&record, {static_cast<int>(rank)}});
    } else {
      found->ranks.push_back(static_cast<int>(rank));
    }
  }
  return parties;
}

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t kNamedMax = 8;
  if (ranks.size() == 1) return "rank " + std::to_string(ranks[0]);
  if (ranks.size() > kNamedMax)
    return std::to_string(ranks.size()) + " ranks from " + std::to_string(ranks[0]) + " on";
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 < ranks.size() ? ", " : " and ") + std::to_string(ranks[i]);
  return text;
}

/// "rank 2 is in MPI_Bcast root 1, the others root 0".
std::string parties_text(const std::vector<Party>& parties, const Field& field) {
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
      text = ranks_text(party.ranks) + (party.ranks.size() == 1 ? " is " : " are ");
      if (field.text != full_text) text += "in " + call_text(*party.record) + " ";
    } else {
      text += ", " + ranks_text(party.ranks) + " ";
    }
    text += field.text(*party.record);
  }
  if (told > kToldMax) text += ", and so on";
  const bool one = most->ranks.size() == 1;
  return text + ", " + (one ? ranks_text(most->ranks) : "the others") + " " + field.text(*most->record);
}

}  // namespace

CallRecord record_call(CollectiveCall call, std::uint8_t form, const CallFacts& facts, std::int64_t level,
                       const char* within) {
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
  if (facts.type == nullptr) return record;
  Count elements = facts.count;
  if (facts.counts) {
    SequenceHash hash;
    elements = 0;
    for (Count i = 0; i < facts.count; ++i) {
      const Count count = facts.counts[static_cast<std::size_t>(i)];
      hash = hash + SequenceHash::of(static_cast<std::uint64_t>(count * facts.type->size));
      elements += count;
    }
    record.counts = hash.hash;
  }
  record.bytes = elements * facts.type->size;
  if (level < 2 || record.bytes == 0) return record;
  const Types types = types_of(*facts.type->signature, elements);
  if (types.packed) return record;
  record.types = types.hash.hash | 1;  // 0 would mean that it is not compared
  record.basic = types.mixed ? CallRecord::kMixedTypes : types.only;
  return record;
}

std::string compare_records(std::span<const CallRecord> records, int* error_class) {
  for (const Field& field : kFields) {
    const std::vector<Party> parties = parties_of(records, field);
    if (parties.size() < 2) continue;
    *error_class = field.error_class;
    return parties_text(parties, field);
  }
  return {};
}

// The records lie in the order of ranks from this one on, so that each round sends from the front on.
void prepend_comparison(Schedule& schedule, Member self) {
  constexpr Count kBytes = sizeof(CallRecord);
  Schedule prefix;
  prefix.scratch_bytes = schedule.scratch_bytes;
  const Place records = prefix.scratch(self.size * kBytes);
  prefix.sign(records);
  for (int known = 1; known < self.size; known *= 2) {
    const Count bytes = std::min(known, self.size - known) * kBytes;
    prefix.receive(records + known * kBytes, bytes, ElementType::kBytes, (self.rank + known) % self.size);
    prefix.send(records, bytes, ElementType::kBytes, (self.rank - known + self.size) % self.size);
    prefix.end_round();
  }
  prefix.compare(records);
  prefix.end_round();

  const auto steps = static_cast<std::uint32_t>(prefix.steps.size());
  for (std::uint32_t& end : schedule.round_ends) end += steps;
  schedule.steps.insert(schedule.steps.begin(), prefix.steps.begin(), prefix.steps.end());
  schedule.round_ends.insert(schedule.round_ends.begin(), prefix.round_ends.begin(), prefix.round_ends.end());
  schedule.scratch_bytes = prefix.scratch_bytes;
}

}  // namespace tasuki
