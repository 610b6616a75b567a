#pragma once
// A substep of a subdomain whose halos come from other ranks. Halos travel while the inner box is computed; each outer
// segment (core/segments.hpp) starts when the messages that bring what it reads have been unpacked, in the order in
// which they arrive. The next substep packs as soon as the outer segments are done. Nothing waits for the whole device.
//
// Order between the streams, by events:
//   pack, unpack   after the outer segments of the substep before (which wrote what is packed, and had read the halo)
//   inner box      after all segments of the substep before
//   outer segment  after all segments of the substep before, and the unpacking of its messages

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/segments.hpp"
#include "gpu/halo.hpp"
#include "gpu/state.hpp"
#include "gpu/substep.hpp"

namespace mhd::gpu {

/// When, on the device, the inner box of a substep was done and when the last halo was there.
struct SubstepMarks {
  Event computed{true}, arrived{true};
  bool exchanged = false;
  /// How long the device had nothing to compute for want of a halo.
  double exposed_seconds() const { return exchanged ? std::max(0.0, arrived.seconds_since(computed)) : 0; }
};

struct PipelineOptions {
  bool overlap = true;  ///< otherwise all cells are computed after the last message
  std::uint64_t stress_seed = 0;
};

class Pipeline {
 public:
  /// `arguments` holds what is the same for all substeps and segments.
  Pipeline(const HaloPlan& plan, std::unique_ptr<HaloExchange> halo, const PipelineOptions& options,
           const SubstepArguments& arguments, const SubstepKernel& kernel, int multiprocessors);

  /// Queues a substep from one state into the other. Without `exchange` the halos of `in` must be there. `main` takes
  /// the inner box; what follows in it comes before or after the outer segments: see join.
  void substep(const SubstepCoefficients& runge_kutta, const FieldPointers& pointers, const DeviceState& in,
               const DeviceState& out, bool first, bool exchange, SubstepMarks& marks, const Stream& main);
  /// What is put into `main` from now on comes after all that was queued here.
  void join(const Stream& main) const;
  /// Fills the halos of a state; what is put into `main` from now on finds them.
  void fill(const DeviceState& state, const Stream& main);

  const HaloExchange& halo() const { return *halo_; }
  /// Of the inner box.
  const SubstepArguments& inner() const { return inner_; }

 private:
  struct Outer {
    SubstepArguments arguments;
    std::uint32_t awaits = 0;
    Stream stream{Stream::Priority::high};
    bool queued = false;
  };
  /// Of the last substep: the inner box, and the outer segments.
  std::span<const Event> done() const { return done_[parity_]; }
  std::span<const Event> outer_done() const { return done().subspan(1); }

  std::unique_ptr<HaloExchange> halo_;
  SubstepKernel kernel_;
  SubstepArguments inner_;
  std::vector<Outer> outer_;
  std::vector<Event> done_[2];  ///< by substep, in turn
  Event ready_;
  int parity_ = 0;
  Stress stress_;
};

}  // namespace mhd::gpu
