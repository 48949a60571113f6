// The sentinels' memory. That of the standard ABI has the names of the MPICH ABI's, too.
#include "fortran/sentinels.hpp"

extern "C" {
decltype(mpipriv1_) mpipriv1_ = {};
decltype(mpipriv2_) mpipriv2_ = {};
decltype(mpiprivc_) mpiprivc_ = {};
int mpifcmb5_ = 0;
int mpifcmb9_ = 0;
int mpifcmba_ = 0;

int MPIR_F08_MPI_BOTTOM = 0, MPIR_F08_MPI_IN_PLACE = 0, MPIR_F08_MPI_BUFFER_AUTOMATIC = 0;
MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ = {}, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1] = {};
int MPIR_F08_MPI_ERRCODES_IGNORE[1] = {}, MPIR_F08_MPI_UNWEIGHTED[1] = {}, MPIR_F08_MPI_WEIGHTS_EMPTY[1] = {};
char MPIR_F08_MPI_ARGV_NULL[1] = {' '}, MPIR_F08_MPI_ARGVS_NULL[1] = {' '};
}
