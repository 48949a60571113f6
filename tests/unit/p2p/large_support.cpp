// The loops over the bytes of large messages, compiled with the library: the tests are not optimised.
#include "p2p/large_support.hpp"

namespace tasuki::test {

std::size_t place_of(Lie lie, std::size_t i) {
  switch (lie) {
    case Lie::kDense:
      return i;
    case Lie::kBlocks:  // elements of three blocks of 500, 700 apart
      return i / 500 * 700 + i % 500;
    case Lie::kSmallBlocks:  // eight bytes of each twenty
      return i / 8 * 20 + i % 8;
    case Lie::kIrregular:  // five bytes, a gap of four, seven bytes, a gap of four
      return i / 12 * 20 + (i % 12 < 5 ? i % 12 : i % 12 + 4);
    case Lie::kListed: {  // of 1,500 bytes the last 700, then 100 of the middle, then the first 400
      const std::size_t within = i % 1200;
      const std::size_t moved = within < 700 ? within + 800 : within < 800 ? within - 100 : within - 800;
      return i / 1200 * 1500 + moved;
    }
  }
  return 0;
}

void Buffer::put(const Bytes& data) {
  for (std::size_t i = 0; i < data.size(); ++i) memory[place_of(lie, i)] = data[i];
}

Bytes Buffer::get(std::size_t size) const {
  Bytes data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = memory[place_of(lie, i)];
  return data;
}

bool Buffer::untouched_beside(std::size_t size) const {
  Bytes expected(memory.size(), 0xee);
  for (std::size_t i = 0; i < size; ++i) expected[place_of(lie, i)] = memory[place_of(lie, i)];
  return expected == memory;
}

}  // namespace tasuki::test
