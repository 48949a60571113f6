// Who made the processor that this process runs on: what is fitted to one maker's caches is not taken for
// another's. TASUKI_PROCESSOR names another maker than that of the machine. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tasuki {

enum class ProcessorMaker : std::uint8_t { kIntel, kAmd, kOther };

constexpr const char* maker_text(ProcessorMaker maker) {
  constexpr const char* kTexts[] = {"Intel", "AMD", "another maker"};
  return kTexts[static_cast<int>(maker)];
}

/// The values of TASUKI_PROCESSOR: the processor that is there, then the makers in their order.
inline constexpr const char* kProcessorItems[] = {"automatic", "intel", "amd", "unknown"};
inline constexpr int kProcessorItemCount = 4;

/// The other way round; what is no such text is another maker.
constexpr ProcessorMaker maker_of(std::string_view text) {
  for (const ProcessorMaker maker : {ProcessorMaker::kIntel, ProcessorMaker::kAmd})
    if (text == maker_text(maker)) return maker;
  return ProcessorMaker::kOther;
}

inline ProcessorMaker processor_maker() {
#if defined(__x86_64__)
  unsigned int level = 0, first = 0, third = 0, second = 0;
  if (__get_cpuid(0, &level, &first, &third, &second) == 0) return ProcessorMaker::kOther;
  if (first == signature_INTEL_ebx) return ProcessorMaker::kIntel;
  if (first == signature_AMD_ebx) return ProcessorMaker::kAmd;
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
