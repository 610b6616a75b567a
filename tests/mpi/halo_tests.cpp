// Host halo exchange on any number of ranks: every halo cell that the stencils read holds the value of the periodically
// wrapped global cell. Values are unique to each cell and field.

#include "core/halo_host.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "core/config.hpp"
#include "core/error.hpp"
#include "core/nodes.hpp"
#include "core/philox.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

Grid make_grid(Int3 cells, int order) {
  GridConfig config;
  config.cells = cells;
  config.order = order;
  return Grid(config);
}

/// Decompositions over this number of ranks that fit the grid: slabs, pencils, blocks, along all axes.
std::vector<Int3> decompositions(const Grid& grid, int ranks) {
  std::vector<Int3> found;
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; y <= ranks / x; ++y) {
      if (ranks % (x * y) != 0) continue;
      const Int3 parts{x, y, ranks / (x * y)};
      bool fits = true;
      for (int axis = 0; axis < 3; ++axis)
        fits = fits && (parts[axis] == 1 || grid.cells[axis] / parts[axis] >= grid.radius());
      if (fits) found.push_back(parts);
    }
  return found;
}

/// Exactly representable and different for every round, field and global cell.
double pattern(const Grid& grid, Int3 cell, int slot, int round) {
  const std::int64_t index = cell.x + grid.cells.x * (cell.y + std::int64_t{grid.cells.y} * cell.z);
  return static_cast<double>(1 + slot + 16 * (round + 16 * index));
}

Int3 wrapped(Int3 cell, Int3 cells) {
  for (int axis = 0; axis < 3; ++axis) cell[axis] = (cell[axis] % cells[axis] + cells[axis]) % cells[axis];
  return cell;
}

template <typename F>
void for_each_cell(Int3 lower, Int3 upper, F&& f) {
  for (int k = lower.z; k < upper.z; ++k)
    for (int j = lower.y; j < upper.y; ++j)
      for (int i = lower.x; i < upper.x; ++i) f(Int3{i, j, k});
}

/// Interior: the pattern; everything else: NaN, so that a halo cell that is not written shows.
void fill(HostState& state, const Grid& grid, const Box& box, int round) {
  const HostLayout& layout = state.layout();
  for (int slot = 0; slot < state.fields(); ++slot) {
    double* cell = state.cell(slot);
    const auto at = [&](Int3 c) -> double& { return cell[c.x + c.y * layout.stride_y + c.z * layout.stride_z]; };
    for_each_cell(Int3{} - layout.halo, layout.cells + layout.halo,
                  [&](Int3 c) { at(c) = std::numeric_limits<double>::quiet_NaN(); });
    for_each_cell({}, layout.cells, [&](Int3 c) { at(c) = pattern(grid, box.lower + c, slot, round); });
  }
}

/// Number of wrong cells among the interior, the faces, the edges and, if asked for, the corners of the halo.
std::int64_t wrong_cells(const HostState& state, const Grid& grid, const Box& box, int round, bool corners) {
  const HostLayout& layout = state.layout();
  std::int64_t wrong = 0;
  for (int slot = 0; slot < state.fields(); ++slot) {
    const double* cell = state.cell(slot);
    for_each_cell(Int3{} - layout.halo, layout.cells + layout.halo, [&](Int3 c) {
      int outside = 0;
      for (int axis = 0; axis < 3; ++axis) outside += c[axis] < 0 || c[axis] >= layout.cells[axis] ? 1 : 0;
      if (outside == 3 && !corners) return;
      const double found = cell[c.x + c.y * layout.stride_y + c.z * layout.stride_z];
      if (found != pattern(grid, wrapped(box.lower + c, grid.cells), slot, round)) ++wrong;
    });
  }
  return wrong;
}

/// Two exchanges with different values; the number of wrong cells on all ranks.
std::int64_t faults(const Comm& comm, const Grid& grid, Int3 parts, int fields, bool corners,
                    std::int64_t largest_piece = HostHalo::default_largest_piece) {
  const Decomposition decomposition(grid, comm.size(), parts);
  const Box box = decomposition.box(comm.rank());
  HostState state(HostLayout(grid, box.size()), fields);
  HostHalo halo(HaloPlan(decomposition, comm.rank(), corners), state.layout(), fields, comm, largest_piece);
  std::int64_t wrong = 0;
  for (int round = 0; round < 2; ++round) {
    fill(state, grid, box, round);
    halo.exchange(state);
    wrong += wrong_cells(state, grid, box, round, corners);
  }
  return comm.sum(wrong);
}

}  // namespace

