#pragma once
// MPI from several threads, one call at a time: a thread writes files, and communicates about them, while the main loop
// exchanges halos. Every call that may come while a thread writes is made under one lock, and none blocks while it
// holds the lock. So MPI_THREAD_SERIALIZED is enough, which every MPI library has and none pays for in each call; and
// ranks that wait leave their core to those that compute.

#include <mpi.h>

#include <mutex>
#include <thread>

#include "core/mpi_check.hpp"

namespace mhd {

/// Held during every such call.
inline std::mutex& mpi_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Calls MPI; `name` is for the message of a failure.
template <class Call>
void call_mpi(const char* name, const Call& call) {
  const std::lock_guard lock(mpi_mutex());
  check_mpi(call(), name);
}

/// Starts a non-blocking operation, `start(MPI_Request*)`, and returns when it is complete. Other threads can call MPI
/// in the meantime.
template <class Start>
void complete_mpi(const char* name, const Start& start) {
  MPI_Request request = MPI_REQUEST_NULL;
  call_mpi(name, [&] { return start(&request); });
  for (int done = 0;;) {
    call_mpi(name, [&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE); });
    if (done) return;
    std::this_thread::yield();
  }
}

}  // namespace mhd
