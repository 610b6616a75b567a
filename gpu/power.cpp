#include "gpu/power.hpp"

#include <dlfcn.h>

namespace mhd::gpu {

/// The few NVML functions that are needed, by their documented C interface (NVML API reference, "Device Queries").
class EnergyMeter::Library {
 public:
  explicit Library(const std::string& pci) : handle_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) return;
    const auto initialise = function<int()>("nvmlInit_v2");
    const auto find = function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    energy_ = function<int(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
    shutdown_ = function<int()>("nvmlShutdown");
    if (!initialise || !find || !energy_ || !shutdown_ || initialise() != success) return;
    initialised_ = true;
    if (find(pci.c_str(), &device_) != success) device_ = nullptr;
  }
  ~Library() {
    if (initialised_) shutdown_();
    if (handle_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::optional<double> joules() const {
    unsigned long long millijoules = 0;
    if (!device_ || energy_(device_, &millijoules) != success) return std::nullopt;
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  static constexpr int success = 0;

  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }

  void* handle_ = nullptr;
  int (*energy_)(void*, unsigned long long*) = nullptr;
  int (*shutdown_)() = nullptr;
  bool initialised_ = false;
  void* device_ = nullptr;
};

EnergyMeter::EnergyMeter(const std::string& pci) : library_(std::make_unique<Library>(pci)) {}
EnergyMeter::~EnergyMeter() = default;
std::optional<double> EnergyMeter::joules() const { return library_->joules(); }

}  // namespace mhd::gpu
