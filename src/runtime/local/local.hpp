// How a rank on this machine comes into being: started by our mpiexec, or alone.
#pragma once

#include <memory>
#include <string>

#include "runtime/bootstrap.hpp"
#include "runtime/local/attach.hpp"

namespace tasuki {

/// The Bootstrap that fits how this program was started: a rank of our mpiexec's job, or a singleton. Returns
/// null and one line in `error` when it can be neither: the job cannot be joined, or a launcher that this
/// library does not know how to join started it (running as N singletons would give wrong results silently).
/// TASUKI_SINGLETON=1 makes it a singleton whatever the rest of the environment says.
std::unique_ptr<Bootstrap> make_bootstrap(std::string* error);

namespace local {

/// A rank of a job of our mpiexec, already attached.
std::unique_ptr<Bootstrap> make_job_bootstrap(const Attachment& attachment);

/// A program that runs alone: size 1, private memory, nobody to tell.
std::unique_ptr<Bootstrap> make_singleton();

}  // namespace local
}  // namespace tasuki
