#pragma once
// When the stages of a step began and ended.

#include <string>

namespace mhd {

struct TimelineEntry {
  std::string name;
  bool on_device = false;     ///< otherwise the host did it
  double begin = 0, end = 0;  ///< seconds
};

}  // namespace mhd
