// The table's one user.
#include "base/calls/function.hpp"

#include "generated/base/calls/function_table.hpp"

namespace tasuki {

const FunctionFacts& function_facts(Function function) {
  const auto number = static_cast<std::uint16_t>(function);
  return kFunctionTable[number < kFunctions ? number : 0];
}

}  // namespace tasuki
