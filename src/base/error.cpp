// The error log and the names and meanings of the predefined error classes.
#include "base/error.hpp"

#include <cstdarg>
#include <cstdio>

namespace tasuki {

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

const std::string& ErrorLog::text(Code code) const {
  static const std::string kNone;
  const Entry& entry = entries_[(static_cast<std::uint32_t>(code) >> 16) % kTexts];
  return code > 0xffff && entry.code == code ? entry.text : kNone;
}

}  // namespace tasuki
