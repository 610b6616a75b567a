#pragma once
// Fields of a snapshot as they are: each rank writes a contiguous part of the array, whatever the decomposition.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/snapshot.hpp"

namespace mhd {

/// Collective: writes the fields into a file that is laid out, the values of fields[i] from byte offsets[i] on. Throws
/// Error(everywhere) with the message of the first rank that failed. Extra memory per rank: about three times
/// `staging_bytes`.
void write_fields(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields,
                  std::span<const std::int64_t> offsets, const FieldSource& source, const Box& box, const Comm& comm,
                  std::size_t staging_bytes);

/// The view of a field; none for a rank without cells. Throws Error(internal) where it is not one of the box.
FieldView view_of(Field field, const FieldSource& source, const Box& box);

}  // namespace mhd
