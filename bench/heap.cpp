// What memory costs a program that computes in it: the triad of STREAM, random reads, first touch, and malloc
// and free of small, large and huge blocks. Each rank works for itself, one after the other, since what is
// compared is a kind of heap and not the memory bus: bench/run_heap.py runs it with a private and with a
// global heap.
//
// A row's seconds are those of one operation: one element of the triad, one read, one page, one malloc and
// free. `resident` is what the process has in memory after the row, in bytes.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kTriadBytes = 64 * kMiB;  // of each array
constexpr std::size_t kTableBytes = 256 * kMiB;
constexpr int kReads = 1'000'000;
constexpr int kBatches = 7;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

long resident_bytes() {
  long all = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &all, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * static_cast<long>(kPageBytes);
}

/// `operation()` does `count` of what the row counts; each batch is one.
template <class Operation>
void row(const char* name, std::size_t bytes, std::size_t count, Operation operation) {
  std::vector<double> seconds;
  for (int i = -1; i < kBatches; ++i) {
    const double begin = now();
    operation();
    if (i >= 0) seconds.push_back((now() - begin) / static_cast<double>(count));
  }
  std::printf("{\"row\": \"%s\", \"bytes\": %zu, \"seconds\": [", name, bytes);
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.6g", i == 0 ? "" : ", ", seconds[i]);
  std::printf("], \"resident\": %ld}\n", resident_bytes());
}

double* array_of(std::size_t bytes, double value) {
  auto* array = static_cast<double*>(std::malloc(bytes));
  std::fill_n(array, bytes / sizeof(double), value);
  return array;
}

void triad() {
  constexpr std::size_t kCount = kTriadBytes / sizeof(double);
  double* a = array_of(kTriadBytes, 0);
  double* b = array_of(kTriadBytes, 1);
  double* c = array_of(kTriadBytes, 2);
  row("triad", kTriadBytes, kCount, [&] {
    for (std::size_t i = 0; i < kCount; ++i) a[i] = b[i] + 3.0 * c[i];
  });
  if (a[kCount / 2] != 7.0) std::abort();
  std::free(a);
  std::free(b);
  std::free(c);
}

void random_reads() {
  auto* table = static_cast<std::uint64_t*>(std::malloc(kTableBytes));
  std::memset(table, 1, kTableBytes);
  std::uint64_t state = 88172645463325252u;
  std::uint64_t sum = 0;
  row("random", kTableBytes, kReads, [&] {
    for (int i = 0; i < kReads; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      sum += table[(state + (sum & 1)) % (kTableBytes / sizeof(std::uint64_t))];
    }
  });
  if (sum == 42) std::puts("");  // the reads are wanted
  std::free(table);
}

void touch(volatile char* block, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPageBytes) block[at] = 1;
}

/// Blocks that are all there at the same time, so that none lies where another one was.
void fresh(std::size_t bytes) {
  std::vector<void*> blocks;
  row("fresh", bytes, bytes / kPageBytes, [&] {
    blocks.push_back(std::malloc(bytes));
    touch(static_cast<volatile char*>(blocks.back()), bytes);
  });
  for (void* block : blocks) std::free(block);
}

/// A block that is freed after it was touched, again and again.
void first_touch(std::size_t bytes) {
  row("first_touch", bytes, bytes / kPageBytes, [&] {
    auto* fresh = static_cast<volatile char*>(std::malloc(bytes));
    touch(fresh, bytes);
    std::free(const_cast<char*>(fresh));
  });
}

void churn(std::size_t bytes, int held, int rounds) {
  std::vector<void*> blocks(static_cast<std::size_t>(held));
  row("churn", bytes, static_cast<std::size_t>(held) * static_cast<std::size_t>(rounds), [&] {
    for (int round = 0; round < rounds; ++round) {
      for (void*& block : blocks) {
        block = std::malloc(bytes);
        *static_cast<volatile char*>(block) = 1;
      }
      for (void* block : blocks) std::free(block);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    triad();
    random_reads();
    for (const std::size_t bytes : {kMiB, 16 * kMiB, 128 * kMiB}) fresh(bytes);
    for (const std::size_t bytes : {256 * kMiB, 16 * kMiB, kMiB}) first_touch(bytes);
    churn(24, 1000, 100);
    churn(1000, 100, 1000);
    churn(100'000, 10, 1000);
    churn(kMiB, 10, 1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
