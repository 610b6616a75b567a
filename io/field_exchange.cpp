#include "io/field_exchange.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "core/mpi_serial.hpp"

namespace mhd {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold the bytes of numbers as memory has them");

std::vector<Box> boxes_of_all(const Box& box, const Comm& comm) {
  std::vector<Box> boxes(static_cast<std::size_t>(comm.size()), box);
  static_assert(sizeof(Box) == 6 * sizeof(int));
  if (comm.size() > 1)
    complete_mpi("MPI_Iallgather", [&](MPI_Request* request) {
      return MPI_Iallgather(&box, 6, MPI_INT, boxes.data(), 6, MPI_INT, comm.handle(), request);
    });
  return boxes;
}

/// A part of a row of cells.
struct Row {
  Int3 cell;           ///< the first one
  int count;           ///< cells
  std::int64_t index;  ///< of the first one in the array
};

/// Calls visit(row) for what the rows of a box have in common with a range, in the order of the array.
template <class Visit>
void for_each_row(Int3 cells, const Box& box, ArrayRange range, const Visit& visit) {
  if (box.empty() || range.count() == 0) return;
  const std::int64_t plane = std::int64_t{cells.x} * cells.y;
  const int first_z = std::max(box.lower.z, static_cast<int>(range.first / plane));
  const int last_z = std::min(box.upper.z - 1, static_cast<int>((range.end - 1) / plane));
  for (int z = first_z; z <= last_z; ++z)
    for (int y = box.lower.y; y < box.upper.y; ++y) {
      const std::int64_t start = z * plane + std::int64_t{y} * cells.x;
      const std::int64_t from = std::max(start + box.lower.x, range.first),
                         to = std::min(start + box.upper.x, range.end);
      if (from < to) visit(Row{{static_cast<int>(from - start), y, z}, static_cast<int>(to - from), from});
    }
}

struct Parts {
  std::vector<int> counts, offsets;
  std::size_t total = 0;

  explicit Parts(int ranks) : counts(static_cast<std::size_t>(ranks)), offsets(counts.size()) {}
  void set(int rank, std::int64_t bytes) {
    if (static_cast<std::int64_t>(total) + bytes > std::numeric_limits<int>::max())
      throw Error(ExitCode::internal, fmt::format("expected to send less than 2 GiB at once, found {} bytes",
                                                  static_cast<std::int64_t>(total) + bytes));
    counts[static_cast<std::size_t>(rank)] = static_cast<int>(bytes);
    offsets[static_cast<std::size_t>(rank)] = static_cast<int>(total);
    total += static_cast<std::size_t>(bytes);
  }
  int offset(int rank) const { return offsets[static_cast<std::size_t>(rank)]; }
};

/// Room for as many bytes; memory that is there is kept.
std::byte* room(std::vector<std::byte>& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

template <class Value>
void copy_row(const FieldView& view, Int3 cell, int count, std::byte* out) {
  if (!view.data) {
    std::memset(out, 0, static_cast<std::size_t>(count) * sizeof(Value));
    return;
  }
  const double* row = view.data + cell.x + cell.y * view.stride_y + cell.z * view.stride_z;
  if constexpr (sizeof(Value) == sizeof(double))
    std::memcpy(out, row, static_cast<std::size_t>(count) * sizeof(Value));
  else
    std::transform(row, row + count, reinterpret_cast<Value*>(out), [](double v) { return static_cast<Value>(v); });
}

}  // namespace

FieldExchange::FieldExchange(Int3 cells, const Box& box, Precision precision, const Comm& comm)
    : cells_(cells),
      box_(box),
      value_bytes_(precision == Precision::float32 ? 4 : 8),
      comm_(comm),
      boxes_(boxes_of_all(box, comm)) {}

std::int64_t FieldExchange::common_bytes(int rank, ArrayRange range) const {
  std::int64_t count = 0;
  for_each_row(cells_, boxes_[static_cast<std::size_t>(rank)], range, [&](const Row& row) { count += row.count; });
  return count * value_bytes_;
}

void FieldExchange::pack(const FieldView& view, ArrayRange range, std::byte* out) const {
  for_each_row(cells_, box_, range, [&](const Row& row) {
    if (value_bytes_ == 4)
      copy_row<float>(view, row.cell - box_.lower, row.count, out);
    else
      copy_row<double>(view, row.cell - box_.lower, row.count, out);
    out += static_cast<std::size_t>(row.count) * static_cast<std::size_t>(value_bytes_);
  });
}

std::span<const std::byte> FieldExchange::collect(const FieldView& view,
                                                  const std::function<ArrayRange(int rank)>& range_of) {
  const ArrayRange mine = range_of(comm_.rank());
  const auto wanted = static_cast<std::size_t>(mine.count()) * static_cast<std::size_t>(value_bytes_);
  std::byte* const values = room(values_, wanted);
  const auto at = [&](std::int64_t index) { return values + (index - mine.first) * value_bytes_; };
  // What stays on this rank goes straight to its place.
  for_each_row(cells_, box_, mine, [&](const Row& row) {
    pack(view, {row.index, row.index + row.count}, at(row.index));
  });
  if (comm_.size() == 1) return {values, wanted};

  Parts out(comm_.size()), in(comm_.size());
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const bool other = rank != comm_.rank();
    out.set(rank, other ? common_bytes(comm_.rank(), range_of(rank)) : 0);
    in.set(rank, other ? common_bytes(rank, mine) : 0);
  }
  room(out_, out.total);
  room(in_, in.total);
  for (int rank = 0; rank < comm_.size(); ++rank)
    if (rank != comm_.rank()) pack(view, range_of(rank), out_.data() + out.offset(rank));
  complete_mpi("MPI_Ialltoallv", [&](MPI_Request* request) {
    return MPI_Ialltoallv(out_.data(), out.counts.data(), out.offsets.data(), MPI_BYTE, in_.data(), in.counts.data(),
                          in.offsets.data(), MPI_BYTE, comm_.handle(), request);
  });
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank()) continue;
    const std::byte* from = in_.data() + in.offset(rank);
    for_each_row(cells_, boxes_[static_cast<std::size_t>(rank)], mine, [&](const Row& row) {
      const std::size_t bytes = static_cast<std::size_t>(row.count) * static_cast<std::size_t>(value_bytes_);
      std::memcpy(at(row.index), from, bytes);
      from += bytes;
    });
  }
  return {values, wanted};
}

}  // namespace mhd
