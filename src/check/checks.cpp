// Checks of buffers: see check/checks.hpp.
#include "check/checks.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "base/calls/call_board.hpp"
#include "base/calls/function.hpp"

namespace tasuki {
namespace {

/// "bytes 16..31 (at 0x7f00…)".
std::string bytes_text(const ByteSpan& bytes, std::uintptr_t base) {
  char text[96];
  std::snprintf(text, sizeof text, "bytes %" PRIdPTR "..%" PRIdPTR " (at 0x%" PRIxPTR ")",
                static_cast<std::intptr_t>(bytes.begin - base),
                static_cast<std::intptr_t>(bytes.end - 1 - base), bytes.begin);
  return text;
}

void* pointer(const Area& area) {
  return reinterpret_cast<void*>(area.address);
}

}  // namespace

// ----- the memory of operations that are not over ----------------------------------------------------------

std::string PendingBuffers::conflict(const Area& area, bool writes) const {
  const ByteSpan hull = area.hull();
  if (hull.empty() || by_begin_.empty()) return {};
  const std::uintptr_t from = hull.begin > longest_ ? hull.begin - longest_ : 0;
  for (auto at = by_begin_.lower_bound(from); at != by_begin_.end() && at->first < hull.end; ++at) {
    const Operation& operation = operations_.at(at->second.key);
    const Use& use = operation.uses[at->second.use];
    if (!writes && !use.writes) continue;
    const ByteSpan shared = shared_bytes(area, use.area);
    if (shared.empty()) continue;
    return bytes_text(shared, area.address) +
           (use.writes ? " are being received into by " : " are being sent by ") + operation.what +
           ", which is not over";
  }
  return {};
}

void PendingBuffers::begin(const void* key, std::string what, std::vector<BufferUse> uses) {
  end(key);
  operations_[key].what = std::move(what);
  for (BufferUse& use : uses) add(key, std::move(use));
}

void PendingBuffers::add(const void* key, BufferUse use) {
  const ByteSpan hull = use.area.hull();
  const auto operation = operations_.find(key);
  if (hull.empty() || operation == operations_.end()) return;
  const std::uint64_t checksum = use.writes ? 0 : checksum_of(use.area);
  by_begin_.emplace(hull.begin, Entry{key, operation->second.uses.size()});
  operation->second.uses.push_back({std::move(use), checksum});
  longest_ = std::max(longest_, hull.bytes());
}

std::string PendingBuffers::end(const void* key) {
  const auto found = operations_.find(key);
  if (found == operations_.end()) return {};
  std::string changed;
  for (const Use& use : found->second.uses) {
    if (changed.empty() && !use.writes && checksum_of(use.area) != use.checksum)
      changed = "the buffer of " + found->second.what + " was changed before that was over";
    const auto [first, last] = by_begin_.equal_range(use.area.hull().begin);
    by_begin_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second.key == key; }));
  }
  operations_.erase(found);
  if (operations_.empty()) longest_ = 0;
  return changed;
}

const char* Checks::call() const {
  const Function function = present_call(process_.line);
  return function != Function::kNone ? function_name(function) : "an MPI call";
}

// ----- what a call is refused for --------------------------------------------------------------------------

Code Checks::check_receive_buffer(const Area& area, const char* name) const {
  if (const ByteSpan twice = bytes_held_twice(area); !twice.empty()) {
    return process_.fail(
        kErrBuffer,
        "%s = %p: %s are in the type map more than once, expected each byte once; hint: a type "
        "whose blocks overlap can be sent, not received",
        name, pointer(area), bytes_text(twice, area.address).c_str());
  }
  return check_pending(area, true, name);
}

Code Checks::check_send_buffer(const Area& area, const char* name) const {
  return check_pending(area, false, name);
}

Code Checks::check_pending(const Area& area, bool writes, const char* name) const {
  if (is_out_of_memory(area)) {
    const ByteSpan hull = area.hull();
    return process_.fail(kErrBuffer,
                         "%s = %p: its data lie from 0x%" PRIxPTR " to 0x%" PRIxPTR
                         ", expected the addresses of memory; hint: displacements that are addresses want "
                         "MPI_BOTTOM for the buffer",
                         name, pointer(area), hull.begin, hull.end);
  }
  if (!keeps_buffers()) return kSuccess;
  const std::string conflict = pending.conflict(area, writes);
  if (conflict.empty()) return kSuccess;
  return process_.fail(kErrBuffer, "%s = %p: %s, expected a buffer that no open request uses%s", name,
                       pointer(area), conflict.c_str(), writes ? "" : " to receive");
}

Code Checks::check_apart(const Area& one, const char* one_name, const Area& other,
                         const char* other_name) const {
  const ByteSpan shared = shared_bytes(one, other);
  if (shared.empty()) return kSuccess;
  return process_.fail(kErrBuffer,
                       "%s = %p: %s are part of %s = %p too, expected buffers that do not overlap", one_name,
                       pointer(one), bytes_text(shared, one.address).c_str(), other_name, pointer(other));
}

void Checks::begin(const void* key, std::string what, std::vector<BufferUse> uses) {
  if (keeps_buffers()) pending.begin(key, std::move(what), std::move(uses));
}

void Checks::add(const void* key, BufferUse use) {
  if (keeps_buffers()) pending.add(key, std::move(use));
}

Code Checks::end(const void* key) {
  if (!keeps_buffers()) return kSuccess;
  const std::string changed = pending.end(key);
  if (changed.empty()) return kSuccess;
  return process_.fail(kErrBuffer, "%s, expected it to be left alone until then", changed.c_str());
}

}  // namespace tasuki
