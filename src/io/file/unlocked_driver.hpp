// Drivers of files whose work is done without the process lock, so that a rank's other threads use MPI while
// one waits for a file. Threads that use the same file take turns; different files go on at once.
//
// A driver that was made while calls hold no lock is left as it is.
#pragma once

#include <memory>
#include <string>

#include "base/types.hpp"
#include "progress/progress.hpp"
#include "storage/driver.hpp"

namespace tasuki {

/// storage.open(). `how.tell` is called with the lock, as everywhere.
int open_unlocked(Storage& storage, Progress& progress, const std::string& path, const OpenHow& how,
                  std::unique_ptr<FileDriver>* driver);

/// make_deferred_driver().
std::unique_ptr<FileDriver> defer_unlocked(Storage& storage, Progress& progress, const std::string& path,
                                           const OpenHow& how, const Striping& striping);

}  // namespace tasuki
