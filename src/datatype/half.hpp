// Half: a number of IEEE's binary16, as Fortran's REAL(2) has it. Compilers differ in whether they have such
// a type and in where they round, so it is made here: what is computed depends on neither compiler nor
// processor.
#pragma once

#include <bit>
#include <cstdint>

namespace tasuki {

class Half {
 public:
  Half() = default;

  /// Rounds to the nearest, of two to the even one.
  explicit Half(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = word & 0x7fff'ffff;
    std::uint32_t half = (magnitude + 0xfff + (magnitude >> 13 & 1) - kBias) >> 13;
    // Below 2^-14, where halves are 2^-24 apart, as floats from 0.5 on are nearly: the addition rounds.
    if (magnitude < 0x3880'0000)
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f00'0000;
    if (magnitude >= 0x4780'0000) half = 0x7c00;                             // infinity
    if (magnitude > 0x7f80'0000) half = 0x7e00 | (magnitude >> 13 & 0x3ff);  // not a number
    bits_ = static_cast<std::uint16_t>(half | (word >> 16 & 0x8000));
  }

  operator float() const {
    const std::uint32_t shifted = (bits_ & 0x7fffU) << 13;
    std::uint32_t word = shifted + kBias;
    if (shifted < 0x0080'0000)
      word = std::bit_cast<std::uint32_t>(static_cast<float>(bits_ & 0x7fff) * 0x1p-24F);
    if (shifted >= 0x0f80'0000) word = shifted | 0x7f80'0000;
    return std::bit_cast<float>(word | (bits_ & 0x8000U) << 16);
  }

 private:
  static constexpr std::uint32_t kBias = 112U << 23;  // between the exponents of the two types
  std::uint16_t bits_;
};

}  // namespace tasuki
