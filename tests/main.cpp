// The main program of the tests that need no MPI.

#define MHD_CATCH_RUNNER
#include "tests/catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
