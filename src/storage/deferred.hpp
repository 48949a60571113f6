// A driver that opens its file when it is first asked for something (romio_no_indep_rw): a rank that never
// touches the file by itself never opens it.
//
// Thread safety: that of any driver.
#pragma once

#include <memory>
#include <string>

#include "storage/driver.hpp"

namespace tasuki {

/// `storage` outlives the driver. `striping` is the file's, as a rank that has opened it found. An error of
/// opening is that of the call which needed the file; the next one tries again.
std::unique_ptr<FileDriver> make_deferred_driver(Storage& storage, const std::string& path,
                                                 const OpenHow& how, const Striping& striping);

}  // namespace tasuki