TEST_CASE("every halo cell that stencils read holds the wrapped global cell", "[halo]") {
  const Comm comm(MPI_COMM_WORLD);
  int exchanged = 0;
  // Uneven blocks, planes, lines, axes shorter than the radius, a single cell.
  for (Int3 cells : {Int3{50, 46, 38}, Int3{1, 37, 33}, Int3{41, 1, 1}, Int3{1, 41, 1}, Int3{1, 1, 41}, Int3{34, 1, 32},
                     Int3{33, 35, 1}, Int3{2, 33, 3}, Int3{40, 2, 2}, Int3{3, 2, 40}, Int3{1, 1, 1}, Int3{2, 3, 1}})
    for (int order : {2, 8})
      for (bool corners : {false, true}) {
        const Grid grid = make_grid(cells, order);
        for (Int3 parts : decompositions(grid, comm.size())) {
          INFO(to_string(cells) << " cells, order " << order << ", " << to_string(parts) << " ranks, corners "
                                << corners);
          REQUIRE(faults(comm, grid, parts, 2, corners) == 0);
          ++exchanged;
        }
      }
  CHECK(exchanged >= 4 * 5);
}

TEST_CASE("random sizes, orders and field counts are exchanged correctly", "[halo]") {
  const Comm comm(MPI_COMM_WORLD);
  std::uint64_t draws = 0;
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random_uniform(7, RandomPurpose::initial_noise, 0, draws++)[0] * (high - low + 1));
  };
  for (int round = 0; round < 15; ++round) {
    const Grid grid = make_grid({draw(1, 40), draw(1, 40), draw(1, 40)}, 2 * draw(1, 4));
    const int fields = draw(1, 8);
    const bool corners = draw(0, 1) == 1;
    const int piece = draw(50, 5000);
    for (Int3 parts : decompositions(grid, comm.size())) {
      INFO(to_string(grid.cells) << " cells, order " << grid.order << ", " << to_string(parts) << " ranks, " << fields
                                 << " fields, corners " << corners << ", pieces of " << piece);
      REQUIRE(faults(comm, grid, parts, fields, corners, piece) == 0);
    }
  }
}

TEST_CASE("corners between split axes are left alone unless asked for", "[halo]") {
  const Comm comm(MPI_COMM_WORLD);
  if (comm.size() != 8) return;
  const Grid grid = make_grid({12, 12, 12}, 6);
  const Decomposition decomposition(grid, 8, Int3{2, 2, 2});
  const Box box = decomposition.box(comm.rank());
  HostState state(HostLayout(grid, box.size()), 1);
  HostHalo halo(HaloPlan(decomposition, comm.rank(), false), state.layout(), 1, comm);
  fill(state, grid, box, 0);
  halo.exchange(state);
  const HostLayout& layout = state.layout();
  CHECK(std::isnan(state.cell(0)[-1 - layout.stride_y - layout.stride_z]));
}

TEST_CASE("all segments for one rank travel as one message, longest first", "[halo]") {
  const Comm comm(MPI_COMM_WORLD);
  const Grid grid = make_grid({48, 48, 48}, 6);
  for (Int3 parts : decompositions(grid, comm.size())) {
    const Decomposition decomposition(grid, comm.size(), parts);
    const HaloPlan plan(decomposition, comm.rank());
    std::int64_t cells = 0;
    for (std::size_t m = 0; m < plan.messages.size(); ++m) {
      CHECK(plan.messages[m].neighbour != comm.rank());
      for (std::size_t other = 0; other < m; ++other) {
        CHECK(plan.messages[other].neighbour != plan.messages[m].neighbour);
        CHECK(plan.messages[other].cells >= plan.messages[m].cells);
      }
      cells += plan.messages[m].cells;
    }
    CHECK(cells == decomposition.halo_cells(comm.rank()));
    for (const HaloSegment& segment : plan.segments) {
      CHECK(segment.send_box.size() == segment.recv_box.size());
      CHECK(plan.messages[segment.message].neighbour == segment.neighbour);
    }
  }
}

TEST_CASE("a state of another shape is refused before anything is sent", "[halo]") {
  const Comm comm(MPI_COMM_WORLD);
  const Grid grid = make_grid({48, 48, 48}, 6);
  const Decomposition decomposition(grid, comm.size());
  const Box box = decomposition.box(comm.rank());
  const HostLayout layout(grid, box.size());
  HostHalo halo(HaloPlan(decomposition, comm.rank()), layout, 2, comm);
  HostState fewer(layout, 1);
  CHECK_THROWS_AS(halo.exchange(fewer), Error);
  const HostLayout larger(grid, box.size() + Int3{1, 0, 0});
  CHECK_THROWS_AS(HostHalo(HaloPlan(decomposition, comm.rank()), larger, 2, comm), Error);
}

TEST_CASE("exchange and waiting times are counted and reset", "[halo]") {
  const Comm comm(MPI_COMM_WORLD);
  const Grid grid = make_grid({48, 48, 48}, 6);
  const Decomposition decomposition(grid, comm.size());
  HostState state(HostLayout(grid, decomposition.box(comm.rank()).size()), 2);
  HostHalo halo(HaloPlan(decomposition, comm.rank()), state.layout(), 2, comm);
  halo.exchange(state);
  CHECK(halo.timing().exchange > 0);
  CHECK(halo.timing().wait >= 0);
  halo.reset_timing();
  CHECK(halo.timing().exchange == 0);
  CHECK(halo.timing().wait == 0);
}

