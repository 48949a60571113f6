// The fields of a message to mpiexec or from it, one behind the other: 32-bit numbers, and texts with their
// lengths before them. What is read may be anything: a reader never goes beyond its bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tasuki {

class FieldWriter {
 public:
  void number(std::uint32_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void wide_number(std::uint64_t value) {
    number(static_cast<std::uint32_t>(value));
    number(static_cast<std::uint32_t>(value >> 32));
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what FieldWriter wrote; over() is false once something was missing.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    const std::string_view from = take(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::uint64_t wide_number() {
    const std::uint64_t low = number();
    return low | static_cast<std::uint64_t>(number()) << 32;
  }
  std::string text() { return std::string(take(number())); }
  /// A number of things that follow, each of at least `bytes_each`: so no more memory is taken for them than
  /// some times what came.
  std::uint32_t length(std::size_t bytes_each = sizeof(std::uint32_t)) {
    const std::uint32_t count = number();
    if (count > bytes_.size() / bytes_each || count > kThingsMax) good_ = false;
    return good_ ? count : 0;
  }
  bool over() const { return good_ && bytes_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (!good_ || count > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  static constexpr std::uint32_t kThingsMax = 1 << 20;

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace tasuki
