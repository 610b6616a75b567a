#include "app/version.hpp"

#include <fmt/core.h>

#include "app/backend.hpp"
#include "app/session.hpp"
#include "mhd_version.hpp"

namespace mhd {

BuildInfo build_info() {
  return {version::number, version::revision, version::compiler, mpi_version(), hdf5_version()};
}

std::string version_text() {
  const BuildInfo b = build_info();
  return fmt::format(
      "mhdsim {}\nrevision  {}\ncompiler  {} ({})\nMPI       {}\nHDF5      {}\nCUDA      {}\nbackends  {}", b.version,
      b.revision, b.compiler, version::build_type, b.mpi, b.hdf5.substr(b.hdf5.find(' ') + 1), version::cuda,
      compiled_backends());
}

}  // namespace mhd
