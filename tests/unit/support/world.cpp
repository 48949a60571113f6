// The test world: a Starter for threads, the memory they share, and a watchdog.
#include "support/world.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/variables/settings.hpp"
#include "environment/environment.hpp"
#include "job/starter.hpp"
#include "job/value_table.hpp"
#include "link/inproc/inproc_link.hpp"
#include "node/shared_node.hpp"
#include "object/callbacks.hpp"

namespace tasuki::test {
namespace {

/// With the built-in parameters that TASUKI_PROCESSOR names, unless the test names others.
Config config_of(const WorldOptions& options) {
  Config config = options.config, asked;
  std::string error, warning;
  if (!read_settings(environ, &asked, &error, &warning)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::abort();
  }
  if (config.processor == 0) config.processor = asked.processor;
  return config;
}

/// What all ranks of one test world share.
struct World {
  World(int size, const WorldOptions& wanted)
      : options(wanted),
        size(size),
        network(size, 8, wanted.late_copies, wanted.script),
        machine(size, wanted.nodes, wanted.config, wanted.job),
        values(ValueTable::bytes_needed(size) + 64),
        ended(static_cast<std::size_t>(size)) {
    if (options.odd_heaps_private) {
      symmetric_heaps = static_cast<std::byte*>(
          mmap(nullptr, kSymmetricHeapBytes * static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    }
  }
  ~World() {
    if (symmetric_heaps != nullptr)
      munmap(symmetric_heaps, kSymmetricHeapBytes * static_cast<std::size_t>(size));
  }
  std::byte* value_pages() {
    return values.data() + (64 - reinterpret_cast<std::uintptr_t>(values.data()) % 64);
  }
  static constexpr std::size_t kSymmetricHeapBytes = std::size_t{1} << 30;  // of address space

  WorldOptions options;
  int size;
  InprocNetwork network;
  ThreadMachine machine;
  std::vector<std::byte> values;         // of the Directory
  std::vector<std::atomic<bool>> ended;  // by rank
  std::byte* symmetric_heaps = nullptr;  // kSymmetricHeapBytes for each rank; null: none
};

/// As where malloc is private and MPI_Alloc_mem is not: only what was allocated here is global.
class MappedHeaps final : public SymmetricHeap {
 public:
  MappedHeaps(int rank, std::byte* symmetric_heap)
      : SymmetricHeap(rank), fresh_(symmetric_heap, World::kSymmetricHeapBytes), pool_(&fresh_) {
    own_ = {.begin = reinterpret_cast<std::uint64_t>(symmetric_heap), .bytes = World::kSymmetricHeapBytes};
  }
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    void* memory = pool_.allocate(bytes, alignment);
    blocks_[memory] = {bytes, alignment};
    return memory;
  }
  void deallocate(void* memory) override {
    const auto block = blocks_.extract(memory);
    pool_.deallocate(memory, block.mapped().first, block.mapped().second);
  }

 private:
  bool reaches(int, SymmetricAddress, std::size_t) override { return true; }

  std::pmr::monotonic_buffer_resource fresh_;
  std::pmr::unsynchronized_pool_resource pool_;
  std::map<void*, std::pair<std::size_t, std::size_t>> blocks_;
};

class ThreadDirectory final : public Directory {
 public:
  ThreadDirectory(World& world, int rank)
      : world_(world), rank_(rank), values_(world.value_pages(), rank, world.size, [&world](int other) {
          return world.ended[static_cast<std::size_t>(other)].load();
        }) {}
  int rank() const override { return rank_; }
  int size() const override { return world_.size; }
  std::uint64_t job_id() const override { return world_.options.job; }
  int nodes() const override { return world_.machine.nodes(); }
  int node(int rank) const override { return world_.machine.node(rank); }
  bool has_virtual_nodes() const override { return nodes() > 1; }
  bool get(int rank, std::string_view key, std::string* value) const override {
    return values_.get(rank, key, value);
  }
  void enter_fence() override { values_.enter_fence(); }
  Fence look_at_fence(std::string* error) override {
    const Fence fence = values_.look_at_fence(error);
    if (fence == Fence::kOpen && world_.options.script != nullptr) world_.options.script->pass(rank_);
    return fence;
  }

