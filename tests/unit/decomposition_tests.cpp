#include "core/decomposition.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>

#include "core/config.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

Grid make_grid(Int3 cells, int order) {
  GridConfig config;
  config.cells = cells;
  config.order = order;
  return Grid(config);
}

std::int64_t busiest_rank(const Decomposition& decomposition) {
  std::int64_t most = 0;
  for (int rank = 0; rank < decomposition.ranks(); ++rank) most = std::max(most, decomposition.halo_cells(rank));
  return most;
}

/// Every decomposition of the grid over the ranks that the constructor accepts when it is forced.
std::vector<Decomposition> all_decompositions(const Grid& grid, int ranks) {
  std::vector<Decomposition> found;
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; y <= ranks / x; ++y) {
      if (ranks % (x * y) != 0) continue;
      try {
        found.emplace_back(grid, ranks, Int3{x, y, ranks / (x * y)});
      } catch (const Error& error) {
        if (error.code() != ExitCode::launch) throw;
      }
    }
  return found;
}

bool prefers_later_axes(Int3 a, Int3 b) { return a.z != b.z ? a.z > b.z : a.y > b.y; }

Error error_of(const Grid& grid, int ranks, std::optional<Int3> forced = std::nullopt) {
  try {
    Decomposition(grid, ranks, forced);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::complete, "no error");
}

bool has(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

/// Whether any division of the axes over the ranks leaves the radius to every part, found by trying all.
bool some_division_fits(const Grid& grid, int ranks) {
  const auto fits = [&](int axis, int parts) { return parts == 1 || grid.cells[axis] / parts >= grid.radius(); };
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; y <= ranks; ++y)
      for (int z = 1; z <= ranks; ++z)
        if (x * y * z == ranks && fits(0, x) && fits(1, y) && fits(2, z)) return true;
  return false;
}

/// The numbers in the last sentence of a refusal.
std::vector<int> proposed_rank_counts(const Error& error) {
  const std::string text = error.what();
  const auto at = text.rfind("rank count");
  std::vector<int> counts;
  if (at == std::string::npos) return counts;
  std::istringstream words(text.substr(at));
  for (std::string word; words >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) counts.push_back(std::stoi(word));
  return counts;
}

/// Times each cell is covered must be one; sizes along an axis differ by at most one; thickness is at least r where an
/// axis is split. Returns what is wrong, empty if nothing is.
std::string coverage_fault(const Decomposition& decomposition) {
  const Grid& grid = decomposition.grid();
  std::vector<int> covered(static_cast<std::size_t>(grid.cells.product()), 0);
  Int3 smallest = grid.cells, largest{};
  for (int rank = 0; rank < decomposition.ranks(); ++rank) {
    const Box box = decomposition.box(rank);
    if (decomposition.rank_at(decomposition.coordinates(rank)) != rank) return "rank_at does not invert coordinates";
    for (int axis = 0; axis < 3; ++axis) {
      smallest[axis] = std::min(smallest[axis], box.size()[axis]);
      largest[axis] = std::max(largest[axis], box.size()[axis]);
    }
    for (int k = box.lower.z; k < box.upper.z; ++k)
      for (int j = box.lower.y; j < box.upper.y; ++j)
        for (int i = box.lower.x; i < box.upper.x; ++i) ++covered[i + grid.cells.x * (j + grid.cells.y * k)];
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (largest[axis] - smallest[axis] > 1) return "sizes differ by more than one";
    if (decomposition.split(axis) && smallest[axis] < grid.radius()) return "subdomain thinner than the radius";
  }
  const bool once = std::all_of(covered.begin(), covered.end(), [](int n) { return n == 1; });
  return once ? "" : "a cell is not covered exactly once";
}

}  // namespace

TEST_CASE("sizes 1 to 40 over 1 to 16 ranks cover every cell once or are refused with counts that fit",
          "[decomposition]") {
  int accepted = 0, refused = 0;
  for (int order : {2, 4, 6, 8})
    for (int n = 1; n <= 40; ++n)
      for (Int3 cells : {Int3{n, 1, 1}, Int3{1, n, 1}, Int3{1, 1, n}, Int3{n, 7, 3}, Int3{n, n, 5}}) {
        const Grid grid = make_grid(cells, order);
        const std::vector<int> feasible = feasible_rank_counts(grid, 16);
        for (int ranks = 1; ranks <= 16; ++ranks) {
          const bool expected = some_division_fits(grid, ranks);
          INFO(to_string(cells) << " order " << order << " ranks " << ranks);
          REQUIRE((std::count(feasible.begin(), feasible.end(), ranks) > 0) == expected);
          if (expected) {
            REQUIRE(coverage_fault(Decomposition(grid, ranks)) == "");
            ++accepted;
          } else {
            const Error error = error_of(grid, ranks);
            REQUIRE(error.code() == ExitCode::launch);
            const std::vector<int> proposed = proposed_rank_counts(error);
            REQUIRE_FALSE(proposed.empty());
            for (const int count : proposed) REQUIRE(some_division_fits(grid, count));
            ++refused;
          }
        }
      }
  CHECK(accepted > 2000);
  CHECK(refused > 2000);
}

