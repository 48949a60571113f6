// The dynamic linker's search, as far as it finds MPI libraries.
#include "launch/program/mpi_libraries.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <set>
#include <string_view>

#include "launch/base/format.hpp"
#include "launch/program/elf_file.hpp"

namespace tasuki::launch {
namespace {

/// More files than any program loads.
constexpr std::size_t kFilesMax = 4096;

/// What stands before ".so" in the names of MPI libraries: MPICH's, Debian's, Open MPI's, the standard's,
/// Cray's.
constexpr std::array<std::string_view, 6> kStems = {"libmpi",     "libmpich",     "libmpi_abi",
                                                    "libmpifort", "libmpichfort", "libmpifort_abi"};
constexpr std::array<std::string_view, 2> kStemBeginnings = {"libmpi_cray", "libmpi_gnu"};

/// MPICH's C++ bindings, which its mpicxx links to every program. MPI 3.0 removed them; ours is empty.
constexpr std::string_view kCxxBindings = "libmpicxx.so.12";

bool is_mpi_library(std::string_view name) {
  const std::size_t end = name.find(".so");
  if (end == std::string_view::npos) return false;
  const std::string_view stem = name.substr(0, end);
  const auto begins = [stem](std::string_view beginning) { return stem.starts_with(beginning); };
  return std::find(kStems.begin(), kStems.end(), stem) != kStems.end() ||
         std::any_of(kStemBeginnings.begin(), kStemBeginnings.end(), begins);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

/// The file itself, behind links.
std::string real_path(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string text = real;
  free(real);
  return text;
}

std::vector<std::string> parts_of(std::string_view list, std::string_view separators) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

void replace_all(std::string* text, std::string_view what, const std::string& by) {
  for (std::size_t at = text->find(what); at != std::string::npos; at = text->find(what, at + by.size()))
    text->replace(at, what.size(), by);
}

/// A program or library on the way, and where it looks for what it needs.
struct Object {
  std::string path;
  std::vector<std::string> before;  // RPATH: its own, and those of what has loaded it
  std::vector<std::string> behind;  // RUNPATH
};

Object object_of(const ElfFile& file, const std::string& path, const Object* loader) {
  Object object{.path = path, .before = {}, .behind = {}};
  const std::string origin = folder_of(real_path(path));
  const auto add_to = [&origin](std::vector<std::string>* folders) {
    return [folders, &origin](std::string_view list) {
      for (std::string& folder : parts_of(list, ":")) {
        for (const char* name : {"$ORIGIN", "${ORIGIN}"}) replace_all(&folder, name, origin);
        for (const char* name : {"$LIB", "${LIB}"}) replace_all(&folder, name, "lib64");
        folders->push_back(std::move(folder));
      }
    };
  };
  file.each_text(DT_RUNPATH, add_to(&object.behind));
  if (object.behind.empty()) file.each_text(DT_RPATH, add_to(&object.before));
  if (loader != nullptr)
    object.before.insert(object.before.end(), loader->before.begin(), loader->before.end());
  return object;
}

/// /etc/ld.so.cache: file_.at() of these, as glibc writes it since 2.2.
struct CacheHeader {
  char magic[20];  // "glibc-ld.so.cache1.1"
  std::uint32_t entries;
  std::uint32_t others[6];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name;  // where the texts are, from the file's begin
  std::uint32_t path;
  std::uint32_t others[3];
};

class LinkerCache {
 public:
  explicit LinkerCache(const char* path) : file_(path) {
    const auto header = file_.at<CacheHeader>(0, 1);
    if (!header.empty() && std::memcmp(header[0].magic, "glibc-ld.so.cache1.1", 20) == 0)
      entries_ = file_.at<CacheEntry>(sizeof(CacheHeader), header[0].entries);
  }

  /// Calls `visit(path)` for each library of that name, until it returns true.
  template <class Visit>
  bool each(const std::string& name, Visit&& visit) const {
    for (const CacheEntry& entry : entries_)
      if (file_.text(entry.name) == name && visit(std::string(file_.text(entry.path)))) return true;
    return false;
  }

 private:
  FileView file_;
  std::span<const CacheEntry> entries_;
};

class Search {
 public:
  explicit Search(const std::string& library_path) : variable_(parts_of(library_path, ":;")) {}

  /// The file that `object` gets by that name; empty when there is none. `by_variable`: as in MpiLibrary.
  std::string find(const std::string& name, const Object& object, bool* by_variable) const {
    *by_variable = false;
    if (name.find('/') != std::string::npos) return ElfFile(name).valid() ? name : std::string();
    std::string path;
    // What has a RUNPATH does not look at RPATHs, its own or others'.
    if (object.behind.empty() && in(object.before, name, &path)) return path;
    *by_variable = in(variable_, name, &path);
    if (*by_variable || in(object.behind, name, &path)) return path;
    const auto take = [&path](const std::string& found) {
      if (!ElfFile(found).valid()) return false;
      path = found;
      return true;
    };
    if (!cache_.each(name, take)) in(kSystem, name, &path);
    return path;
  }

 private:
  static bool in(const std::vector<std::string>& folders, const std::string& name, std::string* path) {
    for (const std::string& folder : folders) {
      const std::string candidate = folder + "/" + name;
      if (!ElfFile(candidate).valid()) continue;
      *path = candidate;
      return true;
    }
    return false;
  }

  inline static const std::vector<std::string> kSystem = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
  const std::vector<std::string> variable_;
  const LinkerCache cache_{"/etc/ld.so.cache"};
};

/// Ours has symbols of its own, or is another name for a library beside it that has.
bool is_tasuki(const std::string& path, int depth = 0) {
  const ElfFile file(path);
  bool found = false;
  file.each_symbol(SHT_DYNSYM, [&found](std::string_view name) { found |= name.starts_with("tasuki_"); });
  if (found || depth == 3) return found;
  file.each_needed([&](std::string_view name) {
    if (is_mpi_library(name)) found |= is_tasuki(folder_of(path) + "/" + std::string(name), depth + 1);
  });
  return found;
}

/// As mpi_libraries_of(); `cxx_bindings` becomes true when their library is among those found.
std::vector<MpiLibrary> walk(const std::string& program, const Search& search, bool* cxx_bindings) {
  std::vector<MpiLibrary> libraries;
  const ElfFile main_file(program);
  if (!main_file.valid()) return libraries;
  std::set<std::string> asked;  // a name is looked for once, for whom asks first
  std::vector<Object> objects = {object_of(main_file, program, nullptr)};
  for (std::size_t i = 0; i < objects.size() && i < kFilesMax; ++i) {
    const Object object = objects[i];
    std::vector<std::string> names;
    const ElfFile file(object.path);
    file.each_needed([&names](std::string_view name) { names.emplace_back(name); });
    for (const std::string& name : names) {
      if (!asked.insert(name).second) continue;
      bool by_variable = false;
      const std::string path = search.find(name, object, &by_variable);
      if (path.empty()) continue;
      if (is_mpi_library(name)) libraries.push_back({name, path, by_variable, is_tasuki(path)});
      *cxx_bindings |= name == kCxxBindings;
      objects.push_back(object_of(ElfFile(path), path, &object));
    }
  }
  return libraries;
}

}  // namespace

std::vector<MpiLibrary> mpi_libraries_of(const std::string& program, const std::string& library_path) {
  bool cxx_bindings = false;
  return walk(program, Search(library_path), &cxx_bindings);
}

bool has_mpi_inside(const std::string& program) {
  const ElfFile file(program);
  bool found = false;
  // A tool that is linked into a program has MPI_Init alone.
  for (const std::uint32_t table : {SHT_DYNSYM, SHT_SYMTAB})
    if (!found) file.each_symbol(table, [&found](std::string_view name) { found |= name == "PMPI_Init"; });
  return found;
}

LibraryPlan plan_libraries(const std::vector<std::string>& programs, const std::string& folder,
                           const std::string& library_path, bool fixed) {
  LibraryPlan plan;
  const bool can_preload = folder.find_first_of(": ") == std::string::npos;
  const std::string mpicc = folder_of(real_path(folder)) + "/bin/mpicc";
  const std::string what_to_do = "its ranks do not find each other here; build it with " + mpicc +
                                 ", or start it by the mpiexec of that MPI";
  const Search search(library_path);
  bool by_variable = false;
  bool cxx_bindings = !search.find(std::string(kCxxBindings), {}, &by_variable).empty();
  for (const std::string& program : programs) {
    const std::vector<MpiLibrary> libraries = walk(program, search, &cxx_bindings);
    for (const MpiLibrary& library : libraries) {
      if (library.is_tasuki) continue;
      const std::string own = folder + "/" + library.name;
      const bool fits = ElfFile(own).valid();
      if (fits && library.by_variable && !fixed) {
        plan.folder_first = true;
      } else if (fits && can_preload) {
        plan.preload.push_back(own);
      } else if (plan.note.empty()) {
        plan.note = format("'%s' loads %s (%s), another MPI: %s", program.c_str(), library.name.c_str(),
                           library.path.c_str(), what_to_do.c_str());
      }
    }
    if (libraries.empty() && plan.note.empty() && has_mpi_inside(program))
      plan.note = format("'%s' has another MPI inside (PMPI_Init): %s", program.c_str(), what_to_do.c_str());
  }
  // What a script opens is not seen: so they are there for all, where there are no others.
  const std::string own = folder + "/tasuki/mpicxx";
  if (!cxx_bindings && ElfFile(own + "/" + std::string(kCxxBindings)).valid()) plan.folder_last = own;
  return plan;
}

}  // namespace tasuki::launch
