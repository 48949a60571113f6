// The parameters that are built in for the maker of a machine's processors. What differs most between makers
// is what it takes that a cache line travels from the processor that wrote it to one that reads it.
//
// Those of AMD are fitted to times of data in use among 2 to 16 ranks on an EPYC (family 25, model 17), a
// virtual machine with two processors, more to what its choices cost than to the times (docs/tuning.md);
// those of all others are the ones of tuning/parameters.hpp.
//
// Pure. All ranks of a job take those of one maker (environment/process.cpp).
#pragma once

#include "base/distance_tables.hpp"
#include "base/system/processor_maker.hpp"
#include "tuning/parameters.hpp"

namespace tasuki {

inline Parameters parameters_of(ProcessorMaker maker) {
  Parameters parameters;
  if (maker != ProcessorMaker::kAmd) return parameters;
  const DistanceTables& tables = distance_tables(maker);
  CopyThresholds* const copies[] = {&parameters.cache_copies, &parameters.package_copies,
                                    &parameters.machine_copies};
  for (std::size_t i = 0; i < kDistances; ++i)
    if (tables[i].stream_bytes_min != kNeverStreamed)
      copies[i]->stream_bytes_min = static_cast<double>(tables[i].stream_bytes_min);
  parameters.cache = {85.3, 176, 40.5, 23.1, 1510};
  parameters.plan_ns = 66.9;
  parameters.reduced_bytes_per_ns = 17.8;
  parameters.copied_bytes_per_ns = 29.6;
  parameters.travelled_bytes_per_ns = 4.7;
  parameters.streamed_bytes_per_ns = 18.6;
  parameters.cache_bytes = 5680000;
  parameters.node_bytes_per_ns = 28.8;
  parameters.call_ns = 98.4;
  parameters.flag_ns = 212;
  parameters.flag_read_ns = 121;
  parameters.cell_bytes_per_ns = 21.4;
  parameters.expose_ns = 493;
  parameters.get_bytes_per_ns = 38.2;
  parameters.reduced_in_place_bytes_per_ns = 29.1;
  parameters.turn_ns = 1260;
  return parameters;
}

/// Without streaming: what holds of a measured table while lines are known to travel near.
inline Parameters without_streaming(Parameters parameters) {
  for (CopyThresholds* copies :
       {&parameters.cache_copies, &parameters.package_copies, &parameters.machine_copies})
    copies->stream_bytes_min = 0;
  return parameters;
}

/// What is built in for ranks whose lines are known to travel near (protocol/line_pace.hpp), made from
/// `parameters`, those of the same maker: fitted on the same machine, while a line took 110 to 125 ns there
/// and back, by the times of ten collectives of 8 bytes to 1 MiB among 2 and 4 ranks. Only AMD's lines are
/// ever looked at.
inline Parameters near_parameters_of(ProcessorMaker maker, Parameters parameters) {
  if (maker != ProcessorMaker::kAmd) return parameters;
  Parameters near = without_streaming(parameters);
  near.cache = {20, 47, 50, 40, 600};
  near.reduced_bytes_per_ns = 62;
  near.copied_bytes_per_ns = 60;
  near.travelled_bytes_per_ns = 30;
  near.call_ns = 13;
  near.flag_ns = 62;
  near.cell_bytes_per_ns = 30;
  near.expose_ns = 420;
  return near;
}

}  // namespace tasuki
