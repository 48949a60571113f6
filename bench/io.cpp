// Collective and independent access to files, as applications have it, and the limit of it: the same bytes by
// one loop of pwrite or pread for each rank, into a file of the same size.
//
//   io FILE [KEY=VALUE ...]      the rows, with these hints
//   io --limit FILE              the limits of the rows
//
// Before FILE, --only TEXT keeps those rows whose names contain the text.
//
// A time is that of one call on a file that is there already, from a barrier to the end of the slowest rank.
// What is read is compared with what was written, once for each row. Plain MPI; one thread.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 7;
constexpr double kSecondsMax = 4;  // for the rounds of a row
constexpr MPI_Offset kMiB = 1 << 20;

/// What a rank has: `bytes` of memory, whose place in the file is a view.
struct Layout {
  MPI_Datatype filetype = MPI_BYTE;
  MPI_Offset displacement = 0;
  MPI_Offset bytes = 0;       // of this rank
  MPI_Offset file_bytes = 0;  // of all ranks, holes counted
};

struct Row {
  const char* name;
  bool collective;
  Layout (*layout)(int rank, int size);
};

Layout regions(int rank, int size, MPI_Offset all_bytes, int region, int space) {
  Layout made;
  MPI_Datatype one;
  MPI_Type_contiguous(region, MPI_BYTE, &one);
  MPI_Type_create_resized(one, 0, static_cast<MPI_Aint>(region + space) * size, &made.filetype);
  MPI_Type_commit(&made.filetype);
  MPI_Type_free(&one);
  const MPI_Offset count = all_bytes / size / region;
  made.displacement = static_cast<MPI_Offset>(rank) * (region + space);
  made.bytes = count * region;
  made.file_bytes = count * size * (region + space) - space;
  return made;
}

Layout subarray(int rank, int size) {
  constexpr int kSide = 4096;
  int grid[2] = {0, 0};
  MPI_Dims_create(size, 2, grid);
  int all[2] = {kSide, kSide}, part[2], start[2];
  const int place[2] = {rank / grid[1], rank % grid[1]};
  for (int i = 0; i < 2; ++i) {
    part[i] = kSide / grid[i];
    start[i] = part[i] * place[i];
  }
  Layout made;
  MPI_Type_create_subarray(2, all, part, start, MPI_ORDER_C, MPI_DOUBLE, &made.filetype);
  MPI_Type_commit(&made.filetype);
  made.bytes = MPI_Offset{8} * part[0] * part[1];
  made.file_bytes = MPI_Offset{8} * kSide * kSide;
  return made;
}

Layout contiguous(int rank, int size) {
  Layout made;
  made.bytes = 32 * kMiB;
  made.displacement = rank * made.bytes;
  made.file_bytes = size * made.bytes;
  return made;
}

/// 4 KiB of each 8 KiB of a part of the file that this rank has to itself.
Layout strided(int rank, int size) {
  constexpr MPI_Offset kPieces = 4096;
  Layout made = regions(0, 1, kPieces * 4096, 4096, 4096);
  made.displacement = rank * kPieces * 8192;
  made.file_bytes = size * kPieces * 8192;
  return made;
}

