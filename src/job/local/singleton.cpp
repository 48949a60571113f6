// A program without a launcher.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/system/memory_file.hpp"
#include "base/system/random_number.hpp"
#include "job/local/local.hpp"
#include "job/network.hpp"
#include "job/value_table.hpp"
#include "link/shm/shm_link.hpp"
#include "node/processors.hpp"
#include "node/shared_node.hpp"

namespace tasuki::local {
namespace {

/// The job has no other process: a value is for this process alone.
class SoleDirectory final : public Directory {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::uint64_t job_id() const override { return job_id_; }
  std::uint64_t machine() const override { return machine_; }
  int universe_size() const override { return 0; }

  bool get(int rank, std::string_view key, std::string* value) const override {
    return values_.get(rank, key, value);
  }
  void enter_fence() override { values_.enter_fence(); }
  Fence look_at_fence(std::string* error) override { return values_.look_at_fence(error); }

 protected:
  bool put_checked(std::string_view key, std::string_view value, std::string* error) override {
    return values_.put(key, value, error);
  }

 private:
  const std::uint64_t machine_ = machine_number();
  const std::uint64_t job_id_ = random_number();
  alignas(64) std::array<std::byte, ValueTable::bytes_needed(1)> memory_{};
  ValueTable values_{memory_.data(), 0, 1, [](int) { return false; }};
};

class SoleNode final : public SharedNode {
 public:
  explicit SoleNode(int processors) : SharedNode({0}, 0), processors_(processors) {}
  int processors_available() const override { return processors_; }

 private:
  int processors_;
};

class SoleLauncher final : public Launcher {
 public:
  SoleLauncher() : Launcher(0, 1) {}
  bool spawn(const SpawnRequest& request, std::string* error) override {
    std::string nothing;
    return launcher_.start(error) && ask_launcher(launcher_.socket(), encode(request), &nothing, error);
  }
  void report_connections(const ConnectionReport& report) override { launcher_.report_connections(report); }
  bool is_gone() override { return launcher_.gone(); }
  void mark_initialized() override {}
  // Here, since nothing is unmade at the end of the program: mpiexec must not take it for one that died.
  void mark_finalized() override { launcher_.take_leave(); }
  void report_leaks(const std::vector<Leak>& leaks) override { print_leaks(0, leaks); }

  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    std::fflush(stdout);
    if (!message.empty()) std::fprintf(stderr, "%s\n", message.c_str());
    _exit((exit_code & 0xff) != 0 ? exit_code & 0xff : 1);
  }

 private:
  OwnLauncher launcher_;
};

class Singleton final : public Starter {
 public:
  Singleton() : Singleton(local::processors_available()) {}
  ~Singleton() override {
    if (region_.base != nullptr) munmap(region_.base, region_.bytes);
    if (region_.fd >= 0) close(region_.fd);
  }
  Directory& directory() override { return directory_; }
  Launcher& launcher() override { return launcher_; }
  Node& node() override { return node_; }

  std::unique_ptr<Link> make_link(const Config& config) override {
    const std::size_t part = round_to_page(Doorbells::bytes_needed(1));
    const std::size_t rings = part + round_to_page(SharedNode::bytes_needed(1));
    map_region(rings + ShmLink::bytes_needed(1, config));
    node_.share(std::make_unique<Doorbells>(region_, 1, 0, true), region_.base + part);
    return std::make_unique<ShmLink>(region_.base + rings, node_.doorbells(),
                                     ShmLink::Job{directory_.job_id(), {0}, 0, 1}, config);
  }

  bool add_network(const Config& config, std::unique_ptr<Link>* link, std::string* error) override {
    return add_network_link(link, node_.doorbells(), config.network == kNetworkFabric, "", directory_,
                            launcher_, config, clock(), error);
  }

 private:
  explicit Singleton(int processors) : node_(processors) {}

  void map_region(std::size_t bytes) {
    // A file, so that processes of other jobs can ring this one's doorbell. Without one it stays alone.
    int fd = make_memory_file("tasuki-singleton");
    if (fd >= 0 && !set_memory_file_bytes(fd, bytes)) {
      close(fd);
      fd = -1;
    }
    if (fd >= 0) fix_memory_file(fd, false);
    const int kind = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
      launcher_.abort(1, "cannot get " + std::to_string(bytes) + " bytes of memory: " + std::strerror(errno));
    }
    region_ = {static_cast<std::byte*>(memory), bytes, fd, 0};
  }

  SharedRegion region_;
  SoleDirectory directory_;
  SoleLauncher launcher_;
  SoleNode node_;
};

}  // namespace

std::unique_ptr<Starter> make_singleton() {
  return std::make_unique<Singleton>();
}

}  // namespace tasuki::local
