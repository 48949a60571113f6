// A program without a launcher.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/local/local.hpp"
#include "runtime/local/processors.hpp"
#include "transport/shm/shm_transport.hpp"

namespace tasuki::local {
namespace {

class Singleton final : public Bootstrap {
 public:
  Singleton() : processors_(local::processors_available()) {}
  ~Singleton() override {
    if (region_.base != nullptr) munmap(region_.base, region_.bytes);
  }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int universe_size() const override { return processors_; }
  int processors_available() const override { return processors_; }

  std::unique_ptr<Transport> make_transport(const Config& config) override {
    const std::size_t bytes = ShmTransport::bytes_needed(1, config);
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      abort(1, "cannot get " + std::to_string(bytes) + " bytes of memory: " + std::strerror(errno));
    }
    region_ = {static_cast<std::byte*>(memory), bytes};
    return std::make_unique<ShmTransport>(region_, 0, 1, config, true);
  }

  void fence() override {}
  void mark_initialized() override {}
  void mark_finalized() override {}

  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    std::fflush(stdout);
    if (!message.empty()) std::fprintf(stderr, "%s\n", message.c_str());
    _exit((exit_code & 0xff) != 0 ? exit_code & 0xff : 1);
  }

 private:
  int processors_;
  SharedRegion region_;
};

}  // namespace

std::unique_ptr<Bootstrap> make_singleton() {
  return std::make_unique<Singleton>();
}

}  // namespace tasuki::local
