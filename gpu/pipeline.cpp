#include "gpu/pipeline.hpp"

#include <utility>

namespace mhd::gpu {
namespace {

/// Blocks of the inner box fill a multiprocessor. This many are left to what has just arrived.
constexpr int multiprocessors_for_halos = 4;

std::vector<Cut> of_rank_0(const std::vector<Cut>& own, const Comm& comm) {
  std::vector<std::int64_t> numbers;
  for (const Cut& cut : own) numbers.insert(numbers.end(), {cut.overlap ? 1 : 0, cut.tile.x, cut.tile.y, cut.tile.z});
  std::int64_t count = static_cast<std::int64_t>(numbers.size());
  comm.broadcast(std::span(&count, 1));
  numbers.resize(static_cast<std::size_t>(count));
  comm.broadcast(numbers);
  const auto integer = [&](std::size_t i) { return static_cast<int>(numbers[i]); };
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < numbers.size(); i += 4)
    cuts.push_back({numbers[i] != 0, {integer(i + 1), integer(i + 2), integer(i + 3)}});
  return cuts;
}

}  // namespace

Pipeline::Pipeline(const HaloPlan& plan, std::unique_ptr<HaloExchange> halo, const SubstepArguments& arguments,
                   const SubstepKernel& kernel, int multiprocessors, Timeline& timeline, std::uint64_t stress_seed)
    : plan_(plan),
      halo_(std::move(halo)),
      kernel_(kernel),
      multiprocessors_(multiprocessors),
      inner_(arguments),
      timeline_(timeline),
      stress_(stress_seed) {
  cut({.overlap = false});
}

SegmentPlan Pipeline::segments(const Cut& cut) const {
  SegmentPlan segments(plan_, cut.tile);
  if (cut.overlap) return segments;
  OuterSegment whole;
  whole.box = {{0, 0, 0}, plan_.cells};
  whole.awaits = (std::uint32_t{1} << plan_.messages.size()) - 1;
  segments.inner = {};
  segments.outer = {whole};
  return segments;
}

std::vector<Cut> Pipeline::possible_cuts(const Comm& comm) const {
  const TileShape& shape = kernel_.shape;
  const int planes = plan_.cells.z;
  SubstepArguments whole;
  whole.region = {{0, 0, 0}, plan_.cells};
  choose_tiles(whole, shape, plan_.radius, multiprocessors_);
  std::vector<Cut> cuts = {{.overlap = false}};
  std::vector<Box> inner_boxes;
  // In x and y by whole tiles, so that the segments are no more work than the subdomain; in z a block spends time on
  // planes that only warm it up, so that fewer, thicker slabs are less work, but leave less to be done meanwhile.
  for (const Int3 tile :
       {Int3{shape.tile_x, shape.tile_y, whole.chunk}, Int3{shape.tile_x, shape.tile_y, std::max(1, planes / 4)},
        Int3{shape.tile_x, shape.tile_y, 8}, Int3{shape.tile_x, shape.tile_y, 1}, Int3{1, 1, 1}}) {
    const Box inner = segments({.tile = tile}).inner;
    if (inner.empty() || std::ranges::find(inner_boxes, inner) != inner_boxes.end()) continue;
    inner_boxes.push_back(inner);
    cuts.push_back({.tile = tile});
  }
  return of_rank_0(cuts, comm);
}

void Pipeline::cut(const Cut& cut) {
  const SegmentPlan plan_of_segments = segments(cut);
  inner_.region = plan_of_segments.inner;
  if (!inner_.region.empty())
    choose_tiles(inner_, kernel_.shape, plan_.radius, std::max(1, multiprocessors_ - multiprocessors_for_halos));
  outer_.clear();
  for (const OuterSegment& segment : plan_of_segments.outer) {
    OuterBox& outer = outer_.emplace_back();
    outer.arguments = inner_;
    outer.arguments.region = segment.box;
    outer.awaits = segment.awaits;
    choose_tiles(outer.arguments, kernel_.shape, plan_.radius, multiprocessors_);
  }
  while (streams_.size() < outer_.size()) streams_.emplace_back(Stream::Priority::high);
  for (std::vector<Event>& events : done_)
    while (events.size() < 1 + outer_.size()) events.emplace_back();
}

std::string Pipeline::cut_text() const {
  if (inner_.region.empty()) return "no overlap: all cells are computed when the halos are there";
  return to_string(inner_.region.size()) + " inner cells are computed while halos travel, then " +
         std::to_string(outer_.size()) + " outer segments";
}

void Pipeline::substep(const SubstepCoefficients& runge_kutta, const FieldPointers& pointers, const DeviceState& in,
                       const DeviceState& out, bool first, bool exchange, SubstepMarks& marks, const Stream& main) {
  const auto queue = [&](SubstepArguments& arguments, const Stream& stream, const char* name, int number) {
    stress_.delay(stream.get());
    const Stage stage(timeline_, name, number, &stream);
    arguments.runge_kutta = runge_kutta;
    arguments.fields = pointers;
    kernel_.launch(arguments, in.padded_tile(), out.tile(), first, stream.get());
  };
  if (exchange) halo_->begin(in.cell(0), outer_done());
  join(main);
  main.record(ready_);
  parity_ ^= 1;
  const std::vector<Event>& now = done_[parity_];
  if (!inner_.region.empty()) queue(inner_, main, "inner", -1);
  main.record(now[0]);
  main.record(marks.computed);

  for (OuterBox& outer : outer_) outer.queued = false;
  const auto queue_outer = [&](std::uint32_t arrived) {
    for (std::size_t n = 0; n < outer_.size(); ++n) {
      OuterBox& outer = outer_[n];
      if (outer.queued || (outer.awaits & ~arrived) != 0) continue;
      const Stream& stream = streams_[n];
      stream.wait(ready_);
      if (exchange) stream.wait(halo_->unpacked());
      queue(outer.arguments, stream, "outer", static_cast<int>(n));
      stream.record(now[1 + n]);
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

}  // namespace mhd::gpu
