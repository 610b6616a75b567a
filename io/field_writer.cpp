#include "io/field_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "core/error.hpp"
#include "io/agree.hpp"
#include "io/field_exchange.hpp"
#include "io/output_file.hpp"

namespace mhd {
namespace {

/// No two ranks write into one block: file systems whose clients cache pages, such as NFS, would mix them up. Arrays of
/// this size and more begin with a block (hdf5::File::create).
constexpr std::int64_t block_bytes = std::int64_t{1} << 20;

class FieldWriter {
 public:
  FieldWriter(OutputFile& file, Int3 cells, Precision precision, const Box& box, const Comm& comm,
              std::size_t staging_bytes)
      : file_(file),
        box_(box),
        comm_(comm),
        exchange_(cells, box, precision, comm),
        values_(cells.product()),
        staged_(std::max<std::int64_t>(1, static_cast<std::int64_t>(staging_bytes) / exchange_.value_bytes())) {
    for (int rank = 0; rank < comm.size(); ++rank)
      rounds_ = std::max(rounds_, (share(rank).count() + staged_ - 1) / staged_);
  }

  /// A rank that fails still takes part, since the others are in it; `finish` then tells everybody.
  void write(std::int64_t offset, Field field, const FieldSource& source) {
    FieldView view;
    attempt([&] {
      if (!failure_) view = view_of(field, source, box_);
    });
    for (std::int64_t round = 0; round < rounds_; ++round) {
      const std::span<const std::byte> values =
          exchange_.collect(view, [&](int rank) { return part_of(share(rank), round); });
      attempt([&] {
        if (!failure_)
          file_.write(values.data(), static_cast<std::int64_t>(values.size()),
                      offset + part_of(share(comm_.rank()), round).first * exchange_.value_bytes());
      });
    }
  }

  /// Collective; throws on every rank where any failed.
  void finish() {
    agree(comm_, [&] {
      if (failure_) std::rethrow_exception(failure_);
    });
  }

 private:
  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (const std::exception&) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  /// What a rank writes of an array: whole blocks, or rank 0 alone where there are fewer than ranks.
  ArrayRange share(int rank) const {
    const std::int64_t bytes = values_ * exchange_.value_bytes(), blocks = (bytes + block_bytes - 1) / block_bytes;
    if (blocks < comm_.size()) return rank == 0 ? ArrayRange{0, values_} : ArrayRange{};
    const auto cut = [&](int r) {
      return std::min(blocks * r / comm_.size() * (block_bytes / exchange_.value_bytes()), values_);
    };
    return {cut(rank), cut(rank + 1)};
  }
  ArrayRange part_of(ArrayRange whole, std::int64_t round) const {
    const std::int64_t first = whole.first + round * staged_;
    return {first, std::min(first + staged_, whole.end)};
  }

  OutputFile& file_;
  Box box_;
  const Comm& comm_;
  FieldExchange exchange_;
  std::int64_t values_;  ///< of one field
  std::int64_t staged_;  ///< values that a rank writes at once
  std::int64_t rounds_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

FieldView view_of(Field field, const FieldSource& source, const Box& box) {
  if (box.empty()) return {};
  const FieldView view = source(field);
  if (view.cells != box.size())
    throw Error(ExitCode::internal, fmt::format("field {}: expected a view of {} cells, found {}", name(field),
                                                to_string(box.size()), to_string(view.cells)));
  return view;
}

void write_fields(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields,
                  std::span<const std::int64_t> offsets, const FieldSource& source, const Box& box, const Comm& comm,
                  std::size_t staging_bytes) {
  std::optional<OutputFile> file;
  agree(comm, [&] { file.emplace(path, OutputFile::Start::existing); });
  FieldWriter writer(*file, header.grid.cells, header.precision, box, comm, staging_bytes);
  for (std::size_t i = 0; i < fields.size(); ++i) writer.write(offsets[i], fields[i], source);
  writer.finish();
  agree(comm, [&] {
    file->sync();
    file->close();
  });
}

}  // namespace mhd
