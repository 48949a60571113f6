// The library is a client with a thread of its own, which tells when a fence is over. It is never unloaded.
//
// Of versions 4 and 5 only functions are used that both have in the same form, and no macro that calls one.
// A launcher's own library goes before the system's: clients of another version get along with it, but say so
// on standard error.
#include "job/wire/pmix_wire.hpp"

#ifdef TASUKI_PMIX

#include <dlfcn.h>
#include <pmix.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace tasuki::wire {
namespace {

/// The functions, of the types that the header gives them.
struct PmixLibrary {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence_nb) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Abort) abort = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
  decltype(&PMIx_Get_version) version = nullptr;
  std::string file;
};

template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool open_library(const std::string& file, PmixLibrary* pmix) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const bool whole = find(library, "PMIx_Init", &pmix->init) && find(library, "PMIx_Put", &pmix->put) &&
                     find(library, "PMIx_Commit", &pmix->commit) &&
                     find(library, "PMIx_Fence_nb", &pmix->fence) && find(library, "PMIx_Get", &pmix->get) &&
                     find(library, "PMIx_Abort", &pmix->abort) &&
                     find(library, "PMIx_Finalize", &pmix->finalize) &&
                     find(library, "PMIx_Error_string", &pmix->error_string) &&
                     find(library, "PMIx_Get_version", &pmix->version);
  if (!whole) dlclose(library);
  Dl_info info{};
  pmix->file = file;
  if (whole && dladdr(reinterpret_cast<void*>(pmix->init), &info) != 0 && info.dli_fname != nullptr)
    pmix->file = info.dli_fname;
  return whole;
}

