// The words of mbl's command line. Pure.
#pragma once

#include <string>
#include <vector>

#include "method.hpp"

namespace mbl {

struct Options {
  bool list = false;
  bool help = false;
  bool quick = false;
  bool thread_multiple = false;  // MPI is begun with MPI_THREAD_MULTIPLE
  int threads = 0;  // the most of a rank that call at the same time; 0: one thread, without MULTIPLE
  Limits limits;
  std::string cases;              // a file of lines "ID BYTES"; empty: all
  std::vector<std::string> only;  // ids begin with one of these; empty: all
  std::string folder = ".";
  std::string out;    // rows are added there; empty: standard output
  std::string wrong;  // what is wrong with the words, in a line; empty: nothing
};

Options read_options(int argc, char** argv);

extern const char kHelp[];

}  // namespace mbl
