// The words of mbl's command line (see options.hpp).
#include "options.hpp"

#include <cmath>
#include <cstdlib>

namespace mbl {

const char kHelp[] =
    R"(mbl: measures an MPI library. Run it under mpiexec; docs/mbl.md says what is measured and how.

  mpiexec -n 2 mbl --list [--quick]    the cases, a line of JSON each: id, bytes, ranks, doc
  mpiexec -n 2 mbl [options]           measures them; a line of JSON each

  --quick             fewer sizes and variants, and a budget of 0.08 s
  --budget SECONDS    for the samples of a case (0.1)
  --width FRACTION    a case is settled when the 95 % interval of its median is narrower than
                      this part of the median (0.05)
  --cases FILE        these cases alone, in this order: lines "ID BYTES"
  --only PREFIX...    cases whose ids begin with one of these
  --folder DIR        where the group io makes its files (the working directory)
  --cold              take the caches' content away before each sample
  --thread-multiple   begin MPI with MPI_THREAD_MULTIPLE; one thread calls it all the same
  --threads N         also point_to_point/threads: with 1, 2, 4 to N threads of each rank (begins MPI with
                      MPI_THREAD_MULTIPLE)
  --out FILE          add the rows to FILE (standard output)
)";

namespace {

constexpr double kQuickBudgetSeconds = 0.08;
constexpr double kThreadsMax = 256;

/// The word as a number above 0, and at most `most`; else what is wrong goes to `options`.
double positive(const std::string& option, const char* word, double most, Options& options) {
  char* end = nullptr;
  const double value = std::strtod(word, &end);
  if (end == word || *end != '\0' || !(value > 0) || !(value <= most)) {
    options.wrong = option + ": " + word + ", expected a number above 0 and at most " +
                    std::to_string(static_cast<int>(most));
  }
  return value;
}

/// Takes the value of an option that has one. Returns whether there is such an option.
bool take_value(const std::string& option, const char* value, Options& options) {
  if (option == "--budget") {
    options.limits.budget_seconds = positive(option, value, 3600, options);
  } else if (option == "--width") {
    options.limits.width = positive(option, value, 1, options);
  } else if (option == "--threads") {
    options.threads = static_cast<int>(positive(option, value, kThreadsMax, options));
    if (options.wrong.empty() && options.threads < 1)
      options.wrong = option + ": " + value + ", expected 1 or more";
    options.thread_multiple = true;
  } else if (option == "--cases") {
    options.cases = value;
  } else if (option == "--only") {
    options.only.push_back(value);
  } else if (option == "--folder") {
    options.folder = value;
  } else if (option == "--out") {
    options.out = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  bool budget = false;
  for (int i = 1; i < argc && options.wrong.empty(); ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      options.list = true;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--quick") {
      options.quick = true;
    } else if (word == "--thread-multiple") {
      options.thread_multiple = true;
    } else if (word == "--cold") {
      options.limits.cold = true;
    } else if (i + 1 < argc && take_value(word, argv[i + 1], options)) {
      budget = budget || word == "--budget";
      ++i;
      // --only takes all words up to the next option.
      while (word == "--only" && i + 1 < argc && argv[i + 1][0] != '-') options.only.push_back(argv[++i]);
    } else if (i + 1 == argc && take_value(word, "1", options)) {
      options.wrong = word + ": nothing follows, expected its value";
    } else {
      options.wrong = word + ": no such option (--help lists them)";
    }
  }
  if (options.quick && !budget) options.limits.budget_seconds = kQuickBudgetSeconds;
  return options;
}

}  // namespace mbl
