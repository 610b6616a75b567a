#include "app/write_times.hpp"

#include <algorithm>

namespace mhd {
namespace {

// What a slow file system does; a guess that matters to a time limit that comes before the first file only.
constexpr double assumed_bytes_per_second = 5e8, assumed_seconds = 1;

}  // namespace

WriteTimes::WriteTimes(std::int64_t bytes)
    : slowest_(assumed_seconds + static_cast<double>(bytes) / assumed_bytes_per_second) {}

void WriteTimes::add(double seconds) {
  slowest_ = any_ ? std::max(slowest_.load(), seconds) : seconds;
  any_ = true;
}

double remaining_seconds(double slowest, double elapsed) { return std::max(slowest - elapsed, 0.5 * elapsed); }

}  // namespace mhd
