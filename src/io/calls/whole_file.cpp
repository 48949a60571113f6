// Questions about open files and changes of the file as a whole (MPI 14.2.4 to 14.2.8), consistency (14.6),
// error handlers (14.7).
#include <string>

#include "io/api.hpp"
#include "io/file/agreed_hints.hpp"
#include "io/file/agreement.hpp"
#include "io/file/pending.hpp"
#include "io/hints/hint_table.hpp"
#include "object/errhandler.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

/// The storage is changed by rank 0; all agree on how it went. REQUIRES: a collective call.
template <class Change>
Code change_size(File& file, Offset size, const char* doing, Change change) {
  Process& process = file.process;
  finish_pending(file);
  Code code = kSuccess;
  if (!file.can_write()) {
    code = process.fail(kErrReadOnly, "\"%.400s\" was opened with MPI_MODE_RDONLY", file.name.c_str());
  } else if (size < 0) {
    code = process.fail(kErrArg, "size = %lld, expected 0 or more", static_cast<long long>(size));
  }
  if (const Code failed = agree_on(*file.comm, code, "size", size)) return failed;
  if (file.comm->rank == 0) {
    const int error = change(*file.driver);
    if (error != 0) code = fail_system(process, error, doing, file.name);
  }
  return follow_first(*file.comm, code);
}

void set_where_told(Info* info, const char* key, const std::string& value) {
  if (!value.empty() && value.size() <= kInfoValueMax) set_info(info, key, value);
}

/// "0 4 1", or less where that would be too long for an info: then it ends in "...".
std::string text_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) {
    const std::string more = (text.empty() ? "" : " ") + std::to_string(rank);
    if (text.size() + more.size() + 4 > kInfoValueMax) return text + " ...";
    text += more;
  }
  return text;
}

}  // namespace

namespace api {

Code file_set_size(Process&, File* fh, Offset size) {
  return change_size(*fh, size, "set the size of",
                     [size](FileDriver& driver) { return driver.resize(size); });
}

Code file_preallocate(Process&, File* fh, Offset size) {
  return change_size(*fh, size, "preallocate",
                     [size](FileDriver& driver) { return driver.preallocate(size); });
}

Code file_get_size(Process& process, File* fh, Offset* size) {
  const int error = fh->driver->size(size);
  return error == 0 ? kSuccess : fail_system(process, error, "find the size of", fh->name);
}

Code file_get_group(Process&, File* fh, Group** group) {
  *group = group_of(*fh->comm, fh->comm->group.get());
  return kSuccess;
}

Code file_get_amode(Process&, File* fh, int* amode) {
  *amode = fh->amode;
  return kSuccess;
}

Code file_set_info(Process&, File* fh, Info* info) {
  finish_pending(*fh);
  return change_hints(*fh, info);
}

Code file_get_info(Process&, File* fh, Info** info_used) {
  Info* made = new Info;
  const HintsInForce in_force{fh->hints, fh->striping, fh->aggregators};
  for (const HintRule& rule : hint_rules()) set_where_told(made, rule.key, rule.show(in_force));
  const bool is_lustre = fh->striping.targets > 0;
  set_where_told(made, "romio_filesystem_type", is_lustre ? "LUSTRE:" : "UFS:");
  set_where_told(made, "romio_aggregator_list", text_of(fh->aggregators));
  set_where_told(made, "filename", fh->name);
  *info_used = made;
  return kSuccess;
}

Code file_set_atomicity(Process&, File* fh, bool flag) {
  finish_pending(*fh);
  if (const Code code = agree_on(*fh->comm, kSuccess, "flag", flag ? 1 : 0)) return code;
  fh->atomic = flag;
  return kSuccess;
}

Code file_get_atomicity(Process&, File* fh, bool* flag) {
  *flag = fh->atomic;
  return kSuccess;
}

Code file_sync(Process& process, File* fh) {
  finish_pending(*fh);
  Code code = kSuccess;
  if (fh->written) {
    const int error = fh->driver->sync();
    fh->written = error != 0;
    if (error != 0) code = fail_system(process, error, "sync", fh->name);
  }
  // What this rank has written is there. What others have written for it is once they have got here, too.
  if (!fh->written_together) return code;
  fh->written_together = false;
  return agree(*fh->comm, code);
}

Code file_set_errhandler(Process& process, File* file, Errhandler* errhandler) {
  ErrorOwner& owner = file != nullptr ? static_cast<ErrorOwner&>(*file) : process.objects->null_file;
  return set_errhandler(process, owner, Kind::kFile, errhandler);
}

Code file_get_errhandler(Process& process, File* file, Errhandler** errhandler) {
  const ErrorOwner& owner = file != nullptr ? static_cast<ErrorOwner&>(*file) : process.objects->null_file;
  *errhandler = get_errhandler(owner);
  return kSuccess;
}

Code file_call_errhandler(Process& process, File* fh, int errorcode) {
  ErrorOwner* owner = fh != nullptr ? static_cast<ErrorOwner*>(fh) : &process.objects->null_file;
  const Ref<File> alive = Ref<File>::share(fh);
  call_errhandler(process, *owner->errhandler, owner, errorcode);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
