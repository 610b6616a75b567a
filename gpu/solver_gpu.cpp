#include "gpu/solver_gpu.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include "core/coefficients.hpp"
#include "core/error.hpp"
#include "gpu/device.hpp"
#include "gpu/pipeline.hpp"
#include "gpu/reduce.hpp"
#include "gpu/state.hpp"
#include "gpu/transport.hpp"

namespace mhd {

using namespace gpu;

namespace {

std::size_t shared_limit(int device) {
  int bytes = 0;
  check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  return static_cast<std::size_t>(bytes);
}

/// The kernel for this device: with tensor copies where it has them and the shared memory suffices.
SubstepKernel choose_kernel(int radius, FieldSet fields, const DeviceInfo& device, bool tensor_copies) {
  const std::size_t limit = shared_limit(device.index);
  if (tensor_copies && device.major >= 9) {
    const SubstepKernel kernel = substep_kernel(radius, fields, true);
    if (kernel.shape.shared_bytes <= limit) return kernel;
  }
  const SubstepKernel kernel = substep_kernel(radius, fields, false);
  if (kernel.shape.shared_bytes > limit)
    throw Error(ExitCode::device,
                device.name + " has " + std::to_string(limit / 1024) + " KiB of shared memory per block, but " +
                    std::to_string(kernel.shape.shared_bytes / 1024) +
                    " KiB are needed; use a data-centre GPU (A100 or later) or run.backend = \"cpu\"");
  return kernel;
}

std::string gibibytes(std::size_t bytes) {
  const double value = static_cast<double>(bytes) / (1 << 30);
  return std::to_string(std::llround(value * 10) / 10) + "." + std::to_string(std::llround(value * 10) % 10) + " GiB";
}

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
  return text;
}

void require_memory(const Decomposition& decomposition, int rank, FieldSet fields, bool corners,
                    const DeviceInfo& device) {
  const std::size_t needed = device_bytes(decomposition, rank, fields, corners);
  if (needed <= device.free_bytes) return;
  const int devices = devices_needed(decomposition.grid(), fields, device.free_bytes);
  throw Error(ExitCode::device, to_string(decomposition.box(rank).size()) + " cells need " + gibibytes(needed) +
                                    ", but " + device.name + " has " + gibibytes(device.free_bytes) + " free; " +
                                    (devices > 0 ? std::to_string(devices) + " such GPUs would hold the grid of " +
                                                       to_string(decomposition.grid().cells) + " cells"
                                                 : std::string("no number of such GPUs would hold this grid")));
}

}  // namespace

class GpuSolver::Implementation {
 public:
  Implementation(const Config& config, const Decomposition& decomposition, const Comm& comm, GpuOptions options)
      : fields_(config.physics.fields()),
        device_(current_device()),
        layout_(decomposition, comm.rank()),
        reductions_(reduction_kernels(layout_.radius, fields_)) {
    std::string failure;
    try {
      allocate(config, decomposition, comm.rank(), options);
    } catch (const Error& e) {
      if (comm.size() == 1) throw;
      failure = e.what();
    }
    if (!decomposition.exchanges()) return;
    // What follows is collective.
    failure = comm.first_failure(failure);
    if (!failure.empty()) throw Error(ExitCode::device, failure, ErrorScope::everywhere);
    make_pipeline(config, decomposition, comm, options);
  }

  void set_field(int slot, std::span<const double> values) {
    const Int3 n = layout_.cells;
    if (static_cast<std::int64_t>(values.size()) != n.product())
      throw Error(ExitCode::internal, "set_field: " + std::to_string(values.size()) +
                                          " values given for a subdomain of " + to_string(n) + " cells");
    copy(interior(slot), host(const_cast<double*>(values.data())), cudaMemcpyHostToDevice);
    stream_.synchronize();
    halos_valid_ = images_valid_ = false;
  }

  FieldView field(int slot) {
    if (staging_.size() == 0) staging_ = pinned_buffer<double>(layout_.cells.product());
    download(slot, staging_.data());
    stream_.synchronize();
    return view(staging_.data());
  }

