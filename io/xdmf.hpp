#pragma once
// The XDMF file that makes the snapshots of a run one time series for ParaView and VisIt.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "core/fields.hpp"
#include "core/grid.hpp"

namespace mhd {

struct XdmfSnapshot {
  std::string path;  ///< of the HDF5 file; written relative to the XDMF file
  double time = 0;
  Precision precision = Precision::float64;
  std::vector<Field> fields;
};

/// The snapshots as a temporal collection of uniform meshes. Values belong to cells: the mesh has one node more than
/// cells per direction and spans the box. Fields are scalars; u and a, where all components are there, also vectors.
std::string xdmf_text(const std::string& path, const Grid& grid, std::span<const XdmfSnapshot> snapshots);

/// Replaces the file at `path` atomically; for rank 0. Throws Error(io).
void write_xdmf(const std::string& path, const Grid& grid, std::span<const XdmfSnapshot> snapshots);

}  // namespace mhd
