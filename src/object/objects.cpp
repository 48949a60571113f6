// Making and unmaking the predefined objects of a process.
#include "object/objects.hpp"

#include <utility>

namespace tasuki {
namespace {

void make_errhandlers(Objects& objects) {
  for (const Predefined number : {kMpiErrorsAreFatal, kMpiErrorsAbort, kMpiErrorsReturn}) {
    Errhandler* errhandler = new Errhandler;
    errhandler->predefined = number;
    objects.predefined[number] = errhandler;
  }
}

}  // namespace

Objects::Objects(Process& process) {
  make_errhandlers(*this);
  const Predefined initial = process.config.initial_errhandler == kReturnFirst  ? kMpiErrorsReturn
                             : process.config.initial_errhandler == kAbortFirst ? kMpiErrorsAbort
                                                                                : kMpiErrorsAreFatal;
  initial_errhandler = Ref<Errhandler>::share(predefined_object<Errhandler>(*this, initial));
  null_file.errhandler = Ref<Errhandler>::share(predefined_object<Errhandler>(*this, kMpiErrorsReturn));

  Group* empty = new Group;
  empty->predefined = kMpiGroupEmpty;
  predefined[kMpiGroupEmpty] = empty;

  Info* environment = new Info;
  environment->predefined = kMpiInfoEnv;
  predefined[kMpiInfoEnv] = environment;
}

Objects::~Objects() {
  // Communicators first: their attributes' callbacks ran at MPI_Finalize, what is left is only memory.
  release(std::exchange(parent, nullptr));
  for (Comm** comm : {&self, &world}) {
    if (*comm == nullptr) continue;
    predefined[(*comm)->predefined] = nullptr;
    release(*comm);
    *comm = nullptr;
  }
  initial_errhandler = {};
  null_file.errhandler = {};
  unnamed.clear();
  for (Object* object : predefined) release(object);
  for (auto& [number, keyval] : keyvals) delete keyval;
}

}  // namespace tasuki
