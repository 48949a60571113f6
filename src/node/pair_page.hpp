// The page that two ranks of a node share for messages from the one to the other (Node::pair_page).
#pragma once

#include <cstddef>

namespace tasuki {

inline constexpr std::size_t kPairPageBytes = 4096;

}  // namespace tasuki
