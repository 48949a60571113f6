// Only files named as a run's are looked at: what else lies in the directory stays.
#include "directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "agree.hpp"

namespace spam {
namespace {

namespace fs = std::filesystem;

bool is_of_a_run(const std::string& name) {
  const auto is = [&](const char* begin, const char* end) {
    return name.starts_with(begin) && name.ends_with(end);
  };
  return name == "run.json" || is("snapshot-", ".vtkhdf") || is("restart-", ".spam");
}

/// Empty, or what is wrong.
std::string prepare(const std::string& directory, Earlier earlier) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!fs::is_directory(directory))
    return fmt::format("--output {}: cannot be made: {}", directory,
                       error ? error.message() : "something else has this name");
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    return fmt::format("--output {}: cannot be written to: {}", directory, std::strerror(errno));
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (is_of_a_run(entry.path().filename().string())) left.push_back(entry.path());
  if (!left.empty() && earlier == Earlier::kRefuse)
    return fmt::format("--output {}: holds a run already ({}); expected another directory, or --overwrite",
                       directory, left.front().filename().string());
  if (earlier == Earlier::kRemove)
    for (const fs::path& file : left)
      if (!error) fs::remove(file, error);
  return error ? fmt::format("--output {}: {}", directory, error.message()) : "";
}

}  // namespace

void prepare_directory(MPI_Comm comm, const std::string& directory, Earlier earlier) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  agree(comm, rank == 0 ? prepare(directory, earlier) : "");
}

}  // namespace spam
