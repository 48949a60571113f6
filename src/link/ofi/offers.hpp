// What libfabric offers on this machine: the networks that packets can go by, and what each promises.
//
// Fabric takes one of them. `mpiexec --info` shows them all.
//
// Thread safety: none. A Found lives no longer than the Library.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <string>
#include <vector>

#include "link/ofi/choice/choice.hpp"
#include "link/ofi/choice/copying.hpp"
#include "link/ofi/library.hpp"

namespace tasuki::ofi {

inline constexpr std::uint64_t kMessagesAndCopies = FI_MSG | FI_RMA;

/// The networks that have those capabilities, and all else that OfiLink needs.
class Found {
 public:
  Found(const Library& library, std::uint64_t capabilities);
  ~Found();
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;

  /// Why there are none; 0: there are.
  int error() const { return error_; }
  const std::vector<Offer>& offers() const { return offers_; }
  /// Of each offer.
  const std::vector<const fi_info*>& infos() const { return infos_; }

 private:
  const Library& library_;
  fi_info* list_ = nullptr;
  int error_ = 0;
  std::vector<Offer> offers_;
  std::vector<const fi_info*> infos_;
};

CopyFacts facts_of(const fi_info& info);

/// Of its provider: "117.0".
std::string version_of(const fi_info& info);

}  // namespace tasuki::ofi
