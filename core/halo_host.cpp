#include "core/halo_host.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/mpi_check.hpp"
#include "core/mpi_serial.hpp"

namespace mhd {

namespace {

/// There is one message per pair of ranks and exchange, and MPI keeps the order of successive ones.
constexpr int halo_tag = 71;

constexpr int max_radius = 4;  ///< of order 8

double* copy_to_buffer(const double* cell, const HostLayout& layout, const Box& box, double* buffer) {
  const int row = box.size().x;
  for (int k = box.lower.z; k < box.upper.z; ++k)
    for (int j = box.lower.y; j < box.upper.y; ++j)
      buffer = std::copy_n(cell + box.lower.x + j * layout.stride_y + k * layout.stride_z, row, buffer);
  return buffer;
}

const double* copy_from_buffer(const double* buffer, double* cell, const HostLayout& layout, const Box& box) {
  const int row = box.size().x;
  for (int k = box.lower.z; k < box.upper.z; ++k)
    for (int j = box.lower.y; j < box.upper.y; ++j, buffer += row)
      std::copy_n(buffer, row, cell + box.lower.x + j * layout.stride_y + k * layout.stride_z);
  return buffer;
}

int wrapped(int index, int cells) { return (index % cells + cells) % cells; }

void wrap_x(double* cell, const HostLayout& layout, int radius, const Box& range) {
  const int cells = layout.cells.x;
  std::array<int, max_radius> below{}, above{};  // own cells that hold the values of cells -1 - m and cells + m
  for (int m = 0; m < radius; ++m) {
    below[m] = wrapped(-1 - m, cells);
    above[m] = wrapped(m, cells);
  }
  for (int k = range.lower.z; k < range.upper.z; ++k)
    for (int j = range.lower.y; j < range.upper.y; ++j) {
      double* row = cell + j * layout.stride_y + k * layout.stride_z;
      for (int m = 0; m < radius; ++m) {
        row[-1 - m] = row[below[m]];
        row[cells + m] = row[above[m]];
      }
    }
}

/// Axis y or z: copies of whole rows.
void wrap_rows(double* cell, const HostLayout& layout, int radius, int axis, const Box& range) {
  const int cells = layout.cells[axis], length = range.size().x;
  const std::ptrdiff_t along = axis == 1 ? layout.stride_y : layout.stride_z;
  const std::ptrdiff_t across = axis == 1 ? layout.stride_z : layout.stride_y;
  const int other = axis == 1 ? 2 : 1;
  for (int a = range.lower[other]; a < range.upper[other]; ++a) {
    double* start = cell + range.lower.x + a * across;
    const auto copy = [&](int target) {
      std::copy_n(start + wrapped(target, cells) * along, length, start + target * along);
    };
    for (int m = 0; m < radius; ++m) {
      copy(-1 - m);
      copy(cells + m);
    }
  }
}

/// Adds the seconds since construction to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(double& counter) : counter_(counter), start_(Clock::now()) {}
  ~Stopwatch() { counter_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& counter_;
  Clock::time_point start_;
};

}  // namespace

HaloMessages HaloMessages::on_host(const HaloPlan& plan, int fields, const Comm& comm, Travel travel,
                                   std::int64_t largest_piece) {
  std::int64_t total = 0;
  for (const HaloMessage& message : plan.messages) total += message.cells * fields;
  std::vector<MessageMemory> memory;
  memory.emplace_back(std::make_unique<double[]>(static_cast<std::size_t>(total)).release(),
                      [](double* p) { std::default_delete<double[]>()(p); });
  std::vector<MessageBuffer> messages;
  double* next = memory.front().get();
  for (const HaloMessage& message : plan.messages) {
    messages.push_back({next, message.cells * fields, message.neighbour});
    next += messages.back().length;
  }
  return {std::move(messages), comm, travel, largest_piece, std::move(memory)};
}

HaloMessages::HaloMessages(std::vector<MessageBuffer> messages, const Comm& comm, Travel travel,
                           std::int64_t largest_piece, std::vector<MessageMemory> memory)
    : HaloMessages() {
  travel_ = travel;
  memory_ = std::move(memory);
  messages_ = std::move(messages);
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    const MessageBuffer& message = messages_[m];
    first_piece_.push_back(static_cast<int>(requests_.size()));
    for (std::int64_t done = 0; done < message.length; done += largest_piece) {
      double* piece = message.first + done;
      const int count = static_cast<int>(std::min(largest_piece, message.length - done));
      MPI_Request request = MPI_REQUEST_NULL;
      if (travel == Travel::outgoing)
        check_mpi(MPI_Send_init(piece, count, MPI_DOUBLE, message.neighbour, halo_tag, comm.handle(), &request),
                  "MPI_Send_init");
      else
        check_mpi(MPI_Recv_init(piece, count, MPI_DOUBLE, message.neighbour, halo_tag, comm.handle(), &request),
                  "MPI_Recv_init");
      requests_.push_back(request);
      message_of_piece_.push_back(static_cast<int>(m));
    }
  }
  first_piece_.push_back(static_cast<int>(requests_.size()));
  pieces_under_way_.assign(messages_.size(), 0);
}

