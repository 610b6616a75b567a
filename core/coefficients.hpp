#pragma once
// Everything that the kernels need to know of a run, as plain numbers: computed once, on the host, for all backends.

#include "core/courant.hpp"
#include "core/derivatives.hpp"
#include "core/grid.hpp"
#include "core/mhd.hpp"

namespace mhd {

struct Config;  // kernels are not recompiled when a key is added

struct Coefficients {
  StencilCoefficients stencil;
  PhysicsCoefficients physics;
  CourantCoefficients courant;
};

/// Orders 2, 4, 6, 8; the mixed coefficients are a quarter of those of the second derivative.
StencilCoefficients stencil_coefficients(const Grid& grid);

Coefficients coefficients(const Config& config);

}  // namespace mhd
