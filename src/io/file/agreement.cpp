// Errors of files: classes, texts, and agreement about them.
#include "io/file/agreement.hpp"

#include <cerrno>
#include <cstring>

#include "coll/byte_collectives.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kTextBytes = 512;  // of an error as it travels

/// The message of `error`, whichever form of strerror_r this C library has.
std::string reason(int error) {
  if (error == ESPIPE)
    return "it has no positions, as a pipe, a socket or a terminal has none; expected a file or a device "
           "that has";
  char text[128] = "";
  const auto result = strerror_r(error, text, sizeof text);
  if constexpr (std::is_same_v<decltype(result), char* const>) {
    return result;
  } else {
    return text;
  }
}

/// The error of rank `root`; a rank that has one of that class keeps its own text. Collective.
Task share_error(Course& course, Comm& comm, Code mine, int root, int error_class) {
  char text[kTextBytes] = "";
  if (comm.rank == root) {
    const std::string& own = comm.process.errors.text(mine);
    std::strncpy(text, own.c_str(), kTextBytes - 1);
  }
  if (const Code code = co_await spread_bytes(course, comm, text, kTextBytes, root)) co_return code;
  if (mine != kSuccess && error_class_bits(mine) == error_class) co_return mine;
  text[kTextBytes - 1] = '\0';
  co_return comm.process.fail(error_class, "rank %d of the file's group: %s", root, text);
}

/// Returns once all ranks have come, with the error of the first one that failed. `ballots` may be null.
Task collect(Course& course, Comm& comm, Ballot mine, std::vector<Ballot>* ballots) {
  const Code code = mine.code;
  std::vector<Ballot> own;
  std::vector<Ballot>& all = ballots != nullptr ? *ballots : own;
  all.assign(static_cast<std::size_t>(comm.size()), {});
  mine.code = code == kSuccess ? 0 : error_class_bits(code);
  if (comm.size() == 1) {
    all[0] = mine;
  } else if (const Code failed = co_await gather_bytes(course, comm, &mine, all.data(), sizeof mine)) {
    co_return failed;
  }
  for (int rank = 0; rank < comm.size(); ++rank) {
    const int error_class = all[static_cast<std::size_t>(rank)].code;
    if (error_class == 0) continue;
    if (comm.size() == 1) co_return code;
    co_return co_await share_error(course, comm, code, rank, error_class);
  }
  co_return kSuccess;
}

Code collect(Comm& comm, const Ballot& mine, std::vector<Ballot>* ballots) {
  Course course(comm.process, Course::Waits::kInTheCall);
  return course.run(collect(course, comm, mine, ballots));
}

}  // namespace

int class_of_system_error(int error) {
  switch (error) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
      return kErrNoSuchFile;
    case EACCES:
    case EPERM:
      return kErrAccess;
    case EROFS:
      return kErrReadOnly;
    case EEXIST:
      return kErrFileExists;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EILSEQ:
      return kErrBadFile;
    case EBUSY:
    case ETXTBSY:
      return kErrFileInUse;
    case ENOSPC:
      return kErrNoSpace;
    case EDQUOT:
      return kErrQuota;
    case ENOMEM:
      return kErrNoMem;
    case ESPIPE:
    case EOPNOTSUPP:
      return kErrUnsupportedOperation;
    default:
      return kErrIo;
  }
}

Code fail_system(Process& process, int error, const char* doing, const std::string& name) {
  return process.fail(class_of_system_error(error), "cannot %s \"%.400s\": %s", doing, name.c_str(),
                      reason(error).c_str());
}

Code agree(Comm& comm, Code code, std::int64_t value, std::vector<Ballot>* ballots) {
  return collect(comm, {.code = code, .value = value}, ballots);
}

Task agree(Course& course, Comm& comm, Code code, std::int64_t value, std::vector<Ballot>* ballots) {
  co_return co_await collect(course, comm, {.code = code, .value = value}, ballots);
}

Code same_for_all(Comm& comm, const std::vector<Ballot>& ballots, const char* name,
                  std::int64_t (*value_of)(const Ballot&)) {
  for (int rank = 1; rank < comm.size(); ++rank) {
    if (value_of(ballots[static_cast<std::size_t>(rank)]) == value_of(ballots[0])) continue;
    return comm.process.fail(kErrNotSame, "%s differs between ranks 0 and %d of the file's group", name,
                             rank);
  }
  return kSuccess;
}

Code agree_on_mode(Comm& comm, const Ballot& mine, const char* mode_name, std::vector<Ballot>* ballots) {
  if (const Code failed = collect(comm, mine, ballots)) return failed;
  return same_for_all(comm, *ballots, mode_name,
                      [](const Ballot& ballot) { return std::int64_t{ballot.mode}; });
}

Code agree_on(Comm& comm, Code code, const char* name, std::int64_t value) {
  std::vector<Ballot> ballots;
  if (const Code failed = agree(comm, code, value, &ballots)) return failed;
  return same_for_all(comm, ballots, name, [](const Ballot& ballot) { return ballot.value; });
}

Code follow_first(Comm& comm, Code code) {
  if (comm.size() == 1) return code;
  Code error_class = code == kSuccess ? 0 : error_class_bits(code);
  if (const Code failed = bcast_bytes(comm, &error_class, sizeof error_class, 0)) return failed;
  if (error_class == 0) return kSuccess;
  Course course(comm.process, Course::Waits::kInTheCall);
  return course.run(share_error(course, comm, code, 0, error_class));
}

}  // namespace tasuki
