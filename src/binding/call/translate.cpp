// Conversions that the entries share; see translate.hpp.
#include "binding/call/translate.hpp"

namespace tasuki {

void* attribute_from_core(int keyval, void* value) {
  if (abi::kAbiMajor > 0 || value == nullptr) return value;
  static int cells[5];  // each always holds the same value once written, but for LASTUSEDCODE, which grows
  const auto put = [value](int cell, int (*from_core)(int)) {
    cells[cell] = from_core(*static_cast<int*>(value));
    return static_cast<void*>(&cells[cell]);
  };
  switch (keyval) {
    case kHost:
      return put(0, abi::rank_from_core);
    case kIo:
      return put(1, abi::rank_from_core);
    case kLastusedcode:
      return put(2, abi::error_from_core);
    case kWinCreateFlavor:
      return put(3, abi::win_flavor_from_core);
    case kWinModel:
      return put(4, abi::win_model_from_core);
    default:
      return value;
  }
}

void contents_from_core(const Datatype& datatype, int* integers) {
  const std::size_t size = datatype.integers.size();
  if (size == 0 || integers == nullptr) return;
  if (datatype.combiner == Combiner::kSubarray) {
    integers[size - 1] = abi::order_from_core(integers[size - 1]);
    return;
  }
  if (datatype.combiner != Combiner::kDarray) return;
  // size, rank, ndims, gsizes (among the large counts in the large form), distributions, arguments, psizes,
  // order
  const auto dimensions = static_cast<std::size_t>(integers[2]);
  const std::size_t distributions = datatype.wide ? 3 : 3 + dimensions;
  for (std::size_t i = 0; i < dimensions; ++i) {
    int& distribution = integers[distributions + i];
    int& argument = integers[distributions + dimensions + i];
    distribution = abi::distribution_from_core(distribution);
    argument = abi::darg_from_core(argument);
  }
  const std::size_t order = distributions + 3 * dimensions;
  integers[order] = abi::order_from_core(integers[order]);
}

}  // namespace tasuki
