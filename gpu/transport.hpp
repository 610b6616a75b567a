#pragma once
// Which memory MPI is given for halos: that of the device where MPI takes it, pinned host memory otherwise.

#include <cstdint>
#include <memory>
#include <string>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/regions.hpp"
#include "gpu/halo.hpp"
#include "gpu/layout.hpp"
#include "gpu/test_options.hpp"
#include "gpu/timeline.hpp"

namespace mhd::gpu {

struct ChosenExchange {
  std::unique_ptr<HaloExchange> halo;
  std::string text;  ///< how halos travel and why so, one line
};

/// Collective. `run.transport = "auto"` takes the first of cuda_aware, peer, host_staged that works. An MPI that knows
/// nothing of CUDA crashes when it is given device memory, so that auto tries it only where MPI says on all ranks that
/// it takes it; cuda_aware and mixed try in any case, and a crash then ends with a message. All but host_staged are
/// used only after a trial: numbers sent to every neighbour, from and to the memory that halos will use, have arrived.
/// Throws Error(device) on all ranks where a message does not arrive; where what was asked for fails; and where
/// run.require_cuda_aware and MPI cannot have device memory. `timeline` must outlive the exchange.
ChosenExchange choose_exchange(const RunConfig& run, const HaloPlan& plan, const Layout& layout, int fields,
                               const Comm& comm, Timeline& timeline, const TestOptions& test = {});

/// What MPI says: 1 yes, 0 no, -1 it cannot be asked.
int cuda_support_of_mpi();

}  // namespace mhd::gpu
