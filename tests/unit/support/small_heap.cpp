// See small_heap.hpp.
#include "support/small_heap.hpp"

namespace tasuki::test {
namespace {

class SmallHeap final : public SymmetricHeap {
 public:
  SmallHeap(int self, std::byte* begin, std::size_t bytes) : SymmetricHeap(self) {
    own_ = {.begin = reinterpret_cast<std::uint64_t>(begin), .bytes = bytes};
  }

 protected:
  bool reaches(int, SymmetricAddress, std::size_t) override { return false; }
};

}  // namespace

std::unique_ptr<SymmetricHeap> make_small_heap(int self, std::byte* begin, std::size_t bytes) {
  return std::make_unique<SmallHeap>(self, begin, bytes);
}

}  // namespace tasuki::test