/// Where the library may be, the best first.
std::vector<std::string> candidates(int launcher) {
  std::vector<std::string> prefixes;
  if (const char* prefix = std::getenv("PMIX_PREFIX"); prefix != nullptr && *prefix != '\0')
    prefixes.emplace_back(prefix);
  char link[64];
  char program[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/%d/exe", launcher);
  const ssize_t length = launcher > 0 ? readlink(link, program, sizeof program) : -1;
  if (length > 0 && length < static_cast<ssize_t>(sizeof program)) {
    std::string folder(program, static_cast<std::size_t>(length));
    folder.resize(folder.rfind('/'));
    prefixes.push_back(folder.substr(0, folder.rfind('/')));
  }
  std::vector<std::string> files;
  for (const std::string& prefix : prefixes) {
    for (const char* folder : {"/lib/", "/lib64/", "/lib/openmpi/", "/lib64/openmpi/"}) {
      std::string file = prefix + folder + "libpmix.so.2";
      if (access(file.c_str(), R_OK) == 0) files.push_back(std::move(file));
    }
  }
  files.emplace_back("libpmix.so.2");
  return files;
}

class PmixWire final : public Wire {
 public:
  explicit PmixWire(PmixLibrary library) : pmix_(std::move(library)) {}

  const Place& place() const override { return place_; }
  std::string name() const override {
    const char* const version = pmix_.version();
    std::string brief(version, std::strcspn(version, ",("));  // "OpenPMIx 5.0.1 (PMIx Standard: …)"
    while (!brief.empty() && brief.back() == ' ') brief.pop_back();
    return "PMIx (" + pmix_.file + ", " + brief + ")";
  }
  std::size_t value_bytes_max() const override { return 4095; }

  bool greet(std::string* error);
  bool put(const std::string& key, const std::string& value, std::string* error) override;
  bool get(int rank, const std::string& key, std::string* value, std::string* error) override;
  bool enter_fence(std::string* error) override;
  Directory::Fence look_at_fence(std::string* error) override;
  void abort(int exit_code) override { pmix_.abort(exit_code, nullptr, nullptr, 0); }
  void finalize() override { pmix_.finalize(nullptr, 0); }

 private:
  /// What becomes of a fence: written by the library's thread, state last.
  struct FenceResult {
    std::atomic<bool> over{true};
    pmix_status_t status = PMIX_SUCCESS;
  };
  static void fence_is_over(pmix_status_t status, void* result) {
    auto* const fence = static_cast<FenceResult*>(result);
    fence->status = status;
    fence->over.store(true, std::memory_order_release);
  }
  bool good(pmix_status_t status, const char* what, std::string* error) const {
    if (status == PMIX_SUCCESS) return true;
    *error = std::string(what) + ": " + pmix_.error_string(status) + " (" + name() + ")";
    return false;
  }
  bool get_value(pmix_rank_t rank, const char* key, bool of_launcher, pmix_value_t** value) const;
  int number(pmix_rank_t rank, const char* key) const;

  PmixLibrary pmix_;
  pmix_proc_t self_{};
  Place place_;
  FenceResult fence_;
  pmix_info_t fence_how_{};  // of use until the fence is over
};

/// What a rank has put is there after the fence, perhaps at the server of another host.
bool PmixWire::get_value(pmix_rank_t rank, const char* key, bool of_launcher, pmix_value_t** value) const {
  pmix_proc_t owner = self_;
  owner.rank = rank;
  pmix_info_t how[2]{};
  std::strcpy(how[0].key, PMIX_TIMEOUT);
  how[0].value.type = PMIX_INT;
  how[0].value.data.integer = kWireTimeoutSeconds;
  std::strcpy(how[1].key, PMIX_IMMEDIATE);  // what is not there is not waited for
  how[1].value.type = PMIX_BOOL;
  how[1].value.data.flag = true;
  *value = nullptr;
  return pmix_.get(&owner, key, how, of_launcher ? 2 : 1, value) == PMIX_SUCCESS && *value != nullptr;
}

/// -1: not known.
int PmixWire::number(pmix_rank_t rank, const char* key) const {
  pmix_value_t* value = nullptr;
  if (!get_value(rank, key, true, &value)) return -1;
  int number = -1;
  if (value->type == PMIX_UINT32 || value->type == PMIX_INT32 || value->type == PMIX_INT ||
      value->type == PMIX_UINT)
    number = value->data.integer;
  if (value->type == PMIX_UINT16) number = value->data.uint16;
  std::free(value);
  return number;
}

bool PmixWire::greet(std::string* error) {
  if (!good(pmix_.init(&self_, nullptr, 0), "the launcher cannot be reached", error)) return false;
  place_.rank = static_cast<int>(self_.rank);
  place_.size = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  place_.local = number(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
  place_.universe = number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE);
  place_.application = number(self_.rank, PMIX_APPNUM);
  if (place_.size >= 1 && place_.rank >= 0 && place_.rank < place_.size) return true;
  *error = "the launcher makes this process rank " + std::to_string(place_.rank) + " of " +
           std::to_string(place_.size) + " (" + name() + ")";
  return false;
}

bool PmixWire::put(const std::string& key, const std::string& value, std::string* error) {
  std::string text = value;
  pmix_value_t holder{};
  holder.type = PMIX_STRING;
  holder.data.string = text.data();  // put() copies it
  return good(pmix_.put(PMIX_GLOBAL, ("tasuki-" + key).c_str(), &holder), "the launcher refuses a value",
              error);
}

bool PmixWire::get(int rank, const std::string& key, std::string* value, std::string* error) {
  pmix_value_t* found = nullptr;
  if (!get_value(static_cast<pmix_rank_t>(rank), ("tasuki-" + key).c_str(), false, &found)) {
    *error = "rank " + std::to_string(rank) + " has put no \"" + key + "\" (" + name() + ")";
    return false;
  }
  const bool is_text = found->type == PMIX_STRING && found->data.string != nullptr;
  if (is_text) {
    *value = found->data.string;
    std::free(found->data.string);
  } else {
    *error = "rank " + std::to_string(rank) + " has put no text as \"" + key + "\"";
  }
  std::free(found);
  return is_text;
}

bool PmixWire::enter_fence(std::string* error) {
  if (!good(pmix_.commit(), "the launcher takes no values", error)) return false;
  fence_.over.store(false, std::memory_order_relaxed);
  std::strcpy(fence_how_.key, PMIX_COLLECT_DATA);
  fence_how_.value.type = PMIX_BOOL;
  fence_how_.value.data.flag = true;
  return good(pmix_.fence(nullptr, 0, &fence_how_, 1, &fence_is_over, &fence_), "the launcher has no fence",
              error);
}

Directory::Fence PmixWire::look_at_fence(std::string* error) {
  if (!fence_.over.load(std::memory_order_acquire)) return Directory::Fence::kOpen;
  return good(fence_.status, "the fence of all ranks failed", error) ? Directory::Fence::kOver
                                                                     : Directory::Fence::kBroken;
}

}  // namespace

std::unique_ptr<Wire> make_pmix_wire(int launcher, std::string* error) {
  PmixLibrary library;
  for (const std::string& file : candidates(launcher)) {
    if (!open_library(file, &library)) continue;
    auto wire = std::make_unique<PmixWire>(std::move(library));
    if (!wire->greet(error)) return nullptr;
    return wire;
  }
  *error =
      "libpmix.so.2 is neither in $PMIX_PREFIX/lib nor beside the launcher nor where the system looks; "
      "LD_LIBRARY_PATH can name its folder";
  return nullptr;
}

}  // namespace tasuki::wire

#else

namespace tasuki::wire {

std::unique_ptr<Wire> make_pmix_wire(int /*launcher*/, std::string* error) {
  *error = "this Tasuki was built without PMIx (libpmix-dev); build it with that";
  return nullptr;
}

}  // namespace tasuki::wire

#endif
