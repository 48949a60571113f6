// Making and unmaking the predefined objects of a process.
#include "object/objects.hpp"

#include <utility>

#include "datatype/predefined.hpp"
#include "p2p/arrived_message.hpp"
#include "reduction/op.hpp"

namespace tasuki {
namespace {

void make_ops(Objects& objects) {
  constexpr Predefined kOps[] = {kMpiSum,  kMpiMin, kMpiMax,  kMpiProd,   kMpiBand,   kMpiBor,     kMpiBxor,
                                 kMpiLand, kMpiLor, kMpiLxor, kMpiMinloc, kMpiMaxloc, kMpiReplace, kMpiNoOp};
  for (const Predefined number : kOps) {
    Op* op = new Op;
    op->predefined = number;
    op->commutative = number != kMpiReplace && number != kMpiNoOp;
    objects.predefined[number] = op;
  }
}

void make_errhandlers(Objects& objects) {
  for (const Predefined number : {kMpiErrorsAreFatal, kMpiErrorsAbort, kMpiErrorsReturn}) {
    Errhandler* errhandler = new Errhandler;
    errhandler->predefined = number;
    objects.predefined[number] = errhandler;
  }
}

}  // namespace

Objects::Objects(Process& process) {
  make_predefined_datatypes(predefined);
  make_ops(*this);
  make_errhandlers(*this);
  const Predefined initial = process.config.initial_errhandler == kReturnFirst  ? kMpiErrorsReturn
                             : process.config.initial_errhandler == kAbortFirst ? kMpiErrorsAbort
                                                                                : kMpiErrorsAreFatal;
  initial_errhandler = Ref<Errhandler>::share(predefined_object<Errhandler>(*this, initial));
  null_file.errhandler = Ref<Errhandler>::share(predefined_object<Errhandler>(*this, kMpiErrorsReturn));

  Group* empty = new Group;
  empty->predefined = kMpiGroupEmpty;
  predefined[kMpiGroupEmpty] = empty;

  Message* no_proc = new Message;
  no_proc->predefined = kMpiMessageNoProc;
  predefined[kMpiMessageNoProc] = no_proc;

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
