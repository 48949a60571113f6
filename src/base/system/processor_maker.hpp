// Who made the processor that this process runs on: what is fitted to one maker's caches is not taken for
// another's. A virtual machine of AMD's counts as a maker of its own: its host may move its processors to
// others, which have no cache in common, whatever the machine says of that. TASUKI_PROCESSOR names another
// maker than that of the machine. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tasuki {

enum class ProcessorMaker : std::uint8_t { kIntel, kAmd, kVirtualAmd, kOther };

constexpr const char* maker_text(ProcessorMaker maker) {
  constexpr const char* kTexts[] = {"Intel", "AMD", "AMD (virtual)", "another maker"};
  return kTexts[static_cast<int>(maker)];
}

/// The values of TASUKI_PROCESSOR: the processor that is there, then the makers in their order.
inline constexpr const char* kProcessorItems[] = {"automatic", "intel", "amd", "amd-virtual", "unknown"};
inline constexpr int kProcessorItemCount = 5;

/// The other way round; what is no such text is another maker.
constexpr ProcessorMaker maker_of(std::string_view text) {
  for (const ProcessorMaker maker :
       {ProcessorMaker::kIntel, ProcessorMaker::kAmd, ProcessorMaker::kVirtualAmd})
    if (text == maker_text(maker)) return maker;
  return ProcessorMaker::kOther;
}

inline ProcessorMaker processor_maker() {
#if defined(__x86_64__)
  unsigned int level = 0, first = 0, third = 0, second = 0;
  if (__get_cpuid(0, &level, &first, &third, &second) == 0) return ProcessorMaker::kOther;
  if (first == signature_INTEL_ebx) return ProcessorMaker::kIntel;
  if (first == signature_AMD_ebx) {
    constexpr unsigned int kHypervisor = 1U << 31;
    const bool is_virtual =
        __get_cpuid(1, &level, &first, &third, &second) != 0 && (third & kHypervisor) != 0;
    return is_virtual ? ProcessorMaker::kVirtualAmd : ProcessorMaker::kAmd;
  }
#endif
  return ProcessorMaker::kOther;
}

/// Whose built-in parameters this process uses; `item`: the place of a value in kProcessorItems.
inline ProcessorMaker processor_maker(std::int64_t item) {
  return item == 0 ? processor_maker() : static_cast<ProcessorMaker>(item - 1);
}
constexpr std::int64_t processor_item(ProcessorMaker maker) {
  return 1 + static_cast<std::int64_t>(maker);
}

}  // namespace tasuki
