// The numbers of the predefined objects, as the core knows them (Object::predefined). They are below
// kPredefinedCount, so that a plain array finds the object. NULL handles have no object: they are null
// pointers.
#pragma once

#include <cstdint>

namespace tasuki {

inline constexpr std::uint16_t kPredefinedCount = 1024;

enum Predefined : std::uint16_t {
  kMpiCommWorld = 257,             // MPI_COMM_WORLD
  kMpiCommSelf = 258,              // MPI_COMM_SELF
  kMpiAint = 513,                  // MPI_AINT
  kMpiCount = 514,                 // MPI_COUNT
  kMpiOffset = 515,                // MPI_OFFSET
  kMpiPacked = 519,                // MPI_PACKED
  kMpiShort = 520,                 // MPI_SHORT
  kMpiInt = 521,                   // MPI_INT
  kMpiLong = 522,                  // MPI_LONG
  kMpiLongLongInt = 523,           // MPI_LONG_LONG_INT
  kMpiLongLong = 523,              // MPI_LONG_LONG
  kMpiUnsignedShort = 524,         // MPI_UNSIGNED_SHORT
  kMpiUnsigned = 525,              // MPI_UNSIGNED
  kMpiUnsignedLong = 526,          // MPI_UNSIGNED_LONG
  kMpiUnsignedLongLong = 527,      // MPI_UNSIGNED_LONG_LONG
  kMpiFloat = 528,                 // MPI_FLOAT
  kMpiCComplex = 530,              // MPI_C_COMPLEX
  kMpiCFloatComplex = 530,         // MPI_C_FLOAT_COMPLEX
  kMpiDouble = 532,                // MPI_DOUBLE
  kMpiCDoubleComplex = 534,        // MPI_C_DOUBLE_COMPLEX
  kMpiLongDouble = 544,            // MPI_LONG_DOUBLE
  kMpiCLongDoubleComplex = 548,    // MPI_C_LONG_DOUBLE_COMPLEX
  kMpiCBool = 568,                 // MPI_C_BOOL
  kMpiWchar = 572,                 // MPI_WCHAR
  kMpiInt8T = 576,                 // MPI_INT8_T
  kMpiUint8T = 577,                // MPI_UINT8_T
  kMpiChar = 579,                  // MPI_CHAR
  kMpiSignedChar = 580,            // MPI_SIGNED_CHAR
  kMpiUnsignedChar = 581,          // MPI_UNSIGNED_CHAR
  kMpiByte = 583,                  // MPI_BYTE
  kMpiInt16T = 584,                // MPI_INT16_T
  kMpiUint16T = 585,               // MPI_UINT16_T
  kMpiInt32T = 592,                // MPI_INT32_T
  kMpiUint32T = 593,               // MPI_UINT32_T
  kMpiInt64T = 600,                // MPI_INT64_T
  kMpiUint64T = 601,               // MPI_UINT64_T
  kMpiLogical = 536,               // MPI_LOGICAL
  kMpiInteger = 537,               // MPI_INTEGER
  kMpiReal = 538,                  // MPI_REAL
  kMpiComplex = 539,               // MPI_COMPLEX
  kMpiDoublePrecision = 540,       // MPI_DOUBLE_PRECISION
  kMpiCharacter = 542,             // MPI_CHARACTER
  kMpiCxxFloatComplex = 531,       // MPI_CXX_FLOAT_COMPLEX
  kMpiCxxDoubleComplex = 535,      // MPI_CXX_DOUBLE_COMPLEX
  kMpiCxxLongDoubleComplex = 549,  // MPI_CXX_LONG_DOUBLE_COMPLEX
  kMpiCxxBool = 569,               // MPI_CXX_BOOL
  kMpiDoubleComplex = 541,         // MPI_DOUBLE_COMPLEX
  kMpiLogical1 = 704,              // MPI_LOGICAL1
  kMpiLogical2 = 712,              // MPI_LOGICAL2
  kMpiLogical4 = 720,              // MPI_LOGICAL4
  kMpiLogical8 = 728,              // MPI_LOGICAL8
  kMpiLogical16 = 736,             // MPI_LOGICAL16
  kMpiInteger1 = 705,              // MPI_INTEGER1
  kMpiInteger2 = 713,              // MPI_INTEGER2
  kMpiInteger4 = 721,              // MPI_INTEGER4
  kMpiInteger8 = 729,              // MPI_INTEGER8
  kMpiInteger16 = 737,             // MPI_INTEGER16
  kMpiReal2 = 714,                 // MPI_REAL2
  kMpixCFloat16 = 586,             // MPIX_C_FLOAT16, of the MPICH ABI only
  kMpiReal4 = 722,                 // MPI_REAL4
  kMpiReal8 = 730,                 // MPI_REAL8
  kMpiReal16 = 738,                // MPI_REAL16
  kMpiComplex4 = 723,              // MPI_COMPLEX4
  kMpiComplex8 = 731,              // MPI_COMPLEX8
  kMpiComplex16 = 739,             // MPI_COMPLEX16
  kMpiComplex32 = 747,             // MPI_COMPLEX32
  kMpiFloatInt = 552,              // MPI_FLOAT_INT
  kMpiDoubleInt = 553,             // MPI_DOUBLE_INT
  kMpiLongInt = 554,               // MPI_LONG_INT
  kMpi2int = 555,                  // MPI_2INT
  kMpiShortInt = 556,              // MPI_SHORT_INT
  kMpiLongDoubleInt = 557,         // MPI_LONG_DOUBLE_INT
  kMpi2real = 560,                 // MPI_2REAL
  kMpi2doublePrecision = 561,      // MPI_2DOUBLE_PRECISION
  kMpi2integer = 562,              // MPI_2INTEGER
  kMpiMessageNoProc = 297,         // MPI_MESSAGE_NO_PROC
  kMpiErrorsAreFatal = 321,        // MPI_ERRORS_ARE_FATAL
  kMpiErrorsAbort = 322,           // MPI_ERRORS_ABORT
  kMpiErrorsReturn = 323,          // MPI_ERRORS_RETURN
  kMpiInfoEnv = 305,               // MPI_INFO_ENV
  kMpiSum = 33,                    // MPI_SUM
  kMpiMin = 34,                    // MPI_MIN
  kMpiMax = 35,                    // MPI_MAX
  kMpiProd = 36,                   // MPI_PROD
  kMpiBand = 40,                   // MPI_BAND
  kMpiBor = 41,                    // MPI_BOR
  kMpiBxor = 42,                   // MPI_BXOR
  kMpiLand = 48,                   // MPI_LAND
  kMpiLor = 49,                    // MPI_LOR
  kMpiLxor = 50,                   // MPI_LXOR
  kMpiMinloc = 56,                 // MPI_MINLOC
  kMpiMaxloc = 57,                 // MPI_MAXLOC
  kMpiReplace = 60,                // MPI_REPLACE
  kMpiNoOp = 61,                   // MPI_NO_OP
  kMpiGroupEmpty = 265,            // MPI_GROUP_EMPTY
};

/// Predefined attribute keys of communicators and windows (MPI 9.1.2, 12.2.6).
enum PredefinedKeyval : int {
  kKeyvalInvalid = 0,      // MPI_KEYVAL_INVALID
  kTagUb = 501,            // MPI_TAG_UB
  kIo = 502,               // MPI_IO
  kHost = 503,             // MPI_HOST
  kWtimeIsGlobal = 504,    // MPI_WTIME_IS_GLOBAL
  kAppnum = 505,           // MPI_APPNUM
  kLastusedcode = 506,     // MPI_LASTUSEDCODE
  kUniverseSize = 507,     // MPI_UNIVERSE_SIZE
  kWinBase = 601,          // MPI_WIN_BASE
  kWinDispUnit = 602,      // MPI_WIN_DISP_UNIT
  kWinSize = 603,          // MPI_WIN_SIZE
  kWinCreateFlavor = 604,  // MPI_WIN_CREATE_FLAVOR
  kWinModel = 605,         // MPI_WIN_MODEL
};
inline constexpr int kKeyvalUserFirst = 0x1000;  // user keyvals count up from here

}  // namespace tasuki
