// The parameters that are built in for the maker of a machine's processors. What differs most between makers
// is what it takes that a cache line travels from the processor that wrote it to one that reads it.
//
// Those of AMD are fitted to times among 2 to 16 ranks on an EPYC (family 25, model 17) with two processors,
// more to what its choices cost than to the times (docs/tuning.md); those of all others are the ones of
// tuning/parameters.hpp.
//
// Pure. All ranks of a job take those of one maker (environment/process.cpp).
#pragma once

#include "base/system/processor_maker.hpp"
#include "tuning/parameters.hpp"

namespace tasuki {

inline Parameters parameters_of(ProcessorMaker maker) {
  Parameters parameters;
  if (maker != ProcessorMaker::kAmd) return parameters;
  parameters.cache = {99.8, 98.7, 32.7, 32.3, 571};
  parameters.plan_ns = 44;
  parameters.reduced_bytes_per_ns = 25.8;
  parameters.copied_bytes_per_ns = 50.5;
  parameters.travelled_bytes_per_ns = 4.56;
  parameters.cache_bytes = 7320000;
  parameters.node_bytes_per_ns = 37.2;
  parameters.call_ns = 104;
  parameters.flag_ns = 219;
  parameters.flag_read_ns = 140;
  parameters.cell_bytes_per_ns = 43.8;
  parameters.expose_ns = 473;
  parameters.get_bytes_per_ns = 49.1;
  parameters.reduced_in_place_bytes_per_ns = 31.1;
  parameters.turn_ns = 1280;
  return parameters;
}

}  // namespace tasuki
