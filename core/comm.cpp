#include "core/comm.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.hpp"
#include "core/mpi_check.hpp"
#include "core/mpi_serial.hpp"

namespace mhd {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw Error(ExitCode::internal, std::string(call) + " failed: " +
                                      (length > 0 ? std::string(text, static_cast<std::size_t>(length))
                                                  : "MPI error code " + std::to_string(code)));
}

namespace {

constexpr std::int64_t lowest_key = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest_key = std::numeric_limits<std::int64_t>::max();

/// Maps doubles to integers in the same order (-0 below +0); its own inverse. MPI_MAX of doubles leaves open what
/// becomes of NaN, the maximum of integers does not.
std::int64_t order_key(std::int64_t bits) { return bits ^ ((bits >> 63) & highest_key); }

void reduce_integers(MPI_Comm handle, std::span<std::int64_t> values, MPI_Op operation) {
  complete_mpi("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T, operation, handle,
                          request);
  });
}

/// In place, from one rank to all.
void broadcast_bytes(MPI_Comm handle, void* data, int bytes, int from) {
  complete_mpi("MPI_Ibcast",
               [&](MPI_Request* request) { return MPI_Ibcast(data, bytes, MPI_BYTE, from, handle, request); });
}

void reduce_doubles(MPI_Comm handle, std::span<double> values, MPI_Op operation, std::int64_t key_of_nan) {
  std::vector<std::int64_t> keys;
  keys.reserve(values.size());
  for (double value : values)
    keys.push_back(std::isnan(value) ? key_of_nan : order_key(std::bit_cast<std::int64_t>(value)));
  reduce_integers(handle, keys, operation);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        keys[i] == key_of_nan ? std::numeric_limits<double>::quiet_NaN() : std::bit_cast<double>(order_key(keys[i]));
}

int text_length(const std::string& text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ExitCode::internal, "text of " + std::to_string(text.size()) + " bytes is too long for one message");
  return static_cast<int>(text.size());
}

}  // namespace

Comm::Comm(MPI_Comm handle) : handle_(handle) {
  check_mpi(MPI_Comm_rank(handle_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(handle_, &size_), "MPI_Comm_size");
}

void Comm::barrier() const {
  if (size_ > 1) complete_mpi("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(handle_, request); });
}

void Comm::sum(std::span<std::int64_t> values) const {
  if (size_ > 1) reduce_integers(handle_, values, MPI_SUM);
}

void Comm::maximum(std::span<double> values) const {
  if (size_ > 1) reduce_doubles(handle_, values, MPI_MAX, highest_key);
}

void Comm::minimum(std::span<double> values) const {
  if (size_ > 1) reduce_doubles(handle_, values, MPI_MIN, lowest_key);
}

std::int64_t Comm::sum(std::int64_t value) const {
  sum(std::span(&value, 1));
  return value;
}

std::int64_t Comm::minimum(std::int64_t value) const {
  if (size_ > 1) reduce_integers(handle_, std::span(&value, 1), MPI_MIN);
  return value;
}

std::int64_t Comm::maximum(std::int64_t value) const {
  if (size_ > 1) reduce_integers(handle_, std::span(&value, 1), MPI_MAX);
  return value;
}

double Comm::maximum(double value) const {
  maximum(std::span(&value, 1));
  return value;
}

double Comm::minimum(double value) const {
  minimum(std::span(&value, 1));
  return value;
}

std::string Comm::broadcast(const std::string& text, int from) const {
  if (size_ == 1) return text;
  int length = rank_ == from ? text_length(text) : 0;
  broadcast_bytes(handle_, &length, sizeof length, from);
  std::string received = rank_ == from ? text : std::string(static_cast<std::size_t>(length), '\0');
  broadcast_bytes(handle_, received.data(), length, from);
  return received;
}

void Comm::broadcast(std::span<std::int64_t> values, int from) const {
  if (size_ > 1) broadcast_bytes(handle_, values.data(), static_cast<int>(values.size_bytes()), from);
}

std::vector<std::string> Comm::gather(const std::string& text) const {
  if (size_ == 1) return {text};
  const int length = text_length(text);
  std::vector<int> lengths(root() ? static_cast<std::size_t>(size_) : 0);
  complete_mpi("MPI_Igather", [&](MPI_Request* request) {
    return MPI_Igather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, handle_, request);
  });
  std::vector<int> offsets(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  std::string all(root() ? static_cast<std::size_t>(offsets.back() + lengths.back()) : 0, '\0');
  complete_mpi("MPI_Igatherv", [&](MPI_Request* request) {
    return MPI_Igatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, handle_,
                        request);
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
  return texts;
}

std::string Comm::first_failure(const std::string& mine) const {
  const std::int64_t failed = minimum(std::int64_t{mine.empty() ? size() : rank()});
  if (failed == size()) return "";
  return "on rank " + std::to_string(failed) + " " + broadcast(mine, static_cast<int>(failed));
}

}  // namespace mhd
