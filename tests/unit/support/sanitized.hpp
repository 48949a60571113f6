// Whether the tests run under a sanitizer, where all is several times slower.
#pragma once

namespace tasuki::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tasuki::test
