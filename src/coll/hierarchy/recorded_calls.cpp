// Recording hierarchical collectives: see coll/hierarchy/recorded_calls.hpp.
#include "coll/hierarchy/recorded_calls.hpp"

#include <cstdint>
#include <utility>

#include "coll/api.hpp"
#include "coll/byte_collectives.hpp"
#include "datatype/predefined.hpp"
#include "object/objects.hpp"

namespace tasuki::hierarchy {
namespace {

constexpr std::size_t kStepsKeptMax = 1024;  // records of more steps are made for each call

/// Adds to the schedule a step for each part, which refers to it by its number.
class PartsToCall final : public Parts {
 public:
  PartsToCall(RecordedCall& record, const NodeMap& node_map, Comm& node, int own_rank)
      : Parts(record.schedule, node_map, own_rank, record.root), record_(record), node_(node) {}

  std::vector<Count> tell_node(Count number) override {
    std::vector<Count> all(static_cast<std::size_t>(ranks()), number);
    heard(is_alone() ? 0 : allgather_bytes(node_, &number, all.data(), sizeof number));
    return all;
  }
  std::vector<Count> swap_on_node(const std::vector<Count>& numbers) override {
    if (is_alone()) return heard(0), numbers;
    std::vector<Count> all(numbers.size());
    auto* byte = predefined_object<Datatype>(*node_.process.objects, kMpiByte);
    const auto bytes = static_cast<Count>(numbers.size() * sizeof(Count)) / ranks();
    heard(api::alltoall(node_.process, numbers.data(), bytes, byte, all.data(), bytes, byte, &node_));
    return all;
  }

 private:
  void add(const Part& part) override {
    schedule.call(static_cast<int>(record_.parts.size()));
    record_.parts.push_back(part);
  }
  void heard(Code error) {
    record_.collective = nullptr;  // the others may tell another number in the next call
    if (record_.error == 0) record_.error = error;
  }

  RecordedCall& record_;
  Comm& node_;
};

/// Arrays are the user's, who may have changed what they hold.
bool has_arrays(const Blocks& blocks) {
  return blocks.counts || blocks.displacements || blocks.sizes || blocks.lower_bounds;
}
bool are_alike(const Blocks& a, const Blocks& b) {
  return a.count == b.count && a.space == b.space && a.element == b.element && a.type == b.type &&
         a.in_place == b.in_place && a.one_for_all == b.one_for_all;
}
bool are_alike(const CallData& a, const CallData& b) {
  return a.elements == b.elements && a.vector == b.vector && are_alike(a.blocks, b.blocks) &&
         are_alike(a.out, b.out);
}

}  // namespace

std::size_t RecordedCalls::slot_of(Collective& collective, const CallData& data) {
  const auto mixed = (reinterpret_cast<std::uintptr_t>(&collective) ^
                      static_cast<std::uint64_t>(data.elements.count + data.vector.count) << 8 ^
                      static_cast<std::uint64_t>(data.blocks.count) << 24) *
                     0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(mixed >> (64 - kSlotBits));
}

std::unique_ptr<RecordedCall> RecordedCalls::take(Collective& collective, const NodeMap& map, Comm& node,
                                                  int rank, int root, const CallData& data) {
  const std::size_t slot = slot_of(collective, data);
  std::unique_ptr<RecordedCall> record = std::move(records_[slot]);
  const bool may_differ = has_arrays(data.blocks) || has_arrays(data.out);
  if (record == nullptr) {
    record = std::make_unique<RecordedCall>();
  } else if (record->collective == &collective && record->root == root && !may_differ &&
             are_alike(record->data, data)) {
    return record;
  }
  record->slot = slot;
  record->collective = may_differ ? nullptr : &collective;
  record->root = root;
  record->data = data;
  record->schedule.clear();
  record->parts.clear();
  record->error = 0;
  PartsToCall parts(*record, map, node, rank);
  collective(parts, data);
  record->schedule.end_round();
  return record;
}

void RecordedCalls::give_back(std::unique_ptr<RecordedCall> record) {
  if (record->schedule.steps.size() > kStepsKeptMax) return;
  const std::size_t slot = record->slot;
  records_[slot] = std::move(record);
}

}  // namespace tasuki::hierarchy
