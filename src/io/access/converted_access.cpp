// Conversion, chunk by chunk: basic elements in the order of the type map, as many as a stage holds.
//
// external32 converts the native packed form, so each chunk is packed (or unpacked) on the way. A registered
// representation's functions know the user's datatype themselves and get the number of a chunk's first
// element (MPI 14.5.3).
#include "io/access/converted_access.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/user_memory.hpp"
#include "datatype/external32.hpp"
#include "datatype/signature.hpp"
#include "object/callbacks.hpp"

namespace tasuki {
namespace {

constexpr Count kNativeBytes = 4096;        // of packed form that external32 is made of at a time
constexpr std::size_t kSegmentsMax = 4096;  // in a chunk

/// Equal basic elements that follow each other.
struct Segment {
  const BasicInfo* info;
  Count elements;
  Count element_bytes;  // in the file
};

class Converter {
 public:
  Converter(const Access& access, FileStream& stream)
      : access_(access),
        stream_(stream),
        representation_(*access.file.view.representation),
        cursor_(*access.datatype, access.count),
        stage_bytes_(std::min(kStageBytes, access.file_bytes)),
        stage_(allocate_for_user(stage_bytes_)) {
    if (stage_ == nullptr) code_ = fail_memory(access.file.process, "count", access.count);
  }

  /// The next elements of the type map.
  void add(const BasicInfo& info, Count elements) {
    if (stopped()) return;
    Count element_bytes = 0;
    code_ = bytes_in_file(access_.file.process, representation_, info, &element_bytes);
    while (elements > 0 && !stopped()) {
      const Count fitting = (stage_bytes_ - chunk_bytes_) / element_bytes;
      const Count taken = std::min(elements, fitting);
      if (taken > 0) {
        segments_.push_back({&info, taken, element_bytes});
        chunk_bytes_ += taken * element_bytes;
        elements -= taken;
      }
      if (elements > 0 || segments_.size() == kSegmentsMax) flush();
    }
  }

  void flush() {
    if (segments_.empty() || stopped()) return;
    if (access_.write) {
      write_chunk();
    } else {
      read_chunk();
    }
    segments_.clear();
    chunk_bytes_ = 0;
  }

  Code code() const { return code_; }
  Count native_bytes() const { return native_bytes_; }

 private:
  bool stopped() const { return code_ != kSuccess || stream_.over(); }

  /// What precedes an element that has no form in the file is written.
  void write_chunk() {
    convert();
    if (failed_as_a_whole()) return;
    const Count begin = stream_.moved();
    if (chunk_bytes_ > 0) stream_.move(stage_.get(), chunk_bytes_);
    stream_.flush();
    keep_only(stream_.moved() - begin);
    note_converted();
  }

  void read_chunk() {
    const Count begin = stream_.moved();
    stream_.move(stage_.get(), chunk_bytes_);
    stream_.flush();
    keep_only(stream_.moved() - begin);
    convert();
    if (!failed_as_a_whole()) note_converted();
  }

  /// A user's function has failed: nothing is known of the chunk.
  bool failed_as_a_whole() const {
    return code_ != kSuccess && representation_.form == DataRepresentation::Form::kRegistered;
  }

  /// Cuts the chunk to the elements that the first `bytes` in the file hold.
  void keep_only(Count bytes) {
    for (Segment& segment : segments_) {
      const Count whole = segment.elements * segment.element_bytes;
      segment.elements = std::min(segment.elements, bytes / segment.element_bytes);
      bytes = std::max<Count>(bytes - whole, 0);
    }
  }

  void note_converted() {
    for (const Segment& segment : segments_) {
      native_bytes_ += segment.elements * segment.info->size;
      first_element_ += segment.elements;
    }
  }

  void convert() {
    if (representation_.form == DataRepresentation::Form::kRegistered) return convert_registered();
    std::byte* external = stage_.get();
    for (std::size_t i = 0; i < segments_.size() && code_ == kSuccess; ++i) {
      const Segment& segment = segments_[i];
      const Count part_max = kNativeBytes / segment.info->size;
      for (Count done = 0; done < segment.elements;) {
        const Count part = std::min(segment.elements - done, part_max);
        const Count converted = convert_external(*segment.info, part, external);
        external += converted * segment.element_bytes;
        done += converted;
        if (converted < part) {
          end_before(i, done);
          return;
        }
      }
    }
  }

