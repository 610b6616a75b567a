#pragma once
// `mhdsim verify`: the solver and the model solution side by side.

#include <cstdint>

#include "core/comm.hpp"
#include "core/config.hpp"

namespace mhd {

/// Error of a candidate in units of the last place of the model (Pekkila et al. 2022, section 5):
/// |candidate - model| / 2^(floor(log2 |model|) - 52); 0 where the bits agree, infinite where one of both is not a
/// number.
double error_ulps(double candidate, double model);

struct VerifyOptions {
  std::int64_t steps = 10;
  double max_ulps = 0;
};

/// Collective: every rank computes the model of the whole grid and compares its own subdomain. Prints a table and
/// returns `complete`, or `difference` where a field, or the Courant time step, is off by more than max_ulps.
int verify(const Config& config, const Comm& comm, const VerifyOptions& options);

}  // namespace mhd
