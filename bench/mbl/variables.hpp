// What the library counts of itself: MPI_T performance variables whose names have a certain word, as notes of
// a case. So phases of an operation are told where the library tells them (exchange, read and write of
// collective I/O), and nothing is where it does not. One thread; nothing here is collective.
#pragma once

#include "suite.hpp"

namespace mbl {

/// Counters, timers and aggregates whose name has one of some words between its underscores, dots or other
/// signs: those that the environment variable MBL_VARIABLES names ("io,file"), or else the given ones.
class Variables {
 public:
  /// `file`: of which those are that belong to a file; null: none. It has to outlive this.
  Variables(const std::vector<std::string>& words, MPI_File* file);
  ~Variables();
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  /// Around the operations that count: begin(), `rounds` of them, end().
  void begin();
  void end(int rounds);
  /// "pvar_NAME": by how much it grew in a round, in the library's unit.
  Notes notes() const;

 private:
  struct Variable {
    std::string name;
    MPI_T_pvar_handle handle;
    MPI_Datatype type;
    double before, growth;
  };
  void add(int index, MPI_File* file);
  double read(const Variable& variable) const;

  bool ready_ = false;
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  std::vector<std::string> words_;
  std::vector<Variable> variables_;
};

}  // namespace mbl
