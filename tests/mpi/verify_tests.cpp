// What `mhdsim verify` returns, on any number of ranks.

#include "app/verify.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

using namespace mhd;

TEST_CASE("verify passes where the error is within the bound and fails on every rank where it is above", "[verify]") {
  const Comm comm(MPI_COMM_WORLD);
  Config config;
  config.grid.cells = {17, 16, 18};
  config.grid.order = 4;
  config.physics.viscosity = 0.01;
  config.initial.kind = InitialKind::random;
  config.initial.high = 0.1;
  CHECK(verify(config, comm, {1, 0}) == static_cast<int>(ExitCode::complete));
  // The bits are those of the model: only a bound that nothing meets is exceeded.
  CHECK(verify(config, comm, {1, -1}) == static_cast<int>(ExitCode::difference));
}
