// SymmetricHeap where there are no symmetric heaps: nothing is shared, or everything is.
#include "memory/symmetric_heap.hpp"

#include <cstdlib>
#include <utility>

namespace tasuki {
namespace {

class PrivateHeap final : public SymmetricHeap {
 public:
  PrivateHeap() : SymmetricHeap(-1) {}

 protected:
  bool reaches(int, SymmetricAddress, std::size_t) override { return false; }
};

class CommonHeap final : public SymmetricHeap {
 public:
  CommonHeap(int self, std::vector<bool> reached, bool own_is_private)
      : SymmetricHeap(self), reached_(std::move(reached)) {
    if (!own_is_private) own_ = kAll;
  }

 protected:
  bool reaches(int endpoint, SymmetricAddress address, std::size_t bytes) override {
    const auto rank = static_cast<std::size_t>(endpoint);
    return rank < reached_.size() && reached_[rank] && kAll.holds(address, bytes);
  }

 private:
  static constexpr Range kAll = {.begin = 1, .bytes = UINT64_MAX};
  std::vector<bool> reached_;
};

}  // namespace

void* SymmetricHeap::allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void SymmetricHeap::deallocate(void* memory) {
  std::free(memory);
}

std::unique_ptr<SymmetricHeap> make_private_heap() {
  return std::make_unique<PrivateHeap>();
}

std::unique_ptr<SymmetricHeap> make_common_heap(int self, std::vector<bool> reached, bool own_is_private) {
  return std::make_unique<CommonHeap>(self, std::move(reached), own_is_private);
}

}  // namespace tasuki
