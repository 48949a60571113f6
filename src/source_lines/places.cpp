// libdw: the line table gives the line, the innermost scope with a name the function; without debug
// information the symbol table does.
#include "source_lines/places.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <sys/stat.h>

#include <cstdlib>

namespace tasuki::source_lines {
namespace {

char* debug_path = nullptr;  // libdw's own list of places

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

/// Where the byte at `offset` of the file lies in the module; false: it is not loaded.
bool address_of(Dwfl_Module* module, std::uint64_t offset, Dwarf_Addr* address) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  std::size_t segments = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &segments) != 0) return false;
  for (std::size_t index = 0; index < segments; ++index) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(index), &segment) == nullptr || segment.p_type != PT_LOAD)
      continue;
    if (offset < segment.p_offset || offset - segment.p_offset >= segment.p_filesz) continue;
    *address = segment.p_vaddr + (offset - segment.p_offset) + bias;
    return true;
  }
  return false;
}

/// A symbol as its author wrote it, without parameters.
std::string readable(const char* symbol) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 && plain != nullptr ? plain : symbol;
  std::free(plain);
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>') --depth;
    if (name[at] == '(' && depth == 0 && at > 0) name.resize(at);
  }
  return name;
}

/// The compilation unit of an address. LLVM's compilers write no table of addresses (.debug_aranges), so
/// where there is none in it each unit is asked.
Dwarf_Die* unit_at(Dwfl_Module* module, Dwarf_Addr address, Dwarf_Addr* bias) {
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, bias);
  if (unit != nullptr) return unit;
  while ((unit = dwfl_module_nextcu(module, unit, bias)) != nullptr) {
    if (dwarf_haspc(unit, address - *bias) == 1) return unit;
  }
  return nullptr;
}

std::string function_at(Dwfl_Module* module, Dwarf_Die* unit, Dwarf_Addr bias, Dwarf_Addr address) {
  Dwarf_Die* scopes = nullptr;
  const int count = unit != nullptr ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
  std::string name;
  for (int index = 0; index < count && name.empty(); ++index) {
    const int tag = dwarf_tag(&scopes[index]);
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine && tag != DW_TAG_entry_point) continue;
    if (const char* found = dwarf_diename(&scopes[index]); found != nullptr) name = found;
  }
  std::free(scopes);
  if (!name.empty()) return name;
  const char* const symbol = dwfl_module_addrname(module, address);
  return symbol != nullptr ? readable(symbol) : std::string();
}

}  // namespace

Places::~Places() {
  for (auto& [path, file] : files_) dwfl_end(file.session);
}

const Places::File& Places::open(const std::string& path) {
  const auto [entry, is_new] = files_.try_emplace(path);
  File& file = entry->second;
  if (!is_new) return file;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return file;
  file.inode = info.st_ino;
  file.session = dwfl_begin(&kCallbacks);
  if (file.session == nullptr) return file;
  dwfl_report_begin(file.session);
  file.module = dwfl_report_offline(file.session, path.c_str(), path.c_str(), -1);
  if (dwfl_report_end(file.session, nullptr, nullptr) != 0) file.module = nullptr;
  return file;
}

Place Places::find(const std::string& path, std::uint64_t offset, std::uint64_t inode) {
  Place place;
  const File& file = open(path);
  Dwarf_Addr address = 0;
  if (file.module == nullptr || file.inode != inode || !address_of(file.module, offset, &address)) {
    return place;
  }
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = unit_at(file.module, address, &bias);
  place.function = function_at(file.module, unit, bias, address);
  Dwarf_Line* const line = unit != nullptr ? dwarf_getsrc_die(unit, address - bias) : nullptr;
  const char* const source = line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  if (source == nullptr) return place;
  dwarf_lineno(line, &place.line);
  Dwarf_Attribute attribute;
  const char* const directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  place.source = source[0] == '/' || directory == nullptr ? source : std::string(directory) + "/" + source;
  return place;
}

}  // namespace tasuki::source_lines
