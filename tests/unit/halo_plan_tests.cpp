// What ranks exchange, without MPI: the plans of all ranks together, for axes held by one, two and three of them.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config.hpp"
#include "core/regions.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

Grid make_grid(Int3 cells, int order) {
  GridConfig config;
  config.cells = cells;
  config.order = order;
  return Grid(config);
}

std::int64_t global_index(const Grid& grid, const Box& subdomain, Int3 local) {
  Int3 cell = subdomain.lower + local;
  for (int axis = 0; axis < 3; ++axis)
    cell[axis] = (cell[axis] % grid.cells[axis] + grid.cells[axis]) % grid.cells[axis];
  return cell.x + grid.cells.x * (cell.y + std::int64_t{grid.cells.y} * cell.z);
}

/// The global cells of a message in the order of its buffer, -1 where nothing lies; `box` and `offset` of its segments.
std::vector<std::int64_t> contents(const Decomposition& decomposition, int rank, const HaloPlan& plan, int message,
                                   Box HaloSegment::*box, std::int64_t HaloSegment::*offset) {
  const Box subdomain = decomposition.box(rank);
  std::vector<std::int64_t> cells(static_cast<std::size_t>(plan.messages[message].cells), -1);
  for (const HaloSegment& segment : plan.segments) {
    if (segment.message != message) continue;
    std::int64_t at = segment.*offset;
    const Box& b = segment.*box;
    for (int k = b.lower.z; k < b.upper.z; ++k)
      for (int j = b.lower.y; j < b.upper.y; ++j)
        for (int i = b.lower.x; i < b.upper.x; ++i, ++at) {
          if (at >= static_cast<std::int64_t>(cells.size()) || cells[at] != -1) return {};
          cells[at] = global_index(decomposition.grid(), subdomain, {i, j, k});
        }
  }
  return cells;
}

/// Halo cells that the segments of a plan fill, each once; what is wrong, empty if nothing is.
std::string halo_fault(const HaloPlan& plan, const Decomposition& decomposition) {
  std::map<std::vector<int>, int> filled;
  for (const HaloSegment& segment : plan.segments)
    for (int k = segment.recv_box.lower.z; k < segment.recv_box.upper.z; ++k)
      for (int j = segment.recv_box.lower.y; j < segment.recv_box.upper.y; ++j)
        for (int i = segment.recv_box.lower.x; i < segment.recv_box.upper.x; ++i) ++filled[{i, j, k}];
  const Int3 n = plan.cells;
  Int3 reach;
  for (int axis = 0; axis < 3; ++axis) reach[axis] = decomposition.split(axis) ? plan.radius : 0;
  for (int k = -reach.z; k < n.z + reach.z; ++k)
    for (int j = -reach.y; j < n.y + reach.y; ++j)
      for (int i = -reach.x; i < n.x + reach.x; ++i) {
        const int outside = (i < 0 || i >= n.x) + (j < 0 || j >= n.y) + (k < 0 || k >= n.z);
        const int expected = outside == 0 || (outside == 3 && !plan.corners) ? 0 : 1;
        const auto found = filled.find({i, j, k});
        if ((found == filled.end() ? 0 : found->second) != expected) return "cell " + to_string(Int3{i, j, k});
        if (found != filled.end()) filled.erase(found);
      }
  return filled.empty() ? "" : "cells beyond the halo";
}

}  // namespace

TEST_CASE("what a rank packs is what its neighbour unpacks, cell by cell, on 1, 2 and 3 ranks along every axis",
          "[halo]") {
  int messages = 0;
  for (const int order : {2, 6})
    for (const bool corners : {false, true})
      for (int parts = 0; parts < 27; ++parts) {
        const Int3 subdomains{1 + parts % 3, 1 + parts / 3 % 3, 1 + parts / 9};
        const Grid grid = make_grid({11, 10, 9}, order);
        const Decomposition decomposition(grid, static_cast<int>(subdomains.product()), subdomains);
        std::vector<HaloPlan> plans;
        for (int rank = 0; rank < decomposition.ranks(); ++rank) plans.emplace_back(decomposition, rank, corners);
        for (int rank = 0; rank < decomposition.ranks(); ++rank) {
          INFO(to_string(subdomains) << " subdomains, order " << order << ", corners " << corners << ", rank " << rank);
          const HaloPlan& plan = plans[static_cast<std::size_t>(rank)];
          REQUIRE(halo_fault(plan, decomposition) == "");
          for (std::size_t m = 0; m < plan.messages.size(); ++m, ++messages) {
            const int from = plan.messages[m].neighbour;
            const HaloPlan& sender = plans[static_cast<std::size_t>(from)];
            const auto sent = std::find_if(sender.messages.begin(), sender.messages.end(),
                                           [&](const HaloMessage& message) { return message.neighbour == rank; });
            REQUIRE(sent != sender.messages.end());
            const auto packed = contents(decomposition, from, sender, static_cast<int>(sent - sender.messages.begin()),
                                         &HaloSegment::send_box, &HaloSegment::send_offset);
            const auto expected = contents(decomposition, rank, plan, static_cast<int>(m), &HaloSegment::recv_box,
                                           &HaloSegment::recv_offset);
            REQUIRE(std::count(packed.begin(), packed.end(), -1) == 0);
            REQUIRE(packed == expected);
          }
        }
      }
  CHECK(messages > 1000);
}
