// MPI_Pack and its relatives, native and external32 (MPI 5.2, 5.3).
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/calls/unlocked.hpp"
#include "datatype/call/api.hpp"
#include "datatype/call/construct.hpp"
#include "datatype/external32.hpp"

namespace tasuki {
namespace {

constexpr Count kChunkBytes = 4096;  // of native form that is converted at a time

/// The packed size of `count` elements of `element_bytes`, which must fit.
Code packed_size(Process& process, Count count, const Datatype* datatype, Count element_bytes, Count* bytes) {
  if (const Code code = check_oldtype(process, datatype, "datatype")) return code;
  if (count < 0) return process.fail(kErrCount, "count = %lld, expected 0 or more", printed(count));
  if (__builtin_mul_overflow(count, element_bytes, bytes)) {
    return process.fail(kErrCount, "count = %lld, more than 63 bits of bytes", printed(count));
  }
  return kSuccess;
}

/// Whether `bytes` from `position` on are in the packed buffer of `size` bytes.
Code check_room(Process& process, const void* buffer, const char* buffer_name, Count size,
                const char* size_name, Count position, Count bytes) {
  if ((buffer == nullptr || buffer == kInPlace) && bytes > 0) {
    return process.fail(kErrBuffer, "%s = %s, expected the address of %lld bytes", buffer_name,
                        buffer == nullptr ? "NULL" : "MPI_IN_PLACE", printed(size));
  }
  if (position < 0 || position > size) {
    return process.fail(kErrArg, "position = %lld, expected 0..%lld (%s)", printed(position), printed(size),
                        size_name);
  }
  if (bytes > size - position) {
    return process.fail(kErrArg, "%s = %lld, expected at least %lld more bytes than position = %lld",
                        size_name, printed(size), printed(bytes), printed(position));
  }
  return kSuccess;
}

Code check_datarep(Process& process, const char* datarep) {
  if (std::strcmp(datarep, "external32") == 0) return kSuccess;
  return process.fail(kErrUnsupportedDatarep, "datarep = \"%.32s\", expected \"external32\"", datarep);
}

Code fail_conversion(Process& process, const char* buffer_name, Count element, const std::string& misfit) {
  return process.fail(kErrConversion, "element %lld of %s is %s", printed(element), buffer_name,
                      misfit.c_str());
}

/// Calls convert(info, n, native bytes) for the elements in order, in pieces that fit a small chunk, until it
/// returns how many of the n it converted and these are not all. Returns the number of those before. All of
/// them have `bytes` in external form.
template <class Convert>
Count for_each_chunk(Process& process, const Datatype& datatype, Count count, Count bytes, Convert convert) {
  const Unlocked unlocked(process, bytes);
  Count converted = 0;
  bool stopped = false;
  auto visit = [&](const BasicInfo& info, Count elements) {
    const Count chunk_elements = kChunkBytes / info.size;
    while (elements > 0 && !stopped) {
      const Count n = std::min(elements, chunk_elements);
      const Count done = convert(info, n, static_cast<std::size_t>(n * info.size));
      converted += done;
      stopped = done < n;
      elements -= n;
    }
  };
  if (datatype.size > 0) visit_basics(*datatype.signature, count, visit);
  return converted;
}

}  // namespace

void pack_all(Process& process, const void* buffer, Count count, const Datatype& datatype, void* to) {
  PackCursor cursor(datatype, count);
  const Unlocked unlocked(process, cursor.total_bytes());
  cursor.pack(buffer, to, static_cast<std::size_t>(cursor.total_bytes()));
}

namespace api {

Code pack(Process& process, const void* inbuf, Count incount, Datatype* datatype, void* outbuf, Count outsize,
          Count* position, Comm*) {
  Count bytes = 0;
  if (const Code code = packed_size(process, incount, datatype, datatype->size, &bytes)) return code;
  if (const Code code = check_room(process, outbuf, "outbuf", outsize, "outsize", *position, bytes))
    return code;
  pack_all(process, inbuf, incount, *datatype, static_cast<std::byte*>(outbuf) + *position);
  *position += bytes;
  return kSuccess;
}

Code unpack(Process& process, const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,
            Datatype* datatype, Comm*) {
  Count bytes = 0;
  if (const Code code = packed_size(process, outcount, datatype, datatype->size, &bytes)) return code;
  if (const Code code = check_room(process, inbuf, "inbuf", insize, "insize", *position, bytes)) return code;
  PackCursor cursor(*datatype, outcount);
  {
    const Unlocked unlocked(process, bytes);
    cursor.unpack(outbuf, static_cast<const std::byte*>(inbuf) + *position, static_cast<std::size_t>(bytes));
  }
  *position += bytes;
  return kSuccess;
}

Code pack_size(Process& process, Count incount, Datatype* datatype, Comm*, Count* size) {
  return packed_size(process, incount, datatype, datatype->size, size);
}

Code pack_external(Process& process, const char* datarep, const void* inbuf, Count incount,
                   Datatype* datatype, void* outbuf, Count outsize, Count* position) {
  Count bytes = 0;
  if (const Code code = pack_external_size(process, datarep, incount, datatype, &bytes)) return code;
  if (const Code code = check_room(process, outbuf, "outbuf", outsize, "outsize", *position, bytes))
    return code;
  PackCursor cursor(*datatype, incount);
  auto* out = static_cast<std::byte*>(outbuf) + *position;
  std::string misfit;
  const Count converted =
      for_each_chunk(process, *datatype, incount, bytes,
                     [&](const BasicInfo& info, Count elements, std::size_t native_bytes) {
                       std::array<std::byte, kChunkBytes> native;
                       cursor.pack(inbuf, native.data(), native_bytes);
                       const Count done = to_external32(info, elements, native.data(), out);
                       if (done < elements)
                         misfit = misfit_in_external32(info, native.data() + done * info.size);
                       out += done * info.external_size;
                       return done;
                     });
  if (!misfit.empty()) return fail_conversion(process, "inbuf", converted, misfit);
  *position += bytes;
  return kSuccess;
}

Code unpack_external(Process& process, const char* datarep, const void* inbuf, Count insize, Count* position,
                     void* outbuf, Count outcount, Datatype* datatype) {
  Count bytes = 0;
  if (const Code code = pack_external_size(process, datarep, outcount, datatype, &bytes)) return code;
  if (const Code code = check_room(process, inbuf, "inbuf", insize, "insize", *position, bytes)) return code;
  PackCursor cursor(*datatype, outcount);
  const auto* in = static_cast<const std::byte*>(inbuf) + *position;
  std::string misfit;
  const Count converted = for_each_chunk(
      process, *datatype, outcount, bytes, [&](const BasicInfo& info, Count elements, std::size_t) {
        std::array<std::byte, kChunkBytes> native;
        const Count done = from_external32(info, elements, in, native.data());
        if (done < elements) misfit = misfit_of_external32(info);
        cursor.unpack(outbuf, native.data(), static_cast<std::size_t>(done * info.size));
        in += done * info.external_size;
        return done;
      });
  if (!misfit.empty()) return fail_conversion(process, "inbuf", converted, misfit);
  *position += bytes;
  return kSuccess;
}

Code pack_external_size(Process& process, const char* datarep, Count incount, Datatype* datatype,
                        Count* size) {
  if (const Code code = check_datarep(process, datarep)) return code;
  return packed_size(process, incount, datatype, datatype->signature->external_size, size);
}

}  // namespace api
}  // namespace tasuki
