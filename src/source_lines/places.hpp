// Places: what the debug information of a file says of a place in it. Each file is opened once.
//
// One thread. The program that this belongs to may crash over a broken file: mpiexec goes on without it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

struct Dwfl;
struct Dwfl_Module;

namespace tasuki::source_lines {

struct Place {
  std::string function;  // empty: unknown
  std::string source;    // path; empty: unknown
  int line = 0;
};

class Places {
 public:
  ~Places();

  /// Of the instruction at `offset` in the file. `inode`: another file that lies at that path now tells
  /// nothing.
  Place find(const std::string& path, std::uint64_t offset, std::uint64_t inode);

 private:
  struct File {
    Dwfl* session = nullptr;
    Dwfl_Module* module = nullptr;  // null: it cannot be read
    std::uint64_t inode = 0;
  };

  const File& open(const std::string& path);

  std::map<std::string, File> files_;
};

}  // namespace tasuki::source_lines
