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
#include <string>
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

/// How a subdomain is cut into the inner box and outer segments.
struct Cut {
  bool overlap = true;  ///< otherwise all cells are computed after the last message
  Int3 tile{1, 1, 1};   ///< of SegmentPlan
};

class Pipeline {
 public:
  /// `arguments` holds what is the same for all substeps and segments. `timeline` must outlive this. Without overlap
  /// until `cut` says otherwise.
  Pipeline(const HaloPlan& plan, std::unique_ptr<HaloExchange> halo, const SubstepArguments& arguments,
           const SubstepKernel& kernel, int multiprocessors, Timeline& timeline, std::uint64_t stress_seed);

  /// Collective. The cuts that may be fastest, which depends on the subdomain and on the time that messages take; of
  /// those with the same segments there is one. Subdomains differ in size, and so do these cuts: on all ranks those of
  /// rank 0.
  std::vector<Cut> possible_cuts(const Comm& comm) const;
  /// Cuts anew, between substeps.
  void cut(const Cut& cut);
  /// "188 x 250 x 240 inner cells computed while halos travel, then 6 outer segments"
  std::string cut_text() const;

  /// Queues a substep from one state into the other. Without `exchange` the halos of `in` must be there. `main` takes
  /// the inner box; what follows in it comes before or after the outer segments: see join.
  void substep(const SubstepCoefficients& runge_kutta, const FieldPointers& pointers, const DeviceState& in,
               const DeviceState& out, bool first, bool exchange, SubstepMarks& marks, const Stream& main);
  /// What is put into `main` from now on comes after all that was queued here.
  void join(const Stream& main) const;
  /// Fills the halos of a state; what is put into `main` from now on finds them. While they travel, `inner` is called
  /// to queue into `main` what reads none, for a box of cells (none where it is empty); afterwards `outer`, for each of
  /// the boxes that hold the other cells.
  template <class Inner, class Outer>
  void fill(const DeviceState& state, const Stream& main, const Inner& inner, const Outer& outer) {
    halo_->begin(state.cell(0), outer_done());
    if (!inner_.region.empty()) inner(inner_.region);
    for (int m = halo_->next(state.cell(0)); m >= 0; m = halo_->next(state.cell(0))) main.wait(halo_->unpacked());
    for (const OuterBox& o : outer_) outer(o.arguments.region);
  }

  const HaloExchange& halo() const { return *halo_; }
  /// Of the inner box.
  const SubstepArguments& inner() const { return inner_; }

 private:
  struct OuterBox {
    SubstepArguments arguments;
    std::uint32_t awaits = 0;
    bool queued = false;
  };
  /// Of the last substep: the inner box, and the outer segments.
  std::span<const Event> done() const { return done_[parity_]; }
  std::span<const Event> outer_done() const { return done().subspan(1); }

  SegmentPlan segments(const Cut& cut) const;

  HaloPlan plan_;
  std::unique_ptr<HaloExchange> halo_;
  SubstepKernel kernel_;
  int multiprocessors_;
  SubstepArguments inner_;
  std::vector<OuterBox> outer_;
  std::vector<Stream> streams_;  ///< of outer segments
  std::vector<Event> done_[2];   ///< by substep, in turn
  Event ready_;
  int parity_ = 0;
  Timeline& timeline_;
  Stress stress_;
};

}  // namespace mhd::gpu
