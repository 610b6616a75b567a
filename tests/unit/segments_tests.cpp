#include "core/segments.hpp"

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/box.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

Grid make_grid(Int3 cells, int order) {
  GridConfig config;
  config.cells = cells;
  config.order = order;
  return Grid(config);
}

template <class Function>
void for_each_cell(const Box& box, Function function) {
  for (int k = box.lower.z; k < box.upper.z; ++k)
    for (int j = box.lower.y; j < box.upper.y; ++j)
      for (int i = box.lower.x; i < box.upper.x; ++i) function(Int3{i, j, k});
}

/// A number for each cell of a subdomain and of its halo.
class Labels {
 public:
  Labels(Int3 cells, int radius, int value)
      : radius_(radius),
        size_{cells.x + 2 * radius, cells.y + 2 * radius, cells.z + 2 * radius},
        values_(static_cast<std::size_t>(size_.product()), value) {}
  std::size_t index(Int3 c) const {
    return (c.x + radius_) + std::size_t(size_.x) * ((c.y + radius_) + std::size_t(size_.y) * (c.z + radius_));
  }
  int& operator[](Int3 c) { return values_.at(index(c)); }
  int operator[](Int3 c) const { return values_.at(index(c)); }

 private:
  int radius_;
  Int3 size_;
  std::vector<int> values_;
};

constexpr int own = -1, unfilled = -2;

/// Where the value of each cell comes from after an exchange by this plan: a halo segment's index, own or unfilled.
Labels origins(const HaloPlan& plan) {
  Labels labels(plan.cells, plan.radius, unfilled);
  for_each_cell({{0, 0, 0}, plan.cells}, [&](Int3 c) { labels[c] = own; });
  for (std::size_t s = 0; s < plan.segments.size(); ++s)
    for_each_cell(plan.segments[s].recv_box, [&](Int3 c) { labels[c] = static_cast<int>(s); });
  for (const HaloWrap& wrap : plan.wraps) {
    const int cells = plan.cells[wrap.axis];
    Box first = wrap.range;  // one layer: its cells stand for the rows along the axis
    first.upper[wrap.axis] = first.lower[wrap.axis] + 1;
    for_each_cell(first, [&](Int3 c) {
      for (int m = -plan.radius; m < cells + plan.radius; ++m) {
        Int3 image = c, source = c;
        image[wrap.axis] = m;
        source[wrap.axis] = ((m % cells) + cells) % cells;
        labels[image] = labels[source];
      }
    });
  }
  return labels;
}

/// Every cell that a derivative at cell 0 reads: along the axes, and along the diagonals of the planes.
std::vector<Int3> stencil(const Grid& grid) {
  std::vector<Int3> offsets;
  const auto axis_vector = [](int axis, int length) {
    Int3 v;
    v[axis] = length;
    return v;
  };
  for (int k = 1; k <= grid.radius(); ++k)
    for (int a = 0; a < 3; ++a) {
      if (!grid.active(a)) continue;
      for (int sign : {-1, 1}) offsets.push_back(axis_vector(a, sign * k));
      for (int b = a + 1; b < 3; ++b)
        if (grid.active(b))
          for (int sign : {-1, 1})
            for (int other : {-1, 1}) offsets.push_back(axis_vector(a, sign * k) + axis_vector(b, other * k));
    }
  return offsets;
}