 protected:
  bool put_checked(std::string_view key, std::string_view value, std::string* error) override {
    return values_.put(key, value, error);
  }

 private:
  World& world_;
  int rank_;
  ValueTable values_;
};

class ThreadLauncher final : public Launcher {
 public:
  ThreadLauncher(World& world, int rank) : Launcher(rank, world.size), rank_(rank) {}
  void mark_initialized() override {}
  void mark_finalized() override {}
  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    std::fprintf(stderr, "rank %d aborts with %d: %s\n", rank_, exit_code, message.c_str());
    std::abort();
  }

 private:
  int rank_;
};

class ThreadNode final : public SharedNode {
 public:
  ThreadNode(World& world, int rank) : SharedNode(world.machine.ranks_beside(rank), rank), world_(world) {
    share(world.machine.make_doorbells(rank), world.machine.shared(rank).memory);
  }
  int processors_available() const override { return 1; }
  double processors_per_node() const override { return 1.0 / world_.machine.nodes(); }
  std::unique_ptr<SymmetricHeap> make_symmetric_heap() override {
    if (!world_.options.symmetric_heap) return make_private_heap();
    if (world_.options.odd_heaps_private && rank() % 2 == 1)
      return std::make_unique<MappedHeaps>(
          rank(), world_.symmetric_heaps + World::kSymmetricHeapBytes * static_cast<std::size_t>(rank()));
    std::vector<bool> reached;
    for (int rank = 0; rank < world_.size; ++rank) {
      reached.push_back(!world_.options.reach_nobody && has(rank));
    }
    return make_common_heap(rank(), std::move(reached), world_.options.odd_ranks_private && rank() % 2 == 1);
  }
  std::byte* file_locks() override { return world_.options.file_locks ? SharedNode::file_locks() : nullptr; }
  std::byte* pair_page(int from, int to) override {
    return is_inproc() ? world_.network.pair_page(from, to) : SharedNode::pair_page(from, to);
  }
  void wake(int endpoint) override {
    if (is_inproc()) return world_.network.wake(endpoint);
    SharedNode::wake(endpoint);
  }
  bool sleeps_with_fence(int endpoint) const override {
    return !is_inproc() && SharedNode::sleeps_with_fence(endpoint);
  }

 private:
  bool is_inproc() const { return world_.options.network == Network::kInproc; }
  World& world_;
};

class ThreadStarter final : public Starter {
 public:
  ThreadStarter(World& world, int rank)
      : world_(world), directory_(world, rank), launcher_(world, rank), node_(world, rank) {}
  Directory& directory() override { return directory_; }
  Launcher& launcher() override { return launcher_; }
  Node& node() override { return node_; }
  std::unique_ptr<Link> make_link(const Config& config) override {
    if (world_.options.network == Network::kInproc)
      return std::make_unique<InprocLink>(world_.network, node_.rank());
    return world_.machine.make_link(node_.rank(), node_.doorbells(), NetworkModel::of(config), clock());
  }
  const Clock& clock() const override {
    if (world_.options.script != nullptr) return *world_.options.script;
    return world_.options.clock != nullptr ? *world_.options.clock : real_clock();
  }
  std::unique_ptr<Waiter> make_waiter(Link& link) override {
    if (world_.options.script != nullptr) return world_.options.script->make_waiter(node_.rank());
    return world_.options.make_waiter(link);
  }

