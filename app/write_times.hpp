#pragma once
// How long files take to write, for a time limit that must leave room for them. All in wall-clock seconds.

#include <atomic>
#include <cstdint>

namespace mhd {

/// The files of one kind. A thread adds while the main loop asks.
class WriteTimes {
 public:
  /// Before the first file there is an estimate from the bytes of one.
  explicit WriteTimes(std::int64_t bytes);
  void add(double seconds);
  /// Of all so far.
  double slowest() const { return slowest_; }

 private:
  bool any_ = false;  ///< used where files are written, alone
  std::atomic<double> slowest_;
};

/// What a file that has been in writing for `elapsed` may still take: until it is the slowest of its kind, but, where
/// the file system has become slower, no less than half of what it has taken already.
double remaining_seconds(double slowest, double elapsed);

/// What a run that stops may still have to write.
struct WriteReserve {
  double checkpoint = 0;  ///< the slowest checkpoint so far
  double snapshot = 0;    ///< the slowest snapshot so far, if the run writes any
  double pending = 0;     ///< what the file that is being written may still take
};

}  // namespace mhd
