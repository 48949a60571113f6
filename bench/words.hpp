// The words of a benchmark program's command line: what algorithms.cpp and message_ways.cpp share. Plain C++.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

/// Says what is wrong with a word, and ends the job.
[[noreturn]] inline void refuse_word(const char* program, const std::string& word,
                                     const std::string& reason) {
  std::fprintf(stderr, "%s: \"%s\": %s\n", program, word.c_str(), reason.c_str());
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}

/// The parts of `text` between the marks; one at least.
inline std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == mark) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}
