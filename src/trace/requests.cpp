// Open addressing with linear probing; what follows a removed entry moves up.
#include "trace/requests.hpp"

namespace tasuki::trace {

std::size_t OpenRequests::place_of(std::uintptr_t handle) const {
  return (static_cast<std::uint64_t>(handle) * 0x9e3779b97f4a7c15U >> 32) & (places_.size() - 1);
}

void OpenRequests::add(const OpenRequest& request) {
  if (2 * (used_ + 1) > places_.size()) {
    std::vector<OpenRequest> before(places_.empty() ? 256 : places_.size() * 2);
    before.swap(places_);
    used_ = 0;
    for (const OpenRequest& old : before) {
      if (old.used) add(old);
    }
  }
  std::size_t place = place_of(request.handle);
  while (places_[place].used) place = (place + 1) & (places_.size() - 1);
  places_[place] = request;
  places_[place].used = true;
  ++used_;
}

OpenRequest* OpenRequests::find(std::uintptr_t handle) {
  if (places_.empty()) return nullptr;
  for (std::size_t place = place_of(handle); places_[place].used;
       place = (place + 1) & (places_.size() - 1)) {
    if (places_[place].handle == handle) return &places_[place];
  }
  return nullptr;
}

void OpenRequests::remove(OpenRequest* request) {
  const std::size_t mask = places_.size() - 1;
  std::size_t hole = static_cast<std::size_t>(request - places_.data());
  for (std::size_t next = (hole + 1) & mask; places_[next].used; next = (next + 1) & mask) {
    const std::size_t home = place_of(places_[next].handle);
    if (((next - home) & mask) < ((next - hole) & mask)) continue;  // it may not stand before its home
    places_[hole] = places_[next];
    hole = next;
  }
  places_[hole].used = false;
  --used_;
}

}  // namespace tasuki::trace
