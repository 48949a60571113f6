// Reading symbols and needed libraries of ELF files.
#include "launch/program/program_facts.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "heap/choice/facts.hpp"
#include "launch/program/elf_file.hpp"
#include "launch/program/program_search.hpp"

namespace tasuki::launch {
namespace {

using heap::Companion;

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
  for (std::size_t i = 0; i < std::min(command.size(), kProgramWordsMax); ++i) {
    const std::string& word = command[i];
    if (word.starts_with(kPreload)) add_list(word.c_str() + kPreload.size(), facts);
    if (word.empty() || word[0] == '-') continue;
    const std::string path = path_of_program(word, place.directory, place.path_variable);
    if (path.empty()) continue;
    if (is_valgrind(word)) facts->valgrind = true;
    add_file_facts(path, facts);
  }
}

}  // namespace tasuki::launch
