// The main program of the tests that run on several MPI ranks. All ranks run the same tests in the same order; rank 0
// reports. A failure on any rank ends all of them at once: the others would wait for it in the next collective call.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#define MHD_CATCH_RUNNER
#include "tests/catch.hpp"

namespace {

void stop_at_first_failure(Catch::ConfigData& config) { config.abortAfter = 1; }

void keep_order_of_declaration(Catch::ConfigData& config) {
#if MHD_CATCH_VERSION >= 3
  config.runOrder = Catch::TestRunOrder::Declared;
#else
  config.runOrder = Catch::RunTests::InDeclarationOrder;
#endif
}

int run_tests(int argc, char** argv, int rank) {
  Catch::Session session;
  if (const int wrong_usage = session.applyCommandLine(argc, argv)) return wrong_usage;
  stop_at_first_failure(session.configData());
  keep_order_of_declaration(session.configData());

  std::ostringstream report;
  std::streambuf* const terminal = std::cout.rdbuf();
  if (rank != 0) std::cout.rdbuf(report.rdbuf());
  const int result = std::min(session.run(), 255);
  std::cout.rdbuf(terminal);
  if (result != 0) {
    std::fprintf(stderr, "%stests failed on rank %d\n", report.str().c_str(), rank);
    std::fflush(stderr);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int result = run_tests(argc, argv, rank);
  if (result != 0) {
    std::cout.flush();
    MPI_Abort(MPI_COMM_WORLD, result);
  }
  MPI_Finalize();
  return result;
}
