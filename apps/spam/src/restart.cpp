// Restart files by collective MPI-IO: every rank writes, and reads, its own particles at once with the
// others. restart_head.hpp has the layout, and checks it.
#include "restart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "agree.hpp"
#include "error.hpp"
#include "exchange.hpp"
#include "mapping.hpp"
#include "restart_head.hpp"

namespace spam {
namespace {

/// A file that all ranks have open. MPI's files return their errors; here they become texts.
class SharedFile {
 public:
  /// Collective. Throws Error on all ranks if one of them cannot open it.
  SharedFile(MPI_Comm comm, const std::string& name, int mode) : comm_(comm), name_(name) {
    const int code = MPI_File_open(comm, name.c_str(), mode, MPI_INFO_NULL, &file_);
    if (code != MPI_SUCCESS) file_ = MPI_FILE_NULL;
    agree(comm, trouble("opened", code));
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }

  MPI_File file() const { return file_; }

  /// "" if a call went well.
  std::string trouble(const char* done, int code) const {
    if (code == MPI_SUCCESS) return "";
    std::array<char, MPI_MAX_ERROR_STRING> text;
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    std::replace(text.begin(), text.begin() + length, '\n', ' ');  // some libraries write a report
    const std::string_view why(text.data(), static_cast<std::size_t>(length));
    return fmt::format("{}: cannot be {}: {}", name_, done, why);
  }

  /// The same for a transfer, which must have been whole. `one`: the transfer's datatype.
  std::string trouble(const char* done, int code, MPI_Status* status, MPI_Datatype one,
                      std::int64_t count) const {
    if (code != MPI_SUCCESS) return trouble(done, code);
    int moved = 0;
    MPI_Get_count(status, one, &moved);
    if (moved == count) return "";
    return fmt::format("{}: cannot be {}: {} of {} were", name_, done, moved, count);
  }

  /// Collective: writes what has not been written yet. Throws Error on all ranks.
  void close() {
    const std::string unsynced = trouble("written", MPI_File_sync(file_));
    const std::string unclosed = trouble("closed", MPI_File_close(&file_));
    agree(comm_, unsynced.empty() ? unclosed : unsynced);
  }

