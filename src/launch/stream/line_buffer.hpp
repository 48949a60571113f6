// Cutting a rank's output into whole lines. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tasuki::launch {

/// Collects bytes and gives them back as whole lines. A line that does not end is given out in part once it
/// is long (kPartBytesMax) or when the caller asks (progress bars, prompts, the end of the output).
class LineBuffer {
 public:
  static constexpr std::size_t kPartBytesMax = 8 * 1024;

  void add(std::string_view bytes) { bytes_ += bytes; }

  /// What can be given out now: everything through the last newline, or all of a long part. Valid until the
  /// next call that is not const.
  std::string_view available() const;

  /// All of it.
  std::string_view all() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

  /// Drops the first `count` bytes.
  void consume(std::size_t count) { bytes_.erase(0, count); }

 private:
  std::string bytes_;
};

/// Puts `label` before every line of `text`. `continues`: the text goes on in the middle of a line whose
/// label is already out.
std::string with_labels(std::string_view text, std::string_view label, bool continues);

}  // namespace tasuki::launch
