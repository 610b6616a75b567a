#pragma once
// Return codes of MPI, turned into exceptions. The communicator must have MPI_ERRORS_RETURN set to get here.

namespace mhd {

/// Throws Error(internal) with MPI's own text where `code` is not MPI_SUCCESS; `call` names the failed call.
void check_mpi(int code, const char* call);

}  // namespace mhd