const Row kRows[] = {
    {"64 B, space 0", true, [](int rank, int size) { return regions(rank, size, 64 * kMiB, 64, 0); }},
    {"64 B, space 64 B", true, [](int rank, int size) { return regions(rank, size, 64 * kMiB, 64, 64); }},
    {"3744 B, space 256 B", true,
     [](int rank, int size) { return regions(rank, size, 128 * kMiB, 3744, 256); }},
    {"subarray", true, subarray},
    {"contiguous", true, contiguous},
    {"strided 4 KiB of 8 KiB", false, strided},
};

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::fprintf(stderr, "io: %s: %s\n", call, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

unsigned char byte_at(int rank, MPI_Offset place) {
  const auto mixed = static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15u;
  return static_cast<unsigned char>((mixed >> 56) + static_cast<std::uint64_t>(rank));
}

/// Calls `access()` until there are enough rounds, after one that warms up; the slowest rank's seconds.
template <class Access>
std::vector<double> time_rounds(Access access) {
  std::vector<double> seconds;
  double all = 0;
  for (int round = 0; round <= kRounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    access();
    double mine = MPI_Wtime() - begin, slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (round > 0) seconds.push_back(slowest);
    all += slowest;
    if (all > kSecondsMax && !seconds.empty()) break;
  }
  return seconds;
}

void report(const Row& row, const char* what, const Layout& layout, int rank, int size,
            const std::vector<double>& seconds) {
  if (rank != 0) return;
  std::printf("{\"row\": \"%s\", \"what\": \"%s\", \"ranks\": %d, \"bytes\": %lld, \"seconds\": [", row.name,
              what, size, static_cast<long long>(layout.bytes * size));
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.4e", i == 0 ? "" : ", ", seconds[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

void measure(const Row& row, const char* name, MPI_Info hints, int rank, int size) {
  Layout layout = row.layout(rank, size);
  std::vector<unsigned char> data(static_cast<std::size_t>(layout.bytes));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = byte_at(rank, static_cast<MPI_Offset>(i));
  if (rank == 0) unlink(name);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file;
  check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file), "MPI_File_open");
  check(MPI_File_set_view(file, layout.displacement, MPI_BYTE, layout.filetype, "native", hints),
        "MPI_File_set_view");
  const int count = static_cast<int>(layout.bytes);
  report(row, row.collective ? "write_all" : "write", layout, rank, size, time_rounds([&] {
           check(row.collective
                     ? MPI_File_write_at_all(file, 0, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE)
                     : MPI_File_write_at(file, 0, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
                 "writing");
         }));
  std::fill(data.begin(), data.end(), static_cast<unsigned char>(0));
  MPI_Barrier(MPI_COMM_WORLD);
  report(row, row.collective ? "read_all" : "read", layout, rank, size, time_rounds([&] {
           check(row.collective
                     ? MPI_File_read_at_all(file, 0, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE)
                     : MPI_File_read_at(file, 0, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
                 "reading");
         }));
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == byte_at(rank, static_cast<MPI_Offset>(i))) continue;
    std::fprintf(stderr, "io: %s: byte %zu of rank %d is not what was written\n", row.name, i, rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  check(MPI_File_close(&file), "MPI_File_close");
  if (layout.filetype != MPI_BYTE) MPI_Type_free(&layout.filetype);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
}

/// All of `bytes` by as few calls as the system makes it; both have the shape of pwrite.
template <class Call, class Data>
void move_all(Call call, int file, Data data, MPI_Offset bytes, MPI_Offset place) {
  for (MPI_Offset done = 0; done < bytes;) {
    const ssize_t moved = call(file, data + done, static_cast<std::size_t>(bytes - done), place + done);
    if (moved <= 0) {
      std::perror("io: pread or pwrite");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    done += moved;
  }
}

void measure_limit(const Row& row, const char* name, int rank, int size) {
  Layout layout = row.layout(rank, size);
  std::vector<char> data(static_cast<std::size_t>(layout.bytes), 'x');
  if (rank == 0) unlink(name);
  MPI_Barrier(MPI_COMM_WORLD);
  const int file = open(name, O_CREAT | O_RDWR, 0666);
  if (file < 0 || ftruncate(file, layout.file_bytes) != 0) {
    std::perror("io: open");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const MPI_Offset place = rank * layout.bytes;
  report(row, row.collective ? "write_all" : "write", layout, rank, size,
         time_rounds([&] { move_all(pwrite, file, data.data(), layout.bytes, place); }));
  report(row, row.collective ? "read_all" : "read", layout, rank, size,
         time_rounds([&] { move_all(pread, file, data.data(), layout.bytes, place); }));
  close(file);
  if (layout.filetype != MPI_BYTE) MPI_Type_free(&layout.filetype);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int first = 1;
  const bool limit = argc > first && std::strcmp(argv[first], "--limit") == 0;
  if (limit) ++first;
  const bool chosen = argc > first && std::strcmp(argv[first], "--only") == 0;
  const char* only = chosen && argc > first + 1 ? argv[first + 1] : "";
  if (chosen) first += 2;
  if (argc <= first) {
    if (rank == 0) std::fprintf(stderr, "usage: io [--limit] [--only TEXT] FILE [KEY=VALUE ...]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Info hints = MPI_INFO_NULL;
  if (argc > first + 1) MPI_Info_create(&hints);
  for (int i = first + 1; i < argc; ++i) {
    const std::string hint = argv[i];
    const std::size_t equals = std::min(hint.find('='), hint.size() - 1);
    MPI_Info_set(hints, hint.substr(0, equals).c_str(), hint.substr(equals + 1).c_str());
  }
  for (const Row& row : kRows) {
    if (std::string(row.name).find(only) == std::string::npos) continue;
    if (limit) {
      measure_limit(row, argv[first], rank, size);
    } else {
      measure(row, argv[first], hints, rank, size);
    }
  }
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  MPI_Finalize();
  return 0;
}
