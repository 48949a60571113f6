// The tables of one ABI, for the interposed functions.
#include "trace/abi_library.hpp"
#include "trace/call.hpp"

namespace tasuki::trace {
namespace TASUKI_TRACE_ABI {

extern const Functions kTraced;
Real real;

}  // namespace TASUKI_TRACE_ABI

AbiLibrary TASUKI_TRACE_LIBRARY() {
  using namespace TASUKI_TRACE_ABI;
  static_assert(sizeof(Functions) == sizeof kFunctionNames && sizeof(Helpers) == sizeof kHelperNames);
  return {&kTraced, reinterpret_cast<void**>(&real), sizeof(Functions) / sizeof(void*),
          sizeof(Helpers) / sizeof(void*)};
}

}  // namespace tasuki::trace