/// What is wrong with the segments of this plan, found cell by cell; empty if nothing is.
std::string fault_of(const HaloPlan& plan, const Grid& grid, Int3 tile = {1, 1, 1}) {
  const SegmentPlan segments(plan, tile);
  const bool thin = tile == Int3{1, 1, 1};
  const Labels origin = origins(plan);
  const std::vector<Int3> offsets = stencil(grid);
  std::string fault;

  // The halo segments that a box's stencils read; whether each of its cells reads one.
  const auto reads = [&](const Box& box, bool& each) {
    std::uint32_t mask = 0;
    each = true;
    for_each_cell(box, [&](Int3 c) {
      bool any = false;
      for (Int3 offset : offsets) {
        const int label = origin[c + offset];
        if (label == unfilled) fault = "a stencil reads a halo cell that nobody fills";
        if (label >= 0) mask |= std::uint32_t{1} << label;
        any = any || label >= 0;
      }
      each = each && any;
    });
    return mask;
  };

  Labels computed(plan.cells, plan.radius, 0);
  for_each_cell(segments.inner, [&](Int3 c) { ++computed[c]; });
  bool each = false;
  if (reads(segments.inner, each) != 0) return "inner cells read the halo";
  for (const OuterSegment& outer : segments.outer) {
    if (outer.box.empty()) return "an empty outer segment";
    for_each_cell(outer.box, [&](Int3 c) { ++computed[c]; });
    if (reads(outer.box, each) != outer.reads) return "an outer segment reads other halo segments than it says";
    if (!each && thin) return "an outer segment has cells that could be inner ones";
    if (outer.reads == 0) return "an outer segment that could be inner cells";
    for (int axis = 0; axis < 3; ++axis)
      if (outer.box.lower[axis] % tile[axis] != 0 && outer.box.upper[axis] != plan.cells[axis])
        return "a segment that neither begins at a tile nor ends with the subdomain";
    std::uint32_t messages = 0;
    for (std::size_t s = 0; s < plan.segments.size(); ++s)
      if (outer.reads >> s & 1) messages |= std::uint32_t{1} << plan.segments[s].message;
    if (messages != outer.awaits) return "an outer segment awaits other messages than those of its halo segments";
  }
  for_each_cell({{-plan.radius, -plan.radius, -plan.radius}, plan.cells + Int3{plan.radius, plan.radius, plan.radius}},
                [&](Int3 c) {
                  const bool inside = Box{{0, 0, 0}, plan.cells}.contains(c);
                  if (computed[c] != (inside ? 1 : 0)) fault = "a cell is not computed exactly once";
                });

  std::vector<std::uint32_t> message_fed_by(plan.messages.size(), 0);
  if (segments.fed_by.size() != plan.segments.size()) return "fed_by has another length than the halo segments";
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    std::uint32_t feeding = 0;
    for_each_cell(plan.segments[s].send_box, [&](Int3 c) {
      if (segments.inner.contains(c)) fault = "inner cells are sent";
      for (std::size_t n = 0; n < segments.outer.size(); ++n)
        if (segments.outer[n].box.contains(c)) feeding |= std::uint32_t{1} << n;
    });
    if (feeding != segments.fed_by[s]) return "a halo segment is fed by other outer segments than it says";
    message_fed_by[plan.segments[s].message] |= feeding;
  }
  if (message_fed_by != segments.message_fed_by) return "a message is fed by other outer segments than it says";
  return fault;
}

}  // namespace

TEST_CASE("outer segments and inner box hold each cell once and read what they say, found cell by cell", "[segments]") {
  int plans = 0;
  for (int order : {2, 4, 6, 8}) {
    const int r = order / 2;
    // As thin as may be, in between, twice the radius, one more, and with an ample inner box.
    const std::vector<Int3> sizes = {
        {r, r, r}, {2 * r - 1, 2 * r, 2 * r + 1}, {2 * r + 1, r, 2 * r + 3}, {2 * r + 2, 2 * r + 3, r}};
    for (int x = 1; x <= 3; ++x)
      for (int y = 1; y <= 3; ++y)
        for (int z = 1; z <= 3; ++z)
          for (Int3 size : sizes)
            for (bool corners : {false, true}) {
              // One cell more where it does not divide evenly: subdomains of two sizes.
              const Int3 ranks{x, y, z}, cells{size.x * x + (x > 1), size.y * y + (y > 1), size.z * z + (z > 1)};
              const Grid grid = make_grid(cells, order);
              const Decomposition decomposition(grid, x * y * z, ranks);
              std::set<std::tuple<int, int, int>> seen;
              for (int rank = 0; rank < decomposition.ranks(); ++rank) {
                const HaloPlan plan(decomposition, rank, corners);
                if (!seen.insert({plan.cells.x, plan.cells.y, plan.cells.z}).second) continue;
                INFO(to_string(cells) << " cells, order " << order << ", ranks " << to_string(ranks) << ", rank "
                                      << rank << ", corners " << corners);
                REQUIRE(fault_of(plan, grid) == "");
                REQUIRE(fault_of(plan, grid, {4, 3, 2}) == "");
                REQUIRE(fault_of(plan, grid, {1, 2, 5}) == "");
                ++plans;
              }
            }
  }
  CHECK(plans > 2000);
}

TEST_CASE("inactive axes have no segments", "[segments]") {
  for (Int3 cells : {Int3{1, 20, 20}, Int3{20, 1, 20}, Int3{20, 20, 1}, Int3{20, 1, 1}, Int3{1, 1, 20}}) {
    Int3 ranks;
    for (int axis = 0; axis < 3; ++axis) ranks[axis] = cells[axis] > 1 ? 2 : 1;
    const Grid grid = make_grid(cells, 6);
    const Decomposition decomposition(grid, static_cast<int>(ranks.product()), ranks);
    const HaloPlan plan(decomposition, 0);
    INFO(to_string(cells));
    CHECK(fault_of(plan, grid) == "");
    CHECK(static_cast<int>(SegmentPlan(plan).outer.size()) == 2 * (ranks.x + ranks.y + ranks.z - 3));
  }
}