HaloMessages::~HaloMessages() {
  if (requests_.empty()) return;
  int finalized = 0;
  if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
  bool under_way = false;
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    under_way = !complete(request) || under_way;
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  if (!under_way) return;
  for (MessageMemory& memory : memory_) static_cast<void>(memory.release());
}

bool HaloMessages::complete(MPI_Request& request) const {
  int done = 0;
  if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  if (done || travel_ == Travel::outgoing) return done;  // sends cannot be cancelled
  // No wait for the cancelled receive: its sender may be gone.
  return MPI_Cancel(&request) == MPI_SUCCESS && MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
}

void HaloMessages::start(int message) {
  const int first = first_piece_[message], count = first_piece_[message + 1] - first;
  call_mpi("MPI_Startall", [&] { return MPI_Startall(count, requests_.data() + first); });
  pieces_under_way_[message] = count;
}

void HaloMessages::start_all() {
  for (std::size_t message = 0; message < messages_.size(); ++message) start(static_cast<int>(message));
}

int HaloMessages::wait_any() {
  while (under_way()) {
    if (const std::optional<int> message = test_any()) return *message;
    std::this_thread::yield();
  }
  return -1;
}

std::optional<int> HaloMessages::test_any() {
  int piece = MPI_UNDEFINED, done = 0;
  if (!requests_.empty())
    call_mpi("MPI_Testany", [&] {
      return MPI_Testany(static_cast<int>(requests_.size()), requests_.data(), &piece, &done, MPI_STATUS_IGNORE);
    });
  if (!done || piece == MPI_UNDEFINED) return std::nullopt;
  return completed(piece);
}

bool HaloMessages::under_way() const {
  return std::any_of(pieces_under_way_.begin(), pieces_under_way_.end(), [](int pieces) { return pieces > 0; });
}

std::optional<int> HaloMessages::completed(int piece) {
  const int message = message_of_piece_[piece];
  if (--pieces_under_way_[message] > 0) return std::nullopt;
  return message;
}

void HaloMessages::wait_all() {
  while (wait_any() >= 0) {
  }
}

HostHalo::HostHalo(const HaloPlan& plan, const HostLayout& layout, int fields, const Comm& comm,
                   std::int64_t largest_piece)
    : plan_(plan),
      fields_(fields),
      outgoing_(HaloMessages::on_host(plan, fields, comm, HaloMessages::Travel::outgoing, largest_piece)),
      incoming_(HaloMessages::on_host(plan, fields, comm, HaloMessages::Travel::incoming, largest_piece)) {
  if (layout.cells != plan.cells)
    throw Error(ExitCode::internal, "halo exchange planned for " + to_string(plan.cells) +
                                        " cells, but the fields have " + to_string(layout.cells));
}

void HostHalo::exchange(HostState& state) {
  if (state.layout().cells != plan_.cells || state.fields() != fields_)
    throw Error(ExitCode::internal, "halo exchange planned for " + std::to_string(fields_) + " fields of " +
                                        to_string(plan_.cells) + " cells, but the state has " +
                                        std::to_string(state.fields()) + " of " + to_string(state.layout().cells));
  {
    const Stopwatch watch(timing_.exchange);
    incoming_.start_all();
    for (int message = 0; message < static_cast<int>(plan_.messages.size()); ++message) {
      pack(state, message);
      outgoing_.start(message);
    }
  }
  const auto next_arrival = [&] {
    const Stopwatch watch(timing_.wait);
    return incoming_.wait_any();
  };
  for (int message = next_arrival(); message >= 0; message = next_arrival()) {
    const Stopwatch watch(timing_.exchange);
    unpack(state, message);
  }
  {
    const Stopwatch watch(timing_.exchange);
    wrap(state);
  }
  const Stopwatch watch(timing_.wait);
  outgoing_.wait_all();
}

void HostHalo::pack(const HostState& state, int message) {
  for (const HaloSegment& segment : plan_.segments) {
    if (segment.message != message) continue;
    double* buffer = outgoing_.buffer(message) + segment.send_offset * fields_;
    for (int slot = 0; slot < fields_; ++slot)
      buffer = copy_to_buffer(state.cell(slot), state.layout(), segment.send_box, buffer);
  }
}

void HostHalo::unpack(HostState& state, int message) {
  for (const HaloSegment& segment : plan_.segments) {
    if (segment.message != message) continue;
    const double* buffer = incoming_.buffer(message) + segment.recv_offset * fields_;
    for (int slot = 0; slot < fields_; ++slot)
      buffer = copy_from_buffer(buffer, state.cell(slot), state.layout(), segment.recv_box);
  }
}

void HostHalo::wrap(HostState& state) const {
  for (int slot = 0; slot < fields_; ++slot)
    for (const HaloWrap& wrap : plan_.wraps) {
      if (wrap.axis == 0)
        wrap_x(state.cell(slot), state.layout(), plan_.radius, wrap.range);
      else
        wrap_rows(state.cell(slot), state.layout(), plan_.radius, wrap.axis, wrap.range);
    }
}

}  // namespace mhd
