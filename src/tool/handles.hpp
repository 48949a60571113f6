// ToolHandles: the handles that MPI_T gives out, and what they stand for. In either ABI such a handle is a
// pointer to something unknown, so it is a number here: never 0 (NULL) nor 1 (MPI_T_PVAR_ALL_HANDLES), and of
// no address that a program could have (bit 63 is set). A freed handle differs from the one that took
// its place.
//
// Thread safety: Tool::mutex guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tasuki {

using ToolHandle = std::uint64_t;

inline constexpr ToolHandle kNoToolHandle = 0;
inline constexpr ToolHandle kAllHandles = 1;  // MPI_T_PVAR_ALL_HANDLES

enum class ToolKind : std::uint8_t { kEnum = 1, kControl, kPerformance, kSession, kRegistration, kInstance };

/// [1][kind 7][generation 32][index 24]
constexpr ToolHandle tool_handle(ToolKind kind, std::uint32_t generation, std::uint32_t index) {
  return std::uint64_t{1} << 63 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 |
         std::uint64_t{generation} << 24 | index;
}

template <class T, ToolKind kind>
class ToolHandles {
 public:
  static constexpr std::uint32_t kMax = 1 << 16;  // in use at once

  /// A new handle for `object`, or kNoToolHandle when kMax are in use.
  ToolHandle make(T object) {
    if (free_.empty()) {
      if (slots_.size() == kMax) return kNoToolHandle;
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].object.emplace(std::move(object));
    return tool_handle(kind, slots_[index].generation, index);
  }

  T* find(ToolHandle handle) {
    const auto index = static_cast<std::uint32_t>(handle & 0xffffff);
    if (index >= slots_.size() || !slots_[index].object) return nullptr;
    return tool_handle(kind, slots_[index].generation, index) == handle ? &*slots_[index].object : nullptr;
  }

  /// REQUIRES: find(handle).
  void free(ToolHandle handle) {
    const auto index = static_cast<std::uint32_t>(handle & 0xffffff);
    slots_[index].object.reset();
    ++slots_[index].generation;
    free_.push_back(index);
  }

  template <class Each>
  void for_each(Each&& each) {
    for (std::uint32_t index = 0; index < slots_.size(); ++index) {
      if (slots_[index].object)
        each(tool_handle(kind, slots_[index].generation, index), *slots_[index].object);
    }
  }

  void clear() {
    for (std::uint32_t index = 0; index < slots_.size(); ++index) {
      if (slots_[index].object) free(tool_handle(kind, slots_[index].generation, index));
    }
  }

 private:
  struct Slot {
    std::optional<T> object;
    std::uint32_t generation = 1;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tasuki