TEST_CASE("z slabs come first and are whole, then y, then x slabs", "[segments]") {
  const Decomposition cube(make_grid({32, 40, 48}, 6), 8, Int3{2, 2, 2});
  const SegmentPlan plan{HaloPlan(cube, 0)};
  const std::vector<Box> expected = {{{0, 0, 0}, {16, 20, 3}}, {{0, 0, 21}, {16, 20, 24}},
                                     {{0, 0, 3}, {16, 3, 21}}, {{0, 17, 3}, {16, 20, 21}},
                                     {{0, 3, 3}, {3, 17, 21}}, {{13, 3, 3}, {16, 17, 21}}};
  REQUIRE(plan.outer.size() == expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) CHECK(plan.outer[n].box == expected[n]);
  CHECK(plan.inner == Box{{3, 3, 3}, {13, 17, 21}});
}

TEST_CASE("with tiles the segments have as many tiles as the subdomain", "[segments]") {
  const Int3 tile{32, 6, 8};
  const auto tiles = [&](const Box& box) {
    std::int64_t count = 1;
    for (int axis = 0; axis < 3; ++axis) count *= (box.size()[axis] + tile[axis] - 1) / tile[axis];
    return box.empty() ? 0 : count;
  };
  for (int n = 12; n < 150; ++n) {
    const Decomposition cube(make_grid({2 * n, 2 * n + 1, 2 * n}, 6), 8, Int3{2, 2, 2});
    const HaloPlan plan(cube, 0);
    const SegmentPlan segments(plan, tile);
    std::int64_t sum = tiles(segments.inner);
    for (const OuterSegment& outer : segments.outer) sum += tiles(outer.box);
    CAPTURE(n);
    CHECK(sum == tiles({{0, 0, 0}, plan.cells}));
  }
}

TEST_CASE("a rank that holds all axes alone has inner cells only", "[segments]") {
  const SegmentPlan plan{HaloPlan(Decomposition(make_grid({16, 8, 2}, 8), 1), 0)};
  CHECK(plan.outer.empty());
  CHECK(plan.fed_by.empty());
  CHECK(plan.inner == Box{{0, 0, 0}, {16, 8, 2}});
}

TEST_CASE("slabs of a split z axis wait for one side each, so that either side can be computed first", "[segments]") {
  const HaloPlan halo(Decomposition(make_grid({16, 16, 30}, 6), 3, Int3{1, 1, 3}), 1);
  const SegmentPlan plan(halo);
  REQUIRE(plan.outer.size() == 2);
  REQUIRE(halo.segments.size() == 2);
  CHECK(halo.segments[0].direction == Int3{0, 0, -1});
  CHECK(plan.outer[0].reads == 1);
  CHECK(plan.outer[1].reads == 2);
  CHECK(plan.fed_by == std::vector<std::uint32_t>{1, 2});
  // With two ranks both sides come from the same one, in one message.
  const SegmentPlan pair{HaloPlan(Decomposition(make_grid({16, 16, 30}, 6), 2, Int3{1, 1, 2}), 1)};
  REQUIRE(pair.outer.size() == 2);
  CHECK(pair.outer[0].awaits == 1);
  CHECK(pair.outer[1].awaits == 1);
  CHECK(pair.message_fed_by == std::vector<std::uint32_t>{3});
}

TEST_CASE("a subdomain thinner than two radii along an axis is one slab that reads both sides", "[segments]") {
  const HaloPlan halo(Decomposition(make_grid({16, 16, 15}, 6), 3, Int3{1, 1, 3}), 0);
  const SegmentPlan plan(halo);
  CHECK(plan.inner.empty());
  REQUIRE(plan.outer.size() == 1);
  CHECK(plan.outer[0].box == Box{{0, 0, 0}, {16, 16, 5}});
  CHECK(plan.outer[0].reads == 3);
  CHECK(plan.fed_by == std::vector<std::uint32_t>{1, 1});
  // Of two radii each side has its own slab.
  const SegmentPlan two{HaloPlan(Decomposition(make_grid({16, 16, 18}, 6), 3, Int3{1, 1, 3}), 0)};
  CHECK(two.inner.empty());
  REQUIRE(two.outer.size() == 2);
  CHECK(two.outer[0].reads == 1);
  CHECK(two.outer[1].reads == 2);
}
