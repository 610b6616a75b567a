#pragma once
// `mhdsim check`: what a run will do, before it does it. Needs neither MPI nor a GPU.

#include <string>

#include "core/config.hpp"

namespace mhd {

/// The resolved configuration, decomposition over `ranks`, memory, halo traffic, and the files to be written; `verbose`
/// adds the messages and segments of rank 0.
/// Throws Error where the run could not start.
std::string check_text(const Config& config, int ranks, bool verbose = false);

}  // namespace mhd
