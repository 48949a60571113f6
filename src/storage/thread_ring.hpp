// A Ring without io_uring: a thread of its own makes the calls, one after the other. It sleeps while nothing
// is under way, and hears no signals.
//
// Thread safety: that of any Ring. A child of fork() has no such thread: there what is under way never ends,
// and nothing is waited for.
#pragma once

#include <memory>
#include <string>

#include "storage/uring.hpp"

namespace tasuki {

/// Returns null where the system gives no thread, with the reason in `refusal`.
std::unique_ptr<Ring> make_thread_ring(std::string* refusal);

}  // namespace tasuki
