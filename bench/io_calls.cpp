// What the driver of files makes of strided independent access: by io_uring or by calls, over gaps or by
// sieving, with the file in the page cache or not. Prints tables in Markdown; make io-calls runs it.
//
//   io_calls FILE
//
// A time is the best of kRounds, from a barrier to the end of the slowest rank, and for each piece of a rank.
// Plain MPI; one thread.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 7;

struct Shape {
  int piece, gap, pieces;  // of each rank
};

struct Place {
  int rank = 0, size = 1;
};

using Hint = std::pair<const char*, const char*>;

MPI_File open_strided(const char* name, const Place& place, const Shape& shape,
                      const std::vector<Hint>& hints) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (const auto& [key, value] : hints) MPI_Info_set(info, key, value);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_Info_free(&info);
  MPI_Datatype piece, strided;
  MPI_Type_contiguous(shape.piece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, shape.piece + shape.gap, &strided);
  MPI_Type_commit(&strided);
  const MPI_Offset bytes = MPI_Offset{shape.pieces} * (shape.piece + shape.gap);
  MPI_File_set_view(file, place.rank * bytes, MPI_BYTE, strided, "native", MPI_INFO_NULL);
  MPI_Type_free(&piece);
  MPI_Type_free(&strided);
  return file;
}

/// Puts all bytes of the file there, so that nothing is measured but moving them.
void fill(const char* name, const Place& place, MPI_Offset bytes) {
  if (place.rank == 0) {
    const int fd = open(name, O_RDWR | O_CREAT, 0600);
    const std::vector<char> block(1 << 20, 'x');
    for (MPI_Offset at = 0; at < bytes; at += 1 << 20) {
      if (pwrite(fd, block.data(), block.size(), at) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fsync(fd);
    close(fd);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void forget(const char* name, const Place& place) {
  if (place.rank == 0) {
    const int fd = open(name, O_RDONLY);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Microseconds a piece.
double measure(const char* name, const Place& place, const Shape& shape, const std::vector<Hint>& hints,
               bool write, bool cold) {
  MPI_File file = open_strided(name, place, shape, hints);
  std::vector<char> data(static_cast<std::size_t>(shape.piece) * shape.pieces, 'y');
  const int bytes = static_cast<int>(data.size());
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    if (cold) forget(name, place);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (write) {
      MPI_File_write_at(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else {
      MPI_File_read_at(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    double seconds = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    best = std::min(best, seconds);
  }
  MPI_File_close(&file);
  return best / shape.pieces * 1e6;
}

void compare_rings(const char* name, const Place& place) {
  if (place.rank == 0) {
    std::printf("| microseconds a piece | calls | io_uring | automatic |\n|---|---|---|---|\n");
  }
  for (const int kind : {0, 1, 2}) {
    for (const int gap : {4 << 10, 60 << 10}) {
      const Shape shape{4 << 10, gap, gap < 10000 ? 1000 : 400};
      fill(name, place, MPI_Offset{place.size} * shape.pieces * (shape.piece + shape.gap));
      double times[3];
      int column = 0;
      for (const char* ring : {"disable", "enable", "automatic"}) {
        const std::vector<Hint> hints = {
            {"tasuki_io_uring", ring}, {"romio_ds_read", "disable"}, {"romio_ds_write", "disable"}};
        times[column++] = measure(name, place, shape, hints, kind == 0, kind == 2);
      }
      const char* what[] = {"write", "read", "read, not in the page cache"};
      if (place.rank == 0) {
        std::printf("| %s 4 KiB of each %d KiB | %.2f | %.2f | %.2f |\n", what[kind], (4096 + gap) >> 10,
                    times[0], times[1], times[2]);
      }
    }
  }
}

void compare_gaps(const char* name, const Place& place) {
  if (place.rank == 0) {
    std::printf("\n| microseconds a piece read | by the driver | sieved |\n|---|---|---|\n");
  }
  for (const int piece : {64, 1024, 4096}) {
    for (const int gap : {64, 1024, 2048, 4096}) {
      const Shape shape{piece, gap, 2000};
      fill(name, place, MPI_Offset{place.size} * shape.pieces * (shape.piece + shape.gap));
      const std::vector<Hint> calls = {{"romio_ds_read", "disable"}};
      const std::vector<Hint> sieved = {{"romio_ds_read", "enable"}};
      const double by_calls = measure(name, place, shape, calls, false, false);
      const double by_sieve = measure(name, place, shape, sieved, false, false);
      if (place.rank == 0)
        std::printf("| %d B, gaps of %d B | %.3f | %.3f |\n", piece, gap, by_calls, by_sieve);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Place place;
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.size);
  if (argc != 2) {
    if (place.rank == 0) std::fprintf(stderr, "io_calls FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  compare_rings(argv[1], place);
  compare_gaps(argv[1], place);
  if (place.rank == 0) unlink(argv[1]);
  MPI_Finalize();
  return 0;
}
