// Layouts of Lustre files: see lustre.hpp.
//
//   a plain layout        at  0 magic, 4 pattern, 8 the file's own number (16 bytes), 24 unit in bytes,
//                         28 targets (16 bit), 30 in requests the first target (16 bit); then, where the
//                         magic is not kPlain, 16 bytes of a pool's name; then 24 bytes for each target, the
//                         last four of which are its index
//   a composite layout    at  0 magic, 14 components (16 bit); from 32 on 48 bytes for each of them:
//                         at 24 where its plain layout begins, at 28 how long that is
#include "storage/lustre.hpp"

#include <algorithm>
#include <cstring>

namespace tasuki::lustre {
namespace {

constexpr std::uint32_t kPlain = 0x0bd10bd0;
constexpr std::uint32_t kWithPool = 0x0bd30bd0;
constexpr std::uint32_t kWithTargets = 0x0bd50bd0;  // of a request that listed them
constexpr std::uint32_t kComposite = 0x0bd60bd0;

constexpr std::uint32_t kPatternOnMetadata = 0x100;  // the data lies with the file's description
constexpr std::uint16_t kAny = 0xffff;  // the first target: as Lustre likes; targets: all of them

constexpr std::size_t kPlainBytes = 32;
constexpr std::size_t kPoolBytes = 16;
constexpr std::size_t kTargetBytes = 24;
constexpr std::size_t kTargetIndexAt = 20;
constexpr std::size_t kComponentsAt = 32;
constexpr std::size_t kComponentBytes = 48;

using Bytes = std::span<const std::byte>;

/// REQUIRES: the number lies within the bytes.
template <class Number>
Number number_at(Bytes bytes, std::size_t place) {
  Number number;
  std::memcpy(&number, bytes.data() + place, sizeof number);
  return number;
}

bool parse_plain(Bytes layout, Striping* striping) {
  if (layout.size() < kPlainBytes) return false;
  const auto magic = number_at<std::uint32_t>(layout, 0);
  if (magic != kPlain && magic != kWithPool && magic != kWithTargets) return false;
  const auto targets = number_at<std::uint16_t>(layout, 28);
  const auto unit = number_at<std::uint32_t>(layout, 24);
  const bool on_metadata = (number_at<std::uint32_t>(layout, 4) & kPatternOnMetadata) != 0;
  if (on_metadata || targets == 0 || targets == kAny || unit == 0) return false;
  *striping = {.targets = targets, .unit_bytes = unit};
  const std::size_t first = kPlainBytes + (magic == kPlain ? 0 : kPoolBytes);
  if (layout.size() < first + kTargetBytes) return true;
  const auto index = number_at<std::uint32_t>(layout, first + kTargetIndexAt);
  if (index < kAny) striping->first_target = static_cast<int>(index);
  return true;
}

bool parse_composite(Bytes layout, Striping* striping) {
  if (layout.size() < kComponentsAt) return false;
  const std::size_t components = number_at<std::uint16_t>(layout, 14);
  for (std::size_t i = 0; i < components; ++i) {
    const std::size_t at = kComponentsAt + i * kComponentBytes;
    if (layout.size() < at + kComponentBytes) return false;
    const std::size_t begin = number_at<std::uint32_t>(layout, at + 24);
    const std::size_t bytes = number_at<std::uint32_t>(layout, at + 28);
    if (begin > layout.size() || bytes > layout.size() - begin) return false;
    if (parse_plain(layout.subspan(begin, bytes), striping)) return true;
  }
  return false;
}

}  // namespace

bool parse_layout(Bytes layout, Striping* striping) {
  if (layout.size() < sizeof(std::uint32_t)) return false;
  return number_at<std::uint32_t>(layout, 0) == kComposite ? parse_composite(layout, striping)
                                                           : parse_plain(layout, striping);
}

LayoutRequest make_request(const Striping& wanted) {
  LayoutRequest request{};
  const auto put = [&request](std::size_t place, auto number) {
    std::memcpy(request.data() + place, &number, sizeof number);
  };
  constexpr Count kUnitBytesMax = (Count{1} << 32) - kUnitBytesMin;
  const Count unit = (std::clamp<Count>(wanted.unit_bytes, 0, kUnitBytesMax) + kUnitBytesMin - 1) /
                     kUnitBytesMin * kUnitBytesMin;
  const bool any = wanted.first_target < 0 || wanted.first_target >= kAny;
  put(0, kPlain);
  put(24, static_cast<std::uint32_t>(unit));
  put(28, static_cast<std::uint16_t>(std::clamp(wanted.targets, 0, kTargetsMax)));
  put(30, any ? kAny : static_cast<std::uint16_t>(wanted.first_target));
  return request;
}

}  // namespace tasuki::lustre
