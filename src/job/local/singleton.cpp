// A program without a launcher.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/file_size.hpp"
#include "base/memory_file.hpp"
#include "base/random_number.hpp"
#include "job/local/local.hpp"
#include "link/shm/shm_link.hpp"
#include "memory/range_table.hpp"
#include "node/processors.hpp"

namespace tasuki::local {
namespace {

class Singleton final : public Bootstrap {
 public:
  Singleton() : processors_(local::processors_available()), job_id_(random_number()) {}
  ~Singleton() override {
    if (region_.base != nullptr) munmap(region_.base, region_.bytes);
    if (region_.fd >= 0) close(region_.fd);
  }
  std::uint64_t job_id() const override { return job_id_; }
  std::uint64_t machine() const override { return machine_; }
  bool spawn(const SpawnRequest& request, std::string* error) override {
    return launcher_.start(error) && ask_launcher(launcher_.socket(), request, error);
  }
  bool launcher_gone() override { return launcher_.gone(); }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int universe_size() const override { return processors_; }
  int processors_available() const override { return processors_; }

  std::unique_ptr<Transport> make_transport(const Config& config) override {
    const std::size_t bytes = ShmTransport::bytes_needed(1, config);
    // A file, so that processes of other jobs can ring this one's doorbell. Without one it stays alone.
    int fd = make_memory_file("tasuki-singleton");
    if (fd >= 0 && !set_file_bytes(fd, bytes)) {
      close(fd);
      fd = -1;
    }
    if (fd >= 0) fix_memory_file(fd, false);
    const int kind = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
      abort(1, "cannot get " + std::to_string(bytes) + " bytes of memory: " + std::strerror(errno));
    }
    region_ = {static_cast<std::byte*>(memory), bytes, job_id_, fd, 0};
    return std::make_unique<ShmTransport>(region_, 0, 1, config, true);
  }

  std::byte* file_locks() override { return file_locks_.data(); }

  void mark_initialized() override {}
  // Here, since nothing is unmade at the end of the program: mpiexec must not take it for one that died.
  void mark_finalized() override { launcher_.take_leave(); }

  void tell_leaks(const std::vector<Leak>& leaks) override { print_leaks(0, leaks); }

  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    std::fflush(stdout);
    if (!message.empty()) std::fprintf(stderr, "%s\n", message.c_str());
    _exit((exit_code & 0xff) != 0 ? exit_code & 0xff : 1);
  }

 private:
  int processors_;
  const std::uint64_t machine_ = machine_number();
  std::uint64_t job_id_;
  OwnLauncher launcher_;
  SharedRegion region_;
  alignas(64) std::array<std::byte, RangeTable::bytes_needed(1)> file_locks_{};
};

}  // namespace

std::unique_ptr<Bootstrap> make_singleton() {
  return std::make_unique<Singleton>();
}

}  // namespace tasuki::local