TEST_CASE("every decomposition that can be forced covers every cell once", "[decomposition]") {
  int accepted = 0;
  for (int order : {2, 6})
    for (int n = 1; n <= 40; ++n)
      for (Int3 cells : {Int3{n, 7, 3}, Int3{3, n, 13}, Int3{12, 5, n}})
        for (int ranks = 1; ranks <= 16; ++ranks)
          for (const Decomposition& decomposition : all_decompositions(make_grid(cells, order), ranks)) {
            INFO(to_string(cells) << " order " << order << " subdomains " << to_string(decomposition.subdomains()));
            REQUIRE(coverage_fault(decomposition) == "");
            ++accepted;
          }
  CHECK(accepted > 2000);
}

TEST_CASE("the chosen decomposition has the least communication; ties split z, then y", "[decomposition]") {
  for (Int3 cells : {Int3{64, 64, 64}, Int3{50, 46, 38}, Int3{128, 16, 16}, Int3{5, 60, 9}, Int3{1, 33, 40},
                     Int3{24, 1, 1}, Int3{7, 8, 9}})
    for (int order : {2, 4, 6, 8})
      for (int ranks = 1; ranks <= 24; ++ranks) {
        const Grid grid = make_grid(cells, order);
        const std::vector<Decomposition> all = all_decompositions(grid, ranks);
        INFO(to_string(cells) << " order " << order << " ranks " << ranks);
        if (all.empty()) {
          REQUIRE(error_of(grid, ranks).code() == ExitCode::launch);
          continue;
        }
        const Decomposition chosen(grid, ranks);
        for (const Decomposition& other : all) {
          REQUIRE(busiest_rank(chosen) <= busiest_rank(other));
          if (busiest_rank(other) == busiest_rank(chosen))
            REQUIRE(!prefers_later_axes(other.subdomains(), chosen.subdomains()));
        }
      }
  CHECK(Decomposition(make_grid({64, 64, 64}, 6), 2).subdomains() == Int3{1, 1, 2});
  // Slabs receive 2 x 3 x 64 x 64 = 24576 cells; pencils as many in faces and 2304 in edges.
  CHECK(Decomposition(make_grid({64, 64, 64}, 6), 4).subdomains() == Int3{1, 1, 4});
  CHECK(Decomposition(make_grid({256, 256, 256}, 6), 16).subdomains() == Int3{1, 4, 4});
}

TEST_CASE("halo cells agree with the figures of the paper", "[decomposition]") {
  // 256^3 over 4 x 2 x 2, radius 3: subdomains of 64 x 128 x 128. Corners are 8 x 27 cells.
  const Decomposition decomposition(make_grid({256, 256, 256}, 6), 16, Int3{4, 2, 2});
  CHECK(decomposition.box(0).size() == Int3{64, 128, 128});
  CHECK(decomposition.halo_cells(0, true) == 208344);
  CHECK(decomposition.halo_cells(0) == 208344 - 8 * 27);
  // An axis held by one rank alone needs no messages.
  CHECK(Decomposition(make_grid({64, 64, 64}, 6), 1).halo_cells(0, true) == 0);
  CHECK(Decomposition(make_grid({64, 64, 64}, 6), 4, Int3{1, 1, 4}).halo_cells(2, true) == 2 * 3 * 64 * 64);
}

TEST_CASE("ranks follow the Morton curve", "[decomposition]") {
  const Grid grid = make_grid({64, 64, 64}, 6);
  const Decomposition cube(grid, 8, Int3{2, 2, 2});
  for (int rank = 0; rank < 8; ++rank) CHECK(cube.coordinates(rank) == Int3{rank & 1, rank >> 1 & 1, rank >> 2 & 1});
  const Decomposition slab(grid, 8, Int3{4, 2, 1});
  const std::vector<Int3> expected = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0},
                                      {2, 0, 0}, {3, 0, 0}, {2, 1, 0}, {3, 1, 0}};
  for (int rank = 0; rank < 8; ++rank) CHECK(slab.coordinates(rank) == expected[rank]);
  const Decomposition odd(grid, 9, Int3{3, 1, 3});
  const std::vector<Int3> expected_odd = {{0, 0, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}, {2, 0, 0},
                                          {2, 0, 1}, {0, 0, 2}, {1, 0, 2}, {2, 0, 2}};
  for (int rank = 0; rank < 9; ++rank) CHECK(odd.coordinates(rank) == expected_odd[rank]);
}

