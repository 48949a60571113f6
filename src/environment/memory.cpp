// MPI_Alloc_mem and MPI_Free_mem (MPI 9.2), on memory that the other ranks of the node reach, where there is
// any.
#include <cerrno>
#include <cstdlib>

#include "environment/api.hpp"
#include "memory/symmetric_heap.hpp"
#include "object/comm.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line
constexpr std::size_t kAlignmentMax = std::size_t{1} << 30;

/// The alignment that the hint mpi_minimum_memory_alignment asks for (MPI 9.2), in bytes.
Code read_alignment(Process& process, const Info* info, std::size_t* alignment) {
  const std::string* hint = find_info(info, "mpi_minimum_memory_alignment");
  if (hint == nullptr) return kSuccess;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(hint->c_str(), &end, 10);
  const bool power_of_two = value != 0 && (value & (value - 1)) == 0;
  if (errno != 0 || *end != '\0' || !power_of_two || value > kAlignmentMax)
    return process.fail(kErrInfoValue,
                        "mpi_minimum_memory_alignment = \"%.40s\", expected a power of two up to %zu",
                        hint->c_str(), kAlignmentMax);
  if (value > *alignment) *alignment = value;
  return kSuccess;
}

}  // namespace

namespace api {

Code alloc_mem(Process& process, Count size, Info* info, void** baseptr) {
  if (size < 0)
    return process.fail(kErrSize, "size = %lld, expected 0 or more", static_cast<long long>(size));
  std::size_t alignment = kAlignment;
  if (const Code code = read_alignment(process, info, &alignment)) return code;
  // One byte at least, so that each allocation has an address of its own.
  void* memory = process.symmetric_heap->allocate(size > 0 ? static_cast<std::size_t>(size) : 1, alignment);
  if (memory == nullptr)
    return process.fail(kErrNoMem, "size = %lld bytes, more than can be had", static_cast<long long>(size));
  *baseptr = memory;
  return kSuccess;
}

/// Giving much memory back to the system takes a tenth of a second for each GiB.
Code free_mem(Process& process, void* base) {
  const Progress::Release released(*process.progress);
  process.symmetric_heap->deallocate(base);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