TEST_CASE("an exchange that an exception ends takes nothing down with it", "[halo]") {
  const Comm comm(MPI_COMM_WORLD);
  const Grid grid = make_grid({48, 48, 48}, 6);
  const Decomposition decomposition(grid, comm.size());
  const HaloPlan plan(decomposition, comm.rank());
  // Receives that nobody answers, on a communicator of their own; then a normal exchange.
  MPI_Comm own = MPI_COMM_NULL;
  REQUIRE(MPI_Comm_dup(MPI_COMM_WORLD, &own) == MPI_SUCCESS);
  {
    HaloMessages unanswered = HaloMessages::on_host(plan, 2, Comm(own), HaloMessages::Travel::incoming, 1000);
    unanswered.start_all();
  }
  CHECK(faults(comm, grid, decomposition.subdomains(), 2, false) == 0);
  REQUIRE(MPI_Comm_free(&own) == MPI_SUCCESS);
}

TEST_CASE("without MPI's help a rank alone fills its halo", "[halo]") {
  const Grid grid = make_grid({5, 2, 7}, 6);
  CHECK(faults(Comm(), grid, {1, 1, 1}, 3, true) == 0);
}

TEST_CASE("reductions over ranks are exact and see NaN", "[comm]") {
  const Comm comm(MPI_COMM_WORLD);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const int n = comm.size();
  CHECK(comm.sum(std::int64_t{comm.rank()} + 1) == std::int64_t{n} * (n + 1) / 2);
  CHECK(comm.maximum(std::int64_t{comm.rank()}) == n - 1);
  CHECK(comm.minimum(std::int64_t{comm.rank()} - 5) == -5);
  CHECK(comm.maximum(-1.5 - comm.rank()) == -1.5);
  CHECK(comm.minimum(-1.5 - comm.rank()) == -0.5 - n);
  CHECK(comm.maximum(comm.rank() == 0 ? infinity : 1.0) == infinity);
  CHECK(comm.minimum(comm.rank() == 0 ? -infinity : 1.0) == -infinity);
  for (int bad = 0; bad < n; ++bad) {
    const double value = comm.rank() == bad ? nan : comm.rank() == 0 ? infinity : -infinity;
    CHECK(std::isnan(comm.maximum(value)));
    CHECK(std::isnan(comm.minimum(value)));
    CHECK(std::isnan(comm.maximum(std::copysign(value, -1.0))));
  }
  const Comm alone;
  CHECK(alone.maximum(-2.0) == -2.0);
  CHECK(alone.sum(std::int64_t{3}) == 3);
}

TEST_CASE("the failure of the lowest rank that failed is told to all", "[comm]") {
  const Comm comm(MPI_COMM_WORLD);
  CHECK(comm.first_failure("").empty());
  const int last = comm.size() - 1;
  CHECK(comm.first_failure(comm.rank() == last ? "something broke" : "") ==
        "on rank " + std::to_string(last) + " something broke");
  CHECK(comm.first_failure("number " + std::to_string(comm.rank())) == "on rank 0 number 0");
}

TEST_CASE("the nodes of ranks are found, and pretended ones are as asked", "[comm]") {
  const Comm comm(MPI_COMM_WORLD);
  const Nodes here(comm);  // tests run on one node
  CHECK(here.count() == 1);
  CHECK(here.contiguous());
  for (int rank = 0; rank < comm.size(); ++rank) {
    CHECK(here.same(0, rank));
    CHECK(here.local_rank(rank) == rank);
  }
  const Nodes pairs({0, 0, 1, 1, 2});
  CHECK(pairs.count() == 3);
  CHECK(pairs.contiguous());
  CHECK(pairs.same(2, 3));
  CHECK_FALSE(pairs.same(1, 2));
  CHECK(pairs.local_rank(3) == 1);
  CHECK(pairs.local_rank(4) == 0);
  const Nodes dealt({0, 1, 0, 1});  // as srun --distribution=cyclic does
  CHECK(dealt.count() == 2);
  CHECK_FALSE(dealt.contiguous());
  CHECK(dealt.local_rank(2) == 1);
  CHECK(dealt.local_rank(1) == 0);
}

TEST_CASE("texts are broadcast and gathered", "[comm]") {
  const Comm comm(MPI_COMM_WORLD);
  const std::string mine(static_cast<std::size_t>(comm.rank()), static_cast<char>('a' + comm.rank()));
  const int last = comm.size() - 1;
  CHECK(comm.broadcast(mine, last) == std::string(static_cast<std::size_t>(last), static_cast<char>('a' + last)));
  CHECK(comm.broadcast(comm.root() ? "one\nmessage" : "") == "one\nmessage");
  const std::vector<std::string> all = comm.gather(mine);
  REQUIRE(all.size() == (comm.root() ? static_cast<std::size_t>(comm.size()) : 0u));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    CHECK(all[rank] == std::string(rank, static_cast<char>('a' + static_cast<char>(rank))));
  CHECK(Comm().gather("text") == std::vector<std::string>{"text"});
  CHECK(Comm().broadcast("text") == "text");
}
