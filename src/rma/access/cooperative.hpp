// Large copies of a window that origin and target make together, see control/posted_copy.hpp.
#pragma once

#include "rma/access/buffers.hpp"
#include "rma/window.hpp"

namespace tasuki::rma {

/// Copies between `origin` and the mapped memory at `target`, with the target's help if it waits. Returns
/// false, having done nothing, where one copies as well alone: what is small, strided or private.
bool copy_together(Win& win, bool is_put, const Side& origin, std::byte* target, const Remote& remote);

/// Copies a piece for an origin. Control calls it while this rank waits. Returns whether there was one.
bool help(void* win);

}  // namespace tasuki::rma
