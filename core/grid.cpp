#include "core/grid.hpp"

#include "core/config.hpp"

namespace mhd {

Grid::Grid(const GridConfig& config)
    : cells(config.cells), origin(config.origin), size(config.size), order(config.order) {}

}  // namespace mhd
