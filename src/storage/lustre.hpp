// Lustre's own description of where a file's bytes lie, its *layout*: as the extended attribute lustre.lov
// gives it, and as a request to make one. The forms are those of Lustre's public interface, in the byte order
// of the machine.
//
// Pure: bytes in, numbers out. What comes from a file system is not trusted: sizes and offsets are checked.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/driver.hpp"

namespace tasuki::lustre {

inline constexpr std::uint32_t kFileSystemType = 0x0bd00bd0;  // of statfs
inline constexpr const char* kLayoutAttribute = "lustre.lov";
inline constexpr Count kUnitBytesMin = 64 << 10;  // a unit is a multiple of it, in 32 bits
inline constexpr int kTargetsMax = 2000;

/// Of ioctl: gives a file that has no layout one.
inline constexpr unsigned long kSetLayout = _IOW('f', 154, long);
/// Of open, with O_CREAT: the file gets no layout yet. A bit of Lustre's own, and two that mean nothing
/// there.
inline constexpr int kOpenWithoutLayout = 0100000000 | O_NOCTTY | O_ASYNC;

/// Reads a layout. Of one in several components, the first that has data on targets counts. False: it
/// cannot be read, e.g. since its form is not known here.
bool parse_layout(std::span<const std::byte> layout, Striping* striping);

/// The description that kSetLayout takes. What Lustre cannot have becomes the next thing that it can.
using LayoutRequest = std::array<std::byte, 32>;
LayoutRequest make_request(const Striping& wanted);

}  // namespace tasuki::lustre