TEST_CASE("neighbours are periodic and mutual", "[decomposition]") {
  const Decomposition decomposition(make_grid({40, 40, 40}, 6), 12, Int3{3, 2, 2});
  for (int rank = 0; rank < 12; ++rank)
    for (Int3 direction : message_directions({true, true, true}, true)) {
      const int neighbour = decomposition.neighbour(rank, direction);
      CHECK(neighbour != rank);
      CHECK(decomposition.neighbour(neighbour, Int3{} - direction) == rank);
    }
  CHECK(decomposition.rank_at({-1, 0, 0}) == decomposition.rank_at({2, 0, 0}));
  CHECK(decomposition.rank_at({0, 2, -2}) == decomposition.rank_at({0, 0, 0}));
}

TEST_CASE("a rank can exchange with itself along axes that it holds alone", "[decomposition]") {
  const Decomposition one(make_grid({40, 1, 12}, 6), 1);
  CHECK_FALSE(one.exchanges());
  const Decomposition with_itself = one.exchanging({true, true, true});
  CHECK(with_itself.exchanges());
  CHECK(with_itself.split(0));
  CHECK_FALSE(with_itself.split(1));  // inactive
  CHECK(with_itself.split(2));
  CHECK(with_itself.neighbour(0, {1, 0, -1}) == 0);
  CHECK(with_itself.halo_cells(0) == 2 * 3 * 12 + 2 * 3 * 40 + 4 * 3 * 3);
  CHECK(one.exchanging({false, false, true}).halo_cells(0) == 2 * 3 * 40);
  try {
    Decomposition(make_grid({40, 2, 12}, 6), 1).exchanging({true, true, true});
    FAIL("2 cells hold no halo of 3");
  } catch (const Error& e) {
    CHECK(e.code() == ExitCode::launch);
    CHECK(std::string(e.what()).find("halos along y cannot travel by message: there are 2 cells") != std::string::npos);
  }
}

TEST_CASE("too thin a subdomain is refused with the rank counts that fit", "[decomposition]") {
  const Grid grid = make_grid({8, 8, 8}, 6);  // at most 2 x 2 x 2
  const Error error = error_of(grid, 6);
  CHECK(error.code() == ExitCode::launch);
  CHECK(error.scope() == ErrorScope::everywhere);
  for (const char* text : {"8 x 8 x 8", "6 ranks", "at least 3 cells", "order 6", "are 4 and 8"})
    CHECK(has(error, text));
  CHECK(has(error_of(grid, 1000), "largest rank count that fits is 8"));
  CHECK(has(error_of(grid, 0), "smallest rank count that fits is 1"));
  const Error forced = error_of(grid, 4, Int3{4, 1, 1});
  CHECK(forced.code() == ExitCode::launch);
  for (const char* text :
       {"grid.decomposition = 4 x 1 x 1", "8 cells along x", "subdomains of 2", "at most 2 fit", "4 ranks fit if"})
    CHECK(has(forced, text));
}

TEST_CASE("a forced decomposition must multiply to the rank count", "[decomposition]") {
  const Grid grid = make_grid({64, 64, 64}, 6);
  const Error error = error_of(grid, 6, Int3{2, 2, 2});
  CHECK(error.code() == ExitCode::configuration);
  CHECK(error.scope() == ErrorScope::everywhere);
  CHECK(has(error, "2 x 2 x 2 makes 8 subdomains"));
  CHECK(has(error, "ranks is 6"));
  CHECK(error_of(grid, 2, Int3{-1, -2, 1}).code() == ExitCode::configuration);
  CHECK(Decomposition(grid, 6, Int3{3, 1, 2}).subdomains() == Int3{3, 1, 2});
}

TEST_CASE("thousands of ranks are decomposed", "[decomposition]") {
  const Decomposition decomposition(make_grid({2048, 2048, 2048}, 6), 8640);
  CHECK(decomposition.subdomains().product() == 8640);
  // Between the cube root's neighbours: 20, 18, 24 in some order.
  CHECK(decomposition.subdomains() == Int3{18, 20, 24});
  std::int64_t cells = 0;
  for (int rank = 0; rank < 8640; ++rank) cells += decomposition.box(rank).volume();
  CHECK(cells == std::int64_t{2048} * 2048 * 2048);
}
