// The words in which variables and events are described to tools (MPI 15.3.2 to 15.3.9). Numbers are those of
// the standard ABI; the binding translates them.
#pragma once

#include <cstdint>

namespace tasuki {

/// The audience of a variable, and how much of a detail it is (MPI 15.3.1).
enum class Verbosity : int {
  kUserBasic = 9,
  kUserDetail = 10,
  kUserAll = 12,
  kTunerBasic = 17,
  kTunerDetail = 18,
  kTunerAll = 20,
  kDeveloperBasic = 33,
  kDeveloperDetail = 34,
  kDeveloperAll = 36,
};

/// What kind of object a variable belongs to (MPI 15.3.2).
enum class Bind : int { kNoObject = 1, kComm = 2 };

/// The processes in which a change of a control variable takes effect and has to be made (MPI 15.3.6).
enum class Scope : int { kConstant = 1, kReadonly, kLocal, kGroup, kGroupEqual, kAll, kAllEqual };

/// The part of the library that a variable belongs to: a category of MPI_T, in a tree.
enum class Part : std::uint8_t {
  kLibrary,
  kTransport,
  kProtocol,
  kMatching,
  kProgress,
  kCollectives,
  kFiles,
  kObjects,
  kEnvironment,
};
inline constexpr int kParts = 9;

struct PartRow {
  const char* name;
  Part parent;
  const char* description;
};
/// By Part. The root is its own parent.
inline constexpr PartRow kPartTable[kParts] = {
    {"tasuki", Part::kLibrary, "everything that this library shows"},
    {"transport", Part::kLibrary, "packets through shared memory"},
    {"protocol", Part::kLibrary, "how messages become packets: short, eager, long, buffered"},
    {"matching", Part::kLibrary, "receives that wait for messages, and messages that wait for receives"},
    {"progress", Part::kLibrary, "polling, yielding and sleeping"},
    {"collectives", Part::kLibrary, "collective operations and their algorithms"},
    {"io", Part::kLibrary, "access to files, and the phases of collective access"},
    {"objects", Part::kLibrary, "communicators, requests and errors"},
    {"environment", Part::kLibrary, "start, end, and what the library says"},
};

/// Names for the values of an enumerated variable: 0, 1, 2 and so on.
struct EnumRow {
  const char* name;
  const char* const* items;
  int size;
};

}  // namespace tasuki
