#include "gpu/pipeline.hpp"

#include <utility>

namespace mhd::gpu {
namespace {

/// Blocks of the inner box fill a multiprocessor. This many are left to what has just arrived.
constexpr int multiprocessors_for_halos = 4;

SegmentPlan segments(const HaloPlan& plan, bool overlap) {
  SegmentPlan segments(plan);
  if (overlap) return segments;
  OuterSegment whole;
  whole.box = {{0, 0, 0}, plan.cells};
  whole.awaits = (std::uint32_t{1} << plan.messages.size()) - 1;
  segments.inner = {};
  segments.outer = {whole};
  return segments;
}

}  // namespace

Pipeline::Pipeline(const HaloPlan& plan, std::unique_ptr<HaloExchange> halo, const PipelineOptions& options,
                   const SubstepArguments& arguments, const SubstepKernel& kernel, int multiprocessors)
    : halo_(std::move(halo)), kernel_(kernel), inner_(arguments), stress_(options.stress_seed) {
  const SegmentPlan plan_of_segments = segments(plan, options.overlap);
  inner_.region = plan_of_segments.inner;
  if (!inner_.region.empty())
    choose_tiles(inner_, kernel.shape, plan.radius, std::max(1, multiprocessors - multiprocessors_for_halos));
  for (const OuterSegment& segment : plan_of_segments.outer) {
    Outer& outer = outer_.emplace_back();
    outer.arguments = arguments;
    outer.arguments.region = segment.box;
    outer.awaits = segment.awaits;
    choose_tiles(outer.arguments, kernel.shape, plan.radius, multiprocessors);
  }
  for (std::vector<Event>& events : done_) events = std::vector<Event>(1 + outer_.size());
}

void Pipeline::substep(const SubstepCoefficients& runge_kutta, const FieldPointers& pointers, const DeviceState& in,
                       const DeviceState& out, bool first, bool exchange, SubstepMarks& marks, const Stream& main) {
  const std::span<const Event> before = done();
  const auto queue = [&](SubstepArguments& arguments, const Stream& stream) {
    for (const Event& event : before) stream.wait(event);
    stress_.delay(stream.get());
    arguments.runge_kutta = runge_kutta;
    arguments.fields = pointers;
    kernel_.launch(arguments, in.padded_tile(), out.tile(), first, stream.get());
  };
  if (exchange)
    halo_->begin(in.cell(0), outer_done());
  else
    main.record(ready_);
  join(main);
  parity_ ^= 1;
  const std::vector<Event>& now = done_[parity_];
  if (!inner_.region.empty()) queue(inner_, main);
  main.record(now[0]);
  main.record(marks.computed);

  for (Outer& outer : outer_) outer.queued = false;
  const auto queue_outer = [&](std::uint32_t arrived) {
    for (std::size_t n = 0; n < outer_.size(); ++n) {
      Outer& outer = outer_[n];
      if (outer.queued || (outer.awaits & ~arrived) != 0) continue;
      if (exchange) {
        for (int m = 0; m < halo_->messages(); ++m)
          if (outer.awaits >> m & 1) outer.stream.wait(halo_->unpacked(m));
      } else {
        outer.stream.wait(ready_);
      }
      queue(outer.arguments, outer.stream);
      outer.stream.record(now[1 + n]);
      outer.queued = true;
    }
  };
  marks.exchanged = exchange;
  if (!exchange) {
    queue_outer(~std::uint32_t{0});
    return;
  }
  std::uint32_t arrived = 0;
  for (int m = halo_->next(in.cell(0)); m >= 0; m = halo_->next(in.cell(0)))
    queue_outer(arrived |= std::uint32_t{1} << m);
  halo_->mark(marks.arrived);
}

void Pipeline::join(const Stream& main) const {
  for (const Event& event : done()) main.wait(event);
}

void Pipeline::fill(const DeviceState& state, const Stream& main) {
  halo_->begin(state.cell(0), outer_done());
  for (int m = halo_->next(state.cell(0)); m >= 0; m = halo_->next(state.cell(0))) main.wait(halo_->unpacked(m));
}

}  // namespace mhd::gpu
