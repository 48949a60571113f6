// The parameters that are built in for the maker of a machine's processors. What differs most between makers
// is what it takes that a cache line travels from the processor that wrote it to one that reads it.
//
// Those of AMD are fitted to an EPYC (family 25, model 17) with two processors by `make fit-collectives`;
// those of all others are the ones of tuning/parameters.hpp.
//
// Pure. All ranks of a job take those of one maker (environment/process.cpp).
#pragma once

#include "base/system/processor_maker.hpp"
#include "tuning/parameters.hpp"

namespace tasuki {

inline Parameters parameters_of(ProcessorMaker maker) {
  Parameters parameters;
  if (maker != ProcessorMaker::kAmd) return parameters;
  parameters.cache = {165, 87.3, 36.8, 20.2, 941};
  parameters.plan_ns = 207;
  parameters.reduced_bytes_per_ns = 26.4;
  parameters.copied_bytes_per_ns = 57.9;
  parameters.travelled_bytes_per_ns = 3.64;
  parameters.cache_bytes = 7820000;
  parameters.node_bytes_per_ns = 35.4;
  parameters.call_ns = 155;
  parameters.flag_ns = 198;
  parameters.flag_read_ns = 114;
  parameters.cell_bytes_per_ns = 17.9;
  parameters.expose_ns = 440;
  parameters.get_bytes_per_ns = 39.9;
  parameters.reduced_in_place_bytes_per_ns = 22.8;
  parameters.turn_ns = 1540;
  return parameters;
}

}  // namespace tasuki
