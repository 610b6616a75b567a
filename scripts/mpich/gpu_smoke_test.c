/* Smoke test of an MPI library with device memory, to be run before the first big run on a machine:
 *
 *   mpicc -I$CUDA/include gpu_smoke_test.c -o gpu_smoke_test -L$CUDA/lib64 -lcudart
 *   mpiexec -n RANKS ./gpu_smoke_test
 *
 * Each rank takes the device of its number within its node, sends device memory to the next rank and receives from the
 * previous one, as mhdsim's halo exchange would, and checks every byte, with new data in each of ten rounds per size.
 * Exit code 0: all is well, or there is no GPU and the library says that it knows CUDA. 1: wrong data, or a library
 * that does not. A library that takes device pointers for host pointers ends in a segmentation fault. */
#include <cuda_runtime_api.h>
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank = 0, ranks = 1;

static void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Differs between ranks, rounds and positions. */
static unsigned pattern(int sender, int round, size_t i) {
  unsigned x = 2654435761u * (unsigned)i + 40503u * (unsigned)sender + 97u * (unsigned)round;
  return x ^ x >> 15;
}

/* Largest time of any rank for one exchange, seconds; counts wrong values. */
static double exchange(unsigned* send, unsigned* receive, unsigned* host, size_t count, long* wrong) {
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks, rounds = 10;
  double seconds = 0, slowest = 0;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < count; ++i) host[i] = pattern(rank, round, i);
    check_cuda(cudaMemcpy(send, host, 4 * count, cudaMemcpyHostToDevice), "cudaMemcpy");
    check_cuda(cudaMemset(receive, 0xff, 4 * count), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); /* MPI's streams do not wait for ours */
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(receive, (int)(4 * count), MPI_BYTE, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(send, (int)(4 * count), MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    if (round > 1) seconds += MPI_Wtime() - start; /* the first ones open handles */
    check_cuda(cudaMemcpy(host, receive, 4 * count, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (size_t i = 0; i < count; ++i) *wrong += host[i] != pattern(previous, round, i);
  }
  seconds /= rounds - 2;
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int choose_device(void) {
  int devices = 0, local = 0;
  MPI_Comm node;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  MPI_Comm_free(&node);
  int fewest = 0;
  MPI_Allreduce(&devices, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (fewest == 0) return 0;
  char bus[32] = "", name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check_cuda(cudaSetDevice(local % devices), "cudaSetDevice");
  check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, local % devices), "cudaDeviceGetPCIBusId");
  MPI_Get_processor_name(name, &length);
  printf("rank %d: %s, device %d of %d, %s\n", rank, name, local % devices, devices, bus);
  fflush(stdout);
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, aware = -1;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n")] = '\0';
#if defined(MPICH) || (defined(OPEN_MPI) && defined(MPIX_CUDA_AWARE_SUPPORT))
  aware = MPIX_Query_cuda_support();
#endif
  if (rank == 0) printf("%s\nMPIX_Query_cuda_support: %s\n", library, aware < 0 ? "absent" : aware ? "yes" : "no");
  fflush(stdout);

  long wrong = 0, all_wrong = 0;
  if (choose_device()) {
    const size_t largest = (size_t)4 << 20; /* values of 4 bytes */
    unsigned *send = NULL, *receive = NULL, *host = malloc(4 * largest);
    if (!host) MPI_Abort(MPI_COMM_WORLD, 1);
    check_cuda(cudaMalloc((void**)&send, 4 * largest), "cudaMalloc");
    check_cuda(cudaMalloc((void**)&receive, 4 * largest), "cudaMalloc");
    for (size_t count = 2; count <= largest; count *= 8) {
      const double seconds = exchange(send, receive, host, count, &wrong);
      if (rank == 0)
        printf("%9zu bytes: %9.1f us, %7.2f GB/s each way\n", 4 * count, 1e6 * seconds, 4e-9 * (double)count / seconds);
      fflush(stdout);
    }
    cudaFree(send);
    cudaFree(receive);
    free(host);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all_wrong) printf("WRONG DATA: %ld values\n", all_wrong);
    if (rank == 0 && !all_wrong) printf("all values are right\n");
  } else {
    all_wrong = aware != 1;
    if (rank == 0) printf("no GPU here: nothing was sent\n");
  }
  MPI_Finalize();
  return all_wrong != 0;
}
