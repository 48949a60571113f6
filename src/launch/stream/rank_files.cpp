// Names from patterns, files from names.
#include "launch/stream/rank_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace tasuki::launch {
namespace {

std::string with_rank(std::string pattern, const std::string& rank) {
  for (std::size_t at = 0; (at = pattern.find("%r", at)) != std::string::npos; at += rank.size()) {
    pattern.replace(at, 2, rank);
  }
  return pattern;
}

}  // namespace

RankPaths paths_of_rank(const Options& options, const std::string& rank) {
  RankPaths paths;
  if (!options.output_directory.empty()) {
    const std::string directory = options.output_directory + "/rank." + rank;
    paths = {directory + "/stdout", directory + "/stderr"};
  }
  if (!options.output_pattern.empty()) paths.output = with_rank(options.output_pattern, rank);
  if (!options.error_pattern.empty()) paths.error = with_rank(options.error_pattern, rank);
  return paths;
}

int create_file(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0777);  // when it fails, open() says why
  }
  return open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
}

}  // namespace tasuki::launch
