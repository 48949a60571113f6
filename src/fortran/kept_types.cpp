// A table with several places for each hash of a shape: the one that was used longest ago gives way.
#include "fortran/kept_types.hpp"

#include <mutex>

namespace tasuki::fortran {
namespace {

constexpr std::uint32_t kSets = 32;  // a power of two
constexpr std::uint32_t kPlaces = 4;

enum class State { kUnused, kBegun, kUsed, kEnded };

struct Table {
  std::mutex mutex;
  std::atomic<State> state = State::kUnused;
  std::uint32_t uses = 0;
  KeptType types[kSets][kPlaces];
};

Table& table() {
  static constinit Table the_table{};
  return the_table;
}

std::uint32_t set_of(const Shape& shape) {
  auto hash = static_cast<std::uint64_t>(shape.count) + (static_cast<std::uint64_t>(shape.type) << 32);
  for (int i = 0; i < shape.rank; ++i) {
    hash = hash * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(shape.extents[i]);
    hash = hash * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(shape.strides_bytes[i]);
  }
  return static_cast<std::uint32_t>(hash * 0x9e3779b97f4a7c15u >> 32) % kSets;
}

KeptType* take(Table& in, KeptType& kept) {
  kept.users.fetch_add(1, std::memory_order_relaxed);
  if (++in.uses == 0) ++in.uses;
  kept.last_use = in.uses;
  return &kept;
}

/// MPI_Finalize begins. What it calls after this may still use sections: their datatypes are not kept.
int free_all(MPI_Comm, int, void*, void*) {
  Table& kept = table();
  {
    const std::lock_guard lock(kept.mutex);
    kept.state = State::kEnded;
  }
  for (auto& set : kept.types) {
    for (KeptType& one : set) {
      if (one.last_use != 0) PMPI_Type_free(&one.type);
      one.last_use = 0;
    }
  }
  return MPI_SUCCESS;
}

/// Sees to it that what is kept is freed.
bool watch_end() {
  int begun = 0;
  int ended = 0;
  if (PMPI_Initialized(&begun) != MPI_SUCCESS || PMPI_Finalized(&ended) != MPI_SUCCESS || begun == 0 ||
      ended != 0)
    return false;
  int keyval = MPI_KEYVAL_INVALID;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_all, &keyval, nullptr) != MPI_SUCCESS) return false;
  const int code = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  PMPI_Comm_free_keyval(&keyval);
  return code == MPI_SUCCESS;
}

/// Whether types are kept now. The lock is not held: MPI's own may be waited for, whose owner may wait for
/// ours.
bool is_in_use(Table& kept) {
  State state = State::kUnused;
  if (kept.state.compare_exchange_strong(state, State::kBegun)) {
    state = watch_end() ? State::kUsed : State::kUnused;
    kept.state = state;
  }
  return state == State::kUsed;
}

}  // namespace

bool Shape::operator==(const Shape& other) const {
  bool same = count == other.count && element_bytes == other.element_bytes && type == other.type &&
              rank == other.rank;
  for (int i = 0; i < rank && same; ++i)
    same = extents[i] == other.extents[i] && strides_bytes[i] == other.strides_bytes[i];
  return same;
}

KeptType* find_kept(const Shape& shape) {
  Table& kept = table();
  const std::lock_guard lock(kept.mutex);
  if (kept.state != State::kUsed) return nullptr;
  for (KeptType& one : kept.types[set_of(shape)]) {
    if (one.last_use != 0 && one.shape == shape) return take(kept, one);
  }
  return nullptr;
}

KeptType* keep_type(const Shape& shape, MPI_Datatype type) {
  Table& kept = table();
  if (!is_in_use(kept)) return nullptr;
  MPI_Datatype given_up = MPI_DATATYPE_NULL;
  KeptType* place = nullptr;
  {
    const std::lock_guard lock(kept.mutex);
    if (kept.state != State::kUsed) return nullptr;
    // acquire: the calls that used what gives way have ended
    for (KeptType& one : kept.types[set_of(shape)]) {
      const bool is_older = place == nullptr || kept.uses - one.last_use > kept.uses - place->last_use;
      const bool is_free = one.users.load(std::memory_order_acquire) == 0;
      if (one.last_use == 0 && is_free) {
        place = &one;
        break;
      }
      if (is_free && is_older) place = &one;
    }
    if (place == nullptr) return nullptr;
    if (place->last_use != 0) given_up = place->type;
    place->shape = shape;
    place->type = type;
    take(kept, *place);
  }
  if (number(given_up) != number(MPI_DATATYPE_NULL)) PMPI_Type_free(&given_up);
  return place;
}

}  // namespace tasuki::fortran
