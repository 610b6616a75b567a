#pragma once
// Energy that the driver has counted for a device. NVML comes with the driver and is loaded at run time; where it is
// absent, so is the figure. No CUDA headers here.

#include <memory>
#include <optional>
#include <string>

namespace mhd::gpu {

class EnergyMeter {
 public:
  /// For the device with this PCI id ("0000:3b:00.0"). Never throws for lack of a driver.
  explicit EnergyMeter(const std::string& pci);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  /// Joules since the driver was loaded, updated every few tens of milliseconds; nothing where it cannot be read.
  std::optional<double> joules() const;

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace mhd::gpu
