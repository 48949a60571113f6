// Collective access of the paper's pattern (regions of 3,744 B, 256 B apart, dealt to the ranks in turn) in
// each order of exchange, interleaved: round after round, each order writes and reads the same file once.
//
//   io_orders FILE BYTES BUFFER_BYTES ROUNDS ORDER ...
//
// BYTES of data of all ranks together; BUFFER_BYTES is cb_buffer_size. One aggregator a node, two-phase
// always. The files are opened in the order of the ORDERs. A row of JSON for each order: seconds of each
// call, from a barrier to the end of the slowest rank; and one of the aggregators' ranks. Exits with 1 if
// what was read is not what was written. Plain MPI; one thread.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kRegion = 3744;
constexpr int kSpace = 256;

MPI_File open_ordered(const char* name, const char* order, const char* buffer_bytes) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "tasuki_io_order", order);
  MPI_Info_set(info, "tasuki_io_aggregators", "round_robin:1");
  MPI_Info_set(info, "cb_buffer_size", buffer_bytes);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != MPI_SUCCESS) {
    std::fprintf(stderr, "io_orders: %s cannot be opened\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Info_free(&info);
  return file;
}

std::string hint_of(MPI_File file, const char* key) {
  MPI_Info info;
  MPI_File_get_info(file, &info);
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  MPI_Info_free(&info);
  return flag ? value : "";
}

double timed_call(MPI_File file, bool write, std::vector<unsigned char>& data) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  const auto bytes = static_cast<int>(data.size());
  if (write) {
    MPI_File_write_at_all(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  } else {
    MPI_File_read_at_all(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  double seconds = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

void print_row(const std::string& order, const char* what, const std::vector<double>& seconds) {
  std::printf("{\"order\": \"%s\", \"what\": \"%s\", \"seconds\": [", order.c_str(), what);
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.4e", i == 0 ? "" : ", ", seconds[i]);
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 6) {
    std::fprintf(stderr, "io_orders: %d arguments, expected FILE BYTES BUFFER_BYTES ROUNDS ORDER ...\n",
                 argc - 1);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const long long bytes = std::strtoll(argv[2], nullptr, 10) / size / kRegion * kRegion;
  const int rounds = std::atoi(argv[4]);
  const std::vector<std::string> orders(argv + 5, argv + argc);

  MPI_Datatype region, filetype;
  MPI_Type_contiguous(kRegion, MPI_BYTE, &region);
  MPI_Type_create_resized(region, 0, static_cast<MPI_Aint>(kRegion + kSpace) * size, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_free(&region);
  std::vector<MPI_File> files;
  for (const std::string& order : orders) {
    files.push_back(open_ordered(argv[1], order.c_str(), argv[3]));
    MPI_File_set_view(files.back(), static_cast<MPI_Offset>(rank) * (kRegion + kSpace), MPI_BYTE, filetype,
                      "native", MPI_INFO_NULL);
  }

  std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
  std::vector<std::vector<double>> writes(orders.size()), reads(orders.size());
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      for (std::size_t byte = 0; byte < data.size(); ++byte)
        data[byte] =
            static_cast<unsigned char>(byte / 7 + byte * 31 + static_cast<std::size_t>(rank * 5 + round) + i);
      const std::vector<unsigned char> written = data;
      writes[i].push_back(timed_call(files[i], true, data));
      std::fill(data.begin(), data.end(), 0);
      reads[i].push_back(timed_call(files[i], false, data));
      wrong |= data != written;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  if (rank == 0) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      print_row(orders[i], "write", writes[i]);
      print_row(orders[i], "read", reads[i]);
    }
    std::printf("{\"aggregators\": \"%s\", \"order\": \"%s\"}\n",
                hint_of(files[0], "romio_aggregator_list").c_str(),
                hint_of(files[0], "tasuki_io_order").c_str());
    if (wrong) std::fprintf(stderr, "io_orders: what was read is not what was written\n");
  }
  for (MPI_File& file : files) MPI_File_close(&file);
  MPI_Type_free(&filetype);
  MPI_Finalize();
  return wrong;
}
