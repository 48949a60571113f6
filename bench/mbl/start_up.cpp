// The group start_up: MPI_Init, sessions, and making communicators and groups. Nothing here moves data of the
// user's, so nothing is checked; what is made is freed within the time.
#include <cmath>

#include "suite.hpp"

namespace mbl {

namespace {

class DupPattern : public Pattern {
 public:
  explicit DupPattern(const Setting& setting) : setting_(setting) {}
  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      MPI_Comm made = MPI_COMM_NULL;
      require(MPI_Comm_dup(setting_.comm, &made), "MPI_Comm_dup");
      require(MPI_Comm_free(&made), "MPI_Comm_free");
    }
  }
  std::string check() override {
    run(1);
    return kNotChecked;
  }

 private:
  Setting setting_;
};

}  // namespace

void add_start_up(Catalogue& catalogue, double init_seconds) {
  Benchmark init;
  init.group = "start_up";
  init.name = "init";
  init.doc = "MPI_Init, once in each process: its ranks are the samples";
  init.bytes = init.quick_bytes = {0};
  init.once = [init_seconds] { return init_seconds; };
  catalogue.push_back(init);
  Benchmark dup;
  dup.group = "start_up";
  dup.name = "comm_dup";
  dup.doc = "MPI_Comm_dup and MPI_Comm_free";
  dup.bytes = dup.quick_bytes = {0};
  dup.make = [](const Setting& setting) { return std::make_unique<DupPattern>(setting); };
  catalogue.push_back(dup);
}

}  // namespace mbl