  std::vector<FieldView> capture(std::span<const int> slots) {
    const std::size_t size = layout_.cells.product();
    if (captured_.size() < size * slots.size()) {
      try {
        captured_ = pinned_buffer<double>(size * slots.size());
      } catch (const Error&) {
        return {};
      }
    }
    std::vector<FieldView> views;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      download(slots[i], captured_.data() + i * size);
      views.push_back(view(captured_.data() + i * size));
    }
    stream_.synchronize();
    return views;
  }

  void step(double dt) {
    // A step that is still timed by the events to be used again must be over.
    StepEvents& events = events_[step_count_ % events_.size()];
    if (step_count_ >= static_cast<std::int64_t>(events_.size())) events.stop.synchronize();
    stream_.record(events.start);
    for (int substep = 0; substep < substeps; ++substep) {
      fill_images_once();
      if (pipeline_) {
        pipeline_->substep(substep_coefficients(substep, dt), pointers(), *current_, *other_, substep == 0,
                           exchange_ && !halos_valid_, events.substep[substep], stream_);
      } else {
        arguments_.runge_kutta = substep_coefficients(substep, dt);
        arguments_.fields = pointers();
        kernel_.launch(arguments_, current_->padded_tile(), other_->tile(), substep == 0, stream_.get());
      }
      std::swap(current_, other_);
      halos_valid_ = false;  // those of other ranks; the kernel itself stores the periodic images
    }
    if (pipeline_) pipeline_->join(stream_);
    stream_.record(events.stop);
    ++step_count_;
  }

  double courant_rate() {
    reduce(reductions_.courant);
    fetch_results();
    const auto bits = host_results_.data()->courant_bits;
    if (bits >= 0x7ff0000000000000ULL) return std::numeric_limits<double>::quiet_NaN();
    return std::sqrt(std::bit_cast<double>(bits));
  }

  void start_diagnostics() {
    reduce(reductions_.diagnostics);
    copy_results(host_diagnostics_.data());
    stream_.record(diagnostics_there_);
  }
  DiagnosticSums finish_diagnostics() {
    diagnostics_there_.synchronize();
    const ReductionResults& r = *host_diagnostics_.data();
    DiagnosticSums sums(fields_);
    for (int s = 0; s < sum_of::count; ++s) {
      std::int64_t packed[ExactSum::limbs + 1];
      for (int i = 0; i <= ExactSum::limbs; ++i) packed[i] = static_cast<std::int64_t>(r.limbs[s][i]);
      sums.sums[s] = ExactSum::unpack(packed);
    }
    for (int m = 0; m < max_of::count; ++m)
      sums.maxima[m] = std::bit_cast<double>(static_cast<std::int64_t>(order_key(r.maxima[m])));
    sums.nonfinite = static_cast<std::int64_t>(r.nonfinite);
    return sums;
  }

  bool finite() {
    fetch_results();
    if (host_results_.data()->bad_step == 0) return true;
    check_cuda(cudaMemsetAsync(&results_.data()->bad_step, 0, sizeof(int), stream_.get()), "cudaMemsetAsync");
    stream_.synchronize();  // other streams may set it next
    return false;
  }

  int steps_ahead() const { return most_steps_ahead; }

  StepTiming timing(int back) const {
    if (back < 0 || back > steps_ahead() || back >= step_count_) return {};
    const StepEvents& events = events_[(step_count_ - 1 - back) % events_.size()];
    events.stop.synchronize();
    StepTiming timing;
    for (const SubstepMarks& marks : events.substep) timing.wait += marks.exposed_seconds();
    timing.compute = std::max(0.0, events.stop.seconds_since(events.start) - timing.wait);
    return timing;
  }

  std::string transport() const { return transport_; }
  std::string overlap() const { return cut_text_; }
  std::int64_t bytes_sent() const { return pipeline_ ? pipeline_->halo().bytes_sent() : 0; }
  void exchange_halos() {
    fill_images_once();
    if (pipeline_)
      pipeline_->fill(
          *current_, stream_, [](const Box&) {}, [](const Box&) {});
    halos_valid_ = true;
  }
  std::vector<TimelineEntry> timed_step(double dt) {
    timeline_.start();
    step(dt);
    return timeline_.stop();
  }

  void synchronize() const { stream_.synchronize(); }

  std::string description() const {
    const TileShape& s = kernel_.shape;
    const SubstepArguments& arguments =
        pipeline_ && !pipeline_->inner().region.empty() ? pipeline_->inner() : arguments_;
    return std::to_string(s.tile_x) + " x " + std::to_string(s.tile_y) + " tile of " + std::to_string(s.threads) +
           " threads, " + std::to_string(arguments.chunk) + " planes per block, " +
           std::to_string(arguments.tiles.product()) + " blocks on " + std::to_string(device_.multiprocessors) +
           " multiprocessors, planes by " + (s.tensor_copies ? "tensor copies" : "asynchronous copies");
  }

 private:
  FieldPointers pointers() const {
    FieldPointers f;
    f.in = current_->cell(0);
    f.out = other_->cell(0);
    f.stride_y = layout_.stride_y;
    f.stride_z = layout_.stride_z;
    f.stride_field = layout_.field_size;
    for (int slot = 0; slot < max_fields; ++slot) f.slot_offset[slot] = slot * layout_.field_size;
    f.cells = layout_.cells;
    f.wrap_z = !layout_.split[2];
    f.image_x = !layout_.split[0];
    f.image_y = !layout_.split[1];
    f.first_row = -layout_.halo_y;
    f.last_row = layout_.cells.y + layout_.halo_y;
    return f;
  }

  void allocate(const Config& config, const Decomposition& decomposition, int rank, const GpuOptions& options) {
    kernel_ = choose_kernel(layout_.radius, fields_, device_, options.tensor_copies);
    require_memory(decomposition, rank, fields_, config.run.exchange_corners, device_);
    kernel_.prepare();
    current_.emplace(layout_, fields_.count(), kernel_.shape);
    other_.emplace(layout_, fields_.count(), kernel_.shape);
    results_ = device_buffer<ReductionResults>(1);
    host_results_ = pinned_buffer<ReductionResults>(1);
    host_diagnostics_ = pinned_buffer<ReductionResults>(1);
    check_cuda(cudaMemset(results_.data(), 0, sizeof(ReductionResults)), "cudaMemset");
    // What the default stream did must be over before our non-blocking stream starts.
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    arguments_.coefficients = coefficients(config);
    arguments_.region = {{0, 0, 0}, layout_.cells};
    arguments_.nonfinite = &results_.data()->bad_step;
    choose_tiles(arguments_, kernel_.shape, layout_.radius, device_.multiprocessors);
  }

  void make_pipeline(const Config& config, const Decomposition& decomposition, const Comm& comm,
                     const GpuOptions& options) {
    const HaloPlan plan(decomposition, comm.rank(), config.run.exchange_corners);
    ChosenExchange chosen = choose_exchange(config.run, plan, layout_, fields_.count(), comm, timeline_, options.test);
    transport_ = chosen.text;
    exchange_ = options.exchange;
    pipeline_.emplace(plan, std::move(chosen.halo), arguments_, kernel_, device_.multiprocessors, timeline_,
                      options.test.stress_seed);
    if (!options.overlap || !config.run.overlap || !exchange_)
      cut_text_ = pipeline_->cut_text();
    else if (options.test.cut)
      pipeline_->cut({.tile = *options.test.cut});
    else
      choose_cut(comm);
  }

  /// Tries every cut on the state as it is, before it has been set, and keeps the fastest: none changes a bit.
  void choose_cut(const Comm& comm) {
    constexpr int timed_steps = 2;
    const std::vector<Cut> cuts = pipeline_->possible_cuts(comm);
    std::vector<double> seconds;
    for (const Cut& cut : cuts) {
      pipeline_->cut(cut);
      step(0);
      synchronize();
      comm.barrier();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < timed_steps; ++i) step(0);
      synchronize();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      seconds.push_back(comm.maximum(taken.count()) / timed_steps);
    }
    const auto fastest = std::ranges::min_element(seconds);
    pipeline_->cut(cuts[fastest - seconds.begin()]);
    cut_text_ = pipeline_->cut_text() + " (fastest of " + std::to_string(cuts.size()) +
                " ways: " + milliseconds(*fastest) + " per step, " + milliseconds(seconds.front()) +
                " without overlap)";
    step_count_ = 0;
  }

  /// Of values that were set; steps store images themselves.
  void fill_images_once() {
    if (images_valid_) return;
    fill_images(current_->cell(0), layout_, fields_.count(), stream_.get());
    stream_.synchronize();  // the streams of the pipeline follow
    images_valid_ = true;
  }

  /// Reduces all cells; those that read halos of other ranks after these have come, the others meanwhile.
  void reduce(ReductionKernels::Launch* launch) {
    fill_images_once();
    clear_reductions(results_.data(), stream_.get());
    const auto queue = [&](const Box& cells) {
      launch(arguments_.coefficients, pointers(), cells, results_.data(), device_.multiprocessors, stream_.get());
    };
    if (pipeline_ && exchange_ && !halos_valid_)
      pipeline_->fill(*current_, stream_, queue, queue);
    else
      queue({{0, 0, 0}, layout_.cells});
    halos_valid_ = true;
  }

  void copy_results(ReductionResults* to) {
    check_cuda(cudaMemcpyAsync(to, results_.data(), sizeof(ReductionResults), cudaMemcpyDeviceToHost, stream_.get()),
               "cudaMemcpyAsync(reduction results)");
  }
  void fetch_results() {
    copy_results(host_results_.data());
    stream_.synchronize();
  }

  FieldView view(const double* data) const {
    const Int3 n = layout_.cells;
    return {data, n, n.x, std::ptrdiff_t{n.x} * n.y};
  }
  cudaPitchedPtr interior(int slot) const {
    return make_cudaPitchedPtr(current_->cell(slot), layout_.stride_y * sizeof(double), layout_.stride_y,
                               layout_.rows());
  }
  cudaPitchedPtr host(double* data) const {
    return make_cudaPitchedPtr(data, layout_.cells.x * sizeof(double), layout_.cells.x, layout_.cells.y);
  }
  void copy(const cudaPitchedPtr& to, const cudaPitchedPtr& from, cudaMemcpyKind kind) {
    cudaMemcpy3DParms p{};
    p.srcPtr = from;
    p.dstPtr = to;
    p.extent = make_cudaExtent(layout_.cells.x * sizeof(double), layout_.cells.y, layout_.cells.z);
    p.kind = kind;
    check_cuda(cudaMemcpy3DAsync(&p, stream_.get()), "cudaMemcpy3DAsync(field)");
  }
  void download(int slot, double* to) { copy(host(to), interior(slot), cudaMemcpyDeviceToHost); }

  FieldSet fields_;
  DeviceInfo device_;
  Layout layout_;
  SubstepKernel kernel_;
  ReductionKernels reductions_;
  SubstepArguments arguments_;
  Stream stream_;
  static constexpr int most_steps_ahead = 2;  // hides the host's work between two steps; more would delay its decisions
  struct StepEvents {
    Event start{true}, stop{true};
    std::array<SubstepMarks, substeps> substep;
  };
  std::array<StepEvents, most_steps_ahead + 1> events_;
  std::int64_t step_count_ = 0;
  std::optional<DeviceState> current_, other_;
  Timeline timeline_;
  std::optional<Pipeline> pipeline_;  ///< where halos travel by message
  std::string transport_, cut_text_;
  bool exchange_ = true;
  DeviceBuffer<ReductionResults> results_;
  PinnedBuffer<ReductionResults> host_results_, host_diagnostics_;
  Event diagnostics_there_;
  PinnedBuffer<double> staging_, captured_;
  bool images_valid_ = false, halos_valid_ = false;
};

