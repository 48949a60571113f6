// Large copies and accumulates of a window that origin and target carry out together, see
// control/posted_copy.hpp.
#pragma once

#include "rma/access/accumulate.hpp"
#include "rma/access/buffers.hpp"
#include "rma/window.hpp"

namespace tasuki::rma {

/// Copies between `origin` and the mapped memory at `target`, with the target's help if it waits. Returns
/// false, having done nothing, where one copies as well alone: what is small, strided or private.
bool copy_cooperatively(Win& win, bool is_put, const OriginBuffer& origin, std::byte* target,
                        const TargetBuffer& remote);

/// The same of an accumulate whose old elements nobody wants: combines elements at `target`.
bool combine_cooperatively(Win& win, const Combination& how, const OriginBuffer& origin,
                           const ElementGuard& guard, std::byte* target, const TargetBuffer& remote);

/// Moves a piece of a job that an origin has posted here. SharedControl calls it while this rank waits.
/// Returns whether there was one.
bool help_origin(void* win);

}  // namespace tasuki::rma
