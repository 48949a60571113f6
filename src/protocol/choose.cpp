// The choice, in words.
#include "protocol/choose.hpp"

#include <iterator>

namespace tasuki {

const char* why_text(Why why) {
  constexpr const char* kTexts[] = {
      "both buffers are symmetric memory",
      "the send buffer is symmetric memory, the receive buffer private",
      "both buffers are symmetric memory, too little to share",
      "a better way is switched off",
      "more messages are open than can be shared at once",
      "the receive buffer is symmetric memory, the send buffer private",
      "the datatype's layout is irregular",
      "both buffers are private memory",
      "the two ranks share no memory",
      "the two ranks share no memory, and the network copies between their buffers",
  };
  static_assert(std::size(kTexts) == static_cast<std::size_t>(Why::kNetworkCopies) + 1);
  return kTexts[static_cast<int>(why)];
}

}  // namespace tasuki
