#pragma once
// What a rank exchanges before each substep and in which parts it computes, as tables for `mhdsim check --verbose`.

#include <string>

#include "core/config.hpp"
#include "core/decomposition.hpp"

namespace mhd {

std::string exchange_text(const Config& config, const Decomposition& decomposition, int rank);

}  // namespace mhd
