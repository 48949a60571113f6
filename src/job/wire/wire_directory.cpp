// A text for each rank and fence, in pieces whose keys are "FENCE.PIECE".
#include "job/wire/wire_directory.hpp"

#include <algorithm>

namespace tasuki::wire {
namespace {

std::string piece_key(int fence, std::size_t piece) {
  return std::to_string(fence) + "." + std::to_string(piece);
}

}  // namespace

WireDirectory::WireDirectory(Wire& wire)
    : wire_(wire),
      node_of_rank_(static_cast<std::size_t>(wire.place().size)),
      known_(static_cast<std::size_t>(wire.place().size)) {}

int WireDirectory::universe_size() const {
  return wire_.place().universe > 0 ? std::max(size(), wire_.place().universe) : 0;
}

void WireDirectory::set_places(std::uint64_t job_id, std::uint64_t machine, std::vector<int> node_of_rank) {
  job_id_ = job_id;
  machine_ = machine;
  node_of_rank_ = std::move(node_of_rank);
  nodes_ = *std::max_element(node_of_rank_.begin(), node_of_rank_.end()) + 1;
}

bool WireDirectory::put_checked(std::string_view key, std::string_view value, std::string* error) {
  if (table_ != nullptr) return table_->put(key, value, error);
  Values& own = known_[static_cast<std::size_t>(rank())].values;
  if (!own.emplace(key, value).second) {
    *error = "\"" + std::string(key) + "\" has been put before";
    return false;
  }
  pending_.emplace(key, value);
  return true;
}

bool WireDirectory::get(int rank, std::string_view key, std::string* value) const {
  if (table_ != nullptr) return table_->get(rank, key, value);
  if (rank < 0 || rank >= size()) return false;
  const Known& known = known_[static_cast<std::size_t>(rank)];
  auto found = known.values.find(key);
  if (found == known.values.end() && rank != this->rank()) {
    if (!fetch(rank)) return false;
    found = known.values.find(key);
  }
  if (found == known.values.end()) return false;
  *value = found->second;
  return true;
}

/// Gets what a rank put before each fence that is over. While one is open the wire is asked nothing else:
/// srun loses a question that follows the entry to a fence at once.
bool WireDirectory::fetch(int rank) const {
  if (over_ < entered_) {
    std::string error;
    if (!broken_.empty() || wire_.look_at_fence(&error) != Fence::kOver) return false;
    over_ = entered_;
  }
  Known& known = known_[static_cast<std::size_t>(rank)];
  if (known.fetched < over_) before_asking_(rank);
  for (; known.fetched < over_; ++known.fetched) {
    std::string text;
    if (!fetch_text(rank, known.fetched, &text) || !values_of(text, &known.values)) return false;
  }
  return true;
}

bool WireDirectory::fetch_text(int rank, int fence, std::string* text) const {
  std::string error;
  if (!wire_.get(rank, piece_key(fence, 0), text, &error)) return false;
  const std::size_t pieces = take_piece_count(text);
  for (std::size_t piece = 1; piece < pieces; ++piece) {
    std::string more;
    if (!wire_.get(rank, piece_key(fence, piece), &more, &error)) return false;
    *text += more;
  }
  return pieces > 0;
}

void WireDirectory::enter_fence() {
  if (table_ != nullptr) return table_->enter_fence();
  const std::vector<std::string> pieces = pieces_of(text_of(pending_), wire_.value_bytes_max());
  pending_.clear();
  for (std::size_t piece = 0; piece < pieces.size() && broken_.empty(); ++piece)
    wire_.put(piece_key(entered_, piece), pieces[piece], &broken_);
  ++entered_;
  if (broken_.empty()) wire_.enter_fence(&broken_);
}

Directory::Fence WireDirectory::look_at_fence(std::string* error) {
  if (table_ != nullptr) return table_->look_at_fence(error);
  *error = broken_;
  if (!broken_.empty()) return Fence::kBroken;
  Fence fence = wire_.look_at_fence(error);
  if (fence == Fence::kOpen) {
    const int ended = first_ended_();
    if (ended < 0) return Fence::kOpen;
    fence = wire_.look_at_fence(error);  // it may have come and ended since
    if (fence == Fence::kOpen) {
      *error = "rank " + std::to_string(ended) + " has ended, and all ranks of the job are to come";
      fence = Fence::kBroken;
    }
  }
  if (fence == Fence::kOver) over_ = entered_;
  return fence;
}

}  // namespace tasuki::wire
