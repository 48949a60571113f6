// mbl's Clock over clocks that differ: each rank's is a second and a half later than that of the rank before,
// and 400 microseconds a second faster. All are made of the machine's one clock, so the truth is known. They
// go at a ten thousandth of its pace: a message that a busy machine holds up for a tenth of a second then
// takes ten microseconds. The time that a clock drifts for is added, at all ranks, instead of waited for.
// Prints, a line a rank: how far the rank's idea of rank 0's time is from the truth when it was synchronised,
// 0.7 s later, after the check, and 0.7 s after that; what the check returned; and the offset first found.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../bench/mbl/clock.hpp"

namespace {

double second_late = 0, seconds_faster = 0;  // of this rank's clock, set once
double seconds_passed = 0;                   // by jumps, at all ranks alike

double true_seconds() {
  return 1e-4 * mbl::monotonic_seconds() + seconds_passed;
}

double skewed() {
  const double time = true_seconds();
  return time + second_late + seconds_faster * time;
}

double wrong_by(const mbl::Clock& clock) {
  return std::abs(clock.now() - true_seconds());
}

// Between two looks: no rank may answer in the new time what another asked in the old.
void let_pass(double seconds) {
  MPI_Barrier(MPI_COMM_WORLD);
  seconds_passed += seconds;
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && std::strcmp(argv[1], "skewed") == 0) {
    second_late = 1.5 * rank;
    seconds_faster = 400e-6 * rank;
  }
  mbl::Clock clock(skewed);
  clock.synchronise(MPI_COMM_WORLD);
  const double first = wrong_by(clock), offset = clock.offset();
  let_pass(0.7);
  const double drifted = wrong_by(clock);
  const double told = clock.check(MPI_COMM_WORLD, 2e-6);
  const double corrected = wrong_by(clock);
  let_pass(0.7);
  const double later = wrong_by(clock);
  double mine[6] = {first, drifted, corrected, later, told, offset}, all[6 * 64];
  MPI_Gather(mine, 6, MPI_DOUBLE, all, 6, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i) {
    const double* one = all + 6 * i;
    std::printf("%.9f %.9f %.9f %.9f %.9f %.9f\n", one[0], one[1], one[2], one[3], one[4], one[5]);
  }
  MPI_Finalize();
  return 0;
}
