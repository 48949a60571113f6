// Reading /proc/PID/maps, and the way of some of its lines through shared memory.
#include "base/calls/mapped_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/stable_sort.hpp"

namespace tasuki {
namespace {

/// The number at the start of `text`, which it takes away with the `separator` behind it.
bool take_number(std::string_view* text, int base, char separator, std::uint64_t* number) {
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, *number, base);
  if (error != std::errc() || stop == end || *stop != separator) return false;
  text->remove_prefix(static_cast<std::size_t>(stop - text->data()) + 1);
  return true;
}

bool take_word(std::string_view* text, std::string_view* word) {
  const std::size_t space = text->find(' ');
  if (space == std::string_view::npos) return false;
  *word = text->substr(0, space);
  text->remove_prefix(space + 1);
  return true;
}

/// A library that calls no MPI function, or is the one that is called.
bool is_of_the_system(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const std::string_view name = slash != nullptr ? slash + 1 : path;
  for (const std::string_view start :
       {"libc.", "libc-", "ld-linux", "ld.", "ld-", "libm.", "libm-", "libpthread", "libdl.", "libdl-",
        "librt.", "libutil.", "libgcc_s.", "libstdc++.", "libmpi.so", "libmpi_abi.so", "libtasuki_"}) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

std::vector<MappedFile> read_mappings(const std::string& path) {
  std::vector<MappedFile> files;
  std::ifstream maps(path);
  MappedFile file;
  for (std::string line; std::getline(maps, line);) {
    if (read_mapping(line, &file)) files.push_back(file);
  }
  return files;
}

}  // namespace

/// "55d0-55e0 r-xp 00001000 08:01 1234    /home/a/ring"
bool read_mapping(std::string_view line, MappedFile* file) {
  std::string_view rights;
  std::string_view device;
  *file = {};
  if (!take_number(&line, 16, '-', &file->begin) || !take_number(&line, 16, ' ', &file->end) ||
      !take_word(&line, &rights) || !take_number(&line, 16, ' ', &file->offset) ||
      !take_word(&line, &device) || !take_number(&line, 10, ' ', &file->inode)) {
    return false;
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const bool whole = !line.ends_with(" (deleted)") && line.size() < sizeof file->path;
  if (rights.size() < 3 || rights[2] != 'x' || !whole || line.empty() || line[0] != '/' ||
      file->end <= file->begin) {
    return false;
  }
  std::memcpy(file->path, line.data(), line.size());
  return true;
}

std::vector<MappedFile> mapped_files(int pid) {
  return read_mappings("/proc/" + std::to_string(pid) + "/maps");
}

std::vector<MappedFile> published_files(const CallBoard& board) {
  std::vector<MappedFile> files;
  const std::uint32_t known = board.files_known.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < std::min<std::uint32_t>(known, kMappedFiles); ++index) {
    MappedFile file = board.files[index];
    if (file.end <= file.begin || file.path[0] != '/' ||
        std::memchr(file.path, '\0', sizeof file.path) == nullptr) {
      continue;
    }
    files.push_back(file);
  }
  return files;
}

void publish_files(std::uint64_t caller, CallBoard* board) {
  if (board->files_known.load(std::memory_order_relaxed) != 0) return;
  std::vector<MappedFile> files = read_mappings("/proc/self/maps");
  char program[sizeof MappedFile::path] = "";
  [[maybe_unused]] const auto length = readlink("/proc/self/exe", program, sizeof program - 1);
  const auto distance = [&](const MappedFile& file) {
    if (std::strcmp(file.path, program) == 0) return 0;
    if (file.begin <= caller && caller < file.end) return 1;
    return is_of_the_system(file.path) ? 3 : 2;
  };
  stable_sort(&files, [&](const MappedFile& one, const MappedFile& other) {
    return distance(one) < distance(other);
  });
  const std::size_t count = std::min<std::size_t>(files.size(), kMappedFiles);
  std::copy_n(files.begin(), count, board->files);
  board->files_known.store(static_cast<std::uint32_t>(count), std::memory_order_release);
}

}  // namespace tasuki
