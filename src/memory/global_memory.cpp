// GlobalMemory where there are no arenas: nothing is shared, or everything is.
#include "memory/global_memory.hpp"

#include <cstdlib>
#include <utility>

namespace tasuki {
namespace {

class PrivateMemory final : public GlobalMemory {
 public:
  PrivateMemory() : GlobalMemory(-1) {}

 protected:
  bool reaches(int, GlobalAddress, std::size_t) override { return false; }
};

class CommonMemory final : public GlobalMemory {
 public:
  CommonMemory(int self, std::vector<bool> reached, bool own_is_private)
      : GlobalMemory(self), reached_(std::move(reached)) {
    if (!own_is_private) own_ = kAll;
  }

 protected:
  bool reaches(int endpoint, GlobalAddress address, std::size_t bytes) override {
    const auto rank = static_cast<std::size_t>(endpoint);
    return rank < reached_.size() && reached_[rank] && kAll.holds(address, bytes);
  }

 private:
  static constexpr Range kAll = {.begin = 1, .bytes = UINT64_MAX};
  std::vector<bool> reached_;
};

}  // namespace

void* GlobalMemory::allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void GlobalMemory::deallocate(void* memory) {
  std::free(memory);
}

std::unique_ptr<GlobalMemory> make_private_memory() {
  return std::make_unique<PrivateMemory>();
}

std::unique_ptr<GlobalMemory> make_common_memory(int self, std::vector<bool> reached, bool own_is_private) {
  return std::make_unique<CommonMemory>(self, std::move(reached), own_is_private);
}

}  // namespace tasuki
