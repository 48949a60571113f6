// Reading programs and libraries: what they need, where they look for it, which symbols they have.
//
// A file is not trusted: what in it points outside of it counts as not there. Thread safety: no state.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tasuki::launch {

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

  /// The text at `offset`, without the zero at its end; empty when it has none before `end`, or the file's
  /// end.
  std::string_view text(std::uint64_t offset, std::uint64_t end = UINT64_MAX) const {
    end = std::min<std::uint64_t>(end, bytes_.size());
    if (offset >= end) return {};
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + offset,
                                static_cast<std::size_t>(end - offset));
    const std::size_t zero = rest.find('\0');
    return zero != std::string_view::npos ? rest.substr(0, zero) : std::string_view();
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
    valid_ = true;
    if (header[0].e_shentsize == sizeof(Elf64_Shdr))
      sections_ = file_.at<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  }

  /// Whether it is a program or a library of this kind of machine.
  bool valid() const { return valid_; }

  /// Calls `visit(name)` for each library that the program needs.
  template <class Visit>
  void each_needed(Visit&& visit) const {
    each_text(DT_NEEDED, visit);
  }

  /// Calls `visit(text)` for each entry of this kind in what the dynamic linker reads: DT_NEEDED, DT_RPATH …
  template <class Visit>
  void each_text(std::int64_t tag, Visit&& visit) const {
    for (const Elf64_Shdr& section : of_type(SHT_DYNAMIC)) {
      for (const Elf64_Dyn& entry :
           file_.at<Elf64_Dyn>(section.sh_offset, section.sh_size / sizeof(Elf64_Dyn)))
        if (entry.d_tag == tag) visit(text(section, entry.d_un.d_val));
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
    if (offset >= strings.sh_size || strings.sh_offset > UINT64_MAX - strings.sh_size) return {};
    return file_.text(strings.sh_offset + offset, strings.sh_offset + strings.sh_size);
  }

  static constexpr unsigned char kOwnData =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

  bool valid_ = false;
  FileView file_;
  std::span<const Elf64_Shdr> sections_;
};

}  // namespace tasuki::launch
