// Reading symbols and needed libraries of ELF files.
#include "launch/program/program_facts.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "heap/choice/facts.hpp"
#include "launch/program/program_search.hpp"

namespace tasuki::launch {
namespace {

using heap::Companion;

/// Behind that a command has arguments, not programs.
constexpr std::size_t kWordsMax = 64;

constexpr unsigned char kOwnData = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

/// A file that is mapped for reading as long as this lives.
class FileView {
 public:
  explicit FileView(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return;
    struct stat info {};
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      void* memory = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (memory != MAP_FAILED)
        bytes_ = {static_cast<const std::byte*>(memory), static_cast<std::size_t>(info.st_size)};
    }
    close(fd);
  }
  ~FileView() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  FileView(const FileView&) = delete;
  FileView& operator=(const FileView&) = delete;

  /// `count` objects from `offset` on; empty when they are not all in the file, or not aligned.
  template <class T>
  std::span<const T> at(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return {};
    if (offset % alignof(T) != 0) return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), static_cast<std::size_t>(count)};
  }

 private:
  std::span<const std::byte> bytes_;
};

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path) {
    const auto header = file_.at<Elf64_Ehdr>(0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    if (header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_ident[EI_DATA] != kOwnData) return;
    if (header[0].e_shentsize == sizeof(Elf64_Shdr))
      sections_ = file_.at<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  }

  /// Calls `visit(name)` for each library that the program needs.
  template <class Visit>
  void each_needed(Visit&& visit) const {
    for (const Elf64_Shdr& section : of_type(SHT_DYNAMIC)) {
      for (const Elf64_Dyn& entry :
           file_.at<Elf64_Dyn>(section.sh_offset, section.sh_size / sizeof(Elf64_Dyn)))
        if (entry.d_tag == DT_NEEDED) visit(text(section, entry.d_un.d_val));
    }
  }

  /// Calls `visit(name)` for each symbol that the program has itself, and not from a library. `table`:
  /// SHT_DYNSYM, those that libraries see, or SHT_SYMTAB, all that a program has that is not stripped.
  template <class Visit>
  void each_symbol(std::uint32_t table, Visit&& visit) const {
    for (const Elf64_Shdr& section : of_type(table)) {
      for (const Elf64_Sym& symbol :
           file_.at<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym)))
        if (symbol.st_shndx != SHN_UNDEF) visit(text(section, symbol.st_name));
    }
  }

 private:
  std::vector<Elf64_Shdr> of_type(std::uint32_t type) const {
    std::vector<Elf64_Shdr> found;
    for (const Elf64_Shdr& section : sections_)
      if (section.sh_type == type) found.push_back(section);
    return found;
  }

  /// A string of the table that `section` names; empty when there is none.
  std::string_view text(const Elf64_Shdr& section, std::uint64_t offset) const {
    if (section.sh_link >= sections_.size()) return {};
    const Elf64_Shdr& strings = sections_[section.sh_link];
    const auto all = file_.at<char>(strings.sh_offset, strings.sh_size);
    if (offset >= all.size()) return {};
    const std::string_view rest(all.data() + offset, all.size() - static_cast<std::size_t>(offset));
    const std::size_t end = rest.find('\0');
    return end != std::string_view::npos ? rest.substr(0, end) : std::string_view();
  }

  FileView file_;
  std::span<const Elf64_Shdr> sections_;
};

void add_library(const std::string& name, heap::Facts* facts) {
  for (const Companion& sanitizer : heap::kSanitizers)
    if (heap::is_library_of(sanitizer, name.c_str())) facts->sanitizer = sanitizer.reason;
  for (const Companion& allocator : heap::kAllocators)
    if (heap::is_library_of(allocator, name.c_str())) facts->other_allocator = allocator.reason;
}

void add_symbol(std::string_view name, heap::Facts* facts) {
  if (name == "malloc" && facts->other_allocator == nullptr) facts->other_allocator = heap::kSomeAllocator;
  for (const Companion& sanitizer : heap::kSanitizers)
    if (name == sanitizer.symbol) facts->sanitizer = sanitizer.reason;
  for (const Companion& allocator : heap::kAllocators)
    if (name == allocator.symbol) facts->other_allocator = allocator.reason;
}

/// The files of a list such as LD_PRELOAD's.
void add_list(const char* list, heap::Facts* facts) {
  while (list != nullptr && *list != '\0') {
    const std::size_t length = std::strcspn(list, ": ");
    add_library(std::string(list, length), facts);
    list += length + (list[length] != '\0' ? 1 : 0);
  }
}

/// valgrind itself, and how it is called in its source tree and by builds for other machines.
bool is_valgrind(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  return name == "valgrind" || name == "valgrind.bin" || name == "vg-in-place" || name.ends_with("-valgrind");
}

}  // namespace

void add_file_facts(const std::string& path, heap::Facts* facts) {
  const ElfFile file(path);
  const auto add = [facts](std::string_view name) { add_symbol(name, facts); };
  file.each_needed([facts](std::string_view name) { add_library(std::string(name), facts); });
  file.each_symbol(SHT_DYNSYM, add);
  // A malloc of its own may be a sanitizer's, which only the other table shows.
  if (facts->other_allocator != nullptr && facts->sanitizer == nullptr) file.each_symbol(SHT_SYMTAB, add);
}

void add_program_facts(const std::vector<std::string>& command, const CommandPlace& place,
                       heap::Facts* facts) {
  constexpr std::string_view kPreload = "LD_PRELOAD=";
  add_list(place.preload, facts);
  for (std::size_t i = 0; i < std::min(command.size(), kWordsMax); ++i) {
    const std::string& word = command[i];
    if (word.starts_with(kPreload)) add_list(word.c_str() + kPreload.size(), facts);
    if (word.empty() || word[0] == '-') continue;
    const FoundProgram program = find_program(word, place.directory, place.path_variable);
    if (program.error != 0) continue;
    if (is_valgrind(word)) facts->valgrind = true;
    const bool below = !place.directory.empty() && program.path[0] != '/';
    add_file_facts(below ? place.directory + "/" + program.path : program.path, facts);
  }
}

}  // namespace tasuki::launch
