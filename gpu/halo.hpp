#pragma once
// Halos of device fields: periodic images within a subdomain, and the exchange with other ranks.

#include <vector>

#include "core/comm.hpp"
#include "core/halo_host.hpp"
#include "core/regions.hpp"
#include "gpu/buffer.hpp"
#include "gpu/layout.hpp"
#include "gpu/stream.hpp"

namespace mhd::gpu {

/// Copies cells into the halo of the x and y axes that this rank holds alone (all fields; `first` is cell (0, 0, 0) of
/// slot 0). Halos of the other axes must be filled before.
void fill_images(double* first, const Layout& layout, int fields, cudaStream_t stream);

/// A box of cells of all fields, and where its values lie in a message buffer: [slot][z][y][x] from `offset` on.
struct PackedBox {
  Box box;
  std::int64_t offset = 0;  ///< doubles
};
/// Copies boxes into (or out of) a buffer in device memory. `boxes` is host memory, read before the call returns.
void pack(const double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes, double* buffer,
          cudaStream_t stream);
void unpack(double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes, const double* buffer,
            cudaStream_t stream);

/// The exchange through pinned host memory: pack on the device, copy, MPI between hosts, copy, unpack.
class StagedHalo {
 public:
  StagedHalo(const HaloPlan& plan, const Layout& layout, int fields, const Comm& comm);
  /// Fills the halos of the state whose cell (0, 0, 0) of slot 0 is `first`; returns when all is in the stream.
  void exchange(double* first, const Stream& stream);
  const StepTiming& timing() const { return timing_; }
  void reset_timing() { timing_ = {}; }

 private:
  Layout layout_;
  int fields_;
  std::vector<std::vector<PackedBox>> send_, receive_;  ///< by message
  std::vector<std::int64_t> lengths_, offsets_;         ///< by message, doubles
  DeviceBuffer<double> device_send_, device_receive_;
  HaloMessages outgoing_, incoming_;
  std::vector<Event> copied_;
  StepTiming timing_;
};

}  // namespace mhd::gpu