  /// Cuts the chunk to what comes before the element `elements` of a segment, which could not be converted.
  void end_before(std::size_t segment, Count elements) {
    segments_.resize(segment + 1);
    segments_[segment].elements = elements;
    Count element = first_element_;
    chunk_bytes_ = 0;
    for (const Segment& each : segments_) {
      element += each.elements;
      chunk_bytes_ += each.elements * each.element_bytes;
    }
    code_ =
        access_.file.process.fail(kErrConversion, "element %lld of %s is %s", static_cast<long long>(element),
                                  access_.write ? "buf" : "what was read", misfit_.c_str());
  }

  /// Returns how many elements were converted.
  Count convert_external(const BasicInfo& info, Count elements, std::byte* external) {
    alignas(16) std::array<std::byte, kNativeBytes> native;
    const auto bytes = static_cast<std::size_t>(elements * info.size);
    Count done = 0;
    if (access_.write) {
      cursor_.pack(access_.buffer, native.data(), bytes);
      done = to_external32(info, elements, native.data(), external);
      if (done < elements) misfit_ = misfit_in_external32(info, native.data() + done * info.size);
    } else {
      done = from_external32(info, elements, external, native.data());
      cursor_.unpack(access_.buffer, native.data(), static_cast<std::size_t>(done * info.size));
      if (done < elements) misfit_ = misfit_of_external32(info);
    }
    return done;
  }

  void convert_registered() {
    Process& process = access_.file.process;
    Count elements = 0;
    for (const Segment& segment : segments_) elements += segment.elements;
    if (elements == 0) return;
    const AnyFunction function =
        access_.write ? representation_.write_conversion : representation_.read_conversion;
    if (function == nullptr) return copy_as_it_is();
    const Code code =
        process.callbacks->convert(function, representation_.wide, access_.buffer, access_.datatype, elements,
                                   stage_.get(), first_element_, representation_.extra_state);
    if (code == kSuccess) return;
    code_ = process.fail(kErrConversion,
                         "the %s conversion function of data representation \"%s\" returned error code %d",
                         access_.write ? "write" : "read", representation_.name.c_str(), code);
  }

  /// One of the two conversions is MPI_CONVERSION_FN_NULL: then the sizes must be the same.
  void copy_as_it_is() {
    std::byte* in_file = stage_.get();
    for (const Segment& segment : segments_) {
      if (segment.element_bytes != segment.info->size) {
        code_ = access_.file.process.fail(
            kErrConversion,
            "data representation \"%s\" has no conversion function for %s, whose size differs",
            representation_.name.c_str(), segment.info->name);
        return;
      }
      const auto bytes = static_cast<std::size_t>(segment.elements * segment.element_bytes);
      if (access_.write) {
        cursor_.pack(access_.buffer, in_file, bytes);
      } else {
        cursor_.unpack(access_.buffer, in_file, bytes);
      }
      in_file += bytes;
    }
  }

  const Access& access_;
  FileStream& stream_;
  DataRepresentation& representation_;
  PackCursor cursor_;
  const Count stage_bytes_;
  std::unique_ptr<std::byte[]> stage_;
  std::vector<Segment> segments_;
  Count chunk_bytes_ = 0;
  Count first_element_ = 0;
  Count native_bytes_ = 0;
  std::string misfit_;  // why external32 has no form of the element at which it stopped
  Code code_ = kSuccess;
};

}  // namespace

Code move_converted(const Access& access, FileStream& stream, Count* bytes) {
  Converter converter(access, stream);
  auto visit = [&converter](const BasicInfo& info, Count elements) { converter.add(info, elements); };
  visit_basics(*access.datatype->signature, access.count, visit);
  converter.flush();
  *bytes = converter.native_bytes();
  return converter.code();
}

}  // namespace tasuki
