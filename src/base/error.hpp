// Error classes of the core, the log that keeps the text of the latest errors, and error codes.
//
// A code is `class | serial << 16`: the low half is an error class (or a user's class or code, from
// kUserErrorFirst on), the high half finds the text in the log. Code 0 is success. Code == class is valid
// too: it is the class without a particular text.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/types.hpp"

namespace tasuki {

enum ErrorClass : int {
  kSuccess = 0,
  kErrBuffer = 1,
  kErrCount = 2,
  kErrType = 3,
  kErrTag = 4,
  kErrComm = 5,
  kErrRank = 6,
  kErrRequest = 7,
  kErrRoot = 8,
  kErrGroup = 9,
  kErrOp = 10,
  kErrTopology = 11,
  kErrDims = 12,
  kErrArg = 13,
  kErrUnknown = 14,
  kErrTruncate = 15,
  kErrOther = 16,
  kErrIntern = 17,
  kErrPending = 18,
  kErrInStatus = 19,
  kErrAccess = 20,
  kErrAmode = 21,
  kErrAssert = 22,
  kErrBadFile = 23,
  kErrBase = 24,
  kErrConversion = 25,
  kErrDisp = 26,
  kErrDupDatarep = 27,
  kErrFileExists = 28,
  kErrFileInUse = 29,
  kErrFile = 30,
  kErrInfoKey = 31,
  kErrInfoNokey = 32,
  kErrInfoValue = 33,
  kErrInfo = 34,
  kErrIo = 35,
  kErrKeyval = 36,
  kErrLocktype = 37,
  kErrName = 38,
  kErrNoMem = 39,
  kErrNotSame = 40,
  kErrNoSpace = 41,
  kErrNoSuchFile = 42,
  kErrPort = 43,
  kErrQuota = 44,
  kErrReadOnly = 45,
  kErrRmaAttach = 46,
  kErrRmaConflict = 47,
  kErrRmaRange = 48,
  kErrRmaShared = 49,
  kErrRmaSync = 50,
  kErrService = 51,
  kErrSize = 52,
  kErrSpawn = 53,
  kErrUnsupportedDatarep = 54,
  kErrUnsupportedOperation = 55,
  kErrWin = 56,
  kErrRmaFlavor = 57,
  kErrProcAborted = 58,
  kErrValueTooLarge = 59,
  kErrSession = 60,
  kErrErrhandler = 61,
  kErrAbi = 62,
  kTErrCannotInit = 1001,
  kTErrNotAccessible = 1002,
  kTErrNotInitialized = 1003,
  kTErrNotSupported = 1004,
  kTErrMemory = 1005,
  kTErrInvalid = 1006,
  kTErrInvalidIndex = 1007,
  kTErrInvalidItem = 1008,
  kTErrInvalidSession = 1009,
  kTErrInvalidHandle = 1010,
  kTErrInvalidName = 1011,
  kTErrOutOfHandles = 1012,
  kTErrOutOfSessions = 1013,
  kTErrCvarSetNotNow = 1014,
  kTErrCvarSetNever = 1015,
  kTErrPvarNoWrite = 1016,
  kTErrPvarNoStartstop = 1017,
  kTErrPvarNoAtomic = 1018,
  kErrLastcode = 16383,
};

inline constexpr int kUserErrorFirst = 0x4000;  // MPI_Add_error_class and _code count up from here

inline int error_class_bits(Code code) {
  return code & 0xffff;
}

/// The texts of the latest errors of one process. Not thread safe: guarded by the process lock.
class ErrorLog {
 public:
  /// Records the text (printf style) of an error of the given class (or user code) and returns its code.
  [[gnu::format(printf, 3, 4)]] Code raise(int error_class, const char* format, ...);

  Code record(int error_class, std::string text);

  /// Notes what a user's function returned, which the call is to return as it is, and a text that says so.
  /// Returns `returned`.
  Code note_returned(Code returned, std::string text);
  /// Whether `code` is the one that was noted last; it is forgotten then.
  bool take_returned(Code code);

  /// The text recorded for `code`, or an empty string when it was never recorded or is overwritten.
  const std::string& text(Code code) const;
  /// The same, but what was noted of a code that a user's function returned comes first.
  const std::string& cause(Code code) const;

 private:
  static constexpr std::uint32_t kTexts = 64;
  struct Entry {
    Code code = 0;
    std::string text;
  };
  std::array<Entry, kTexts> entries_;
  std::string none_;          // empty: the text of a code that has none
  std::uint32_t serial_ = 0;  // 1 .. 0x3fff, then from 1 again
  Entry returned_;            // by a user's function; code 0: none
};

/// The name of a predefined class ("MPI_ERR_RANK"), or nullptr.
const char* error_class_name(int error_class);

/// What a predefined class means, in one sentence, or nullptr.
const char* error_class_description(int error_class);

}  // namespace tasuki
