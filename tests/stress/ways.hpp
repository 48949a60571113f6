// How many messages a rank has sent by each way there is, as MPI_T tells: the variables sent_WAY_messages.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

namespace stress {

class Ways {
 public:
  /// Counts from now on. Call it from the thread that calls print().
  void begin() {
    int provided = 0, variables = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session_);
    MPI_T_pvar_get_num(&variables);
    for (int i = 0; i < variables; ++i) {
      char name[128] = "";
      int length = sizeof name, verbosity, kind, bind, readonly, continuous, atomic, none = 0, count = 0;
      MPI_Datatype type;
      MPI_T_enum choices;
      MPI_T_pvar_get_info(i, name, &length, &verbosity, &kind, &type, &choices, nullptr, &none, &bind,
                          &readonly, &continuous, &atomic);
      const std::string text = name, prefix = "sent_", suffix = "_messages";
      if (text.rfind(prefix, 0) != 0 || text.size() < prefix.size() + suffix.size() ||
          text.compare(text.size() - suffix.size(), suffix.size(), suffix) != 0) {
        continue;
      }
      MPI_T_pvar_handle handle;
      MPI_T_pvar_handle_alloc(session_, i, nullptr, &handle, &count);
      if (!continuous) MPI_T_pvar_start(session_, handle);
      names_.push_back(text.substr(prefix.size(), text.size() - prefix.size() - suffix.size()));
      handles_.push_back(handle);
    }
  }

  /// Adds up what all ranks of `comm` have counted; its rank 0 prints a line. Collective.
  void print(MPI_Comm comm) {
    std::vector<unsigned long> mine(handles_.size()), sums(handles_.size());
    for (std::size_t i = 0; i < handles_.size(); ++i) MPI_T_pvar_read(session_, handles_[i], &mine[i]);
    MPI_Reduce(mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_UNSIGNED_LONG, MPI_SUM, 0, comm);
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank != 0) return;
    std::printf("ways:");
    for (std::size_t i = 0; i < sums.size(); ++i) std::printf(" %s=%lu", names_[i].c_str(), sums[i]);
    std::printf("\n");
  }

 private:
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  std::vector<MPI_T_pvar_handle> handles_;
  std::vector<std::string> names_;
};

}  // namespace stress
