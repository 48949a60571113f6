// Function: every function of MPI by a number, and what is known of each: what a CallLine (call_board.hpp)
// holds of its arguments, and how it behaves. Made by bindgen/function_table.py from the standard's
// machine-readable form.
//
// Constant data; any thread.
#pragma once

#include <cstdint>

#include "generated/base/calls/function_list.hpp"

namespace tasuki {

struct FunctionFacts {
  const char* name;  // "MPI_Send"; of kNone ""
  // Names of the arguments that stand on the line; "": it has no such argument.
  const char* object;  // CallLine::comm: "comm", "win", "fh"
  const char* peer;    // "dest", "source", "target_rank", "rank", "root"
  const char* tag;     //
  const char* count;   // also that of an array of requests
  const char* type;    //
  const char* op;      //
  bool is_collective;  // all processes of a group have to call it
  bool may_wait;       // it may return only after another process has done something
};

/// Of numbers that are no function: as of kNone.
const FunctionFacts& function_facts(Function function);

inline const char* function_name(Function function) {
  return function_facts(function).name;
}

}  // namespace tasuki
