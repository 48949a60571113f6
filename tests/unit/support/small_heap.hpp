// A symmetric heap that is a piece of this process's memory, which no other rank reaches. Apart from the
// tests that use it, since a class that derives from one of the core is compiled without type information, as
// the core.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/symmetric_heap.hpp"

namespace tasuki::test {

std::unique_ptr<SymmetricHeap> make_small_heap(int self, std::byte* begin, std::size_t bytes);

}  // namespace tasuki::test
