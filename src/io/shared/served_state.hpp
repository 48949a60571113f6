// ServedState: a file's shared state kept by the file's rank 0, for ranks on several nodes. The others ask it
// by messages, which it answers whenever it makes progress.
//
// Thread safety: the process lock.
#pragma once

#include <memory>

#include "io/shared/owner_service.hpp"
#include "io/shared/served_range_locks.hpp"
#include "io/shared/shared_state.hpp"

namespace tasuki {

class ServedState final : public SharedState {
 public:
  /// All ranks of `comm`, the file's, make theirs.
  explicit ServedState(Comm& comm) : service_(Ref<Comm>::share(&comm)) {}

  Offset position() override { return service_.read_pointer(kOwner); }
  void set_position(Offset etypes) override { service_.set_pointer(kOwner, etypes); }
  Offset advance(Offset etypes) override { return service_.advance_pointer(kOwner, etypes); }
  bool try_advance(Offset etypes, std::uint64_t* ticket, Offset* before) override {
    if (*ticket == 0) *ticket = service_.ask_to_advance_pointer(kOwner, etypes);
    return service_.has_answer(*ticket, before);
  }

  /// Not known here: taken for granted.
  bool others_write() const override { return true; }

  std::unique_ptr<RangeLocks> make_locks(std::uint64_t identity) override {
    return std::make_unique<ServedRangeLocks>(service_, kOwner, identity);
  }
  void settle() override { service_.settle(); }

 private:
  static constexpr int kOwner = 0;
  OwnerService service_;
};

}  // namespace tasuki
