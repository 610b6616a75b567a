#include "app/exchange_text.hpp"

#include <fmt/core.h>

#include <cstdint>

#include "app/bytes_text.hpp"
#include "core/regions.hpp"
#include "core/segments.hpp"

namespace mhd {
namespace {

/// "-x+z"
std::string direction_text(Int3 direction) {
  std::string text;
  for (int axis = 0; axis < 3; ++axis)
    if (direction[axis] != 0) text += fmt::format("{}{}", direction[axis] < 0 ? '-' : '+', axis_name(axis));
  return text;
}

/// The numbers of the bits that are set: "0 2 3"
std::string numbers_text(std::uint32_t mask) {
  std::string text;
  for (int n = 0; mask != 0; ++n, mask >>= 1)
    if (mask & 1) text += (text.empty() ? "" : " ") + std::to_string(n);
  return text.empty() ? "-" : text;
}

std::string part_text(const std::string& name, const Box& box, double cell_bytes, const std::string& when) {
  const auto cells = static_cast<double>(box.volume());
  const std::string from = box.empty() ? "" : fmt::format("{}, {}, {}", box.lower.x, box.lower.y, box.lower.z);
  return fmt::format("  {:<8} {:<18} {:>16} {:>11.0f} {:>11}   {}\n", name, from,
                     box.empty() ? "none" : to_string(box.size()), cells, bytes_text(cells * cell_bytes), when);
}

}  // namespace

std::string exchange_text(const Config& config, const Decomposition& decomposition, int rank) {
  const HaloPlan plan(decomposition, rank, config.run.exchange_corners);
  const SegmentPlan segments(plan);
  const double cell_bytes = 8.0 * config.physics.fields().count();

  std::string text = fmt::format("messages of rank {} per substep ({} cells, bytes of all {} fields)\n", rank,
                                 to_string(plan.cells), config.physics.fields().count());
  if (plan.messages.empty())
    text += "  none: this rank holds all axes alone\n";
  else
    text += fmt::format("  {:<7} {:>6} {:>11} {:>11}   {}\n", "message", "rank", "cells", "bytes", "halo segments");
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    std::string directions;
    for (const HaloSegment& segment : plan.segments)
      if (segment.message == static_cast<int>(m)) directions += " " + direction_text(segment.direction);
    text += fmt::format("  {:<7} {:>6} {:>11} {:>11}  {}\n", m, plan.messages[m].neighbour, plan.messages[m].cells,
                        bytes_text(static_cast<double>(plan.messages[m].cells) * cell_bytes), directions);
  }

  if (!plan.segments.empty())
    text += fmt::format("\nhalo segments of rank {}\n  {:<7} {:>16} {:>11} {:>11} {:>8}   {:<13} {}\n", rank, "segment",
                        "size", "cells", "bytes", "message", "read by outer", "sent from outer");
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    const HaloSegment& segment = plan.segments[s];
    std::uint32_t readers = 0;
    for (std::size_t n = 0; n < segments.outer.size(); ++n) readers |= (segments.outer[n].reads >> s & 1u) << n;
    const auto cells = static_cast<double>(segment.recv_box.volume());
    text += fmt::format("  {:<7} {:>16} {:>11.0f} {:>11} {:>8}   {:<13} {}\n", direction_text(segment.direction),
                        to_string(segment.recv_box.size()), cells, bytes_text(cells * cell_bytes), segment.message,
                        numbers_text(readers), numbers_text(segments.fed_by[s]));
  }

  text += fmt::format("\ncompute segments of rank {}\n  {:<8} {:<18} {:>16} {:>11} {:>11}   {}\n", rank, "segment",
                      "first cell", "size", "cells", "bytes", "after messages");
  text += part_text("inner", segments.inner, cell_bytes, "-");
  for (std::size_t n = 0; n < segments.outer.size(); ++n)
    text += part_text(fmt::format("outer {}", n), segments.outer[n].box, cell_bytes,
                      numbers_text(segments.outer[n].awaits));
  return text;
}

}  // namespace mhd
