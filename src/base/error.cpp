// The error log and the names and meanings of the predefined error classes.
#include "base/error.hpp"

#include <cstdarg>
#include <cstdio>

namespace tasuki {
namespace {

struct ClassText {
  int error_class;
  const char* name;
  const char* description;
};

constexpr ClassText kClassTexts[] = {
    {kSuccess, "MPI_SUCCESS", "no error"},
    {kErrBuffer, "MPI_ERR_BUFFER", "a buffer address is not valid"},
    {kErrCount, "MPI_ERR_COUNT", "a count is not valid"},
    {kErrType, "MPI_ERR_TYPE", "a datatype is not valid here"},
    {kErrTag, "MPI_ERR_TAG", "a tag is not valid"},
    {kErrComm, "MPI_ERR_COMM", "a communicator is not valid here"},
    {kErrRank, "MPI_ERR_RANK", "a rank is not valid"},
    {kErrRequest, "MPI_ERR_REQUEST", "a request is not valid"},
    {kErrRoot, "MPI_ERR_ROOT", "a root is not valid"},
    {kErrGroup, "MPI_ERR_GROUP", "a group is not valid here"},
    {kErrOp, "MPI_ERR_OP", "a reduction operation is not valid here"},
    {kErrTopology, "MPI_ERR_TOPOLOGY", "a communicator does not have the topology asked for"},
    {kErrDims, "MPI_ERR_DIMS", "a dimension is not valid"},
    {kErrArg, "MPI_ERR_ARG", "an argument is not valid"},
    {kErrUnknown, "MPI_ERR_UNKNOWN", "an error of unknown kind"},
    {kErrTruncate, "MPI_ERR_TRUNCATE", "a message is longer than the receive's buffer"},
    {kErrOther, "MPI_ERR_OTHER", "an error that no other class describes"},
    {kErrIntern, "MPI_ERR_INTERN", "an error inside the MPI library"},
    {kErrPending, "MPI_ERR_PENDING", "the operation is not complete yet"},
    {kErrInStatus, "MPI_ERR_IN_STATUS", "the statuses hold an error code for each operation"},
    {kErrAccess, "MPI_ERR_ACCESS", "permission to a file is denied"},
    {kErrAmode, "MPI_ERR_AMODE", "the access mode of a file is not valid, or not the same on all ranks"},
    {kErrAssert, "MPI_ERR_ASSERT", "an assertion argument is not valid"},
    {kErrBadFile, "MPI_ERR_BAD_FILE", "a file name is not valid"},
    {kErrBase, "MPI_ERR_BASE", "the base address given to free memory is not valid"},
    {kErrConversion, "MPI_ERR_CONVERSION",
     "data has no form in a data representation, or a user's conversion function failed"},
    {kErrDisp, "MPI_ERR_DISP", "a displacement is not valid"},
    {kErrDupDatarep, "MPI_ERR_DUP_DATAREP", "a data representation of that name is registered already"},
    {kErrFileExists, "MPI_ERR_FILE_EXISTS", "the file exists"},
    {kErrFileInUse, "MPI_ERR_FILE_IN_USE", "the file is open in some process"},
    {kErrFile, "MPI_ERR_FILE", "a file handle is not valid"},
    {kErrInfoKey, "MPI_ERR_INFO_KEY", "an info key is empty or too long"},
    {kErrInfoNokey, "MPI_ERR_INFO_NOKEY", "an info object does not have the key"},
    {kErrInfoValue, "MPI_ERR_INFO_VALUE", "an info value is not valid or too long"},
    {kErrInfo, "MPI_ERR_INFO", "an info object is not valid here"},
    {kErrIo, "MPI_ERR_IO", "input or output failed"},
    {kErrKeyval, "MPI_ERR_KEYVAL", "an attribute key is not valid"},
    {kErrLocktype, "MPI_ERR_LOCKTYPE", "a lock type is not valid"},
    {kErrName, "MPI_ERR_NAME", "a service name is not published"},
    {kErrNoMem, "MPI_ERR_NO_MEM", "memory is exhausted"},
    {kErrNotSame, "MPI_ERR_NOT_SAME", "an argument of a collective call is not the same on all ranks"},
    {kErrNoSpace, "MPI_ERR_NO_SPACE", "there is no space left for the file"},
    {kErrNoSuchFile, "MPI_ERR_NO_SUCH_FILE", "the file does not exist"},
    {kErrPort, "MPI_ERR_PORT", "a port name is not valid"},
    {kErrQuota, "MPI_ERR_QUOTA", "a quota is exceeded"},
    {kErrReadOnly, "MPI_ERR_READ_ONLY", "the file or file system is read-only"},
    {kErrRmaAttach, "MPI_ERR_RMA_ATTACH", "memory cannot be attached to a window"},
    {kErrRmaConflict, "MPI_ERR_RMA_CONFLICT", "accesses to a window conflict"},
    {kErrRmaRange, "MPI_ERR_RMA_RANGE", "target memory is not part of the window"},
    {kErrRmaShared, "MPI_ERR_RMA_SHARED", "memory cannot be shared by the ranks of the window"},
    {kErrRmaSync, "MPI_ERR_RMA_SYNC", "synchronization calls of a window do not fit together"},
    {kErrService, "MPI_ERR_SERVICE", "a service name cannot be unpublished"},
    {kErrSize, "MPI_ERR_SIZE", "a size is not valid"},
    {kErrSpawn, "MPI_ERR_SPAWN", "processes could not be spawned"},
    {kErrUnsupportedDatarep, "MPI_ERR_UNSUPPORTED_DATAREP", "the data representation is not supported"},
    {kErrUnsupportedOperation, "MPI_ERR_UNSUPPORTED_OPERATION", "the operation is not supported"},
    {kErrWin, "MPI_ERR_WIN", "a window is not valid"},
    {kErrRmaFlavor, "MPI_ERR_RMA_FLAVOR", "the window's flavor does not allow the call"},
    {kErrProcAborted, "MPI_ERR_PROC_ABORTED", "a peer has aborted"},
    {kErrValueTooLarge, "MPI_ERR_VALUE_TOO_LARGE", "a value does not fit into its argument"},
    {kErrSession, "MPI_ERR_SESSION", "a session is not valid"},
    {kErrErrhandler, "MPI_ERR_ERRHANDLER", "an error handler is not valid here"},
    {kErrAbi, "MPI_ERR_ABI", "an ABI setting is not valid, or was made already"},
    {kTErrCannotInit, "MPI_T_ERR_CANNOT_INIT", "the tools interface cannot be initialized"},
    {kTErrNotAccessible, "MPI_T_ERR_NOT_ACCESSIBLE", "the tools interface cannot be used now"},
    {kTErrNotInitialized, "MPI_T_ERR_NOT_INITIALIZED", "the tools interface is not initialized"},
    {kTErrNotSupported, "MPI_T_ERR_NOT_SUPPORTED", "the tools interface does not support this"},
    {kTErrMemory, "MPI_T_ERR_MEMORY", "the tools interface is out of memory"},
    {kTErrInvalid, "MPI_T_ERR_INVALID", "a use or argument of the tools interface is not valid"},
    {kTErrInvalidIndex, "MPI_T_ERR_INVALID_INDEX", "a variable or category index is not valid"},
    {kTErrInvalidItem, "MPI_T_ERR_INVALID_ITEM", "an item index is not valid"},
    {kTErrInvalidSession, "MPI_T_ERR_INVALID_SESSION", "a performance session is not valid"},
    {kTErrInvalidHandle, "MPI_T_ERR_INVALID_HANDLE", "a handle of the tools interface is not valid"},
    {kTErrInvalidName, "MPI_T_ERR_INVALID_NAME", "a variable or category of that name does not exist"},
    {kTErrOutOfHandles, "MPI_T_ERR_OUT_OF_HANDLES", "no handles of the tools interface are left"},
    {kTErrOutOfSessions, "MPI_T_ERR_OUT_OF_SESSIONS", "no performance sessions are left"},
    {kTErrCvarSetNotNow, "MPI_T_ERR_CVAR_SET_NOT_NOW", "the control variable cannot be set now"},
    {kTErrCvarSetNever, "MPI_T_ERR_CVAR_SET_NEVER", "the control variable can never be set from now on"},
    {kTErrPvarNoWrite, "MPI_T_ERR_PVAR_NO_WRITE", "the performance variable cannot be written or reset"},
    {kTErrPvarNoStartstop, "MPI_T_ERR_PVAR_NO_STARTSTOP",
     "the performance variable cannot be started or stopped"},
    {kTErrPvarNoAtomic, "MPI_T_ERR_PVAR_NO_ATOMIC",
     "the performance variable cannot be read and written atomically"},
    {kErrLastcode, "MPI_ERR_LASTCODE", "the last predefined error code"},
};

const ClassText* find_class(int error_class) {
  for (const ClassText& text : kClassTexts) {
    if (text.error_class == error_class) return &text;
  }
  return nullptr;
}

}  // namespace

Code ErrorLog::raise(int error_class, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return record(error_class, text);
}

Code ErrorLog::record(int error_class, std::string text) {
  serial_ =
      serial_ % 0x3fff + 1;  // bit 30 stays clear: an MPICH-ABI code has to stay below its MPI_ERR_LASTCODE
  Entry& entry = entries_[serial_ % kTexts];
  entry.code = static_cast<Code>(serial_ << 16) | error_class;
  entry.text = std::move(text);
  return entry.code;
}

Code ErrorLog::note_returned(Code returned, std::string text) {
  returned_ = {returned, std::move(text)};
  return returned;
}

bool ErrorLog::take_returned(Code code) {
  if (code == 0 || code != returned_.code) return false;
  returned_ = {};
  return true;
}

const std::string& ErrorLog::cause(Code code) const {
  return code != 0 && code == returned_.code ? returned_.text : text(code);
}

const std::string& ErrorLog::text(Code code) const {
  const Entry& entry = entries_[(static_cast<std::uint32_t>(code) >> 16) % kTexts];
  return code > 0xffff && entry.code == code ? entry.text : none_;
}

const char* error_class_name(int error_class) {
  const ClassText* text = find_class(error_class);
  return text != nullptr ? text->name : nullptr;
}

const char* error_class_description(int error_class) {
  const ClassText* text = find_class(error_class);
  return text != nullptr ? text->description : nullptr;
}

}  // namespace tasuki
