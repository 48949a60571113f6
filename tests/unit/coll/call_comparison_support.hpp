// For tests of TASUKI_CHECK: worlds in which calls are compared, and calls that do not fit together.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "base/predefined.hpp"
#include "coll/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "support/predefined.hpp"
#include "support/world.hpp"

namespace tasuki::test {

inline WorldOptions checked(std::int64_t level = 2) {
  WorldOptions options;
  options.config.check = level;
  return options;
}

/// `call` must give the same error at all ranks; then a sum over all must work, so that none is out of step.
inline void expect_mismatch(int size, int error_class, const char* text,
                            const std::function<Code(Process&, Comm*)>& call) {
  run_ranks(
      size,
      [&](Process& process) {
        Comm* world = process.objects->world;
        const Code code = call(process, world);
        EXPECT_EQ(error_class_bits(code), error_class);
        EXPECT_NE(process.errors.text(code).find(text), std::string::npos) << process.errors.text(code);
        int one = 1, sum = 0;
        EXPECT_EQ(api::allreduce(process, &one, &sum, 1, type(process, kMpiInt), op(process, kMpiSum), world),
                  0);
        EXPECT_EQ(sum, size);
      },
      checked());
}

}  // namespace tasuki::test