 private:
  World& world_;
  ThreadDirectory directory_;
  ThreadLauncher launcher_;
  ThreadNode node_;
};

/// Calls user functions with the core's own types: tests pass functions of these signatures.
class CoreCallbacks final : public Callbacks {
 public:
  Code copy_attribute(AnyFunction function, Object* owner, int keyval, void* extra_state, void* value_in,
                      void** value_out, bool* keep) override {
    return reinterpret_cast<Code (*)(Object*, int, void*, void*, void**, bool*)>(function)(
        owner, keyval, extra_state, value_in, value_out, keep);
  }
  Code delete_attribute(AnyFunction function, Object* owner, int keyval, void* value,
                        void* extra_state) override {
    return reinterpret_cast<Code (*)(Object*, int, void*, void*)>(function)(owner, keyval, value,
                                                                            extra_state);
  }
  void reduce(AnyFunction function, bool, const void* in, void* inout, Count count,
              Datatype* datatype) override {
    reinterpret_cast<void (*)(const void*, void*, Count, Datatype*)>(function)(in, inout, count, datatype);
  }
  Code query_request(AnyFunction function, void* extra_state, Status* status) override {
    return reinterpret_cast<Code (*)(void*, Status*)>(function)(extra_state, status);
  }
  Code free_request(AnyFunction function, void* extra_state) override {
    return reinterpret_cast<Code (*)(void*)>(function)(extra_state);
  }
  Code cancel_request(AnyFunction function, void* extra_state, bool complete) override {
    return reinterpret_cast<Code (*)(void*, bool)>(function)(extra_state, complete);
  }
  Code convert(AnyFunction function, bool, void* userbuf, Datatype* datatype, Count count, void* filebuf,
               Offset position, void* extra_state) override {
    return reinterpret_cast<Code (*)(void*, Datatype*, Count, void*, Offset, void*)>(function)(
        userbuf, datatype, count, filebuf, position, extra_state);
  }
  Code datarep_extent(AnyFunction function, Datatype* datatype, Aint* extent, void* extra_state) override {
    return reinterpret_cast<Code (*)(Datatype*, Aint*, void*)>(function)(datatype, extent, extra_state);
  }
  void error_handler(AnyFunction function, Object* owner, Code code) override {
    reinterpret_cast<void (*)(Object*, Code)>(function)(owner, code);
  }
};

/// Ends the program when the ranks do not end in time.
class Watchdog {
 public:
  explicit Watchdog(int size)
      : running_(static_cast<std::size_t>(size), true), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    bell_.notify_all();
    thread_.join();
  }
  void ended(int rank) {
    const std::lock_guard lock(mutex_);
    running_[static_cast<std::size_t>(rank)] = false;
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (bell_.wait_for(lock, std::chrono::seconds(900), [this] { return stop_; })) return;
    std::fprintf(stderr, "after 900 s these ranks still run:");
    for (std::size_t rank = 0; rank < running_.size(); ++rank) {
      if (running_[rank]) std::fprintf(stderr, " %zu", rank);
    }
    std::fprintf(stderr, "\n");
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable bell_;
  bool stop_ = false;
  std::vector<bool> running_;
  std::thread thread_;
};

}  // namespace

WorldOptions with_processor(ProcessorMaker maker) {
  WorldOptions options;
  options.config.processor = processor_item(maker);
  return options;
}

void run_ranks(int size, const std::function<void(Process&)>& body, const WorldOptions& options) {
  World world(size, options);
  options.with_machine(world.machine);
  Watchdog watchdog(size);
  const auto run_rank = [&](int rank) {
    ThreadStarter starter(world, rank);
    CoreCallbacks callbacks;
    const std::unique_ptr<Process> process = make_process(starter, config_of(options), options.thread_level);
    process->callbacks = &callbacks;
    {
      std::unique_lock lock(process->lock, std::defer_lock);
      if (options.thread_level == ThreadLevel::kMultiple) lock.lock();
      start_world(*process);
    }
    body(*process);
    {
      // As the binding does during every call.
      std::unique_lock lock(process->lock, std::defer_lock);
      if (options.thread_level == ThreadLevel::kMultiple) lock.lock();
      begin_end_of_world(*process);
      finish_world(*process);
      rest(*process);
    }
    world.ended[static_cast<std::size_t>(rank)] = true;
    watchdog.ended(rank);
  };
  if (options.script != nullptr) {
    options.script->run(run_rank);
  } else {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) threads.emplace_back(run_rank, rank);
    for (std::thread& thread : threads) thread.join();
  }
  options.before_memory_goes();
}

}  // namespace tasuki::test