 private:
  MPI_Comm comm_;
  std::string name_;
  MPI_File file_ = MPI_FILE_NULL;
};

/// The datatype of a ParticleRecord in a file: its bytes.
class RecordType {
 public:
  RecordType() {
    MPI_Type_contiguous(sizeof(ParticleRecord), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  RecordType(const RecordType&) = delete;
  RecordType& operator=(const RecordType&) = delete;
  ~RecordType() { MPI_Type_free(&type_); }
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_;
};

int rank_in(MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

std::vector<ParticleRecord> records_of(const Particles& particles) {
  std::vector<ParticleRecord> records(static_cast<std::size_t>(particles.size()));
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i] = {particles.id[i],
                  {particles.x[i], particles.y[i], particles.vx[i], particles.vy[i], particles.heat[i]}};
  return records;
}

void set_particles(const std::vector<ParticleRecord>& records, Particles* particles) {
  particles->resize(static_cast<int>(records.size()));
  for (std::size_t i = 0; i < records.size(); ++i) {
    particles->id[i] = records[i].id;
    const double* value = records[i].values;
    for (auto* values : particles->doubles()) (*values)[i] = *value++;
  }
}

/// The sum of all ranks' parts.
std::uint64_t summed(MPI_Comm comm, std::uint64_t part) {
  MPI_Allreduce(MPI_IN_PLACE, &part, 1, MPI_UINT64_T, MPI_SUM, comm);
  return part;
}

/// A rank's part of the particles in a file.
struct Part {
  std::int64_t first = 0, count = 0;
};

RestartHead head_of(MPI_Comm comm, const Settings& settings, const Domain& domain,
                    const Progressed& progressed, const std::vector<ParticleRecord>& records) {
  RestartHead head;
  head.step = progressed.step;
  head.time = static_cast<double>(progressed.step) * settings.integration.time_step;
  head.first = progressed.first;
  head.settings = settings_text(settings);
  head.owners.assign(domain.owners().begin(), domain.owners().end());
  head.costs = progressed.column_cost;
  head.counts.resize(static_cast<std::size_t>(domain.ranks()));
  const auto count = static_cast<std::int64_t>(records.size());
  MPI_Allgather(&count, 1, MPI_INT64_T, head.counts.data(), 1, MPI_INT64_T, comm);
  return head;
}

/// What was written before rank's particles.
std::int64_t particles_before(const RestartHead& head, int rank) {
  std::int64_t first = 0;
  for (int earlier = 0; earlier < rank; ++earlier) first += head.counts[static_cast<std::size_t>(earlier)];
  return first;
}

std::int64_t place_in_file(const RestartHead& head, std::int64_t particle) {
  return head.bytes() + particle * static_cast<std::int64_t>(sizeof(ParticleRecord));
}

void write_whole(MPI_Comm comm, const std::string& file, const RestartHead& head,
                 const std::vector<ParticleRecord>& records, std::int64_t first) {
  SharedFile open(comm, file, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  std::string trouble = open.trouble("resized", MPI_File_set_size(open.file(), head.file_bytes()));
  const RecordType record;
  const int count = static_cast<int>(records.size());
  MPI_Status status;
  int code = MPI_File_write_at_all(open.file(), place_in_file(head, first), records.data(), count,
                                   record.type(), &status);
  if (trouble.empty()) trouble = open.trouble("written", code, &status, record.type(), count);
  if (rank_in(comm) == 0) {
    const std::string bytes = encode_head(head);
    const int length = static_cast<int>(bytes.size());
    code = MPI_File_write_at(open.file(), 0, bytes.data(), length, MPI_BYTE, &status);
    if (trouble.empty()) trouble = open.trouble("written", code, &status, MPI_BYTE, length);
  }
  agree(comm, trouble);
  open.close();
}

/// On rank 0: the head of a file that is open, checked. Throws Error there alone.
RestartHead read_head(const SharedFile& open, const std::string& file, const Settings& settings) {
  MPI_Offset file_bytes = 0;
  std::string trouble = open.trouble("read", MPI_File_get_size(open.file(), &file_bytes));
  if (!trouble.empty()) throw Error(trouble);
  const auto read = [&](std::int64_t length) {
    std::string bytes(static_cast<std::size_t>(length), '\0');
    MPI_Status status;
    const int code =
        MPI_File_read_at(open.file(), 0, bytes.data(), static_cast<int>(length), MPI_BYTE, &status);
    trouble = open.trouble("read", code, &status, MPI_BYTE, length);
    if (!trouble.empty()) throw Error(trouble);
    return bytes;
  };
  const std::string begin = read(std::min<std::int64_t>(file_bytes, sizeof(RestartHeader)));
  const RestartHead head = decode_head(file, read(check_header(file, begin, file_bytes)));
  check_settings(file, head, settings);
  return head;
}

/// Collective: rank 0 reads the head and tells it to all. Throws Error on all ranks.
RestartHead read_head_on_all(MPI_Comm comm, const SharedFile& open, const std::string& file,
                             const Settings& settings) {
  std::string bytes, trouble;
  try {
    if (rank_in(comm) == 0) bytes = encode_head(read_head(open, file, settings));
  } catch (const Error& error) {
    trouble = error.what();
  }
  agree(comm, trouble);
  auto length = static_cast<std::int64_t>(bytes.size());
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, comm);
  bytes.resize(static_cast<std::size_t>(length));
  MPI_Bcast(bytes.data(), static_cast<int>(length), MPI_CHAR, 0, comm);
  return decode_head(file, bytes);
}

/// What this rank reads: what it wrote, where there are as many ranks as then, else an even share.
Part part_of(const RestartHead& head, int rank, int ranks) {
  if (static_cast<std::size_t>(ranks) == head.counts.size())
    return {particles_before(head, rank), head.counts[static_cast<std::size_t>(rank)]};
  const std::int64_t all = head.particles(), first = all * rank / ranks;
  return {first, all * (rank + 1) / ranks - first};
}

std::vector<ParticleRecord> read_particles(MPI_Comm comm, const SharedFile& open, const std::string& file,
                                           const RestartHead& head, Part part) {
  std::string trouble;
  if (part.count > std::numeric_limits<int>::max())
    trouble = fmt::format("{}: {} particles are too many for one rank", file, part.count);
  agree(comm, trouble);
  std::vector<ParticleRecord> records(static_cast<std::size_t>(part.count));
  const RecordType record;
  MPI_Status status;
  const int code = MPI_File_read_at_all(open.file(), place_in_file(head, part.first), records.data(),
                                        static_cast<int>(part.count), record.type(), &status);
  agree(comm, open.trouble("read", code, &status, record.type(), part.count));
  if (summed(comm, records_checksum(records, part.first)) != head.particles_checksum)
    throw Error(file + ": a damaged restart file: its particles are not as written");
  return records;
}

/// Rank 0's word on what MPI might open and should not.
std::string told_by_rank_0(MPI_Comm comm, const std::string& file) {
  std::error_code code;
  if (rank_in(comm) != 0) return "";
  const std::filesystem::file_status status = std::filesystem::status(file, code);
  if (!std::filesystem::exists(status)) return file + ": there is no such file";
  return std::filesystem::is_regular_file(status) ? ""
                                                  : file + ": it is no file, and a restart file was expected";
}

}  // namespace

void write_restart(MPI_Comm comm, const std::string& file, const Settings& settings, const Domain& domain,
                   const Progressed& progressed) {
  const std::vector<ParticleRecord> records = records_of(domain.particles);
  RestartHead head = head_of(comm, settings, domain, progressed, records);
  const std::int64_t first = particles_before(head, domain.rank());
  head.particles_checksum = summed(comm, records_checksum(records, first));
  const std::string part = file + ".part";
  std::error_code code;
  try {
    write_whole(comm, part, head, records, first);
  } catch (const Error&) {
    if (domain.rank() == 0 && std::filesystem::is_regular_file(part, code))
      std::filesystem::remove(part, code);
    throw;
  }
  if (domain.rank() == 0) std::filesystem::rename(part, file, code);
  agree(comm, code ? fmt::format("{}: cannot be renamed to {}: {}", part, file, code.message()) : "");
}

Progressed read_restart(MPI_Comm comm, const std::string& file, const Settings& settings, Domain* domain) {
  agree(comm, told_by_rank_0(comm, file));
  const SharedFile open(comm, file, MPI_MODE_RDONLY);
  const RestartHead head = read_head_on_all(comm, open, file, settings);
  const Part part = part_of(head, domain->rank(), domain->ranks());
  set_particles(read_particles(comm, open, file, head, part), &domain->particles);
  const bool as_many = head.counts.size() == static_cast<std::size_t>(domain->ranks());
  domain->set_owners(as_many ? Owners(head.owners.begin(), head.owners.end())
                             : parse_mapping("flat")(domain->ranks(), head.costs));
  const std::string& mapping = settings.parallel.mapping;
  if (!as_many || setting_in(head.settings, "parallel.mapping") != mapping)
    remap(comm, domain, parse_mapping(mapping)(domain->ranks(), head.costs));
  return {head.step, head.first, head.costs};
}

}  // namespace spam
