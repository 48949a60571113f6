// The helpers of suite.hpp.
#include "suite.hpp"

#include <cstdio>

namespace mbl {

std::vector<std::int64_t> powers_of_two(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> sizes;
  if (first == 0) sizes.push_back(0);
  for (std::int64_t bytes = first == 0 ? 1 : first; bytes <= last; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

void add_in_use(Catalogue& catalogue, Benchmark benchmark, const std::vector<std::int64_t>& untouched) {
  Benchmark used = benchmark;
  used.variant += used.variant.empty() ? "touched=yes" : ",touched=yes";
  used.touched = true;
  catalogue.push_back(std::move(used));
  if (untouched.empty()) return;
  benchmark.quick_bytes = untouched;
  add_untouched(catalogue, std::move(benchmark));
}

void add_untouched(Catalogue& catalogue, Benchmark benchmark) {
  benchmark.variant += benchmark.variant.empty() ? "touched=no" : ",touched=no";
  catalogue.push_back(std::move(benchmark));
}

void require(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::fprintf(stderr, "mbl: %s: %s\n", call, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace mbl
