// What a command line's programs bring with them, from files that are right, damaged or not there.
#include "launch/program/program_facts.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "launch/program/mpi_libraries.hpp"

namespace tasuki::launch {
namespace {

/// An ELF file with one symbol and one library that it needs, as far as the reader looks.
struct Image {
  Elf64_Ehdr header{};
  Elf64_Sym symbols[2]{};
  Elf64_Dyn dynamic[2]{};
  char strings[64]{};
  Elf64_Shdr sections[4]{};

  Image(const char* symbol, bool defined, const char* needed) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = offsetof(Image, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 4;
    std::strcpy(strings + 1, symbol);
    const std::size_t second = 2 + std::strlen(symbol);
    std::strcpy(strings + second, needed);
    symbols[1].st_name = 1;
    symbols[1].st_shndx = defined ? 1 : SHN_UNDEF;
    dynamic[0].d_tag = DT_NEEDED;
    dynamic[0].d_un.d_val = second;
    describe(1, SHT_DYNSYM, offsetof(Image, symbols), sizeof symbols);
    describe(2, SHT_DYNAMIC, offsetof(Image, dynamic), sizeof dynamic);
    describe(3, SHT_STRTAB, offsetof(Image, strings), sizeof strings);
  }

  void describe(int index, std::uint32_t type, std::size_t offset, std::size_t size) {
    sections[index].sh_type = type;
    sections[index].sh_offset = offset;
    sections[index].sh_size = size;
    sections[index].sh_link = 3;
  }
};

class ProgramFacts : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tasuki-program-facts-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(folder_.c_str());
  }

  std::string write(const std::string& name, const void* bytes, std::size_t size) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary)
        .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    chmod(path.c_str(), 0700);
    files_.push_back(path);
    return path;
  }

  heap::Facts facts_of(const Image& image) {
    heap::Facts facts;
    add_file_facts(write("program", &image, sizeof image), &facts);
    return facts;
  }

  std::string folder_;
  std::vector<std::string> files_;
};

TEST_F(ProgramFacts, FindSymbolsAndLibraries) {
  EXPECT_EQ(facts_of({"main", true, "libc.so.6"}).sanitizer, nullptr);
  EXPECT_EQ(facts_of({"main", true, "libc.so.6"}).other_allocator, nullptr);
  EXPECT_NE(facts_of({"__asan_init", true, "libc.so.6"}).sanitizer, nullptr);
  EXPECT_EQ(facts_of({"__asan_init", false, "libc.so.6"}).sanitizer, nullptr) << "only asked for";
  EXPECT_NE(facts_of({"main", true, "libtsan.so.2"}).sanitizer, nullptr);
  EXPECT_NE(facts_of({"malloc", true, "libc.so.6"}).other_allocator, nullptr);
  EXPECT_EQ(facts_of({"malloc", false, "libc.so.6"}).other_allocator, nullptr);
  EXPECT_NE(facts_of({"main", true, "libjemalloc.so.2"}).other_allocator, nullptr);
  EXPECT_EQ(facts_of({"main", true, "libubsan.so.1"}).sanitizer, nullptr);
}

// Nothing that a file says is believed: the test is that no read leaves the file.
TEST_F(ProgramFacts, SurviveDamagedFiles) {
  const Image image("__asan_init", true, "libasan.so.8");
  std::vector<unsigned char> bytes(sizeof image);
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::memcpy(bytes.data(), &image, sizeof image);
    for (int i = 0; i < 4; ++i)
      bytes[SELFMAG + random() % (bytes.size() - SELFMAG)] = static_cast<unsigned char>(random());
    heap::Facts facts;
    const std::size_t size = round % 2 == 0 ? bytes.size() : random() % bytes.size();
    const std::string path = folder_ + "/damaged";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
    add_file_facts(path, &facts);
    mpi_libraries_of(path, folder_);
    has_mpi_inside(path);
  }
  files_.push_back(folder_ + "/damaged");
  heap::Facts facts;
  add_file_facts(folder_ + "/not-there", &facts);
  add_file_facts(folder_, &facts);
  EXPECT_EQ(facts.sanitizer, nullptr);
}

TEST_F(ProgramFacts, TellMpiLibrariesFromOthers) {
  const Image library("MPI_Init", true, "libc.so.6"), own("tasuki_fortran_site", true, "libc.so.6");
  for (const char* name :
       {"libmpi.so.40", "libmpicxx.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi"})
    write(name, &library, sizeof library);
  write("libmpi.so.12", &own, sizeof own);
  const auto found = [this](const char* needed) {
    const Image image("main", true, needed);
    return mpi_libraries_of(write("program", &image, sizeof image), "/nowhere:" + folder_);
  };
  for (const char* name : {"libmpi.so.40", "libmpich.so.12", "libmpi_cray.so.12"}) {
    ASSERT_EQ(found(name).size(), 1u) << name;
    EXPECT_EQ(found(name).front().path, folder_ + "/" + name);
    EXPECT_TRUE(found(name).front().by_variable);
    EXPECT_FALSE(found(name).front().is_tasuki);
  }
  EXPECT_TRUE(found("libmpi.so.12").front().is_tasuki);
  for (const char* name : {"libmpicxx.so.12", "libmpi", "libmpi.so.99", ""})
    EXPECT_TRUE(found(name).empty()) << name;
}

TEST_F(ProgramFacts, LookAtEveryWordOfACommand) {
  const Image watched("__tsan_init", true, "libc.so.6");
  const std::string program = write("program", &watched, sizeof watched);
  const std::string tool = write("valgrind", "#!/bin/sh\n", 10);
  const auto facts_of_command = [&](const std::vector<std::string>& command, const char* preload = nullptr) {
    heap::Facts facts;
    add_program_facts(command, {.directory = folder_, .path_variable = folder_.c_str(), .preload = preload},
                      &facts);
    return facts;
  };
  EXPECT_NE(facts_of_command({"env", "A=B", program}).sanitizer, nullptr);
  EXPECT_NE(facts_of_command({"./program"}).sanitizer, nullptr) << "below the directory";
  EXPECT_NE(facts_of_command({"program"}).sanitizer, nullptr) << "by PATH";
  EXPECT_EQ(facts_of_command({"./other", "data", ""}).sanitizer, nullptr);
  EXPECT_TRUE(facts_of_command({"timeout", "3", "valgrind", "-q", "x"}).valgrind);
  EXPECT_TRUE(facts_of_command({tool}).valgrind);
  EXPECT_FALSE(facts_of_command({"other", "/not/there/valgrind"}).valgrind);
  EXPECT_NE(facts_of_command({"env", "LD_PRELOAD=/x/libother.so:libjemalloc.so.2", "x"}).other_allocator,
            nullptr);
  EXPECT_NE(facts_of_command({"x"}, "libx.so libasan.so.8").sanitizer, nullptr);
  EXPECT_EQ(facts_of_command({}, "").sanitizer, nullptr);
}

}  // namespace
}  // namespace tasuki::launch
