#include "app/background_writer.hpp"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "core/mpi_check.hpp"

namespace mhd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

BackgroundWriter::BackgroundWriter(FieldSet set, const Comm& comm, std::optional<bool> overlap)
    : set_(set), wanted_(overlap) {
  hdf5_version();                // HDF5 starts here, with calls of MPI, and not in a thread
  if (comm.size() == 1) return;  // no MPI at all in the writing thread
  check_mpi(MPI_Comm_dup(comm.handle(), &duplicate_), "MPI_Comm_dup");
  comm_ = Comm(duplicate_);
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  may_overlap_ = comm_.minimum(std::int64_t{level >= MPI_THREAD_SERIALIZED}) == 1;
}

BackgroundWriter::~BackgroundWriter() {
  join();
  if (duplicate_ != MPI_COMM_NULL) MPI_Comm_free(&duplicate_);
}

void BackgroundWriter::start(Solver& solver, std::vector<Field> fields, WriteTimes& times,
                             std::function<void(const FieldSource&, const Comm&)> write) {
  wait();  // its views end with the next capture
  std::vector<FieldView> views;
  if (may_overlap_ && wanted_.value_or(solver.steps_ahead() > 0)) {
    std::vector<int> slots;
    for (const Field f : fields) slots.push_back(set_.slot(f));
    views = solver.capture(slots);
  }
  const bool overlap = comm_.minimum(std::int64_t{!views.empty()}) == 1;
  const auto started = Clock::now();
  if (!overlap) {
    write([&](Field f) { return solver.field(set_.slot(f)); }, comm_);
    return times.add(seconds_since(started));
  }
  pending_times_ = &times;
  pending_since_ = started;
  pending_ = std::async(std::launch::async, [this, started, &times, fields = std::move(fields),
                                             views = std::move(views), write = std::move(write)] {
    const auto source = [&](Field f) {
      return views[static_cast<std::size_t>(std::find(fields.begin(), fields.end(), f) - fields.begin())];
    };
    write(source, comm_);
    times.add(seconds_since(started));
  });
}

void BackgroundWriter::wait() {
  if (pending_.valid()) pending_.get();
}

void BackgroundWriter::join() noexcept {
  if (pending_.valid()) pending_.wait();
}

double BackgroundWriter::remaining() const {
  if (!pending_.valid() || pending_.wait_for(Clock::duration::zero()) == std::future_status::ready) return 0;
  return remaining_seconds(pending_times_->slowest(), seconds_since(pending_since_));
}

}  // namespace mhd
