#pragma once
// A failure on one rank becomes the same failure on every rank, so that nobody waits for a rank that has given up.

#include <functional>

#include "core/comm.hpp"

namespace mhd {

/// Collective: every rank runs `action`, then all learn whether it succeeded everywhere. Where it threw on some rank,
/// every rank throws an Error(everywhere) with the code and message of the lowest such rank. `action` may call
/// collective functions only if a failure inside cannot make a rank miss one.
void agree(const Comm& comm, const std::function<void()>& action);

}  // namespace mhd
