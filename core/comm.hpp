#pragma once
// The communicator of the run, by value semantics over MPI's handle. MPI errors are thrown as Error(internal). Threads
// may communicate over communicators of their own at the same time (core/mpi_serial.hpp).

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mhd {

class Comm {
 public:
  /// A communicator of this process alone, usable without MPI_Init: reductions are the identity.
  Comm() = default;
  /// MPI must be initialised. Does not own the handle.
  explicit Comm(MPI_Comm handle);

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool root() const { return rank_ == 0; }
  MPI_Comm handle() const { return handle_; }

  void barrier() const;
  /// In place, over all ranks. Maximum and minimum of doubles that contain NaN are NaN-free only if all inputs are.
  void sum(std::span<std::int64_t> values) const;
  void maximum(std::span<double> values) const;
  void minimum(std::span<double> values) const;
  std::int64_t sum(std::int64_t value) const;
  std::int64_t minimum(std::int64_t value) const;
  std::int64_t maximum(std::int64_t value) const;
  double maximum(double value) const;
  double minimum(double value) const;
  /// The text of rank `from` on all ranks.
  std::string broadcast(const std::string& text, int from = 0) const;
  /// In place: the values of rank `from` on all ranks.
  void broadcast(std::span<std::int64_t> values, int from = 0) const;
  /// The texts of all ranks, in rank order, on rank 0 (empty elsewhere).
  std::vector<std::string> gather(const std::string& text) const;
  /// Of texts that tell what failed, empty where nothing did: on all ranks that of the lowest rank with one, with the
  /// rank in front; empty where there is none.
  std::string first_failure(const std::string& mine) const;

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace mhd