GpuSolver::GpuSolver(const Config& config, const Decomposition& decomposition, const Comm& comm, GpuOptions options)
    : implementation_(std::make_unique<Implementation>(config, decomposition, comm, options)) {}
GpuSolver::~GpuSolver() = default;

void GpuSolver::set_field(int slot, std::span<const double> values) { implementation_->set_field(slot, values); }
FieldView GpuSolver::field(int slot) { return implementation_->field(slot); }
void GpuSolver::step(double dt) { implementation_->step(dt); }
double GpuSolver::courant_rate() { return implementation_->courant_rate(); }
void GpuSolver::start_diagnostics() { implementation_->start_diagnostics(); }
DiagnosticSums GpuSolver::finish_diagnostics() { return implementation_->finish_diagnostics(); }
bool GpuSolver::finite() { return implementation_->finite(); }
int GpuSolver::steps_ahead() const { return implementation_->steps_ahead(); }
StepTiming GpuSolver::timing(int back) const { return implementation_->timing(back); }
std::vector<FieldView> GpuSolver::capture(std::span<const int> slots) { return implementation_->capture(slots); }
void GpuSolver::synchronize() const { implementation_->synchronize(); }
std::string GpuSolver::description() const { return implementation_->description(); }
std::string GpuSolver::transport() const { return implementation_->transport(); }
std::string GpuSolver::overlap() const { return implementation_->overlap(); }
std::int64_t GpuSolver::bytes_sent() const { return implementation_->bytes_sent(); }
void GpuSolver::exchange_halos() { implementation_->exchange_halos(); }
std::vector<TimelineEntry> GpuSolver::timed_step(double dt) { return implementation_->timed_step(dt); }

}  // namespace mhd
